//! Summaries as tables, pages and pictures, drawn from contract types alone: no model, no task and no store is
//! known here. What a model wrote is hostile input: it reaches a page only through [`escape`], and a terminal
//! only with its control characters made visible.

pub mod atlas;
pub mod compare;
pub mod escape;
mod headline;
pub mod html;
mod narrow;
mod number;
mod paired;
pub mod pairs;
mod sample;
mod subject;
mod summary;
pub mod terminal;
pub mod text;
pub mod twins;
pub mod viewer;

pub use number::{ScoreScale, VersusChance};
pub use sample::OutcomeClass;
pub use subject::chosen_settings;
pub use summary::summary_table;

use std::sync::LazyLock;

use mary_contract::Declarations;

/// Titles, captions, heads and axes of the tables and figures that are made here.
static DECLARED: LazyLock<Declarations> =
    LazyLock::new(|| Declarations::read(include_str!("exhibits.json")));

#[cfg(test)]
mod tests {
    #[test]
    fn the_declared_tables_and_figures_can_be_read() {
        let read = mary_contract::Declarations::check(include_str!("exhibits.json"));
        assert_eq!(read, Ok(()));
    }
}
