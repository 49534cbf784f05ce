//! What came of runs, as tables, JSON and files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mary::library;
use mary_contract::{Outcome, Response, Sample};
use mary_report::VersusChance;
use mary_store::RunFolder;
use pyo3::prelude::*;

use crate::columns::{Column, Table};
use crate::{Args, Given, came, give};

/// The tasks there are, a row for each.
pub(crate) fn tasks(args: Args<'_, '_>) -> Given {
    let (words,): (Vec<String>,) = args.extract()?;
    let py = args.py();
    let registry = came(py, library::registry(&words, &[]))?;
    let mut columns = vec![
        Column::text("id"),
        Column::text("family"),
        Column::text("title"),
        Column::number("chance"),
        Column::number("human"),
        Column::text("dataset"),
        Column::text("settings"),
        Column::text("about"),
    ];
    for task in registry.tasks() {
        let card = task.card();
        let settings = card
            .params
            .iter()
            .map(|p| format!("{}={}", p.name, p.default));
        let settings = settings.collect::<Vec<_>>().join(", ");
        if let [id, family, title, chance, human, dataset, set, about] = columns.as_mut_slice() {
            id.push_text(Some(&card.id));
            family.push_text(Some(&card.family));
            title.push_text(Some(&card.title));
            chance.push_number(card.chance);
            human.push_number(card.human.as_ref().map(|h| h.value));
            dataset.push_text(card.dataset.as_deref());
            set.push_text(Some(&settings));
            about.push_text(Some(&card.about));
        }
    }
    Table { columns }.given(py)
}

/// The manifest of a run, as JSON.
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

fn samples_of(folders: &[PathBuf]) -> anyhow::Result<Table> {
    // Which tags there are is known once all were seen.
    let mut tags = BTreeSet::new();
    for folder in folders {
        for verdict in RunFolder::open(folder)?.verdicts()? {
            tags.extend(verdict?.item.tags.into_keys());
        }
    }
    let tags: Vec<String> = tags.into_iter().collect();
    let mut columns = vec![
        Column::text("model"),
        Column::text("task"),
        Column::text("item"),
        Column::count("trial"),
        Column::text("outcome"),
        Column::number("score"),
        Column::text("reason"),
        Column::text("parsed"),
        Column::text("answer"),
        Column::text("cluster"),
    ];
    let first_tag = columns.len();
    columns.extend(tags.iter().map(|t| Column::text(t)));
    for folder in folders {
        for sample in RunFolder::open(folder)?.samples()? {
            add(&mut columns, first_tag, &tags, &sample?);
        }
    }
    Ok(Table { columns })
}

fn add(columns: &mut [Column], first_tag: usize, tags: &[String], sample: &Sample) {
    let (outcome, score, reason) = match &sample.judgement.outcome {
        Outcome::Scored(score) => ("scored", Some(*score), None),
        Outcome::Unscored(reason) => ("unscored", None, Some(reason.name().to_owned())),
        Outcome::Failed(failure) => ("failed", None, Some(failure.message.clone())),
    };
    let said = sample
        .exchanges
        .iter()
        .find_map(|e| match &e.reply.as_ref().ok()?.answer {
            Response::Generated(generated) => Some(generated.text.as_str()),
            _ => None,
        });
    let (own, tagged) = columns.split_at_mut(first_tag);
    if let [
        model,
        task,
        item,
        trial,
        ended,
        scores,
        reasons,
        parsed,
        answer,
        cluster,
    ] = own
    {
        model.push_text(Some(&sample.id.model));
        task.push_text(Some(&sample.id.task));
        item.push_text(Some(&sample.id.item));
        trial.push_count(Some(sample.id.trial as usize));
        ended.push_text(Some(outcome));
        scores.push_number(score);
        reasons.push_text(reason.as_deref());
        parsed.push_text(sample.judgement.parsed.as_deref());
        answer.push_text(said);
        cluster.push_text(sample.item.cluster.as_deref());
    }
    for (column, tag) in tagged.iter_mut().zip(tags) {
        column.push_text(sample.item.tags.get(tag).map(String::as_str));
    }
}

/// A row for each model and task of some runs.
pub(crate) fn summary(args: Args<'_, '_>) -> Given {
    let (words, folders): (Vec<String>, Vec<PathBuf>) = args.extract()?;
    let py = args.py();
    let table = py.detach(|| summary_of(&words, &folders));
    came(py, table)?.given(py)
}

