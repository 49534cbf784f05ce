//! `mary tasks`: lists tasks, shows one, and hands on to those who write and check task files.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use mary_contract::{Changes, DataSource, Item, Part, Registry, Request, Task};
use mary_lab::TaskOptions;
use mary_platform::distinct;
use mary_report::terminal::hanging;
use mary_taskfile::Skeleton;
use serde_json::json;

use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::{print, print_json, summary};
use crate::exit::Status;
use crate::own;
use crate::settings::Place;

const SKELETONS: Choices<Skeleton> = &[
    ("pairs", Skeleton::Pairs),
    ("choice", Skeleton::Choice),
    ("answer", Skeleton::Answer),
    ("number", Skeleton::Number),
    ("judge", Skeleton::Judge),
    ("vectors", Skeleton::Vectors),
];

#[derive(Debug, Args)]
pub struct TasksArgs {
    #[command(subcommand)]
    pub action: Option<TasksAction>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum TasksAction {
    /// What a task measures, its settings, and a sample item
    Show {
        /// Task id, or a task file
        task: String,
        /// How many sample items
        #[arg(long, default_value_t = 1)]
        items: usize,
        /// Seed of the items
        #[arg(long, default_value_t = 0)]
        seed: u64,
        #[command(flatten)]
        settings: SettingArgs,
    },
    /// Write a task file of your own with some data beside it, to begin with
    New {
        /// File to write, mytask.toml for example; its data is mytask.jsonl
        file: PathBuf,
        /// What is asked and how it is judged
        #[arg(long, value_parser = one_of("tasks.skeletons", SKELETONS), default_value = "choice")]
        kind: Skeleton,
    },
    /// Import a task of lm-evaluation-harness as one of your own. Your Python's lm_eval builds it, and runs
    /// the Python code that the task has: import only what you trust
    Import(super::harness::ImportArgs),
    /// Make every item of a task file, show three, and look for mistakes and shortcuts
    Check {
        /// Task file, or task id
        #[arg(value_name = "FILE")]
        task: String,
        /// How many items are shown
        #[arg(long, default_value_t = 3)]
        items: usize,
        /// Seed of shots and of the audit
        #[arg(long, default_value_t = 0)]
        seed: u64,
        #[command(flatten)]
        settings: SettingArgs,
    },
}

#[derive(Debug, Args)]
pub struct SettingArgs {
    /// Task setting (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Number of shots
    #[arg(long, alias = "num-fewshot")]
    shots: Option<usize>,
}

impl SettingArgs {
    fn options(&self, seed: u64) -> anyhow::Result<TaskOptions> {
        Ok(TaskOptions {
            seed,
            shots: self.shots,
            chat: false,
            set: TaskOptions::pairs(&self.set)?,
        })
    }
}

impl Command for TasksArgs {
    const NAME: &str = "tasks";
    const ABOUT: &str = "List tasks, show one, or write, check and import one of your own";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        match &mut self.action {
            Some(TasksAction::Show { task, .. } | TasksAction::Check { task, .. }) => {
                own::one(place, task)
            }
            _ => Ok(()),
        }
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let data = place.local_data();
        match &self.action {
            None if self.json => {
                let tasks = place.registry.tasks();
                let cards: Vec<_> = tasks.iter().map(|t| json!(t.card())).collect();
                return print_json(&cards);
            }
            None => return print(&list(&place.registry)),
            Some(TasksAction::Show {
                task,
                items,
                seed,
                settings,
            }) => {
                let task_options = settings.options(*seed)?;
                for task in mary_lab::select_tasks(&place.registry, std::slice::from_ref(task))? {
                    if self.json {
                        print_json(&task.card())?;
                    } else {
                        print(&show(&task, &task_options, *items, &data)?)?;
                    }
                }
            }
            Some(TasksAction::Import(args)) => return super::harness::import(args, &data),
            Some(TasksAction::New { file, kind }) => {
                return super::own_tasks::new(file, *kind);
            }
            Some(TasksAction::Check {
                task,
                items,
                seed,
                settings,
            }) => {
                let task_options = settings.options(*seed)?;
                let tasks = mary_lab::select_tasks(&place.registry, std::slice::from_ref(task))?;
                let mut good = true;
                for (task, settings) in task_options.settings(&tasks)? {
                    good &=
                        super::own_tasks::check(&task, &settings, *items, &data)? == Status::Done;
                }
                return Ok(Status::done_if(good));
            }
        }
        Ok(Status::Done)
    }
}

