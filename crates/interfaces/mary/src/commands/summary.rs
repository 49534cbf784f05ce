//! What is shown of a run's summary.

use std::io::IsTerminal;
use std::path::Path;

use mary_contract::{RunSummary, Table};
use mary_report::terminal::{self, TableStyle};
use mary_store::RunFolder;

use crate::commands::{print, print_table};
use crate::exit::Status;

pub fn show(summary: &RunSummary, json: bool) -> anyhow::Result<Status> {
    if json {
        return print(&(terminal::json(summary)? + "\n"));
    }
    print_table(&terminal::table(summary, style()))
}

pub fn show_table(table: &Table) -> anyhow::Result<()> {
    print_table(&terminal::plain(table, style())).map(drop)
}

/// Prints tables, an empty line behind each.
pub fn show_tables<'a>(tables: impl IntoIterator<Item = &'a Table>) -> anyhow::Result<Status> {
    for table in tables {
        print_table(&format!("{}\n", terminal::plain(table, style())))?;
    }
    Ok(Status::Done)
}

/// Colours and width of the terminal that reads us.
pub fn style() -> TableStyle {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let shown = || console::Term::stdout().size_checked();
    let width = columns.or_else(|| Some(usize::from(terminal.then(shown)??.1)));
    TableStyle { color, width }
}

pub fn report_path(run: &Path) -> std::path::PathBuf {
    run.join("report.html")
}

/// Where the models of an adaptive run stand, beside what was asked of them.
pub fn show_standing(run: &Path, results: &RunSummary) -> anyhow::Result<()> {
    if results.manifest.execution.adaptive.is_none() {
        return Ok(());
    }
    let shown = mary_lab::scale::of_adaptive(&RunFolder::open(run)?, results)?;
    shown.tables.iter().try_for_each(show_table)
}
