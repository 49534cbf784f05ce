//! Instruments on files, from the file to the tables, on real models.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod common;
mod masked;
mod minicons;
mod observe;
mod score;
mod top;
