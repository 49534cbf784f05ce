//! A run as a value.
//!
//! A [`Laboratory`] holds what runs need: tasks, providers of models, datasets, the cache of answers,
//! the folder of runs. A [`RunSpec`] says what is to be run. [`Laboratory::prepare`] admits it without
//! side effects; [`PreparedRun::open`] makes or finds the run folder; [`Run::go`] asks what is not
//! answered yet, tells of it in events and adds everything up. [`Laboratory::continue_run`] goes on
//! with a folder as it was begun, and [`rescore`] judges stored answers again.
//!
//! Nothing here knows a command line, a terminal or the name of a family. `docs/library.md` is the
//! guide, `examples/own_task.rs` a whole program.

#![warn(missing_docs)]

mod admission;
mod ahead;
mod answers;
mod asking;
mod batch;
pub mod builtin;
pub mod checkpoints;
mod choice;
pub mod cluster;
mod dry_run;
pub mod engine;
mod error;
mod estimate;
pub mod families;
mod foreign;
mod laboratory;
pub mod learning;
mod manifest;
pub mod names;
mod observers;
mod options;
mod part;
mod rescore;
mod run;
mod shard;
mod sharding;
mod spec;
mod spending;
mod summary;
mod task_files;
pub mod texts;

pub use admission::PreparedRun;
pub use ahead::{BrokenDown, LoadAhead};
pub use choice::{TaskOptions, WithSettings, fit_to_models, select_ids, select_tasks};
pub use dry_run::{DryRun, EstimateRow, duration};
pub use error::RunError;
pub use estimate::Speed;
pub use foreign::UsersWord;
pub use laboratory::Laboratory;
pub use observers::{Both, Silent};
pub use options::{DEFAULT_MODEL, LeftOut, RunOptions, find_provider, read_batch_size};
pub use part::{Layout, Part};
pub use rescore::{Changes, Rescored, rescore, rescore_with};
pub use run::{Run, RunPart};
pub use shard::{Shard, ShardChoice, ShardError, cut, deal, size_in_name};
pub use spec::{Execution, Opening, RunSpec, TaskChoice};
pub use summary::{completed, load_summary, summarise};
pub use task_files::{TaskFiles, files_named, is_task_file};
