//! `mary run`: from what the user typed to a run folder, a table and a report.

use mary_lab::{Laboratory, PreparedRun};
use mary_report::html::Chapter;

use super::carry_out::{FirstChapter, Shown, go, show};
use super::{development, shard};
use crate::cli::run::RunArgs;
use crate::exit::Status;
use crate::laboratory::laboratory;
use crate::settings::Place;
use crate::specification;

/// The chapter on how the built-in model grew.
const DEVELOPMENT: &str = "development";

/// Runs what the arguments say.
pub fn run(place: &Place, args: &RunArgs) -> anyhow::Result<Status> {
    if let Some(choice) = args.shard {
        return shard::run(place, args, choice);
    }
    let lab = laboratory(place);
    let spec = specification::of(place, &lab, args)?;
    if args.dry_run {
        return dry_run(&lab.prepare_estimate(&spec)?, args.json);
    }
    let mut run = lab.prepare(&spec)?.open()?;
    let shown = Shown {
        quiet: args.quiet,
        json: args.json,
        report: !args.no_report,
    };
    let summary = go(&mut run, shown.quiet)?;
    let first = args.tasks.is_empty() && args.model.is_empty();
    let mut growth = || how_it_grew(&lab);
    let chapter: Option<FirstChapter<'_>> = first.then_some((DEVELOPMENT, &mut growth));
    show(place, &run, &summary, chapter, &shown)
}

/// A first run, for which nothing was named, also shows how the built-in model grew.
fn how_it_grew(lab: &Laboratory) -> anyhow::Result<Chapter> {
    let growth =
        development::development(lab, None, lab.runs(), specification::DEFAULT_MODEL, None)?;
    Ok(Chapter {
        id: DEVELOPMENT.into(),
        title: "How the built-in model grew".into(),
        exhibits: growth.exhibits,
    })
}

/// Prints requests, tokens and dollars for each model and task.
fn dry_run(prepared: &PreparedRun<'_>, json: bool) -> anyhow::Result<Status> {
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
