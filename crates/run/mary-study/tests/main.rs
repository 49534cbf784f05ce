//! The integration tests of `mary-study` as one program. One file per topic; a topic's file opens by saying
//! what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod adaptive;
mod attacks;
mod browser;
#[path = "../../../interfaces/mary-report/tests/chromium/mod.rs"]
#[allow(dead_code, reason = "the report's tests use all of it")]
mod chromium;
mod crowd;
mod families;
mod fixture;
mod flow;
mod judgements;
mod paper;
mod platforms;
mod protocols;
mod reading;
mod report;
mod secrecy;
#[path = "../examples/crowd/stampede.rs"]
mod stampede;
mod withdrawal;
