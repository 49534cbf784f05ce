//! What came of runs, as tables, JSON and files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mary::library::{self, Places};
use mary_contract::Sample;
use mary_report::VersusChance;
use mary_store::RunFolder;
use pyo3::prelude::*;

use crate::columns::Cells::{Count, Number, Text};
use crate::columns::{Column, Columns, Rows, Table, Values};
use crate::{Args, Given, came, give, told};

pub(crate) fn tasks(args: Args<'_, '_>) -> Given {
    let (places,): (String,) = args.extract()?;
    let py = args.py();
    let registry = came(py, told(&places).and_then(|p| library::registry(&p, &[])))?;
    let cards = registry.tasks().iter().map(|task| task.card());
    let table = Table::of(
        cards,
        &[
            ("id", Text(|card| Some((&*card.id).into()))),
            ("family", Text(|card| Some((&*card.family).into()))),
            ("title", Text(|card| Some((&*card.title).into()))),
            ("chance", Number(|card| card.chance)),
            ("human", Number(|card| Some(card.human.as_ref()?.value))),
            (
                "dataset",
                Text(|card| Some(card.dataset.as_deref()?.into())),
            ),
            (
                "settings",
                Text(|card| {
                    let set = card.params.iter();
                    let set = set.map(|p| format!("{}={}", p.name, p.default));
                    Some(set.collect::<Vec<_>>().join(", ").into())
                }),
            ),
            ("about", Text(|card| Some((&*card.about).into()))),
        ],
    );
    table.given(py)
}

pub(crate) fn manifest(args: Args<'_, '_>) -> Given {
    let (folder,): (PathBuf,) = args.extract()?;
    let read = || Ok(serde_json::to_string(RunFolder::open(&folder)?.manifest())?);
    give(args.py(), came(args.py(), read())?)
}

/// Every sample of some runs: a row for each model, task, item and trial.
pub(crate) fn samples(args: Args<'_, '_>) -> Given {
    let (folders,): (Vec<PathBuf>,) = args.extract()?;
    let py = args.py();
    let table = py.detach(|| samples_of(&folders));
    came(py, table)?.given(py)
}

/// The words of the first answer that has any.
fn said(sample: &Sample) -> Option<&str> {
    let mut replies = sample
        .exchanges
        .iter()
        .filter_map(|e| e.reply.as_ref().ok());
    replies.find_map(|reply| Some(reply.answer.as_generated()?.text.as_str()))
}

const SAMPLES: &Columns<Sample> = &[
    ("model", Text(|s| Some((&*s.id.model).into()))),
    ("task", Text(|s| Some((&*s.id.task).into()))),
    ("item", Text(|s| Some((&*s.id.item).into()))),
    ("trial", Count(|s| Some(s.id.trial as usize))),
    ("outcome", Text(|s| Some(s.judgement.outcome.name().into()))),
    ("score", Number(|s| s.judgement.score())),
    (
        "reason",
        Text(|s| Some(s.judgement.outcome.reason()?.into())),
    ),
    (
        "parsed",
        Text(|s| Some(s.judgement.parsed.as_deref()?.into())),
    ),
    ("answer", Text(|s| Some(said(s)?.into()))),
    ("cluster", Text(|s| Some(s.item.cluster.as_deref()?.into()))),
];

fn samples_of(folders: &[PathBuf]) -> anyhow::Result<Table> {
    // Which tags there are is known once all were seen.
    let mut tags = BTreeSet::new();
    for folder in folders {
        for verdict in RunFolder::open(folder)?.verdicts()? {
            tags.extend(verdict?.item.tags.into_keys());
        }
    }
    let tags = tags.iter().map(|tag| Column::new(tag, Values::text()));
    let mut tags: Vec<Column> = tags.collect();
    let mut rows = Rows::new(SAMPLES);
    for folder in folders {
        for sample in RunFolder::open(folder)?.samples()? {
            let sample = sample?;
            rows.push(&sample);
            for tag in &mut tags {
                let value = sample.item.tags.get(&tag.name);
                tag.push_text(value.map(String::as_str));
            }
        }
    }
    let mut table = rows.finish();
    table.columns.extend(tags);
    Ok(table)
}

/// A row for each model and task of some runs.
pub(crate) fn summary(args: Args<'_, '_>) -> Given {
    let (places, folders): (String, Vec<PathBuf>) = args.extract()?;
    let py = args.py();
    let table = py.detach(|| summary_of(&told(&places)?, &folders));
    came(py, table)?.given(py)
}

