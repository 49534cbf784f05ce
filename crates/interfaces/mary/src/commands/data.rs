//! `mary data list|pull|verify|audit|tuning`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mary_contract::{Cell, TuningForm, TuningRequest};
use mary_fetch::datasets::{FileState, LocalData};
use mary_lab::TaskOptions;
use mary_platform::counted;
use serde_json::json;

use super::audit::AuditArgs;
use super::summary;
use crate::cli::TUNING_FORMS;
use crate::cli::choices::one_of;
use crate::command::Command;
use crate::commands::{DECLARED, print, print_json, tell};
use crate::exit::{MissingError, Status, UsageError};
use crate::settings::Place;
use crate::terminal::bar;
use crate::{matching, own};

#[derive(Debug, Args)]
pub struct DataArgs {
    #[command(subcommand)]
    pub action: DataAction,
}

#[derive(Debug, Subcommand)]
pub enum DataAction {
    /// What there is, where it lives, and what is on this machine
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch datasets with verification
    Pull {
        /// Dataset ids, or `all`
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Hold files on this machine against their known hashes
    Verify {
        /// Dataset ids [default: all that are here]
        ids: Vec<String>,
    },
    /// Look for shortcuts: what baselines and a random forest reach without understanding the question
    ///
    /// Exit code 0: none of the baselines tried beats chance but for the rule itself; 1: one does.
    Audit(AuditArgs),
    /// Write a fine-tuning set whose items share nothing with a task's test items
    Tuning {
        /// Task id, or the name of a set (a name that is none lists them)
        task: String,
        /// Form of the file
        #[arg(long, value_parser = one_of("cli.tuning-forms", TUNING_FORMS), default_value = "chat")]
        form: TuningForm,
        /// How much, where the set can be of any size: grid pairs, instances of each concept
        #[arg(short)]
        n: Option<usize>,
        /// Task setting, where the set takes some: source=published, split=test (repeatable)
        #[arg(long = "set", value_name = "NAME=VALUE")]
        set: Vec<String>,
        /// Seed
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// File to write
        #[arg(short, long, value_name = "FILE")]
        out: PathBuf,
    },
}

impl Command for DataArgs {
    const NAME: &str = "data";
    const ABOUT: &str = "List, fetch, verify or audit datasets";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        match &mut self.action {
            DataAction::Audit(args) => own::named(place, &mut args.tasks),
            _ => Ok(()),
        }
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let local = place.local_data();
        match &self.action {
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
                    form: *form,
                    n: *n,
                    params: TaskOptions::pairs(set)?.into_iter().collect(),
                    seed: *seed,
                };
                super::tuning::tuning(&place.registry, &local, task, &wanted, out)
            }
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
        return print_json(&cards);
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
    let table = DECLARED.table("datasets");
    let table = table.with_rows(Cell::rows(rows.collect()));
    summary::show_table(&table)?;
    print("\n`mary data pull ID` fetches one; `--data-dir DIR` looks into a mirror first.\n")?;
    Ok(Status::Done)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=99_999 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn chosen<'a>(ids: &'a [String], all: &[&'a str]) -> Result<Vec<&'a str>, UsageError> {
    if ids.iter().any(|id| id == "all") {
        return Ok(all.to_vec());
    }
    let mut out = Vec::new();
    for id in ids {
        if mary_fetch::datasets::card(id).is_none() {
            let known = mary_fetch::datasets::catalogue().iter();
            let known = known.map(|c| c.id.as_str());
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
    let published = mary_fetch::datasets::catalogue()
        .iter()
        .filter(|c| c.is_published());
    let all: Vec<&str> = published.map(|c| c.id.as_str()).collect();
    for id in chosen(ids, &all)? {
        let bar = bar(0, "{msg:30!} {bar:24} {bytes}/{total_bytes} {eta}");
        let pulled = local.pull(id, &mut |progress| {
            bar.set_message(
                mary_platform::visible_line(&format!("{id}: {}", progress.file)).into_owned(),
            );
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        });
        bar.finish_and_clear();
        let pulled = pulled.map_err(|e| MissingError(e.to_string()))?;
        let state = match pulled.already {
            true => "is already at",
            false => "is now at",
        };
        tell!("{id} {state} {}", pulled.folder.display());
        if !pulled.absent.is_empty() {
            let absent = pulled.absent.join(", ");
            tell!("  published nowhere, so not fetched: {absent}");
        }
    }
    Ok(Status::Done)
}

fn verify(local: &LocalData, ids: &[String]) -> anyhow::Result<Status> {
    let here: Vec<&str> = local
        .list()
        .iter()
        .filter(|(_, folder)| folder.is_some())
        .map(|(c, _)| c.id.as_str())
        .collect();
    let wanted = match ids {
        [] => here,
        ids => chosen(ids, &here)?,
    };
    if wanted.is_empty() {
        tell!("no dataset is on this machine\nhint: `mary data pull ID` fetches one");
        return Ok(Status::Done);
    }
    let mut all_good = true;
    for id in wanted {
        let report = local.verify(id)?;
        all_good &= report.is_good();
        let files = counted(report.files.len(), "file");
        let bad = || report.files.iter().filter(|f| f.state != FileState::Good);
        let good = report.files.len() - bad().count();
        print(&format!("{id}: {good} of {files} good\n"))?;
        for file in bad() {
            print(&format!("  {}: {}\n", file.path, words(&file.state)))?;
        }
    }
    Ok(Status::done_if(all_good))
}

fn words(state: &FileState) -> String {
    match state {
        FileState::Good => "good".into(),
        FileState::Missing => "missing".into(),
        FileState::Different { expected, found } => format!("expected {expected}, found {found}"),
        FileState::Unreadable(why) => format!("cannot be read: {why}"),
    }
}
