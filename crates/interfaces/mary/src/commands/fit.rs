//! `mary fit`: a mixed model of a table, by a formula as R users write it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use mary_contract::{Cell, Table, p_value};
use mary_stats::mixed::{self, Criterion, Design, Formula, Mixed, Redrawn};
use mary_stats::{LEVEL, StatsError};
use serde_json::json;

use super::{DECLARED, summary};
use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::{print, print_json};
use crate::exit::{Status, usage_error};
use crate::settings::Place;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitFamily {
    Linear,
    Logistic,
}

const FAMILIES: Choices<FitFamily> = &[
    ("linear", FitFamily::Linear),
    ("logistic", FitFamily::Logistic),
];

#[derive(Debug, Args)]
pub struct FitArgs {
    /// What is explained by what: 'rt ~ surprisal * group + (1 + surprisal | person) + (1 | item)'
    pub formula: String,
    /// Table with a header: CSV, or TSV by its ending
    pub table: PathBuf,
    /// Kind of outcome
    #[arg(long, default_value = "linear", value_parser = one_of("fit.families", FAMILIES))]
    pub family: FitFamily,
    /// Maximum likelihood instead of restricted [default: restricted, but full with --against]
    #[arg(long)]
    pub ml: bool,
    /// A smaller formula to test against, by likelihood ratio
    #[arg(long, value_name = "FORMULA")]
    pub against: Option<String>,
    /// Intervals from so many outcomes drawn from the fit and fitted again, instead of Wald's
    #[arg(long, value_name = "DRAWS")]
    pub bootstrap: Option<usize>,
    /// Print the fit as JSON
    #[arg(long)]
    pub json: bool,
}

impl Command for FitArgs {
    const NAME: &str = "fit";
    const ABOUT: &str = "Fit a mixed model to a table (linear or logistic)";

    fn run(&self, _place: &Place) -> anyhow::Result<Status> {
        let table = read(&self.table)?;
        let (design, found) = self.fit(&self.formula, &table)?;
        let redraw = |draws| mixed::redrawn(&design, &found, self.criterion(), draws, 0);
        let redrawn = told(self.bootstrap.map(redraw).transpose())?;
        let smaller = match &self.against {
            Some(formula) => Some(self.fit(formula, &table)?.1),
            None => None,
        };
        let test = smaller.as_ref().map(|smaller| found.against(smaller));
        let test = told(test.transpose())?;
        if self.json {
            let test = test.map(|(statistic, freedom, p)| {
                json!({"statistic": statistic, "freedom": freedom, "p": p})
            });
            return print_json(
                &json!({"fit": found, "against": smaller, "test": test, "bootstrap": redrawn}),
            );
        }
        let redrawn = redrawn.as_ref();
        summary::show_tables(&[fixed(&found, redrawn), random(&found, redrawn)])?;
        print(&self.notes(&found, test, redrawn))
    }
}

impl FitArgs {
    fn criterion(&self) -> Criterion {
        match self.ml || self.against.is_some() {
            true => Criterion::Ml,
            false => Criterion::Reml,
        }
    }

    fn fit(&self, formula: &str, table: &mixed::Table) -> anyhow::Result<(Design, Mixed)> {
        let design = Formula::parse(formula).and_then(|formula| formula.design(table));
        told(design.and_then(|design| {
            let found = match self.family {
                FitFamily::Linear => mixed::linear(&design, self.criterion()),
                FitFamily::Logistic => mixed::logistic(&design),
            };
            Ok((design, found?))
        }))
    }

    /// What the tables do not say.
    fn notes(
        &self,
        found: &Mixed,
        test: Option<(f64, usize, f64)>,
        redrawn: Option<&Redrawn>,
    ) -> String {
        let likelihood = match (self.family, self.criterion()) {
            (FitFamily::Logistic, _) => "log-likelihood (Laplace)",
            (_, Criterion::Reml) => "restricted log-likelihood",
            (_, Criterion::Ml) => "log-likelihood",
        };
        let how = match redrawn {
            Some(redrawn) => format!("intervals from {} refitted draws, p by", redrawn.draws),
            None => "intervals and p by".into(),
        };
        let mut lines = vec![format!(
            "{} rows, {likelihood} {:.3}; {how} normal quantiles (Wald)",
            found.rows, found.log_likelihood
        )];
        if let Some((statistic, freedom, p)) = test {
            lines.push(format!(
                "against {}: chi-squared {statistic:.3}, {freedom} degree(s) of freedom, p {}",
                self.against.as_deref().unwrap_or_default(),
                if p < 0.001 {
                    p_value(p)
                } else {
                    format!("= {}", p_value(p))
                }
            ));
        }
        if found.singular {
            lines.push("the fit is singular: a spread is zero or a correlation is one; the random effects are more than the data support".into());
        }
        if !found.converged {
            lines.push("the search did not settle: do not rely on these numbers\nhint: put numbers on similar scales, or leave out random slopes".into());
        }
        lines.join("\n") + "\n"
    }
}

