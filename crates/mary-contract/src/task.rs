//! A task: what is asked, how an answer is judged, and what a reader must know about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Ask, Capabilities, DataError, DataSource, Exhibits, Item, Judgement, Measure, PromptForm,
    Reply, RunSummary, Sample,
};

/// A stream of items, made or read lazily.
pub type Items = Box<dyn Iterator<Item = Result<Item, TaskError>> + Send>;

/// Why a task could not give an item.
#[derive(Debug, Error)]
pub enum TaskError {
    /// The dataset is not there or damaged.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A record of a dataset makes no sense.
    #[error("{file}:{line}: {message}")]
    Record {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What was expected and what was found.
        message: String,
    },
    /// A setting the task does not know or cannot use.
    #[error("{0}")]
    Setting(String),
    /// A generator could not fulfil its promise.
    #[error("{0}")]
    Generator(String),
}

/// What a task needs from the models in the room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Answers in words.
    pub generate: bool,
    /// Log-probabilities.
    pub score: bool,
    /// Every scored continuation is one token (so that a chat API's top log-probabilities do).
    pub score_single_token: bool,
    /// Hidden states.
    pub observe: bool,
    /// Pictures.
    pub images: bool,
    /// A second model as judge.
    pub judge: bool,
}

impl Needs {
    /// What is missing, in words; empty when the model fits.
    pub fn missing(&self, has: &Capabilities, form: PromptForm) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if self.generate && !has.generate {
            missing.push("text generation");
        }
        if self.score && !has.score {
            missing.push("log-probabilities of given text");
        } else if self.score && has.score_single_token_only && !self.score_single_token {
            missing.push("log-probabilities of texts longer than one token");
        }
        if self.observe && !has.observe {
            missing.push("hidden states");
        }
        if self.images && !has.images {
            missing.push("pictures in the prompt");
        }
        if (self.generate || self.score) && form == PromptForm::Chat && !has.chat {
            missing.push("a chat template");
        }
        missing
    }
}

/// A value a user can set with `--set name=value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it is when nobody sets it.
    pub default: &'static str,
    /// What it can be, for people.
    pub values: &'static str,
    /// One sentence.
    pub about: &'static str,
}

/// A published or human figure shown beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reference {
    /// The value on the task's scale.
    pub value: f64,
    /// Where it is from ("Lee & Lim 2024, Table 6").
    pub source: &'static str,
}

/// A paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// As in a reference list.
    pub text: &'static str,
    /// DOI or arXiv id.
    pub link: &'static str,
}

/// What a reader must know about a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TaskCard {
    /// `family/task`.
    pub id: &'static str,
    /// The family.
    pub family: &'static str,
    /// Raised whenever items, prompts or judging change; part of every cache key.
    pub version: u32,
    /// For tables.
    pub title: &'static str,
    /// What it measures and why, one paragraph.
    pub about: &'static str,
    /// Score of a guesser on the task's scale, where that means something.
    pub chance: Option<f64>,
    /// Score of people, where known.
    pub human: Option<Reference>,
    /// What can be set.
    pub params: &'static [Param],
    /// Dataset it reads, if any; `None` for tasks that make their own items.
    pub dataset: Option<&'static str>,
    /// The paper.
    pub citation: Citation,
    /// Part of the starter selection, with this many items.
    pub starter: Option<usize>,
}

/// How a task is run; recorded with the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskSettings {
    /// Seed of everything random in the items.
    pub seed: u64,
    /// Number of shots, where the user set one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shots: Option<usize>,
    /// Plain text or the model's chat template.
    pub form: PromptForm,
    /// `--set name=value`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
}

impl TaskSettings {
    /// The value of a parameter: the user's, or the card's default.
    pub fn param<'a>(&'a self, card: &TaskCard, name: &str) -> &'a str {
        let default = card
            .params
            .iter()
            .find(|p| p.name == name)
            .map_or("", |p| p.default);
        self.params.get(name).map_or(default, String::as_str)
    }

    /// Refuses parameters that the task does not have.
    pub fn check(&self, card: &TaskCard) -> Result<(), TaskError> {
        match self
            .params
            .keys()
            .find(|k| card.params.iter().all(|p| p.name != k.as_str()))
        {
            None => Ok(()),
            Some(unknown) => {
                let known: Vec<_> = card.params.iter().map(|p| p.name).collect();
                let known = if known.is_empty() {
                    "none".into()
                } else {
                    known.join(", ")
                };
                Err(TaskError::Setting(format!(
                    "{} has no parameter `{unknown}`; it has: {known}",
                    card.id
                )))
            }
        }
    }
}

/// One task. Pure: it makes items and judges answers, and never sees a model.
pub trait Task: Send + Sync {
    /// What a reader must know.
    fn card(&self) -> &'static TaskCard;

    /// What it needs under these settings.
    fn needs(&self, settings: &TaskSettings) -> Needs;

    /// What people score on these items; the card's figure, unless it was measured on others.
    fn human(&self, _settings: &TaskSettings) -> Option<Reference> {
        self.card().human
    }

    /// Its items, in a fixed order for given settings.
    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError>;

    /// More questions, now that all so far are answered. Called until it returns none.
    fn follow_up(
        &self,
        _settings: &TaskSettings,
        _item: &Item,
        _answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        Ok(Vec::new())
    }

    /// The verdict, once everything is answered. Needs no model, so that stored runs can be judged
    /// again.
    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement;

    /// Metrics of the whole set that are not a mean over items. The samples come lazily, so that a
    /// task that needs none of them costs nothing.
    fn overall(
        &self,
        _settings: &TaskSettings,
        _samples: &mut dyn Iterator<Item = Sample>,
    ) -> Vec<Measure> {
        Vec::new()
    }

    /// The conventions under which a score was made: template, start, sum or mean, ties, pooling.
    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String>;
}

/// A family of tasks, one per paper.
pub trait Family: Send + Sync {
    /// The word before the slash.
    fn id(&self) -> &'static str;

    /// For people.
    fn title(&self) -> &'static str;

    /// Its tasks.
    fn tasks(&self) -> &'static [&'static dyn Task];

    /// The paper's tables and figures, made from summaries of one or more runs.
    fn exhibits(&self, _runs: &[RunSummary]) -> Exhibits {
        Exhibits::default()
    }
}
