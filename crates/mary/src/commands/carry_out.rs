//! Carrying out a run with a progress display and Ctrl-C, and showing what came of it: what every
//! command that runs something shares.

use mary_contract::RunSummary;
use mary_report::html::{Chapter, ReportOptions};
use mary_run::Run;

use super::{report, summary};
use crate::exit::Status;
use crate::interrupt;
use crate::progress::Progress;
use crate::settings::Place;

/// What is shown of a run.
pub struct Shown {
    /// No progress.
    pub quiet: bool,
    /// Results as JSON.
    pub json: bool,
    /// Make the HTML report.
    pub report: bool,
}

/// Asks, judges and adds up, with a progress display and Ctrl-C.
pub fn go(run: &mut Run<'_>, quiet: bool) -> anyhow::Result<RunSummary> {
    let stop = interrupt::flag()?;
    let labels = mary_contract::model_labels(run.cards());
    let mut progress = Progress::new(quiet).of_run(run.parts(), labels);
    Ok(run.go(&mut progress, &stop)?)
}

/// Prints the table, makes the report, names the folder.
pub fn show(
    place: &Place,
    run: &Run<'_>,
    summary: &RunSummary,
    chapters: Vec<Chapter>,
    shown: &Shown,
) -> anyhow::Result<Status> {
    summary::show(summary, shown.json)?;
    if shown.report {
        let path = summary::report_path(run.path());
        report::write_with(
            &place.registry,
            &[run.path().to_owned()],
            chapters,
            &path,
            &ReportOptions::default(),
        )?;
        mary_contract::moment("report written");
        super::tell(&format!("report: {}", path.display()));
    }
    super::tell(&format!("run:    {}", run.path().display()));
    Ok(if summary.complete {
        Status::Done
    } else {
        Status::Incomplete
    })
}
