//! Results made elsewhere, as runs of ours, so that they can be analysed and compared here.
//!
//! Imported samples keep their scores as they came: nothing is judged again. Every refusal names
//! the file, the line or member, and what to do.

mod bounded;
mod inspect;
mod lenient;
mod lm_eval;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use mary_contract::{
    Ask, Capabilities, Exchange, Finish, Generate, Generated, Item, Key, ModelCard, ModelRef,
    Prompt, Reply, Request, Response, RunManifest, Sample, Sampling, StoreError, TaskRun, line,
};

use crate::RunFolder;
use crate::fault::{Result, corrupt};
use crate::manifest::SCHEMA;

/// What to import and how to read it; the empty default reads what the file itself says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The model, where the file does not name it (lm-eval samples do not).
    pub model: Option<String>,
    /// The task, where the file name does not hold it.
    pub task: Option<String>,
    /// Which metric or scorer is the score; without one, the first of the file.
    pub score: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub path: PathBuf,
    pub samples: usize,
    /// Things a user should know: metrics chosen, lines left out.
    pub remarks: Vec<String>,
}

/// Reads a file of another tool into a run folder under `root`: an Inspect log (`.eval`, `.json`)
/// or samples of lm-evaluation-harness (`.jsonl`).
pub fn import(file: &Path, options: &ImportOptions, root: &Path) -> Result<Imported> {
    keep(file, read_foreign(file, options)?, root)
}

pub fn read_foreign(file: &Path, options: &ImportOptions) -> Result<Foreign> {
    if !file.exists() {
        return Err(StoreError::Io {
            path: file.to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        });
    }
    let name = file
        .file_name()
        .and_then(|n| n.to_str())
        .unwrap_or_default();
    if name.starts_with("results_") && name.ends_with(".json") {
        return Err(corrupt(
            file,
            0,
            "these are the scores of lm-evaluation-harness without the answers behind them",
            "give its samples_*.jsonl, which `lm_eval --log_samples` writes beside this file",
        ));
    }
    let extension = file
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    match extension {
        "jsonl" => lm_eval::read(file, options),
        "eval" => inspect::read_archive(file, options),
        "json" => inspect::read_json(file, options),
        other => Err(corrupt(
            file,
            0,
            format!("expected a file ending in .eval, .json or .jsonl, found `.{other}`"),
            "give an Inspect log, or a samples_*.jsonl of lm-eval",
        )),
    }
}

/// Samples are kept in memory until they are written; they may take this much whatever is free.
const ALWAYS_ROOM: u64 = 512 << 20;
/// What a sample takes beside the record it was read from.
const SAMPLE: u64 = 2048;

/// Memory for what is read: half of what is free.
struct Room<'a> {
    file: &'a Path,
    left: u64,
}

impl<'a> Room<'a> {
    fn for_file(file: &'a Path) -> Self {
        let free = mary_platform::available_memory().unwrap_or(0) / 2;
        Self {
            file,
            left: free.max(ALWAYS_ROOM),
        }
    }

    fn take(&mut self, record: u64) -> Result<()> {
        let left = self.left.checked_sub(record.saturating_add(SAMPLE));
        self.left = left.ok_or_else(|| {
            corrupt(
                self.file,
                0,
                "its samples take more than half of the free memory",
                "divide the file and import the parts",
            )
        })?;
        Ok(())
    }
}

#[derive(Debug)]
pub struct Foreign {
    tool: &'static str,
    pub model: String,
    pub task: String,
    task_version: u32,
    created: String,
    trials: u32,
    /// With the line (or member) each came from.
    samples: Vec<(usize, Sample)>,
    remarks: Vec<String>,
}

impl Foreign {
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().map(|(_, sample)| sample)
    }

    /// Says that the samples are about items of a task of ours: those for which `item_of` knows one take its id,
    /// target and tags, so that they are paired with our own answers; the others keep what they have.
    pub fn recognised(
        &mut self,
        task: &str,
        version: u32,
        mut item_of: impl FnMut(&Sample) -> Option<Item>,
    ) {
        self.task = task.to_owned();
        self.task_version = version;
        for (_, sample) in &mut self.samples {
            sample.id.task = task.to_owned();
            match item_of(sample) {
                Some(item) => {
                    sample.id.item.clone_from(&item.id);
                    sample.item = item;
                }
                // Never taken for one of ours that happens to have this number.
                None => sample.id.item = format!("{}:{}", self.tool, sample.id.item),
            }
            sample.item.id.clone_from(&sample.id.item);
        }
    }

    /// Takes in what another file holds of the same model and task (a benchmark in parts).
    pub fn join(&mut self, other: Self) {
        let after = self.samples.len();
        let others = other.samples.into_iter();
        self.samples
            .extend(others.map(|(place, sample)| (after + place, sample)));
        if other.created < self.created {
            self.created = other.created;
        }
        self.trials = self.trials.max(other.trials);
        for remark in other.remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
    }
}

