//! A task as a file: `mytask.toml` beside its data says what is read, what is asked and how an answer
//! is judged, so that a task needs no Rust. [`OwnTask::read`] gives a [`mary_contract::Task`] like any
//! other.
//!
//! A task file and its data are hostile input: templates run on limited fuel, patterns are compiled
//! within a size, lines are bounded, and rows are read lazily, so that millions of them cost no memory
//! but eight bytes each for telling ids apart.

mod asking;
mod dataset;
mod design;
mod error;
mod folder;
mod form;
mod formats;
mod items;
mod judge;
mod material;
mod parquet;
mod part;
mod people;
mod pictures;
mod plan;
mod rows;
mod shots;
mod skeleton;
mod source;
mod task;
mod template;

pub use design::DesignTask;
pub use error::TaskFileError;
pub use material::{Material, MaterialRow, MaterialRows};
pub use pictures::picture_of;
pub use skeleton::{Skeleton, skeleton};
pub use task::OwnTask;
