//! The integration tests of `mary-embodied` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod fresh;
mod items;
mod looks;
mod own;
mod own_chinese;
mod pooling;
mod released;
mod scenes;
