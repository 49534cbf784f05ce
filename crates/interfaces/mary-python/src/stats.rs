//! The laboratory's statistics on numbers of one's own.

use mary::library;
use mary_lab::scale::{Scale, ScaleItem, ScaleSubject};
use std::path::PathBuf;

use mary_stats::difference::{ScoreRange, compare};
use mary_stats::mixed::{self, Criterion, Formula};
use mary_stats::{LEVEL, StatsError};
use pyo3::prelude::*;
use serde_json::json;

use crate::columns::Cells::{Count, Number, Text};
use crate::columns::{Columns, Table};
use crate::trouble::exception;
use crate::{Args, Given, came, give, told};

/// The difference of two columns of scores on the same items, as JSON.
pub(crate) fn paired(args: Args<'_, '_>) -> Given {
    let (first, second, clusters, unit): (Vec<f64>, Vec<f64>, Option<Vec<usize>>, bool) =
        args.extract()?;
    let py = args.py();
    let range = if unit {
        ScoreRange::Unit
    } else {
        ScoreRange::Unbounded
    };
    let found = py.detach(|| compare(&first, &second, clusters.as_deref(), range));
    let found = found.map_err(|e| exception(py, "usage", &e.to_string(), None, None))?;
    let text = serde_json::to_string(&found).map_err(Into::into);
    give(py, came(py, text)?)
}

/// A mixed model of columns, as JSON: formula, a smaller one, family, whether by full likelihood, draws and seed of a
/// bootstrap; columns of numbers, of words, and those with a gap.
pub(crate) fn mixed(args: Args<'_, '_>) -> Given {
    type Columns<T> = Vec<(String, Vec<T>)>;
    let (formula, against, logistic, ml): (String, Option<String>, bool, bool) =
        args.get_slice(0, 4).extract()?;
    let (draws, seed): (usize, u64) = args.get_slice(4, 6).extract()?;
    let (numbers, words, gaps): (Columns<f64>, Columns<String>, Vec<(String, usize)>) =
        args.get_slice(6, 9).extract()?;
    let py = args.py();
    let found = py.detach(move || {
        let mut table = mixed::Table::new();
        for (name, values) in numbers {
            table.numbers(&name, values)?;
        }
        for (name, values) in words {
            table.words(&name, values)?;
        }
        gaps.iter().for_each(|(name, row)| table.gap(name, *row));
        let criterion = match ml || against.is_some() {
            true => Criterion::Ml,
            false => Criterion::Reml,
        };
        let fit = |formula: &str| {
            let design = Formula::parse(formula)?.design(&table)?;
            let found = match logistic {
                true => mixed::logistic(&design),
                false => mixed::linear(&design, criterion),
            };
            found.map(|found| (design, found))
        };
        let (design, found) = fit(&formula)?;
        let test = against.map(|smaller| found.against(&fit(&smaller)?.1)).transpose()?;
        let redrawn = (draws > 0)
            .then(|| mixed::redrawn(&design, &found, criterion, draws, seed))
            .transpose()?;
        let effects = 0..found.names.len();
        let wald: Vec<_> = effects.clone().map(|at| found.interval(at, LEVEL)).collect();
        let p: Vec<Option<f64>> = effects.map(|at| found.p(at)).collect();
        Ok(json!({"fit": found, "wald": wald, "p": p, "aic": found.aic(), "test": test, "bootstrap": redrawn}))
    });
    let found =
        found.map_err(|e: StatsError| exception(py, "usage", &e.to_string(), None, None))?;
    give(py, found.to_string())
}

/// Makes a scale and gives its folder.
pub(crate) fn scale(args: Args<'_, '_>) -> Given {
    let (places, asked): (String, String) = args.extract()?;
    let py = args.py();
    let made = py.detach(|| library::scale(&told(&places)?, told(&asked)?));
    give(py, came(py, made)?.display().to_string())
}

/// What a scale says of itself, its items and its subjects.
pub(crate) fn read_scale(args: Args<'_, '_>) -> Given {
    let (folder,): (PathBuf,) = args.extract()?;
    let py = args.py();
    let scale = came(py, Scale::read(&folder).map_err(Into::into))?;
    let items = Table::of(scale.items, ITEMS).given(py)?;
    let subjects = Table::of(scale.subjects, SUBJECTS).given(py)?;
    give(py, (scale.findings, items, subjects))
}

const ITEMS: &Columns<ScaleItem> = &[
    ("task", Text(|i| Some((&*i.task).into()))),
    ("item", Text(|i| Some((&*i.id).into()))),
    ("kind", Text(|i| Some((&*i.kind).into()))),
    ("group", Text(|i| Some(i.only.as_deref()?.into()))),
    ("difficulty", Number(|i| Some(i.difficulty))),
    ("error", Number(|i| Some(i.error))),
    ("slope", Number(|i| Some(i.item.slope))),
    ("guessing", Number(|i| Some(i.item.guessing))),
    ("outfit_z", Number(|i| Some(i.fit?.0))),
    ("infit", Number(|i| Some(i.fit?.1))),
    ("text", Text(|i| Some((&*i.text).into()))),
];

const SUBJECTS: &Columns<ScaleSubject> = &[
    ("subject", Text(|s| Some((&*s.name).into()))),
    ("group", Text(|s| Some((&*s.group).into()))),
    ("lineage", Text(|s| Some((&*s.lineage).into()))),
    ("ability", Number(|s| Some(s.ability.as_ref()?.value))),
    ("low", Number(|s| Some(s.ability.as_ref()?.low))),
    ("high", Number(|s| Some(s.ability.as_ref()?.high))),
    ("expected", Number(|s| Some(s.expected.as_ref()?.value))),
    ("answers", Count(|s| Some(s.answers))),
    ("above_chance", Count(|s| Some(usize::from(s.above_chance)))),
    ("calibrates", Count(|s| Some(usize::from(s.calibrates)))),
    ("outfit", Number(|s| s.outfit)),
];
