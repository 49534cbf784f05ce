//! The integration tests of `mary-local` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod alike;
#[cfg(feature = "cuda")]
mod cuda;
mod divided;
mod gguf;
mod hub_formats;
mod intervene;
mod joint;
mod mmproj;
mod pairs;
mod parity;
mod pictures;
mod real;
mod serving;
mod tokenizer;
mod vision;
mod workers;
