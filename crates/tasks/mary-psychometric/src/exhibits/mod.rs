//! The paper's tables and figures from runs of ours, with its printed results beside them, marked as
//! published. Only what the runs contain is drawn. Grammar and development have exhibits of their own.

mod fields;
mod figures;
mod nulls;
mod prompting;
mod tables;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Cell, Conditions, Declarations, Estimate, Exhibits, ModelCard, RunSummary, SummaryRow, TaskRun,
    TaskSettings,
};

use crate::published::PublishedRow;
use crate::trajectories::stage;

pub(crate) static DECLARED: LazyLock<Declarations> =
    LazyLock::new(|| Declarations::read(include_str!("../exhibits.json")));

#[derive(Clone, Copy)]
pub(crate) struct TaskResult<'a> {
    pub(crate) row: &'a SummaryRow,
    settings: &'a TaskSettings,
    ran: &'a TaskRun,
    card: Option<&'a ModelCard>,
}

impl<'a> TaskResult<'a> {
    fn task(&self) -> &'a str {
        let task = &self.row.task;
        task.strip_prefix("psychometric/").unwrap_or(task)
    }

    fn model(&self) -> &'a str {
        &self.row.model
    }

    /// Whether it is of typicality by prompting, with rankings that could be read.
    fn is_ranking(&self) -> bool {
        self.task() == "typicality-prompting" && self.row.score.is_some()
    }

    /// A measure, or the score itself under the name `score`.
    fn measure(&self, name: &str) -> Option<&'a Estimate> {
        if name == "score" {
            return self.row.score.as_ref();
        }
        self.row.measure(name)
    }

    /// Measures whose name begins so, with the rest of the name.
    fn measures(&self, beginning: &str) -> Vec<(&'a str, &'a Estimate)> {
        let own = self.row.measures.iter();
        let own = own.filter_map(|m| Some((m.name.strip_prefix(beginning)?, &m.estimate)));
        own.collect()
    }

    pub(crate) fn conditions(&self) -> Conditions {
        self.ran.conditions()
    }

    /// What the user set, or this default.
    fn set(&self, name: &str, default: &'a str) -> &'a str {
        let set = self.settings.params.get(name);
        set.map_or(default, String::as_str)
    }
}

pub(crate) fn found(runs: &[RunSummary]) -> Vec<TaskResult<'_>> {
    let mut all = Vec::new();
    for run in runs {
        for row in &run.rows {
            let task = run.manifest.tasks.iter().find(|t| t.id == row.task);
            let (true, Some(task)) = (row.task.starts_with("psychometric/"), task) else {
                continue;
            };
            let mut models = run.manifest.models.iter();
            all.push(TaskResult {
                row,
                settings: &task.settings,
                ran: task,
                card: models.find(|m| m.model.to_string() == row.model),
            });
        }
    }
    all
}

/// Of a model that was asked the same at several checkpoints the last one: tables are about where
/// training ended.
pub(crate) fn at_the_end<'a>(all: &[TaskResult<'a>]) -> Vec<TaskResult<'a>> {
    let mut last: BTreeMap<(String, Conditions), u64> = BTreeMap::new();
    for one in all {
        if let Some(at) = stage(one.model(), one.card) {
            let step = last.entry((at.size, one.conditions())).or_default();
            *step = at.step.max(*step);
        }
    }
    let is_last = |one: &&TaskResult<'a>| {
        stage(one.model(), one.card)
            .is_none_or(|at| last.get(&(at.size, one.conditions())) == Some(&at.step))
    };
    all.iter().filter(is_last).copied().collect()
}

/// For each result the settings that tell it from others of the same model and task, as they stand
/// behind a name: ` (layout = choices)`; empty where there is only one.
fn told_apart(of: &[&TaskResult<'_>]) -> Vec<String> {
    let conditions: Vec<Conditions> = of.iter().map(|f| f.conditions()).collect();
    let keys = of.iter().map(|f| (f.model(), f.task()));
    in_brackets(&keys.zip(&conditions).collect::<Vec<_>>())
}

pub(crate) fn in_brackets<K: PartialEq>(results: &[(K, &Conditions)]) -> Vec<String> {
    let variants = mary_contract::told_apart(results).into_iter();
    let bracketed = variants.map(|variant| match variant.as_str() {
        "" => variant,
        variant => format!(" ({variant})"),
    });
    bracketed.collect()
}

/// A column of a table that sets models side by side: results of one question only.
struct Column<'a> {
    of: Vec<TaskResult<'a>>,
    left_out: Vec<String>,
}

impl<'a> Column<'a> {
    /// Of all results that would stand in the column those of the question that most models were
    /// asked (the one run first, among equals); the others are named.
    fn of_one_question(all: impl Iterator<Item = TaskResult<'a>>) -> Self {
        let all: Vec<TaskResult<'a>> = all.collect();
        let mut questions: Vec<(Conditions, usize)> = Vec::new();
        for conditions in all.iter().map(TaskResult::conditions) {
            match questions.iter_mut().find(|(c, _)| *c == conditions) {
                Some((_, n)) => *n += 1,
                None => questions.push((conditions, 1)),
            }
        }
        let most = questions.iter().map(|(_, n)| *n).max().unwrap_or(0);
        let chosen = questions.iter().find(|(_, n)| *n == most);
        let is_chosen = |f: &TaskResult<'_>| chosen.is_some_and(|(c, _)| *c == f.conditions());
        let (of, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_chosen);
        let left_out = others.iter().map(|f| {
            let differences = chosen.map(|(c, _)| f.conditions().differences(c));
            let said = differences.into_iter().flatten().map(|d| d.to_string());
            let said = said.collect::<Vec<_>>().join(", ");
            format!("{} on {} ({said})", f.model(), f.task())
        });
        Self {
            left_out: left_out.collect(),
            of,
        }
    }

    /// The result of a model; the later run where it was asked twice.
    fn model(&self, model: &str) -> Option<TaskResult<'a>> {
        self.of.iter().rfind(|f| f.model() == model).copied()
    }
}

/// What the columns of a table left out, as the end of its caption.
fn left_out_of(columns: &[&Column<'_>]) -> String {
    let all: Vec<String> = columns.iter().flat_map(|c| c.left_out.clone()).collect();
    match all.join("; ") {
        none if none.is_empty() => none,
        some => format!(" Left out, because a column is of one question: {some}."),
    }
}

pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let all = found(runs);
    let end = at_the_end(&all);
    Exhibits {
        tables: tables::tables(&end),
        figures: figures::figures(&all, &end),
        pictures: vec![],
    }
}

/// Three decimals, as in the paper, with its items and its interval.
fn cell(estimate: Option<&Estimate>) -> Cell {
    estimate.map(|e| Cell::number(e, 3)).into()
}

/// Three decimals of a number that is no estimate: a deviation, the mean of a null.
fn figure(estimate: Option<&Estimate>) -> Cell {
    let text = estimate.map(|e| format!("{:.3}", e.value));
    text.map(Cell::figure).into()
}

fn printed(row: &PublishedRow, names: &[&str]) -> Vec<String> {
    let value = |n: &&str| row.values.get(*n).map(|v| format!("{v:.3}"));
    let written = |n| value(n).unwrap_or_else(|| "–".to_owned());
    names.iter().map(written).collect()
}

#[cfg(test)]
mod tests;