fn summary_of(places: &Places, folders: &[PathBuf]) -> anyhow::Result<Table> {
    let registry = library::registry(places, folders)?;
    let summaries = folders.iter().map(|f| library::summary(&registry, f));
    let summaries = summaries.collect::<anyhow::Result<Vec<_>>>()?;
    let rows = summaries.iter().flat_map(|run| {
        let rows = run.rows.iter();
        rows.map(move |row| (row, run.manifest.id.as_str()))
    });
    Ok(Table::of(
        rows,
        &[
            ("model", Text(|(row, _)| Some((&*row.model).into()))),
            ("task", Text(|(row, _)| Some((&*row.task).into()))),
            ("score", Number(|(row, _)| Some(row.score.as_ref()?.value))),
            ("low", Number(|(row, _)| Some(row.score.as_ref()?.low))),
            ("high", Number(|(row, _)| Some(row.score.as_ref()?.high))),
            (
                "method",
                Text(|(row, _)| Some((&*row.score.as_ref()?.method).into())),
            ),
            ("chance", Number(|(row, _)| row.chance)),
            (
                "versus_chance",
                Text(|(row, _)| Some(VersusChance::judge(row).name().into())),
            ),
            ("p", Number(|(row, _)| Some(row.chance_test?.p))),
            ("p_holm", Number(|(row, _)| Some(row.chance_test?.p_holm))),
            ("human", Number(|(row, _)| row.human)),
            ("samples", Count(|(row, _)| Some(row.samples))),
            ("scored", Count(|(row, _)| Some(row.scored))),
            ("ties", Count(|(row, _)| Some(row.ties))),
            (
                "unscored",
                Count(|(row, _)| Some(row.unscored.values().sum())),
            ),
            ("failed", Count(|(row, _)| Some(row.failed.values().sum()))),
            ("run", Text(|(_, run)| Some((*run).into()))),
        ],
    ))
}

/// Models with each other, or all with the first, item by item: a table, and what could not be compared.
pub(crate) fn compare(args: Args<'_, '_>) -> Given {
    type Asked = (String, Vec<PathBuf>, Vec<String>, Vec<String>, bool);
    let (places, folders, across, tasks, with_first): Asked = args.extract()?;
    let py = args.py();
    let wanted = library::CompareOptions {
        tasks: &tasks,
        across: &across,
        with_first,
    };
    let compared = py.detach(|| {
        let registry = library::registry(&told(&places)?, &folders)?;
        library::compare(&registry, &folders, &wanted)
    });
    let compared = came(py, compared)?;
    let table = Table::of(
        compared.comparisons,
        &[
            ("task", Text(|row| Some((&*row.task).into()))),
            ("first", Text(|row| Some((&*row.first).into()))),
            ("second", Text(|row| Some((&*row.second).into()))),
            ("first_mean", Number(|row| Some(row.first_mean))),
            ("second_mean", Number(|row| Some(row.second_mean))),
            ("difference", Number(|row| Some(row.difference))),
            ("low", Number(|row| row.low)),
            ("high", Number(|row| row.high)),
            ("p", Number(|row| row.p)),
            ("p_holm", Number(|row| row.p_holm)),
            ("paired", Count(|row| Some(row.paired))),
            ("units", Count(|row| Some(row.units))),
            ("method", Text(|row| Some((&*row.method).into()))),
        ],
    );
    give(py, (table.given(py)?, compared.warnings))
}

pub(crate) fn report(args: Args<'_, '_>) -> Given {
    let (places, folders, out): (String, Vec<PathBuf>, PathBuf) = args.extract()?;
    let py = args.py();
    let written = py.detach(|| {
        let registry = library::registry(&told(&places)?, &folders)?;
        library::report(&registry, &folders, &out)
    });
    came(py, written)?;
    Ok(py.None())
}

pub(crate) fn exhibits(args: Args<'_, '_>) -> Given {
    let (places, folders, development): (String, Vec<PathBuf>, bool) = args.extract()?;
    let py = args.py();
    let shown = py.detach(|| {
        let registry = library::registry(&told(&places)?, &folders)?;
        let all = library::exhibits(&registry, &folders, development)?;
        Ok(serde_json::to_string(&all)?)
    });
    give(py, came(py, shown)?)
}
