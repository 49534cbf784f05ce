//! The laboratory as a library: everything that runs models on tasks without a command line.
//!
//! | what a program wants | here |
//! |---|---|
//! | tasks, models, datasets, places | [`Laboratory`], [`families::registry`], [`builtin::Builtin`], [`TaskFiles`] |
//! | a run as people name it | [`RunOptions`], [`TaskOptions`], [`select_tasks`] |
//! | a run as a value | [`RunSpec`]; [`Laboratory::prepare`], [`PreparedRun::open`], [`Run::go`] |
//! | going on, judging again | [`Laboratory::continue_run`], [`rescore()`], [`load_summary`] |
//! | every checkpoint of a model | [`checkpoints::SweepOptions`], [`checkpoints::Sweep`] |
//! | texts of one's own: scored, observed, asked | [`texts`] |
//! | values inside a model changed | [`inside`] |
//! | many processes | [`Shard`], [`cluster`] |
//! | how a model was tuned | [`learning`] |
//!
//! [`Laboratory::prepare`] admits a run without side effects; [`PreparedRun::open`] makes or finds its folder;
//! [`Run::go`] asks what is not answered yet, tells of it in events and adds everything up. Nothing here
//! knows a terminal. `docs/library.md` is the guide, `examples/own_task.rs` a task of one's own.
//!
//! A whole program, from a model to a page, with `mary-report` for the last two steps:
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use mary_lab::{Laboratory, RunOptions, Silent, builtin::Builtin, families};
//! use mary_report::compare::{Side, comparison};
//! use mary_report::html::{self, ReportOptions};
//!
//! let home = tempfile::tempdir()?;
//! let lab = Laboratory::new(home.path())
//!     .tasks(families::registry())
//!     .providers([Box::new(Builtin) as _]);
//! let options = RunOptions {
//!     models: vec!["builtin/nano".into(), "early=builtin/nano@step16".into()],
//!     tasks: vec!["htest/rhyme".into(), "htest/palindrome".into()],
//!     limit: Some("6".parse()?),
//!     ..RunOptions::default()
//! };
//! let (spec, _) = options.specify(&lab)?;
//! let mut run = lab.prepare(&spec)?.open()?;
//! let summary = run.go(&mut Silent, &AtomicBool::new(false))?;
//! assert!(summary.complete && summary.rows.len() == 4);
//!
//! // What did the model learn after its first steps, item by item?
//! let mut sides = [Side::new("builtin/nano"), Side::new("builtin/nano@step16")];
//! let samples = run.folder().samples()?.collect::<Result<Vec<_>, _>>()?;
//! for sample in &samples {
//!     sides.iter_mut().filter(|s| s.label == sample.id.model).for_each(|s| s.add(sample));
//! }
//! let compared = comparison(&sides, true)?;
//! assert_eq!(compared.comparisons.len(), 2);
//! assert_eq!(compared.comparisons[0].paired, 6);
//!
//! // One page that holds everything it needs.
//! let mut page = Vec::new();
//! let mut samples = samples.into_iter().map(|s| (summary.manifest.id.clone(), s));
//! html::report(&[summary.clone()], &[], &mut samples, &ReportOptions::default(), &mut page)?;
//! assert!(String::from_utf8(page)?.contains("htest/palindrome"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub mod inside;
mod jsonl;
mod laboratory;
pub mod learning;
mod manifest;
pub mod names;
mod observers;
mod options;
mod part;
mod rescore;
mod run;
pub mod scale;
mod shard;
mod sharding;
mod spec;
mod spending;
mod summary;
mod surveys;
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
pub use spec::{AdaptiveChoice, Execution, Opening, RunSpec, TaskChoice};
pub use summary::{completed, load_summary, summarise};
pub use task_files::{TaskFiles, files_named, is_task_file};

use mary_contract::Declarations;

const EXHIBITS: &str = include_str!("exhibits.json");

/// Titles, captions, heads and axes of our tables and figures.
static DECLARED: std::sync::LazyLock<Declarations> =
    std::sync::LazyLock::new(|| Declarations::read(EXHIBITS));
