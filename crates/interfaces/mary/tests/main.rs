//! The integration tests of `mary` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod arrows;
mod ask;
mod atlas;
mod audit;
mod batch;
mod cli;
mod clusters;
mod embodied;
mod everyday;
mod eyes;
mod families;
mod foreign;
mod harness;
mod hints;
mod hub_sweep;
mod inside;
mod instruments;
mod judge;
mod key;
mod kill;
mod kill_tuning;
mod kills;
mod llamacpp;
mod numbers;
mod old_links;
mod own_tasks;
mod paid;
mod paired_import;
mod physico;
mod priced;
mod program;
mod question;
mod scale;
mod seeing;
mod serve;
mod study;
mod sweep;
mod terminal;
mod tour;
mod tuned;
mod untrained;
mod waiting;
mod wrong;
