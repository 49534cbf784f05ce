//! H-TEST (Lee & Lim 2024): does a model know how language looks and sounds?
//!
//! Ten tasks ask for a label that follows from letters or sounds alone, and letter geometry asks what
//! a letter looks like when turned, flipped, added or taken away. Items come from our own generator
//! (any seed gives a new, matched set) or from the authors' released files.

mod ab_task;
mod dataset;
mod draw;
mod exhibits;
mod gap;
pub mod geometry;
pub mod parse;
pub mod prompt;
pub mod published;
mod results;
#[rustfmt::skip]
mod rhyme_families;
mod setup;
mod tasks;
mod tuning;
pub mod upstream;
#[rustfmt::skip]
mod words;

pub use ab_task::AbTask;
pub use dataset::{Example, Label, Rule, Sets, Twins};
pub use exhibits::exhibits;
pub use gap::{Gap, fresh_gaps, gap_table, independent_difference};
pub use results::{Outcome, results};
pub use setup::{Mode, Setup, Source, Tail};
pub use tasks::{AB_TASKS, rule_baselines};
pub use tuning::{ab_task, published_matrix, tuning_matrix, tuning_set};

use mary_contract::{Exhibits, Family, RunSummary, Task};

/// The family.
#[derive(Debug, Clone, Copy)]
pub struct HTest;

/// The family, as listed.
pub static HTEST: HTest = HTest;

impl Family for HTest {
    fn id(&self) -> &'static str {
        "htest"
    }

    fn title(&self) -> &'static str {
        "H-TEST: how language looks and sounds"
    }

    fn tasks(&self) -> &'static [&'static dyn Task] {
        static TASKS: [&dyn Task; 11] = [
            AB_TASKS[0],
            AB_TASKS[1],
            AB_TASKS[2],
            AB_TASKS[3],
            AB_TASKS[4],
            AB_TASKS[5],
            AB_TASKS[6],
            AB_TASKS[7],
            AB_TASKS[8],
            AB_TASKS[9],
            &geometry::LETTER_GEOMETRY,
        ];
        &TASKS
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        exhibits(runs)
    }
}
