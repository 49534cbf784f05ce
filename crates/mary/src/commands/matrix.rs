//! `mary matrix`: H-TEST's table of training task by test task (the paper's Table 8) from runs of
//! tuned models.

use std::collections::BTreeMap;

use mary_report::terminal;
use mary_store::RunFolder;
use mary_suites::htest;

use super::{report, summary};
use crate::cli::MatrixArgs;
use crate::exit::{Status, UsageError};
use crate::settings::Place;

/// Prints the table.
pub fn matrix(place: &Place, args: &MatrixArgs) -> anyhow::Result<Status> {
    let mut summaries = Vec::new();
    for path in report::find_all(place, &args.runs)? {
        summaries.push(report::load_summary(&RunFolder::open(&path)?)?);
    }
    let known = |model: &str| {
        summaries
            .iter()
            .flat_map(|s| &s.rows)
            .any(|row| row.model == model)
    };
    let mut tuned = BTreeMap::new();
    for pair in &args.tuned {
        let Some((task, model)) = pair.split_once('=') else {
            return Err(UsageError::new(format!("`{pair}` is not of the form task=model")).into());
        };
        let Some(task) = htest::ab_task(task) else {
            return Err(
                UsageError::new(format!("`{task}` is not one of H-TEST's ten tasks")).into(),
            );
        };
        tuned.insert(task.card.id.to_owned(), model.to_owned());
    }
    for model in tuned.values().chain([&args.original]) {
        if !known(model) {
            return Err(UsageError::new(format!("none of these runs holds `{model}`")).into());
        }
    }
    let table = htest::tuning_matrix(&summaries, &args.original, &tuned);
    super::print(&terminal::plain(&table, summary::style()))?;
    Ok(Status::Done)
}
