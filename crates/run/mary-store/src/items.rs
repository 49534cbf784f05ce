//! Items of a task for other tools: JSONL, CSV and Parquet for whoever reads tables, a task file with its
//! data for lm-evaluation-harness, and a dataset for Inspect. What is right may stand in a file of its own.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use mary_contract::{Item, Part, Prompt, Request, Speaker, StoreError, Target, TaskError};
use serde_json::{Value, json};
use thiserror::Error;

use crate::export::picture;
use crate::fault::{Result, io_at};

mod columns;
mod lm_eval;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemsForm {
    Jsonl,
    Csv,
    Parquet,
    LmEval,
    Inspect,
}

#[derive(Debug, Clone)]
pub struct ItemsOf {
    pub task: String,
    pub version: String,
    pub seed: u64,
}

#[derive(Debug, Error)]
pub enum ItemsError {
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The other tool has no form for what is asked.
    #[error("{0}")]
    Unfit(String),
}

/// An item in the words that other tools understand.
struct Plain<'a> {
    item: &'a Item,
    /// `generate`, `score` or `observe`.
    kind: &'static str,
    prompt: Option<&'a Prompt>,
    /// What is scored after the prompt, or read for its vectors.
    continuations: Vec<&'a str>,
}

impl<'a> Plain<'a> {
    fn from_item(item: &'a Item) -> Self {
        let observed = item.asks.iter().filter_map(|a| match &a.request {
            Request::Observe(o) => Some(o.text.as_str()),
            _ => None,
        });
        let (kind, prompt, continuations) = match item.asks.first().map(|a| &a.request) {
            Some(Request::Generate(g)) => ("generate", Some(&g.prompt), Vec::new()),
            Some(Request::Score(s)) => {
                let texts = s.continuations.iter().map(String::as_str);
                ("score", Some(&s.prefix), texts.collect())
            }
            Some(Request::Observe(_)) => ("observe", None, observed.collect()),
            None => ("none", None, Vec::new()),
        };
        Self {
            item,
            kind,
            prompt,
            continuations,
        }
    }

    fn text(&self) -> String {
        self.prompt.map(Prompt::text).unwrap_or_default()
    }

    fn images(&self) -> Vec<String> {
        let turns = self.prompt.iter().flat_map(|p| &p.turns);
        let images = turns.flat_map(|t| &t.parts).filter_map(|part| match part {
            Part::Image(image) => Some(picture(image)),
            Part::Text(_) => None,
        });
        images.collect()
    }

    fn options(&self) -> Option<(Vec<&'a str>, usize)> {
        self.item.target.alternatives()
    }

    fn target(&self) -> String {
        match &self.item.target {
            Target::Data(data) => data.to_string(),
            target => target.right().unwrap_or_default().to_owned(),
        }
    }

    /// What is right and what would give it away.
    fn key(&self) -> Value {
        json!({ "id": self.item.id, "target": self.target(), "key": self.item.target })
    }

    fn json(&self, of: &ItemsOf, keys: bool) -> Value {
        let item = self.item;
        let mut row = json!({ "id": item.id, "task": of.task, "seed": of.seed, "kind": self.kind });
        let mut put = |name: &str, value: Value| row[name] = value;
        if let Some(prompt) = self.prompt {
            put("prompt", json!(prompt.text()));
            if prompt.turns.len() > 1 || prompt.system.is_some() {
                put("messages", messages(prompt));
            }
        }
        let images = self.images();
        if !images.is_empty() {
            put("images", json!(images));
        }
        if !self.continuations.is_empty() {
            put("continuations", json!(self.continuations));
        }
        if let Some((options, correct)) = self.options() {
            // The first of a minimal pair is the right one, which would be a key.
            let pair = matches!(item.target, Target::Pair { .. });
            if keys || !pair {
                put("options", json!(options));
            }
            if keys {
                put("correct", json!(correct));
            }
        }
        if keys {
            put("target", json!(self.target()));
        }
        if !item.stratum.is_empty() {
            put("stratum", json!(item.stratum));
        }
        if let Some(cluster) = &item.cluster {
            put("cluster", json!(cluster));
        }
        if !item.tags.is_empty() {
            put("tags", json!(item.tags));
        }
        // More than one question: all of them, as they are.
        if item.asks.len() > 1 && self.kind != "observe" {
            put("asks", json!(item.asks));
        }
        row
    }

