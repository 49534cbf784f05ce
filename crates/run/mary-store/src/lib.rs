//! Where results are kept: run folders ([`RunFolder`]), the response cache ([`ResponseCache`]),
//! exports and imports. `docs/log-format.md` describes the files. Nothing here runs a model or
//! makes a statistic.

mod atomic;
mod cache;
mod export;
mod fault;
mod finite;
mod folder;
mod import;
mod index;
mod items;
mod join;
mod lease;
mod log;
mod manifest;
mod merge;
mod mounts;
mod paid;
mod parquet;
mod plan;
mod read;
mod recorder;
mod shards;
mod sort;

pub use cache::{CacheStats, Label, ModelShare, Prune, Pruned, ResponseCache};
pub use export::{ExportForm, every_eval_records, export};
pub use folder::{Healed, RunFolder};
pub use import::{Foreign, ImportOptions, Imported, import, keep, read_foreign};
pub use index::{FinishedIds, State};
pub use items::{ItemsError, ItemsForm, ItemsOf, write_items};
pub use join::MergeReport;
pub use lease::{Holder, holder};
pub use manifest::{SCHEMA, run_digest};
pub use mary_contract::line::{ItemHead, Verdict};
pub use merge::{join_into, merge};
pub use mounts::network_file_system;
pub use paid::PaidAnswers;
pub use parquet::{GroupLimits, ParquetTable, cell_text, parquet_file};
pub use read::{Samples, Seeker, Verdicts};
pub use recorder::Recorder;
pub use shards::{
    SHARD_CACHE, SHARDS, ShardEnd, ShardLock, ShardPlace, ShardStatus, join_caches, join_shards,
};
