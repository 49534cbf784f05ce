//! `mary data list|pull|verify|audit|tuning`.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use mary_contract::{Cell, Table, TuningRequest};
use mary_fetch::datasets::{FileState, LocalData};
use mary_report::terminal;
use serde_json::json;

use super::summary::style;
use crate::cli::{DataAction, DataArgs};
use crate::exit::{MissingError, Status, UsageError};
use crate::matching;
use crate::settings::Place;
use crate::suite::TaskOptions;

/// Lists, fetches, verifies or audits datasets.
pub fn data(place: &Place, args: &DataArgs) -> anyhow::Result<Status> {
    let local = LocalData::new(place.data.clone(), place.datasets());
    match &args.action {
        DataAction::List { json } => list(&local, *json),
        DataAction::Pull { ids } => pull(&local, ids),
        DataAction::Verify { ids } => verify(&local, ids),
        DataAction::Audit(args) => super::audit::audit(place, &local, args),
        DataAction::Tuning {
            task,
            form,
            n,
            set,
            seed,
            out,
        } => {
            let wanted = TuningRequest {
                form: (*form).into(),
                n: *n,
                params: TaskOptions::pairs(set)?.into_iter().collect(),
                seed: *seed,
            };
            super::tuning::tuning(&place.registry, &local, task, &wanted, out)
        }
    }
}

fn list(local: &LocalData, json: bool) -> anyhow::Result<Status> {
    let known = local.list();
    if json {
        let cards: Vec<_> = known
            .iter()
            .map(|(card, here)| json!({"dataset": card, "folder": here, "bytes": card.bytes()}))
            .collect();
        super::print_json(&cards)?;
        return Ok(Status::Done);
    }
    let rows = known.iter().map(|(card, here)| {
        vec![
            card.id.to_owned(),
            card.title.to_owned(),
            card.licence.to_owned(),
            size(card.bytes()),
            match (here, card.is_published()) {
                (Some(_), _) => "here".to_owned(),
                (None, true) => "can be pulled".to_owned(),
                (None, false) => "bring your own".to_owned(),
            },
        ]
    });
    let table = Table {
        head: ["dataset", "what", "licence", "size", "state"]
            .map(String::from)
            .to_vec(),
        rows: Cell::rows(rows.collect()),
        ..Table::default()
    };
    super::print_table(&terminal::plain(&table, style()))?;
    super::print(
        "\n`mary data pull ID` fetches one; `--data-dir DIR` looks into a mirror first.\n",
    )?;
    Ok(Status::Done)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=99_999 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// The ids meant, each known.
fn chosen<'a>(ids: &'a [String], all: &[&'a str]) -> Result<Vec<&'a str>, UsageError> {
    if ids.iter().any(|id| id == "all") {
        return Ok(all.to_vec());
    }
    let mut out = Vec::new();
    for id in ids {
        if mary_fetch::datasets::card(id).is_none() {
            let known = mary_fetch::datasets::catalogue().iter().map(|c| c.id);
            let hint = matching::suggestion(id, known, "mary data list");
            return Err(UsageError::new(format!(
                "no dataset is called `{id}`\n{hint}"
            )));
        }
        out.push(id.as_str());
    }
    Ok(out)
}

fn pull(local: &LocalData, ids: &[String]) -> anyhow::Result<Status> {
    let all: Vec<&str> = mary_fetch::datasets::catalogue()
        .iter()
        .filter(|c| c.is_published())
        .map(|c| c.id)
        .collect();
    for id in chosen(ids, &all)? {
        let bar = if std::io::stderr().is_terminal() {
            ProgressBar::new(0)
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) =
            ProgressStyle::with_template("{msg:30!} {bar:24} {bytes}/{total_bytes} {eta}")
        {
            bar.set_style(style);
        }
        let pulled = local.pull(id, &mut |progress| {
            bar.set_message(
                mary_platform::visible_line(&format!("{id}: {}", progress.file)).into_owned(),
            );
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        });
        bar.finish_and_clear();
        let pulled = pulled.map_err(|e| MissingError(e.to_string()))?;
        let state = if pulled.already {
            "is already at"
        } else {
            "is now at"
        };
        super::tell(&format!("{id} {state} {}", pulled.folder.display()));
        if !pulled.absent.is_empty() {
            let absent = pulled.absent.join(", ");
            super::tell(&format!("  published nowhere, so not fetched: {absent}"));
        }
    }
    Ok(Status::Done)
}

fn verify(local: &LocalData, ids: &[String]) -> anyhow::Result<Status> {
    let here: Vec<&str> = local
        .list()
        .iter()
        .filter(|(_, folder)| folder.is_some())
        .map(|(c, _)| c.id)
        .collect();
    let wanted = if ids.is_empty() {
        here
    } else {
        chosen(ids, &here)?
    };
    if wanted.is_empty() {
        super::tell("no dataset is on this machine\nhint: `mary data pull ID` fetches one");
        return Ok(Status::Done);
    }
    let mut all_good = true;
    for id in wanted {
        let report = local.verify(id)?;
        all_good &= report.is_good();
        let good = report
            .files
            .iter()
            .filter(|f| f.state == FileState::Good)
            .count();
        super::print(&format!(
            "{id}: {good} of {} good\n",
            mary_platform::counted(report.files.len(), "file")
        ))?;
        for file in report.files.iter().filter(|f| f.state != FileState::Good) {
            super::print(&format!("  {}: {}\n", file.path, words(&file.state)))?;
        }
    }
    Ok(if all_good {
        Status::Done
    } else {
        Status::Incomplete
    })
}

fn words(state: &FileState) -> String {
    match state {
        FileState::Good => "good".into(),
        FileState::Missing => "missing".into(),
        FileState::Different { expected, found } => format!("expected {expected}, found {found}"),
        FileState::Unreadable(why) => format!("cannot be read: {why}"),
    }
}
