//! `mary export`: a run in another tool's format.

use std::path::PathBuf;

use clap::Args;
use mary_store::{ExportForm, RunFolder};

use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::exit::Status;
use crate::rundir;
use crate::settings::Place;

const FORMS: Choices<ExportForm> = &[
    ("inspect", ExportForm::InspectJson, "Inspect's JSON log"),
    ("eval", ExportForm::InspectEval, "Inspect's .eval archive"),
    (
        "lm-eval",
        ExportForm::LmEval,
        "lm-evaluation-harness results and samples",
    ),
    (
        "csv",
        ExportForm::Csv,
        "One row per sample, for R, pandas and spreadsheets",
    ),
    (
        "parquet",
        ExportForm::Parquet,
        "The same rows with types, compressed, for pandas, polars, DuckDB and Arrow",
    ),
];

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run folder, or the beginning of a run's name [default: the newest]
    pub run: Option<String>,
    /// Format
    #[arg(long, visible_alias = "format", value_parser = one_of(FORMS))]
    pub to: ExportForm,
    /// Folder to write into [default: export/ in the run folder]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Command for ExportArgs {
    const NAME: &str = "export";
    const ABOUT: &str = "Write a run in another tool's format";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let folder = RunFolder::open(&rundir::find(place, self.run.as_deref())?)?;
        let out = self
            .out
            .clone()
            .unwrap_or_else(|| folder.path().join("export"));
        for file in mary_store::export(&folder, self.to, &out)? {
            super::print(&format!("{}\n", file.display()))?;
        }
        Ok(Status::Done)
    }
}
