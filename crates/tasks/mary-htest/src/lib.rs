//! H-TEST (Lee & Lim 2024): does a model know how language looks and sounds?
//!
//! Ten tasks ask for a label that follows from letters or sounds alone, and letter geometry asks what
//! a letter looks like when turned, flipped, added or taken away. Items come from our own generator
//! (any seed gives a new, matched set) or from the authors' released files.

mod ab_task;
mod dataset;
mod direct;
mod draw;
mod exhibits;
mod gap;
mod geometry;
mod misled;
mod offers;
mod paper_tables;
mod parse;
mod prompt;
mod published;
mod reasoning;
mod results;
mod rule_naming;
mod setup;
mod shots;
mod tasks;
mod tuning;
pub mod upstream;
mod words;

pub use ab_task::{AbTask, own_card};
pub use dataset::{Example, Label, Rule, Sets, Twins};
pub use exhibits::exhibits;
pub use geometry::LETTER_GEOMETRY;
pub use tasks::{AB_TASKS, rule_baselines};
pub use tuning::{tuning_matrix, tuning_set};

#[derive(Debug, Clone, Copy)]
pub struct HTest;

pub static HTEST: HTest = HTest;
