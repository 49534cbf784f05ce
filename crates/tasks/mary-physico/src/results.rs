//! What the runs hold, in the paper's terms: accuracies by model, task and conditions, for a set or a
//! concept, with the deviation over runs.

use std::collections::BTreeSet;

use mary_contract::{
    Cell, Conditions, Estimate, PromptForm, RunSummary, SummaryRow, Task, TaskSettings, told_apart,
};

use crate::judging::{SD, part_name};
use crate::setup::{Icl, InstanceSource, Mode, PhysicoSettings};

#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    pub row: &'a SummaryRow,
    pub setup: PhysicoSettings,
    /// What was asked and how it was judged.
    pub conditions: Conditions,
    /// Settings that tell it from others of the model on the task, where the words of [`Self::how`] do
    /// not.
    pub variant: String,
    /// Times every item was asked.
    pub runs: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    pub estimate: Estimate,
    /// Over runs, where there are several.
    pub sd: Option<f64>,
}

impl Accuracy {
    fn new(estimate: &Estimate, sd: Option<&Estimate>) -> Self {
        let (estimate, sd) = (estimate.clone(), sd.map(|e| e.value));
        Self { estimate, sd }
    }

    /// As in the paper's tables, `41.3 ± 1.3`, with its items and its interval.
    pub fn cell(&self) -> Cell {
        let text = printed(100.0 * self.estimate.value, self.sd.map(|sd| 100.0 * sd));
        Cell::percent(&self.estimate, 1).worded(text)
    }
}

pub fn printed(value: f64, sd: Option<f64>) -> String {
    match sd {
        Some(sd) => format!("{value:.1} ± {sd:.1}"),
        None => format!("{value:.1}"),
    }
}

pub fn cell(accuracy: Option<Accuracy>) -> Cell {
    accuracy.map(|a| a.cell()).into()
}

impl<'a> Outcome<'a> {
    pub fn task(&self) -> &'a str {
        &self.row.task
    }

    pub fn model(&self) -> &'a str {
        &self.row.model
    }

    pub fn whole(&self) -> Option<Accuracy> {
        let estimate = self.row.measure("accuracy").or(self.row.score.as_ref())?;
        Some(Accuracy::new(estimate, self.row.measure(SD)))
    }

    pub fn part(&self, tag: &str, value: &str) -> Option<Accuracy> {
        let measure = |name: &str| self.row.measure(&part_name(name, tag, value));
        let estimate = measure("accuracy").or_else(|| self.row.part(tag, value))?;
        Some(Accuracy::new(estimate, measure(SD)))
    }

    /// The values of a tag among the answers, those included of which none could be read: they are wrong, not
    /// absent.
    pub fn values(&self, tag: &str) -> BTreeSet<&'a str> {
        let begin = format!("accuracy[{tag}=");
        let of = |name: &'a str| name.strip_prefix(&begin)?.strip_suffix(']');
        let measured = self.row.measures.iter().filter_map(|m| of(m.name.as_str()));
        let parts = self.row.breakdowns.iter().filter(|b| b.tag == tag);
        let read = parts.flat_map(|b| b.values.keys().map(String::as_str));
        measured.chain(read).collect()
    }

    pub fn is_high(&self) -> bool {
        let task = self.task();
        task.starts_with("physico/core-") || task.starts_with("physico/associative-")
    }

    /// Whether grids were shown as a picture.
    pub fn seen(&self) -> bool {
        self.row.task.ends_with("-visual") || self.row.task == "physico/photo"
    }

    /// How it was asked, with what tells it from other results of the model on the task.
    pub fn how(&self) -> String {
        let asked = self.asked();
        match self.variant.is_empty() {
            true => asked,
            false => format!("{asked}, {}", self.variant),
        }
    }

    /// How it was asked. What tells results of one task apart is left out: another task of the same run may
    /// have nothing to be told from.
    pub fn asked(&self) -> String {
        let mode = match self.setup.mode {
            Mode::Score => "score",
            Mode::Letters => "letters",
            Mode::Generate => "generate",
        };
        let shown = if self.seen() { "pictures" } else { "text" };
        let mut words = vec![shown.to_owned(), mode.to_owned()];
        if !self.seen() && self.setup.form == PromptForm::Chat {
            words.push("chat".into());
        }
        if self.setup.cot {
            words.push("CoT".into());
        }
        match self.setup.icl {
            Icl::None => {}
            Icl::Other(n) => words.push(format!("{n} shots")),
            Icl::Same(n) => words.push(format!("{n} shots, same concepts")),
        }
        match self.setup.source {
            InstanceSource::Fresh => {}
            InstanceSource::Published => words.push("released".into()),
            InstanceSource::ConceptArc => words.push("ConceptARC".into()),
            InstanceSource::Arc => words.push("ARC".into()),
        }
        words.join(", ")
    }

    /// Two outcomes that differ in the set of instances alone: asked in the same words, and alike in
    /// every setting that both tasks have (seed and instances of each concept among them).
    pub fn same_conditions(&self, other: &Self) -> bool {
        self.model() == other.model()
            && self.asked() == other.asked()
            && self.conditions.alike_where_shared(&other.conditions, &[])
    }

    /// Whether the other is the same question asked without shots.
    pub fn is_without_shots(&self, other: &Self) -> bool {
        let alike = |of: &Conditions| of.alike_where_shared(&other.conditions, &["icl"]);
        self.setup.icl != Icl::None
            && other.setup.icl == Icl::None
            && (self.model(), self.task()) == (other.model(), other.task())
            && alike(&self.conditions)
    }
}

pub fn outcomes(runs: &[RunSummary]) -> Vec<Outcome<'_>> {
    let mut found = Vec::new();
    for run in runs {
        let ours = run.rows.iter().filter(|r| r.task.starts_with("physico/"));
        found.extend(ours.filter_map(|row| {
            let task = run.manifest.task(&row.task)?;
            Some(Outcome {
                row,
                setup: setup_of(&row.task, &task.settings)?,
                conditions: task.conditions(),
                variant: String::new(),
                runs: run.manifest.trials,
            })
        }));
    }
    tell_apart(&mut found);
    found
}

/// Names what differs between results of a model on a task that are told in the same words.
fn tell_apart(all: &mut [Outcome<'_>]) {
    let shown = all
        .iter()
        .map(|o| ((o.model(), o.task(), o.how()), &o.conditions));
    let said = told_apart(&shown.collect::<Vec<_>>());
    for (outcome, variant) in all.iter_mut().zip(said) {
        outcome.variant = variant;
    }
}

fn setup_of(task: &str, settings: &TaskSettings) -> Option<PhysicoSettings> {
    let task: &'static dyn Task = crate::TASKS.iter().copied().find(|t| t.card().id == task)?;
    PhysicoSettings::read(task.card(), settings).ok()
}
