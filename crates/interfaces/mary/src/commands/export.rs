//! `mary export`: a run, or the runs of a sweep, in another tool's format.

use std::path::{Path, PathBuf};

use clap::Args;
use mary_contract::{Cell, Table};
use mary_lab::checkpoints::State;
use mary_report::text;
use mary_store::{ExportForm, RunFolder};

use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::{DECLARED, print};
use crate::exit::{Status, usage_error};
use crate::rundir;
use crate::settings::Place;

const FORMS: Choices<ExportForm> = &[
    ("inspect", ExportForm::InspectJson),
    ("eval", ExportForm::InspectEval),
    ("lm-eval", ExportForm::LmEval),
    ("csv", ExportForm::Csv),
    ("parquet", ExportForm::Parquet),
    ("every-eval-ever", ExportForm::EveryEvalEver),
];

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Folder of a run or a sweep, or the beginning of its name; sweep@step512 is one checkpoint [default: the
    /// newest run]
    pub run: Option<String>,
    /// Format
    #[arg(long, visible_alias = "format", value_parser = one_of("export.forms", FORMS))]
    pub to: ExportForm,
    /// Folder to write into [default: export/ in its folder]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Command for ExportArgs {
    const NAME: &str = "export";
    const ABOUT: &str = "Write a run in another tool's format";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let found = rundir::look_up(place, self.run.as_deref())?;
        let runs = rundir::runs_of(self.run.as_slice(), std::slice::from_ref(&found))?;
        let home = match (found.sweep(), runs.first()) {
            (Some(sweep), _) => sweep.path(),
            (None, Some(run)) => run,
            (None, None) => Path::new("."),
        };
        let out = self.out.clone().unwrap_or_else(|| home.join("export"));
        // The usual place lies in a folder that may come from elsewhere.
        if found.sweep().is_some() && self.out.is_none() && out.is_symlink() {
            return usage_error(format!(
                "{} is a link to another folder, and is not written through\nhint: name a folder with --out",
                out.display()
            ));
        }
        for run in &runs {
            for file in mary_store::export(&RunFolder::open(run)?, self.to, &out)? {
                print(&format!("{}\n", file.display()))?;
            }
        }
        if let Some(sweep) = found.sweep() {
            let file = out.join("checkpoints.csv");
            let rows = text::csv(&listed(sweep));
            super::write_file(&file, rows.as_bytes())?;
            print(&format!("{}\n", file.display()))?;
        }
        Ok(Status::Done)
    }
}

/// The checkpoints of a sweep, to be joined with the samples by their model.
fn listed(sweep: &State) -> Table {
    let number = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
    let rows = sweep.sound().into_iter().map(|(record, run)| {
        let run = run.file_name().unwrap_or_default().to_string_lossy();
        let (step, tokens) = (number(record.step), number(record.tokens));
        let (model, size, revision) = (record.model, record.size, record.revision);
        vec![model, size, revision, step, tokens, run.into_owned()]
    });
    let table = DECLARED.table("checkpoints");
    table.with_rows(Cell::figures(rows.collect()))
}
