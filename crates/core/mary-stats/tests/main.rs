//! The integration tests of `mary-stats` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod by_hand;
mod coverage;
mod coverage_families;
mod difference;
mod golden;
mod growth;
mod irt;
mod mixed;
mod people;
mod permutations;
mod psychometric_by_hand;
mod scale;
mod verdicts;
