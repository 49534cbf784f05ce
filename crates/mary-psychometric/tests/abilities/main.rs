//! The abilities as a user meets them: statistics against other implementations, fresh matrices under
//! many seeds, and upstream's files.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod golden;
mod matrices;
mod solver;
mod upstream;
