//! The paper's tables and figures from runs of ours, with its printed results beside them, marked as
//! published. Only what the runs contain is shown, and published rows stand only beside runs on the
//! released questions: figures of other questions would not be comparable.

mod figures;
mod results;
mod tables;

pub use tables::before_after;

use std::sync::LazyLock;

use mary_contract::{Declarations, Exhibits, RunSummary};

pub(crate) static DECLARED: LazyLock<Declarations> =
    LazyLock::new(|| Declarations::read(include_str!("../exhibits.json")));

pub fn exhibits(runs: &[RunSummary]) -> Exhibits {
    let answers = results::answers(runs);
    let places = results::places(runs);
    let tables = [
        tables::table_4(&places),
        tables::attribute_table(&places),
        tables::form_table(&places),
        tables::table_5(&answers),
        tables::table_14(&answers),
        tables::table_12(&answers),
    ];
    let figures = [
        figures::by_sense(&places),
        figures::by_attribute(&places),
        figures::by_layer(&places),
        figures::by_subtask(&answers),
    ];
    let exhibits = Exhibits::default().with_tables(tables);
    exhibits.with_figures(figures)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