/// What cannot be computed is what was asked.
pub fn told<T>(found: Result<T, StatsError>) -> anyhow::Result<T> {
    found.or_else(|error| usage_error(error.to_string()))
}

/// Columns in which every cell is a number are numbers; the others are words.
fn read(path: &Path) -> anyhow::Result<mixed::Table> {
    let tabs = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("tsv"));
    let mut reader = csv::ReaderBuilder::new();
    reader.delimiter(if tabs { b'\t' } else { b',' });
    let mut reader = reader
        .from_path(path)
        .with_context(|| path.display().to_string())?;
    let heads = reader
        .headers()
        .with_context(|| path.display().to_string())?
        .clone();
    let mut columns = vec![Vec::new(); heads.len()];
    for row in reader.records() {
        let row = row.with_context(|| path.display().to_string())?;
        columns
            .iter_mut()
            .zip(&row)
            .for_each(|(column, cell)| column.push(cell.to_owned()));
    }
    let mut table = mixed::Table::new();
    for (head, cells) in heads.iter().zip(columns) {
        let missing = |cell: &String| matches!(cell.trim(), "" | "NA" | "NaN" | "nan");
        if let Some(row) = cells.iter().position(missing) {
            table.gap(head, row + 1);
            continue;
        }
        let numbers: Option<Vec<f64>> = cells.iter().map(|cell| cell.trim().parse().ok()).collect();
        let added = match numbers {
            Some(numbers) => table.numbers(head, numbers),
            None => table.words(head, cells),
        };
        added.with_context(|| format!("{}: column `{head}`", path.display()))?;
    }
    Ok(table)
}

fn fixed(found: &Mixed, redrawn: Option<&Redrawn>) -> Table {
    let rows = found.names.iter().enumerate().map(|(at, name)| {
        let wald = || found.interval(at, LEVEL);
        let own = redrawn.map_or_else(wald, |redrawn| redrawn.fixed.get(at).copied());
        let (low, high) = own.unwrap_or((f64::NAN, f64::NAN));
        vec![
            name.clone(),
            format!("{:.4}", found.estimates[at]),
            format!("{:.4}", found.errors[at]),
            format!("[{low:.4}, {high:.4}]"),
            found.p(at).map_or_else(String::new, p_value),
        ]
    });
    let table = DECLARED.table("fit-fixed");
    table.with_rows(Cell::figures(rows.collect()))
}

fn random(found: &Mixed, redrawn: Option<&Redrawn>) -> Table {
    let bounds = |of: Option<&(f64, f64)>| {
        of.map_or_else(String::new, |(low, high)| format!("[{low:.4}, {high:.4}]"))
    };
    let mut rows = Vec::new();
    for (term, spread) in found.spreads.iter().enumerate() {
        let mut correlations = spread.correlations.iter();
        for (at, effect) in spread.effects.iter().enumerate() {
            let own: Vec<String> = correlations
                .by_ref()
                .take(at)
                .map(|r| format!("{r:.2}"))
                .collect();
            rows.push(vec![
                format!("{} ({})", spread.group, spread.levels),
                effect.clone(),
                format!("{:.4}", spread.deviations[at]),
                bounds(redrawn.and_then(|r| r.deviations.get(term)?.get(at))),
                own.join(" "),
            ]);
        }
    }
    if let Some(residual) = found.residual {
        rows.push(vec![
            "residual".into(),
            String::new(),
            format!("{residual:.4}"),
            bounds(redrawn.and_then(|r| r.residual.as_ref())),
            String::new(),
        ]);
    }
    if redrawn.is_none() {
        rows.iter_mut().for_each(|row| drop(row.remove(3)));
    }
    DECLARED
        .table("fit-random")
        .with_heads("interval", redrawn.map(|_| "95% interval"))
        .with_rows(Cell::figures(rows))
}