    fn inspect(&self, of: &ItemsOf, keys: bool) -> Value {
        let item = self.item;
        let input = match self.prompt {
            Some(p) if p.turns.len() > 1 || p.system.is_some() || p.has_images() => messages(p),
            Some(p) => json!(p.text()),
            None => json!(self.continuations.join("\n")),
        };
        let mut row = json!({ "id": item.id, "input": input });
        match self.options() {
            Some((options, correct)) => {
                row["choices"] = json!(options);
                if keys {
                    let letter = char::from_u32(u32::from('A') + correct as u32);
                    row["target"] = json!(letter.unwrap_or('?').to_string());
                }
            }
            None if keys => row["target"] = json!(self.target()),
            None => {}
        }
        let mut metadata = json!({ "task": of.task, "version": of.version, "seed": of.seed });
        if !self.continuations.is_empty() {
            metadata["continuations"] = json!(self.continuations);
        }
        if !item.stratum.is_empty() {
            metadata["stratum"] = json!(item.stratum);
        }
        for (name, value) in &item.tags {
            metadata[name] = json!(value);
        }
        row["metadata"] = metadata;
        row
    }
}

fn messages(prompt: &Prompt) -> Value {
    let system = prompt.system.iter();
    let mut all: Vec<Value> = system
        .map(|text| json!({ "role": "system", "content": text }))
        .collect();
    for turn in &prompt.turns {
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        let content = match turn.parts.as_slice() {
            [Part::Text(text)] => json!(text),
            parts => {
                let parts = parts.iter().map(|part| match part {
                    Part::Text(text) => json!({ "type": "text", "text": text }),
                    Part::Image(image) => json!({ "type": "image", "image": picture(image) }),
                });
                json!(parts.collect::<Vec<_>>())
            }
        };
        all.push(json!({ "role": role, "content": content }));
    }
    json!(all)
}

/// Writes items to a file, and what is right to another where that is wanted. Gives the files and how
/// many items there were.
pub fn write_items(
    items: &mut dyn Iterator<Item = Result<Item, TaskError>>,
    form: ItemsForm,
    of: &ItemsOf,
    out: &Path,
    keys: Option<&Path>,
) -> Result<(Vec<PathBuf>, usize), ItemsError> {
    if let Some(folder) = out.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(io_at(folder))?;
    }
    let mut apart = keys.map(Lines::create).transpose()?;
    let within = keys.is_none();
    let mut files = vec![out.to_owned()];
    let mut count = 0;
    let mut sink: Box<dyn Sink> = match form {
        ItemsForm::Jsonl | ItemsForm::Inspect => Box::new(Lines::create(out)?),
        ItemsForm::Csv => Box::new(columns::Csv::create(out)?),
        ItemsForm::Parquet => Box::new(columns::Parquet::create(out, of)?),
        ItemsForm::LmEval => {
            if !within {
                return Err(ItemsError::Unfit(
                    "lm-evaluation-harness needs what is right beside the items\n\
                     hint: leave `--keys` out, or write --to jsonl"
                        .into(),
                ));
            }
            let task = lm_eval::Task::create(out, of)?;
            files.push(task.data.clone());
            Box::new(task)
        }
    };
    for item in items {
        let item = item?;
        let plain = Plain::from_item(&item);
        let row = match form {
            ItemsForm::Inspect => plain.inspect(of, within),
            ItemsForm::LmEval => lm_eval::row(&plain)?,
            _ => plain.json(of, within),
        };
        sink.put(&row)?;
        if let Some(apart) = &mut apart {
            apart.put(&plain.key())?;
        }
        count += 1;
    }
    sink.end()?;
    if let (Some(apart), Some(path)) = (apart, keys) {
        Box::new(apart).end()?;
        files.push(path.to_owned());
    }
    Ok((files, count))
}

trait Sink {
    fn put(&mut self, row: &Value) -> Result<(), ItemsError>;
    fn end(self: Box<Self>) -> Result<(), ItemsError>;
}

struct Lines {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Lines {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(io_at(path))?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
        })
    }
}

impl Sink for Lines {
    fn put(&mut self, row: &Value) -> Result<(), ItemsError> {
        Ok(writeln!(self.out, "{row}").map_err(io_at(&self.path))?)
    }

    fn end(mut self: Box<Self>) -> Result<(), ItemsError> {
        Ok(self.out.flush().map_err(io_at(&self.path))?)
    }
}
