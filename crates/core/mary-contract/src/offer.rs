//! What a family can offer beyond its tasks, as values: fine-tuning sets, expectations of an audit,
//! runs made from released answers, commands of its own. The binary asks every family for these and
//! knows none of them by name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Exhibits, MarkingForm, RunSummary, Sample, Table, Task, TaskError, TaskSettings, Text,
};

/// Why a family could not do what it offers.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum FamilyError {
    /// A name that it does not know.
    #[error("no {what} is called `{name}`")]
    Unknown {
        what: &'static str,
        name: String,
        /// The names it knows, for a suggestion.
        known: Vec<String>,
        /// The command that lists them.
        list: &'static str,
    },
    /// A wish that cannot be fulfilled, in words; a hint may follow on a line of its own.
    #[error("{0}")]
    Usage(String),
    /// Items could not be made or read.
    #[error(transparent)]
    Task(#[from] TaskError),
}

/// Forms of a fine-tuning set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TuningForm {
    /// Chat records as JSON, one conversation a line.
    #[default]
    Chat,
    /// One JSON list of records with instruction, input and output.
    Instruction,
}

/// How a fine-tuning set is wanted.
#[derive(Debug, Clone, Default)]
pub struct TuningRequest {
    /// Chat records or instructions.
    pub form: TuningForm,
    /// How much, in the set's own unit; each set has a default.
    pub n: Option<usize>,
    /// Settings of the task (`name=value`).
    pub params: BTreeMap<String, String>,
    /// Decides which items are drawn.
    pub seed: u64,
}

/// A fine-tuning set, written out.
#[derive(Debug, Clone)]
pub struct TuningSet {
    /// The whole file.
    pub text: String,
    /// How many items it holds.
    pub items: usize,
    /// What to do next, where that is not plain.
    pub hint: Option<String>,
}

/// What an audit must know of a task before it calls something a shortcut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditExpectations {
    /// Baselines that are the rule of the task, or see it in full: what they reach is no shortcut.
    pub rule_baselines: Vec<Text>,
    /// Items are judged one by one although they share material, because chained together by it all
    /// would be one group.
    pub ungrouped: bool,
}

/// What a surface feature of a family's own reaches on a task's items.
#[derive(Debug, Clone)]
pub struct SurfaceFinding {
    /// Its name in tables.
    pub feature: &'static str,
    /// What of an item it looks at, in words.
    pub sees: &'static str,
    /// Share of items that it answers rightly.
    pub accuracy: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// Items it was tried on.
    pub n: usize,
    /// How the interval was made.
    pub method: &'static str,
    /// Share that a guesser reaches.
    pub chance: f64,
    /// p-value against chance, not corrected for the number of features.
    pub p: f64,
    /// The concept itself decides it: the rule, and no shortcut.
    pub implied: bool,
}

/// One model's released answers, ready to be kept as a run.
pub struct ReleasedRun {
    /// `published/MODEL`, or a name for people.
    pub model: String,
    /// The task whose items they answer.
    pub task: Arc<dyn Task>,
    /// The settings under which the task makes the same items.
    pub settings: TaskSettings,
    /// The conventions that hold for these answers.
    pub conventions: BTreeMap<String, String>,
    /// Times an item was asked.
    pub trials: u32,
    /// One for each answer, judged by the task.
    pub samples: Vec<Sample>,
    /// What a reader must know about where they come from.
    pub remark: Text,
}

/// What a family shows of a model that grows: quick tasks, and what their scores say over checkpoints.
pub trait Development: Send + Sync {
    /// Tasks quick enough to be asked at every checkpoint.
    fn probes(&self) -> Vec<Text>;

    /// Figures and windows of development, from runs of many checkpoints.
    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits;

    /// Checkpoints whose score left the trend, each with what is odd about it.
    fn off_trend(&self, runs: &[RunSummary]) -> Vec<(String, String)>;
}

/// What an item is shown as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownAs {
    /// Words alone.
    Words,
    /// A picture with the bare question.
    Picture,
    /// The words and the picture.
    Both,
}

impl ShownAs {
    /// All, in the order in which they stand side by side.
    pub const ALL: [Self; 3] = [Self::Words, Self::Picture, Self::Both];

    /// One word for the head of a column.
    pub fn words(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Picture => "picture",
            Self::Both => "both",
        }
    }
}

/// A task as one of several forms of the same items, which have the same ids in all forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twin {
    /// What all forms share: `family/thing`.
    pub name: String,
    /// What the items are shown as.
    pub shown: ShownAs,
    /// Settings that differ from form to form and tell nothing else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<Text>,
}

/// Something that reads stored samples one after the other and ends in tables.
pub trait SampleAnalysis {
    /// Takes in one sample of a run.
    fn add(&mut self, run: &crate::TaskRun, sample: &Sample);

    /// What was found; empty when no sample was of use.
    fn tables(&self) -> Vec<Table>;
}

/// A command of a family's own: `mary FAMILY ACTION …`, as its `command.json` describes it.
#[derive(Debug, Clone, Deserialize)]
pub struct FamilyCommand {
    /// One line for the list of commands.
    pub about: Text,
    /// Its subcommands.
    pub actions: Vec<Action>,
}

impl FamilyCommand {
    /// Reads a data file that is part of the program; a test of the command finds one that cannot be read.
    pub fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

/// One thing a family's command does.
#[derive(Debug, Clone, Deserialize)]
pub struct Action {
    /// The word of the command line.
    pub name: Text,
    /// One line of help.
    pub about: Text,
    /// Its arguments. An action that reads a run also takes the run's name, which is not listed.
    #[serde(default)]
    pub arguments: Vec<Argument>,
    /// The task whose samples of a stored run it reads; `family/*` is any one task of the family.
    pub samples_of: Option<Text>,
}

/// How an argument is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// By its place, always.
    Positional,
    /// `--name VALUE`.
    #[default]
    Value,
    /// `--name VALUE`, as often as one likes.
    Repeated,
    /// `--name`.
    Flag,
}

/// An argument of an action.
#[derive(Debug, Clone, Deserialize)]
pub struct Argument {
    /// Its name without the hyphens.
    pub name: Text,
    /// One line of help.
    pub about: Text,
    /// By place or by name, once or repeated.
    #[serde(default)]
    pub kind: ArgumentKind,
    /// A single letter that stands for the name.
    pub short: Option<char>,
    /// What it is when it is not given.
    pub default: Option<Text>,
    /// It is a file to be written.
    #[serde(default)]
    pub file: bool,
}

/// What was typed for an action.
#[derive(Debug, Clone, Default)]
pub struct Arguments(pub BTreeMap<String, Vec<String>>);

impl Arguments {
    /// Every value of an argument.
    pub fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of an argument; empty when it has none.
    pub fn one(&self, name: &str) -> &str {
        self.all(name).first().map_or("", String::as_str)
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of an argument as a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, FamilyError> {
        let text = self.one(name);
        text.parse()
            .map_err(|_| FamilyError::Usage(format!("--{name} takes a number, not `{text}`")))
    }
}

/// What an action made; the program prints and writes it.
#[derive(Debug, Default)]
pub struct Made {
    /// Printed one after the other.
    pub tables: Vec<Table>,
    /// Paths with what is to be written there.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// A form on which people mark what was written, and the path of its spreadsheet.
    pub form: Option<(PathBuf, MarkingForm)>,
}
