//! The integration tests of `mary-remote` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod answers;
mod attacks;
mod batch;
mod bodies;
mod conformance;
mod errors;
mod faults;
mod invented;
mod llamacpp;
mod room;
mod servers;
