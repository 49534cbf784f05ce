//! `mary items`: the items of a task for other tools.

use std::path::PathBuf;

use mary_fetch::datasets::LocalData;
use mary_store::{ItemsError, ItemsForm, ItemsOf, write_items};

use crate::cli::{ItemsArgs, ItemsFormat};
use crate::exit::{Status, UsageError};
use crate::settings::Place;
use crate::suite::{self, TaskOptions};

pub fn items(place: &Place, args: &ItemsArgs) -> anyhow::Result<Status> {
    let tasks = suite::select(&place.registry, std::slice::from_ref(&args.task))?;
    let [task] = tasks.as_slice() else {
        return Err(UsageError::new(format!(
            "`{}` is {} tasks, and one is written at a time\nhint: `mary tasks` lists them",
            args.task,
            tasks.len()
        ))
        .into());
    };
    let options = TaskOptions {
        seed: args.seed,
        shots: args.shots,
        chat: args.chat,
        set: TaskOptions::pairs(&args.set)?,
    };
    let settings = options.settings(std::slice::from_ref(task))?;
    let Some((task, settings)) = settings.into_iter().next() else {
        return Ok(Status::Done);
    };
    let card = task.card();
    let (form, ending) = match args.to {
        ItemsFormat::Jsonl => (ItemsForm::Jsonl, "jsonl"),
        ItemsFormat::Csv => (ItemsForm::Csv, "csv"),
        ItemsFormat::Parquet => (ItemsForm::Parquet, "parquet"),
        ItemsFormat::LmEval => (ItemsForm::LmEval, "yaml"),
        ItemsFormat::Inspect => (ItemsForm::Inspect, "jsonl"),
    };
    let usual = || PathBuf::from(format!("{}.{ending}", card.id.replace('/', "-")));
    let out = args.out.clone().unwrap_or_else(usual);
    let data = LocalData::new(place.data.clone(), place.datasets());
    let items = task.items(&settings, &data)?;
    let mut items = items.take(args.limit.unwrap_or(usize::MAX));
    let of = ItemsOf {
        task: card.id.to_string(),
        version: card.version.to_string(),
        seed: args.seed,
    };
    let written = write_items(&mut items, form, &of, &out, args.keys.as_deref());
    let (files, count) = written.map_err(|error| match error {
        ItemsError::Task(error) => anyhow::Error::from(error),
        ItemsError::Store(error) => error.into(),
        ItemsError::Unfit(why) => UsageError::new(format!("{}: {why}", card.id)).into(),
    })?;
    let items = mary_platform::counted(count, "item");
    super::tell(&format!("{items} of {}", card.id));
    for file in files {
        super::print(&format!("{}\n", file.display()))?;
    }
    Ok(Status::Done)
}
