//! The integration tests of `mary-taskfile` as one program. One file per topic; a topic's file opens by
//! saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod asking;
mod designs;
mod faults;
mod judging;
mod shapes;
mod support;