/// Keeps what was read as a run folder under `root`.
pub fn keep(file: &Path, foreign: Foreign, root: &Path) -> Result<Imported> {
    if foreign.samples.is_empty() {
        return Err(corrupt(
            file,
            0,
            "expected samples, found none",
            "export the log again with its samples (lm-eval: --log_samples)",
        ));
    }
    check_unique(file, &foreign.samples)?;
    let (mut content, mut hasher) = (Vec::new(), blake3::Hasher::new());
    for (_, sample) in &foreign.samples {
        content.clear();
        line::write(sample, &mut content)
            .map_err(|e| corrupt(file, 0, e.to_string(), "please report this file"))?;
        hasher.update(&content);
    }
    let digest = hasher.finalize().to_hex().to_string();
    let manifest = manifest(file, &foreign, digest.get(..12).unwrap_or(&digest))?;
    let mut run = RunFolder::create_or_open(root, &manifest)?;
    // The same file imported again finds everything there.
    let there = run.finished_ids()?;
    for (_, sample) in &foreign.samples {
        if there.state(&sample.id).is_none() {
            run.append(sample)?;
        }
    }
    run.flush()?;
    Ok(Imported {
        path: run.path().to_owned(),
        samples: foreign.samples.len(),
        remarks: foreign.remarks,
    })
}

fn check_unique(file: &Path, samples: &[(usize, Sample)]) -> Result<()> {
    let mut seen: HashMap<(&str, u32), usize> = HashMap::new();
    for (place, sample) in samples {
        let id = (sample.id.item.as_str(), sample.id.trial);
        if let Some(first) = seen.insert(id, *place) {
            return Err(corrupt(
                file,
                *place,
                format!(
                    "sample `{}` (trial {}) stands here a second time; the first is number {first}",
                    id.0, id.1
                ),
                "remove one of the two, or import the parts of a joined file one by one",
            ));
        }
    }
    Ok(())
}

fn manifest(file: &Path, foreign: &Foreign, digest: &str) -> Result<RunManifest> {
    let model: ModelRef = foreign
        .model
        .parse()
        .map_err(|e| corrupt(file, 0, format!("{e}"), "name the model with --model"))?;
    let mut card = ModelCard::new(model, Capabilities::default());
    card.remarks = vec![format!("imported from {}", foreign.tool)];
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(RunManifest {
        schema: SCHEMA,
        id: format!("import-{digest}"),
        created: foreign.created.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        command: vec!["mary".into(), "import".into(), name.into_owned()],
        models: vec![card],
        tasks: vec![TaskRun {
            id: foreign.task.clone(),
            version: foreign.task_version,
            conventions: BTreeMap::from([("imported".into(), foreign.tool.to_owned())]),
            imported: Some(foreign.tool.to_owned()),
            ..TaskRun::default()
        }],
        trials: foreign.trials,
        ..RunManifest::default()
    })
}

/// `provider/name`, whatever the other tool called it.
fn model_name(name: &str) -> String {
    if name.parse::<ModelRef>().is_ok() {
        name.to_owned()
    } else {
        format!("import/{name}")
    }
}

fn generated(prompt: Prompt, text: String, finish: Finish) -> Option<Exchange> {
    let request = Request::Generate(Generate {
        prompt,
        // How it was drawn is not recorded in a form we could keep.
        sampling: Sampling::greedy(0),
    });
    let reply = Reply::bare(Response::Generated(Generated {
        text,
        finish,
        reasoning: None,
    }));
    exchange(request, reply)
}

fn exchange(request: Request, reply: Reply) -> Option<Exchange> {
    let json = serde_json::to_vec(&(&request, &reply)).ok()?;
    let digest = blake3::hash(&json).to_hex().to_string();
    Some(Exchange {
        key: serde_json::from_value::<Key>(digest.into()).ok()?,
        ask: Ask::subject(request),
        reply: Ok(reply),
    })
}