fn summary_of(words: &[String], folders: &[PathBuf]) -> anyhow::Result<Table> {
    let registry = library::registry(words, folders)?;
    let mut columns = vec![
        Column::text("model"),
        Column::text("task"),
        Column::number("score"),
        Column::number("low"),
        Column::number("high"),
        Column::text("method"),
        Column::number("chance"),
        Column::text("versus_chance"),
        Column::number("p"),
        Column::number("p_holm"),
        Column::number("human"),
        Column::count("samples"),
        Column::count("scored"),
        Column::count("ties"),
        Column::count("unscored"),
        Column::count("failed"),
        Column::text("run"),
    ];
    for folder in folders {
        let summary = library::summary(&registry, folder)?;
        for row in &summary.rows {
            let score = row.score.as_ref();
            if let [
                model,
                task,
                value,
                low,
                high,
                method,
                chance,
                versus,
                p,
                p_holm,
                human,
                samples,
                scored,
                ties,
                unscored,
                failed,
                run,
            ] = columns.as_mut_slice()
            {
                model.push_text(Some(&row.model));
                task.push_text(Some(&row.task));
                value.push_number(score.map(|s| s.value));
                low.push_number(score.map(|s| s.low));
                high.push_number(score.map(|s| s.high));
                method.push_text(score.map(|s| s.method.as_str()));
                chance.push_number(row.chance);
                versus.push_text(Some(VersusChance::of(row).name()));
                p.push_number(row.chance_test.map(|t| t.p));
                p_holm.push_number(row.chance_test.map(|t| t.p_holm));
                human.push_number(row.human);
                samples.push_count(Some(row.samples));
                scored.push_count(Some(row.scored));
                ties.push_count(Some(row.ties));
                unscored.push_count(Some(row.unscored.values().sum()));
                failed.push_count(Some(row.failed.values().sum()));
                run.push_text(Some(&summary.manifest.id));
            }
        }
    }
    Ok(Table { columns })
}

/// Models with each other, or all with the first, item by item: a table, and what could not be compared.
pub(crate) fn compare(args: Args<'_, '_>) -> Given {
    type Asked = (Vec<String>, Vec<PathBuf>, Vec<String>, Vec<String>, bool);
    let (words, folders, across, tasks, with_first): Asked = args.extract()?;
    let py = args.py();
    let wanted = library::Wanted {
        tasks: &tasks,
        across: &across,
        with_first,
    };
    let compared = py.detach(|| {
        let registry = library::registry(&words, &folders)?;
        library::compare(&registry, &folders, &wanted)
    });
    let compared = came(py, compared)?;
    let mut columns = vec![
        Column::text("task"),
        Column::text("first"),
        Column::text("second"),
        Column::number("first_mean"),
        Column::number("second_mean"),
        Column::number("difference"),
        Column::number("low"),
        Column::number("high"),
        Column::number("p"),
        Column::number("p_holm"),
        Column::count("paired"),
        Column::count("units"),
        Column::text("method"),
    ];
    for row in &compared.comparisons {
        if let [
            task,
            first,
            second,
            first_mean,
            second_mean,
            difference,
            low,
            high,
            p,
            p_holm,
            paired,
            units,
            method,
        ] = columns.as_mut_slice()
        {
            task.push_text(Some(&row.task));
            first.push_text(Some(&row.first));
            second.push_text(Some(&row.second));
            first_mean.push_number(Some(row.first_mean));
            second_mean.push_number(Some(row.second_mean));
            difference.push_number(Some(row.difference));
            low.push_number(row.low);
            high.push_number(row.high);
            p.push_number(row.p);
            p_holm.push_number(row.p_holm);
            paired.push_count(Some(row.paired));
            units.push_count(Some(row.units));
            method.push_text(Some(&row.method));
        }
    }
    let table = Table { columns }.given(py)?;
    give(py, (table, compared.warnings))
}

/// Writes the report of some runs.
pub(crate) fn report(args: Args<'_, '_>) -> Given {
    let (words, folders, out): (Vec<String>, Vec<PathBuf>, PathBuf) = args.extract()?;
    let py = args.py();
    let written = py.detach(|| {
        let registry = library::registry(&words, &folders)?;
        library::report(&registry, &folders, &out)
    });
    came(py, written)?;
    Ok(py.None())
}

/// Tables and figures of some runs, as JSON.
pub(crate) fn exhibits(args: Args<'_, '_>) -> Given {
    let (words, folders, development): (Vec<String>, Vec<PathBuf>, bool) = args.extract()?;
    let py = args.py();
    let shown = py.detach(|| {
        let registry = library::registry(&words, &folders)?;
        let all = library::exhibits(&registry, &folders, development)?;
        Ok(serde_json::json!({
            "tables": all.tables,
            "figures": all.figures,
            "pictures": all.pictures,
        })
        .to_string())
    });
    give(py, came(py, shown)?)
}
