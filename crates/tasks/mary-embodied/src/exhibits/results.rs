//! What the runs hold, in the paper's terms: accuracies by model, conditions and column.

use std::collections::BTreeMap;

use mary_contract::{Cell, Conditions, Estimate, RunSummary, SummaryRow, Task as _, TaskSettings};

use crate::choice::{Mode, Template};
use crate::perceptualqa::{PERCEPTUAL_QA, Part, PerceptualQaSettings};
use crate::released::{PEOPLE, PUBLISHED};
use crate::sensoryvec::{self, SENSORY_VEC};
use crate::{Sense, Subtask};

/// Accuracy by column (`all`, `visual`, `V-CA` …, or senses).
pub(super) type Columns = BTreeMap<String, Estimate>;

pub(super) struct Answers {
    pub(super) model: String,
    pub(super) conditions: Conditions,
    pub(super) setup: PerceptualQaSettings,
    /// The paper's accuracy where answers were written, else the score.
    pub(super) columns: Columns,
    /// The score of this laboratory: robust reading, unread answers left out.
    pub(super) robust: Option<Estimate>,
    /// Answers without a score, of all.
    pub(super) unread: (usize, usize),
    pub(super) measures: BTreeMap<String, Estimate>,
}

impl Answers {
    pub(super) fn is_people(&self) -> bool {
        self.model == PEOPLE
    }

    pub(super) fn how(&self) -> String {
        let mode = match (self.setup.asking.mode, self.setup.asking.template) {
            (Mode::Score, _) => "score",
            (Mode::Generate, Template::Published) => "generate",
            (Mode::Generate, _) => "generate, tuning prompt",
        };
        let form = self.setup.asking.form.name();
        let part = match self.setup.part {
            Part::All => "",
            Part::Train => ", train part",
            Part::Test => ", test part",
        };
        let (source, language) = (self.setup.source.name(), self.setup.language.code());
        format!("{source} {language}, {mode}, {form}{part}")
    }
}

pub(super) struct Places {
    pub(super) model: String,
    pub(super) setup: sensoryvec::SensoryVecSettings,
    /// `all`, `visual`, `non-visual` and the senses.
    pub(super) columns: Columns,
    /// Triples left out because a word has no vector.
    pub(super) left_out: usize,
    pub(super) layers: Vec<(usize, Estimate)>,
    /// Visual triples by attribute.
    pub(super) attributes: BTreeMap<String, Estimate>,
    /// By which word looks closer, and by shared stem.
    pub(super) forms: BTreeMap<String, BTreeMap<String, Estimate>>,
}

impl Places {
    pub(super) fn how(&self) -> String {
        if self.model.starts_with(PUBLISHED) {
            return "released cosines".to_owned();
        }
        let layer = match self.setup.layer {
            -1 => "last layer".to_owned(),
            other => format!("layer {other}"),
        };
        let (source, pooling) = (self.setup.source.name(), self.setup.pooling.name());
        format!("{source}, {pooling}, {layer}")
    }
}

fn settings<'a>(run: &'a RunSummary, task: &str) -> Option<&'a TaskSettings> {
    let task = run.manifest.tasks.iter().find(|t| t.id == task)?;
    Some(&task.settings)
}

fn rows<'a>(
    runs: &'a [RunSummary],
    task: &'a str,
) -> impl Iterator<Item = (&'a RunSummary, &'a SummaryRow)> {
    runs.iter().flat_map(move |run| {
        let rows = run.rows.iter().filter(move |row| row.task == task);
        rows.map(move |row| (run, row))
    })
}

pub(super) fn answers(runs: &[RunSummary]) -> Vec<Answers> {
    let card = PERCEPTUAL_QA.card();
    let mut all: Vec<Answers> = rows(runs, &card.id)
        .filter_map(|(run, row)| {
            let setup = PerceptualQaSettings::read(card, settings(run, &card.id)?).ok()?;
            let measures = row.measures.iter();
            let measures = measures.map(|m| (m.name.clone(), m.estimate.clone()));
            let measures = measures.collect();
            Some(Answers {
                model: row.model.clone(),
                conditions: run.manifest.conditions(&card.id)?,
                columns: qa_columns(row, &setup, &measures),
                setup,
                robust: row.score.clone(),
                unread: (row.samples.saturating_sub(row.scored), row.samples),
                measures,
            })
        })
        .filter(|a| !a.columns.is_empty())
        .collect();
    all.sort_by_key(|a| !a.is_people());
    all
}

/// The columns of Table 14. Written answers are taken by the paper's reading (under its tuning prompts,
/// which have no index, by ours with unread answers wrong).
fn qa_columns(
    row: &SummaryRow,
    setup: &PerceptualQaSettings,
    measures: &BTreeMap<String, Estimate>,
) -> Columns {
    let name = match (setup.asking.mode, setup.asking.template) {
        (Mode::Score, _) => return breakdown_columns(row, "subtask"),
        (Mode::Generate, Template::Published) => "exact",
        (Mode::Generate, _) => "accuracy",
    };
    let subtasks = Subtask::ALL.iter().map(|s| s.name());
    let column = |part: &str| {
        let estimate = measures.get(&format!("{name}[{part}]"))?;
        Some((part.to_owned(), estimate.clone()))
    };
    let parts = subtasks.chain(["visual", "non-visual"]);
    let mut columns: Columns = parts.filter_map(column).collect();
    columns.extend(measures.get(name).map(|e| ("all".to_owned(), e.clone())));
    columns
}

fn breakdown(row: &SummaryRow, tag: &str) -> Columns {
    let found = row.breakdowns.iter().filter(|b| b.tag == tag);
    found.flat_map(|b| b.values.clone()).collect()
}

fn breakdown_columns(row: &SummaryRow, tag: &str) -> Columns {
    let mut columns = breakdown(row, "modality");
    columns.extend(breakdown(row, tag));
    columns.extend(row.score.clone().map(|score| ("all".to_owned(), score)));
    columns
}

pub(super) fn places(runs: &[RunSummary]) -> Vec<Places> {
    let card = SENSORY_VEC.card();
    let found = rows(runs, &card.id).filter_map(|(run, row)| {
        let setup = sensoryvec::SensoryVecSettings::read(card, settings(run, &card.id)?).ok()?;
        // `visual` is both a sense and a modality, with the same items.
        let columns = breakdown_columns(row, "sense");
        let layers = row.measures.iter().filter_map(|m| {
            let layer = m.name.strip_prefix("layer_")?.parse().ok()?;
            Some((layer, m.estimate.clone()))
        });
        let form = |tag: &str| (tag.to_owned(), breakdown(row, tag));
        Some(Places {
            model: row.model.clone(),
            setup,
            left_out: row.unscored.get("not_applicable").copied().unwrap_or(0),
            layers: layers.collect(),
            attributes: breakdown(row, "attribute"),
            forms: ["looks_closer", "shares_stem"].map(form).into(),
            columns,
        })
    });
    found.filter(|p| !p.columns.is_empty()).collect()
}

pub(super) fn cell(columns: &Columns, column: &str) -> Cell {
    share(columns.get(column))
}

/// A share in per cent, as the paper prints it, with its items and its interval.
pub(super) fn share(estimate: Option<&Estimate>) -> Cell {
    estimate.map_or_else(Cell::none, |e| Cell::percent(e, 2))
}

pub(super) fn other_senses() -> impl Iterator<Item = Sense> {
    Sense::ALL.into_iter().filter(|s| *s != Sense::Visual)
}
