//! The files of a growth beside its checkpoints: the recipe, the logs, and the state a run resumes from.

use super::{Course, Run};
use crate::hf::{Storage, Writer, write_whole};
use crate::net::Entry;
use crate::optimizer::Moments;
use crate::state::State;
use crate::{Result, TrainError, tokenizer};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tokenizers::Tokenizer;

pub(super) fn state(course: &Course) -> PathBuf {
    course.out.join("state.safetensors")
}

/// The weights a run starts or goes on from, and the place in its material.
pub(crate) struct Begun<P> {
    pub(crate) position: P,
    pub(crate) parameters: Vec<f32>,
    pub(crate) moments: Moments,
}

impl<'a> Run<'a> {
    /// Goes on with the unfinished run of the same recipe that the folder holds, or begins with `new` weights.
    pub(crate) fn open<P: DeserializeOwned + Default>(
        course: &'a Course,
        recipe: String,
        total: usize,
        new: impl FnOnce() -> Vec<f32>,
    ) -> Result<(Self, Begun<P>)> {
        let path = state(course);
        let (mut step, mut position) = (0, P::default());
        let (parameters, moments) = match State::<P>::load(&path, &recipe)? {
            Some(mut state) => {
                let parameters = state.take(&path, "parameters", total)?;
                let moments = state.moments(&path, total)?;
                (step, position) = (state.step, state.position);
                (parameters, moments)
            }
            None => (new(), Moments::new(total)),
        };
        let begun = Begun {
            position,
            parameters,
            moments,
        };
        // What the log holds behind this step will be done again.
        trim(&course.out.join("losses.jsonl"), step)?;
        let path = course.out.join("recipe.json");
        write_whole(&path, format!("{recipe}\n").as_bytes())?;
        let run = Self {
            course,
            recipe,
            step,
        };
        Ok((run, begun))
    }
}

pub(super) fn append(path: &Path, line: &str) -> Result<()> {
    let mut file = mary_platform::append_plain(path).map_err(TrainError::file(path))?;
    writeln!(file, "{line}").map_err(TrainError::file(path))
}

/// Keeps the lines of a log up to a step: what came after it will be done again.
pub(super) fn trim(path: &Path, step: u64) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let text = mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA)
        .map_err(TrainError::file(path))?;
    let done = |line: &&str| {
        serde_json::from_str::<Value>(line)
            .ok()
            .and_then(|v| v.get("step").and_then(Value::as_u64))
            .is_some_and(|s| s <= step)
    };
    let kept = text.lines().filter(done);
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    write_whole(path, kept.as_bytes())
}

pub(crate) struct Folder<'a> {
    pub(crate) config: &'a Value,
    pub(crate) tokenizer: &'a Tokenizer,
    pub(crate) context: usize,
    pub(crate) others: &'a [(&'a str, Value)],
    pub(crate) entries: &'a [Entry],
    pub(crate) parameters: &'a [f32],
    pub(crate) storage: Storage,
}

impl Folder<'_> {
    /// Writes the folder; the weights last, so that their presence means the folder is whole.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(TrainError::file(folder))?;
        let write = |name: &str, text: String| write_whole(&folder.join(name), text.as_bytes());
        write("config.json", format!("{:#}\n", self.config))?;
        write("tokenizer.json", tokenizer::to_json(self.tokenizer)?)?;
        write("tokenizer_config.json", tokenizer::config(self.context))?;
        for (name, value) in self.others {
            write(name, format!("{value:#}\n"))?;
        }
        let mut weights = Writer::new(self.storage);
        for entry in self.entries {
            let values = &self.parameters[entry.place.clone()];
            weights.add(&entry.name, &entry.dims, values);
        }
        weights.write(&folder.join("model.safetensors"))
    }
}
