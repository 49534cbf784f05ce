//! The integration tests of `mary-train` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod families;
mod gpu;
#[cfg(feature = "cuda")]
mod gpu16;
#[cfg(feature = "cuda")]
mod gpu16_runs;
mod gradients;
mod growing;
mod merging;
mod numbers;
mod provenance;
mod seeing;
mod tuning;
