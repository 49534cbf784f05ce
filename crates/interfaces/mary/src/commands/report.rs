//! `mary report`: one self-contained page of one or more runs.

use std::path::PathBuf;

use clap::Args;
use mary_lab::checkpoints::State;
use mary_report::html::ReportOptions;

use super::chapters::{AnyChapter, write_tables, write_with};
use super::{summary, sweep};
use crate::command::Command;
use crate::commands::{print, tell};
use crate::exit::Status;
use crate::own;
use crate::rundir::{self, Found};
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders or names of runs and sweeps; sweep@step512 is one checkpoint [default: the newest run]
    pub runs: Vec<String>,
    /// File to write [default: report.html in the (first) folder]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Show a model beside the one it was built on: BUILT=BASE, or text=BASE,vision=BUILT (repeatable)
    #[arg(long, value_name = "PAIR")]
    pub pair: Vec<String>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Samples carried by the page, at most; the rest is counted
    #[arg(long, default_value_t = 3000)]
    pub samples: usize,
    /// Also write every table as CSV, Markdown and LaTeX, and every figure's data, into this folder
    #[arg(long, value_name = "DIR")]
    pub tables: Option<PathBuf>,
}

impl Command for ReportArgs {
    const NAME: &str = "report";
    const ABOUT: &str = "Make the HTML report of one or more runs";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        own::stored(place, &self.runs, true);
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let found = rundir::look_up_all(place, &self.runs)?;
        let runs = rundir::runs_of(&self.runs, &found)?;
        let sweeps: Vec<&State> = found.iter().filter_map(Found::sweep).collect();
        let out = match (
            &self.out,
            found.first().and_then(Found::sweep),
            runs.first(),
        ) {
            (Some(out), _, _) => out.clone(),
            (None, Some(sweep), _) => summary::report_path(sweep.path()),
            (None, None, Some(first)) => summary::report_path(first),
            (None, None, None) => PathBuf::from("report.html"),
        };
        let mut options = ReportOptions::default();
        let mut chapter = None;
        if !sweeps.is_empty() {
            options = sweep::leading();
            chapter = Some(sweep::chapter(&place.registry, &sweeps)?);
        }
        options.max_samples = self.samples;
        let pairs = super::pairs::chapter(place, &runs, &self.pair)?;
        let first: Vec<AnyChapter<'_>> = chapter.into_iter().chain(pairs).collect();
        write_with(&place.registry, &runs, &first, &out, &options)?;
        if let Some(folder) = &self.tables {
            write_tables(&place.registry, &runs, &first, folder)?;
            tell!("tables: {}", folder.display());
        }
        print(&format!("{}\n", out.display()))?;
        if self.open {
            let whole = std::path::absolute(&out).unwrap_or(out);
            super::open_in_browser(&whole.to_string_lossy());
        }
        Ok(Status::Done)
    }
}
