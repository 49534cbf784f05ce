//! The integration tests of `mary-physico` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod golden;
mod readings;
mod tasks;
mod transfer;
mod worlds;
mod worlds_laws;
mod worlds_laws_scenes;
