//! `mary run`: from what the user typed to a run folder, a table and a report.

use mary_contract::RunSummary;
use mary_report::html::{Chapter, ReportOptions};
use mary_run::{Laboratory, Run};

use super::{development, report, summary};
use crate::cli::run::RunArgs;
use crate::exit::Status;
use crate::laboratory::laboratory;
use crate::progress::Progress;
use crate::settings::Place;
use crate::{interrupt, specification};

/// What is shown of a run.
pub struct Shown {
    /// No progress.
    pub quiet: bool,
    /// Results as JSON.
    pub json: bool,
    /// Make the HTML report.
    pub report: bool,
}

/// Runs what the arguments say.
pub fn run(place: &Place, args: &RunArgs) -> anyhow::Result<Status> {
    let lab = laboratory(place);
    let spec = specification::of(place, &lab, args)?;
    let prepared = lab.prepare(&spec)?;
    if args.dry_run {
        return dry_run(&prepared, args.json);
    }
    let mut run = prepared.open()?;
    let shown = Shown {
        quiet: args.quiet,
        json: args.json,
        report: !args.no_report,
    };
    let summary = go(&mut run, shown.quiet)?;
    let first = args.tasks.is_empty() && args.model.is_empty();
    let mut chapters = Vec::new();
    if first && shown.report {
        chapters.push(how_it_grew(&lab)?);
    }
    show(place, &run, &summary, chapters, &shown)
}

/// Asks, judges and adds up, with a progress display and Ctrl-C.
pub fn go(run: &mut Run<'_>, quiet: bool) -> anyhow::Result<RunSummary> {
    let stop = interrupt::flag()?;
    Ok(run.go(&mut Progress::new(quiet), &stop)?)
}

/// A first run, for which nothing was named, also shows how the built-in model grew.
fn how_it_grew(lab: &Laboratory) -> anyhow::Result<Chapter> {
    let growth = development::development(lab, lab.runs(), specification::DEFAULT_MODEL, None)?;
    Ok(Chapter {
        id: "development".into(),
        title: "How the built-in model grew".into(),
        exhibits: growth.exhibits,
    })
}

/// Prints requests, tokens and dollars for each model and task.
fn dry_run(prepared: &mary_run::PreparedRun<'_>, json: bool) -> anyhow::Result<Status> {
    let dry = prepared.estimate()?;
    if json {
        super::print_json(&dry)?;
    } else {
        super::print(&format!("{}\n", dry.to_string().trim_end()))?;
    }
    if prepared.asks_a_judge() {
        super::tell("the judge's questions depend on the answers and are not in these figures");
    }
    super::tell("nothing was asked");
    Ok(Status::Done)
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
        super::tell(&format!("report: {}", path.display()));
    }
    super::tell(&format!("run:    {}", run.path().display()));
    Ok(if summary.complete {
        Status::Done
    } else {
        Status::Incomplete
    })
}
