//! Task files of [lm-evaluation-harness](https://github.com/EleutherAI/lm-evaluation-harness), read
//! as
//! they are where they need no Python code: prompts, options and targets are byte for byte those of
//! the harness, as are its filters and metrics.
//!
//! A task file and its data are hostile input: templates run on limited fuel, patterns within a
//! limit of steps, and aliases cannot grow without end.

mod asking;
mod config;
mod context;
mod data;
mod error;
mod filters;
mod group;
mod include;
mod judge;
mod metrics;
mod overall;
mod pattern;
mod python;
mod random;
mod render;
mod shots;
mod task;
mod translation;
mod yaml;

pub use config::{Config, Field, OutputType, Shape, Shots, Splits};
pub use context::{Made, Question};
pub use data::Places;
pub use error::{HarnessError, Refusal};
pub use group::{needs_python, read, reason};
pub use include::Merged;
pub use task::{HarnessTask, MadeRows, templates};
