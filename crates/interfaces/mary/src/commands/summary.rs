//! What is shown of a run's summary.

use std::io::IsTerminal;
use std::path::Path;

use mary_contract::{RunSummary, Table};
use mary_lab::scale::{MODELS, Scale};
use mary_report::terminal::{self, TableStyle};

pub fn show(summary: &RunSummary, json: bool) -> anyhow::Result<()> {
    if json {
        return super::print(&(terminal::json(summary)? + "\n"));
    }
    super::print_table(&terminal::table(summary, style()))
}

pub fn show_table(table: &Table) -> anyhow::Result<()> {
    super::print_table(&terminal::plain(table, style()))
}

/// Colours and width of the terminal that reads us.
pub fn style() -> TableStyle {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let width = columns.or_else(|| terminal.then(console_width).flatten());
    TableStyle { color, width }
}

fn console_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}

pub fn report_path(run: &Path) -> std::path::PathBuf {
    run.join("report.html")
}

/// Where the models of an adaptive run stand, beside what was asked of them.
pub fn show_standing(run: &Path, results: &RunSummary) -> anyhow::Result<()> {
    if results.manifest.execution.adaptive.is_none() {
        return Ok(());
    }
    let bank = Scale::read(run)?.bank(MODELS).len();
    let mut shown: Vec<&str> = Vec::new();
    for row in &results.rows {
        let Some(ability) = row
            .measure("ability")
            .filter(|_| !shown.contains(&row.model.as_str()))
        else {
            continue;
        };
        shown.push(&row.model);
        let own = results.rows.iter().filter(|other| other.model == row.model);
        let asked: usize = own.clone().map(|other| other.samples).sum();
        let dollars: f64 = own.filter_map(|other| other.usage.cost).sum();
        let saved = match dollars > 0.0 {
            true => format!(
                ", ${dollars:.4} spent and about ${:.4} saved",
                dollars * (bank.saturating_sub(asked)) as f64 / asked.max(1) as f64
            ),
            false => String::new(),
        };
        super::print(&format!(
            "{}: ability {:.2} [{:.2}, {:.2}]; {asked} of {bank} items asked ({:.0} %){saved}\n",
            row.model,
            ability.value,
            ability.low,
            ability.high,
            100.0 * asked as f64 / bank.max(1) as f64
        ))?;
    }
    Ok(())
}
