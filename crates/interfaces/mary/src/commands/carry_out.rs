//! Carrying out a run with a progress display and Ctrl-C, and showing what came of it.

use std::path::Path;

use mary_contract::RunSummary;
use mary_lab::Run;
use mary_report::html::ReportOptions;

use super::chapters::{self, AnyChapter};
use super::kept_report::MadeFrom;
use super::summary;
use crate::commands::tell;
use crate::exit::Status;
use crate::interrupt;
use crate::progress::Progress;
use crate::settings::Place;

pub struct ShowOptions {
    pub quiet: bool,
    pub json: bool,
    pub report: bool,
}

/// Asks, judges and adds up, with a progress display and Ctrl-C.
pub fn go(run: &mut Run<'_>, quiet: bool) -> anyhow::Result<RunSummary> {
    let stop = interrupt::flag()?;
    let labels = mary_contract::model_labels(run.cards());
    let mut progress = Progress::new(quiet).of_run(run.parts(), labels);
    Ok(run.go(&mut progress, &stop)?)
}

pub fn show(
    place: &Place,
    run: &Run<'_>,
    summary: &RunSummary,
    first: Option<AnyChapter<'_>>,
    shown: &ShowOptions,
) -> anyhow::Result<Status> {
    summary::show(summary, shown.json)?;
    if !shown.json {
        summary::show_standing(run.path(), summary)?;
    }
    if shown.report {
        let path = summary::report_path(run.path());
        make_report(place, run.path(), first, &path, shown.quiet)?;
        mary_contract::moment("report written");
        tell!("report: {}", path.display());
    }
    tell!("run:    {}", run.path().display());
    Ok(Status::done_if(summary.complete))
}

/// Makes the report of a run, unless the one that is there was made from the same.
fn make_report(
    place: &Place,
    run: &Path,
    first: Option<AnyChapter<'_>>,
    path: &Path,
    quiet: bool,
) -> anyhow::Result<()> {
    let made_from = MadeFrom::from_run(run, first.as_ref().map_or("", |chapter| chapter.id));
    if made_from.as_ref().is_some_and(|from| from.is_at(path)) {
        return Ok(());
    }
    let tell = |what: &str| {
        if !quiet {
            tell!("{what}");
        }
    };
    if let Some(chapter) = &first {
        tell(&format!(
            "making the report: the chapter `{}` …",
            chapter.id
        ));
    }
    tell("making the report: reading the samples, drawing the figures …");
    let runs = [run.to_owned()];
    let options = ReportOptions::default();
    chapters::write_with(&place.registry, &runs, first.as_slice(), path, &options)?;
    if let Some(from) = made_from {
        from.note_in(path);
    }
    Ok(())
}
