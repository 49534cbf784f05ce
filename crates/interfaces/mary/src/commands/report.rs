//! `mary report`: one self-contained page of one or more runs.

use std::path::PathBuf;

use clap::Args;
use mary_report::html::ReportOptions;

use super::chapters::{write_tables, write_with};
use super::summary;
use crate::command::Command;
use crate::exit::Status;
use crate::own;
use crate::rundir;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run folders or names [default: the newest]
    pub runs: Vec<String>,
    /// File to write [default: report.html in the (first) run folder]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
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
        let runs = rundir::find_all(place, &self.runs)?;
        let out = match (&self.out, runs.first()) {
            (Some(out), _) => out.clone(),
            (None, Some(first)) => summary::report_path(first),
            (None, None) => PathBuf::from("report.html"),
        };
        let options = ReportOptions {
            max_samples: self.samples,
            ..ReportOptions::default()
        };
        write_with(&place.registry, &runs, Vec::new(), &out, &options)?;
        if let Some(folder) = &self.tables {
            write_tables(&place.registry, &runs, folder)?;
            super::tell(&format!("tables: {}", folder.display()));
        }
        super::print(&format!("{}\n", out.display()))?;
        if self.open {
            let whole = std::path::absolute(&out).unwrap_or(out);
            super::open_in_browser(&whole.to_string_lossy());
        }
        Ok(Status::Done)
    }
}