fn list(registry: &Registry) -> String {
    let width = summary::style().width.unwrap_or(usize::MAX);
    let mut text = String::new();
    for family in distinct(registry.tasks().iter().map(|task| &*task.card().family)) {
        // A task of one's own may be of a family that nobody described.
        let title = registry.family(family).map_or("", |f| f.title());
        text.push_str(format!("{family}  {title}").trim_end());
        text.push('\n');
        for task in registry.tasks_of(family) {
            let card = task.card();
            let data = card
                .dataset
                .as_ref()
                .map_or(String::new(), |d| format!("  [data: {d}]"));
            let begin = format!("  {:<28} ", card.id);
            text.push_str(&hanging(
                &begin,
                31,
                &format!("{}{data}", card.title),
                width,
            ));
        }
    }
    text.push_str("\n`mary tasks show ID` explains one; `mary run -t ID` runs it.\n");
    text
}

fn show(
    task: &Arc<dyn Task>,
    task_options: &TaskOptions,
    items: usize,
    data: &dyn DataSource,
) -> anyhow::Result<String> {
    let card = task.card();
    let (_, mut settings) = task_options
        .settings(std::slice::from_ref(task))?
        .pop()
        .ok_or_else(|| crate::exit::UsageError::new("no task"))?;
    // What stands before scored texts is recorded with every run, whatever the card says of earlier ones.
    let start = task
        .default_for(&settings, false)
        .filter(|(name, _)| *name == "start");
    if let Some((name, value)) = start {
        settings.params.insert(name.to_owned(), value.to_owned());
    }
    let mut text = format!(
        "{}  {}  (version {})\n\n{}\n\n",
        card.id, card.title, card.version, card.about
    );
    if let Some(chance) = card.chance {
        text.push_str(&format!("chance: {:.1} %\n", chance * 100.0));
    }
    if let Some(human) = &card.human {
        text.push_str(&format!(
            "people: {:.1} % ({})\n",
            human.value * 100.0,
            human.source
        ));
    }
    for (name, value) in task.conventions(&settings) {
        text.push_str(&format!("{name}: {value}\n"));
    }
    if !card.params.is_empty() {
        text.push_str("\nsettings (--set name=value):\n");
        for p in card.params.iter() {
            // What `mary rescore` may change, and what makes no difference to a comparison.
            let changes = match p.changes {
                Changes::Question => "",
                Changes::Judging => "; changes the judging only",
                Changes::Nothing => "; changes no score",
            };
            text.push_str(&format!(
                "  {:<12} {} [{}; default {}{changes}]\n",
                p.name,
                p.about,
                p.values,
                start
                    .filter(|(name, _)| *name == p.name)
                    .map_or(&*p.default, |(_, value)| value)
            ));
        }
    }
    if !card.citation.text.is_empty() {
        text.push_str(&format!(
            "\n{}\n{}\n",
            card.citation.text, card.citation.link
        ));
    }
    if items == 0 {
        return Ok(text);
    }
    match task.items(&settings, data) {
        Ok(stream) => {
            for item in stream.take(items) {
                text.push_str(&item_text(&item?)?);
            }
        }
        Err(error) => text.push_str(&format!("\n(no sample item: {error})\n")),
    }
    Ok(text)
}

pub fn item_text(item: &Item) -> anyhow::Result<String> {
    let mut text = format!("\n--- item {} ---\n", item.id);
    text.extend(item.asks.iter().map(|ask| shown(&ask.request)));
    let target = serde_json::to_string(&item.target)?;
    text.push_str(&format!("\ntarget: {target}\n"));
    Ok(text)
}

fn shown(request: &Request) -> String {
    let (prompt, tail) = match request {
        Request::Generate(g) => (&g.prompt, String::new()),
        Request::Score(s) => {
            let options = s.continuations.iter().map(|c| format!("{c:?}"));
            (
                &s.prefix,
                format!("\n[scored: {}]", options.collect::<Vec<_>>().join(" | ")),
            )
        }
        Request::Observe(o) => return format!("[observed] {}\n", o.text),
    };
    let mut text = String::new();
    for part in prompt.turns.iter().flat_map(|t| &t.parts) {
        match part {
            Part::Text(words) => text.push_str(words),
            Part::Image(image) => {
                text.push_str(&format!(
                    "[{}, {} bytes]",
                    image.media_type,
                    image.data.len()
                ));
            }
        }
    }
    text + &tail + "\n"
}
