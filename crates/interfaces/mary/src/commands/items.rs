//! `mary items`: the items of a task for other tools.

use std::path::PathBuf;

use clap::Args;
use mary_lab::TaskOptions;
use mary_platform::counted;
use mary_store::{ItemsError, ItemsForm, ItemsOf, write_items};

use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::{print, tell};
use crate::exit::{Status, UsageError, usage_error};
use crate::own;
use crate::settings::Place;

const FORMS: Choices<ItemsForm> = &[
    ("jsonl", ItemsForm::Jsonl),
    ("csv", ItemsForm::Csv),
    ("parquet", ItemsForm::Parquet),
    ("lm-eval", ItemsForm::LmEval),
    ("inspect", ItemsForm::Inspect),
];

#[derive(Debug, Args)]
pub struct ItemsArgs {
    /// Task id, or a task file
    pub task: String,
    /// Format
    #[arg(long, visible_alias = "format", value_parser = one_of("items.forms", FORMS), default_value = "jsonl")]
    pub to: ItemsForm,
    /// Seed of the items
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// At most this many
    #[arg(long)]
    pub limit: Option<usize>,
    /// Number of shots
    #[arg(long, alias = "num-fewshot")]
    pub shots: Option<usize>,
    /// Task setting (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Ask as a chat
    #[arg(long)]
    pub chat: bool,
    /// File to write [default: the task's name, in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write what is right into a file of its own (JSONL) and leave it out of the items
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
}

impl Command for ItemsArgs {
    const NAME: &str = "items";
    const ABOUT: &str = "Write the items of a task for other tools";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        own::one(place, &mut self.task)
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let tasks = mary_lab::select_tasks(&place.registry, std::slice::from_ref(&self.task))?;
        let [task] = tasks.as_slice() else {
            return usage_error(format!(
                "`{}` is {} tasks, and one is written at a time\nhint: `mary tasks` lists them",
                self.task,
                tasks.len()
            ));
        };
        let options = TaskOptions {
            seed: self.seed,
            shots: self.shots,
            chat: self.chat,
            set: TaskOptions::pairs(&self.set)?,
        };
        let settings = options.settings(std::slice::from_ref(task))?;
        let Some((task, settings)) = settings.into_iter().next() else {
            return Ok(Status::Done);
        };
        let card = task.card();
        let ending = match self.to {
            ItemsForm::Jsonl | ItemsForm::Inspect => "jsonl",
            ItemsForm::Csv => "csv",
            ItemsForm::Parquet => "parquet",
            ItemsForm::LmEval => "yaml",
        };
        let usual = || PathBuf::from(format!("{}.{ending}", card.id.replace('/', "-")));
        let out = self.out.clone().unwrap_or_else(usual);
        let data = place.local_data();
        let items = task.items(&settings, &data)?;
        let mut items = items.take(self.limit.unwrap_or(usize::MAX));
        let of = ItemsOf {
            task: card.id.to_string(),
            version: card.version.to_string(),
            seed: self.seed,
        };
        let written = write_items(&mut items, self.to, &of, &out, self.keys.as_deref());
        let (files, count) = written.map_err(|error| match error {
            ItemsError::Task(error) => anyhow::Error::from(error),
            ItemsError::Store(error) => error.into(),
            ItemsError::Unfit(why) => UsageError::new(format!("{}: {why}", card.id)).into(),
        })?;
        let items = counted(count, "item");
        tell!("{items} of {}", card.id);
        for file in files {
            print(&format!("{}\n", file.display()))?;
        }
        Ok(Status::Done)
    }
}
