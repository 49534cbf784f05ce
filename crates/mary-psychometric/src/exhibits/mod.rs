//! The paper's tables and figures from runs of ours, with its printed results beside them, marked as
//! published. Only what the runs contain is drawn. Grammar and development have exhibits of their own.

mod figures;
mod tables;

use std::collections::BTreeMap;

use mary_contract::{Estimate, Exhibits, ModelCard, RunSummary, SummaryRow, TaskSettings};

use crate::trajectories::stage;

/// One model on one task as it was run.
#[derive(Clone, Copy)]
struct Found<'a> {
    row: &'a SummaryRow,
    settings: &'a TaskSettings,
    card: Option<&'a ModelCard>,
}

impl<'a> Found<'a> {
    fn task(&self) -> &'a str {
        self.row
            .task
            .strip_prefix("psychometric/")
            .unwrap_or(&self.row.task)
    }

    fn model(&self) -> &'a str {
        &self.row.model
    }

    /// A measure, or the score itself under the name `score`.
    fn measure(&self, name: &str) -> Option<&'a Estimate> {
        if name == "score" {
            return self.row.score.as_ref();
        }
        self.row
            .measures
            .iter()
            .find(|m| m.name == name)
            .map(|m| &m.estimate)
    }

    /// Measures whose name begins so, with the rest of the name.
    fn measures(&self, beginning: &str) -> Vec<(&'a str, &'a Estimate)> {
        self.row
            .measures
            .iter()
            .filter_map(|m| Some((m.name.strip_prefix(beginning)?, &m.estimate)))
            .collect()
    }

    /// What the user set, or this default.
    fn set(&self, name: &str, default: &'a str) -> &'a str {
        self.settings
            .params
            .get(name)
            .map_or(default, String::as_str)
    }
}

/// Everything the runs hold of this family.
fn found(runs: &[RunSummary]) -> Vec<Found<'_>> {
    let mut all = Vec::new();
    for run in runs {
        for row in &run.rows {
            let task = run.manifest.tasks.iter().find(|t| t.id == row.task);
            let (true, Some(task)) = (row.task.starts_with("psychometric/"), task) else {
                continue;
            };
            let card = run
                .manifest
                .models
                .iter()
                .find(|m| m.model.to_string() == row.model);
            all.push(Found {
                row,
                settings: &task.settings,
                card,
            });
        }
    }
    all
}

/// Of a model that was run at several checkpoints the last one: tables are about where training ended.
fn at_the_end<'a>(all: &[Found<'a>]) -> Vec<Found<'a>> {
    let mut last: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for one in all {
        if let Some(at) = stage(one.model(), one.card) {
            let step = last.entry((at.size, &one.row.task)).or_default();
            *step = at.step.max(*step);
        }
    }
    all.iter()
        .filter(|one| {
            stage(one.model(), one.card)
                .is_none_or(|at| last.get(&(at.size, &one.row.task)) == Some(&at.step))
        })
        .copied()
        .collect()
}

/// Everything the runs have to show.
pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let all = found(runs);
    let end = at_the_end(&all);
    Exhibits {
        tables: tables::tables(&end),
        figures: figures::figures(&all, &end),
        pictures: vec![],
    }
}

/// Three decimals, as in the paper.
fn cell(estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(|| "–".to_owned(), |e| format!("{:.3}", e.value))
}

/// With its interval.
fn wide_cell(estimate: Option<&Estimate>) -> String {
    estimate.map_or_else(
        || "–".to_owned(),
        |e| {
            if e.low < e.high {
                format!("{:.3} [{:.3}, {:.3}]", e.value, e.low, e.high)
            } else {
                format!("{:.3}", e.value)
            }
        },
    )
}

#[cfg(test)]
mod tests;
