//! The integration tests of `mary-report` as one program, so that the crate and what it uses are linked
//! once. One file per topic; a topic's file opens by saying what it holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod atlas;
mod browser_figures;
mod browser_pages;
mod browser_report;
mod browser_viewer;
mod chapter;
mod chromium;
mod compare;
mod fixture;
mod pages;
mod scale;
mod terminal;
