//! Shards on engines that others wrote: Slurm, HyperQueue, Kubernetes, or this machine alone.
//!
//! From a [`Job`] come scripts that a person can read; they are kept in the run folder with a list of what
//! was submitted ([`Submissions`]), so that a second call submits only what is missing. [`progress`] tells
//! from the folder alone how far every shard is; [`simulate`] plays through what no machine here could run.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod hyperqueue;
mod job;
pub mod kubernetes;
pub mod progress;
pub mod simulate;
pub mod slurm;
mod submissions;

pub use job::{Engine, Job, Needs, Script};
pub use submissions::{Submission, Submissions};
