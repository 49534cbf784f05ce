//! Summaries as tables, pages and pictures.
//!
//! Everything here is drawn from contract types alone: a [`mary_contract::RunSummary`], its
//! [`mary_contract::Sample`]s, and the [`mary_contract::Exhibits`] a family made. No model, no task
//! and no store is known here.
//!
//! What a model wrote is hostile input: it reaches a page only through [`escape`], and a terminal
//! only with its control characters made visible.

pub mod escape;
mod number;
mod subject;
mod summary;
pub mod terminal;
pub mod text;

pub use number::{ScoreScale, VersusChance};
pub use summary::summary_table;
