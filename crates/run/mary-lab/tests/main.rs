//! The integration tests of `mary-lab` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod ahead;
mod engine;
mod example;
mod inside;
mod judge;
mod reading;
mod scale;
mod shards;
mod specification;
mod support;
mod texts;
