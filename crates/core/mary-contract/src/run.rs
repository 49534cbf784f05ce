//! What a run leaves behind: a manifest, one sample per item, a summary.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{
    Ask, InForce, Item, ItemSource, Judgement, Key, ModelCard, ModelError, ModelRef, ModelSettings,
    Reply, Scoring, TaskSettings, Twin, Usage,
};

/// A value with its uncertainty. Intervals are 95 % unless `method` says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate itself, on the scale of the score.
    pub value: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// How many items it rests on.
    pub n: usize,
    /// How the interval was made (`wilson`, `clustered`, `bootstrap-bca`, …).
    pub method: String,
}

impl Estimate {
    /// A value between these bounds.
    pub fn new(value: f64, (low, high): (f64, f64), n: usize, method: impl Into<String>) -> Self {
        Self {
            value,
            low,
            high,
            n,
            method: method.into(),
        }
    }

    /// Itself minus an estimate on other items: the two intervals are combined as of independent samples
    /// (Newcombe's way, which keeps each one's own interval, clustered or not).
    ///
    /// ```
    /// use mary_contract::Estimate;
    ///
    /// let easy = Estimate::new(0.9, (0.8, 0.95), 50, "wilson");
    /// let hard = Estimate::new(0.6, (0.45, 0.73), 40, "wilson");
    /// let gap = easy.minus(&hard);
    /// assert!((gap.value - 0.3).abs() < 1e-12 && gap.n == 90);
    /// assert!(gap.low > 0.0, "the two do not overlap by chance");
    /// ```
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let value = self.value - other.value;
        let low = value - (self.value - self.low).hypot(other.high - other.value);
        let high = value + (self.high - self.value).hypot(other.value - other.low);
        Self::new(value, (low, high), self.n + other.n, "newcombe")
    }
}

/// How many items are run.
///
/// ```
/// use mary_contract::Limit;
///
/// assert_eq!("100".parse(), Ok(Limit::Count(100)));
/// assert_eq!("0.1".parse(), Ok(Limit::Fraction(0.1)));
/// assert!("0".parse::<Limit>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// This many, or all where there are fewer.
    Count(usize),
    /// This share of the set.
    Fraction(f64),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text.parse::<usize>(), text.parse::<f64>()) {
            (Ok(0), _) => Err("a limit of 0 leaves nothing to run".into()),
            (Ok(count), _) => Ok(Self::Count(count)),
            (_, Ok(f)) if f > 0.0 && f <= 1.0 => Ok(Self::Fraction(f)),
            _ => Err(format!(
                "`{text}` is neither a count (100) nor a fraction (0.1)"
            )),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(n) => write!(f, "{n}"),
            Self::Fraction(x) => write!(f, "{x}"),
        }
    }
}

/// One task as it was run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRun {
    /// `family/task`.
    pub id: String,
    /// The version of the task at the time.
    pub version: u32,
    /// Hash of what a task of one's own is made of; built-in tasks have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The settings it was run with, before defaults are filled in.
    pub settings: TaskSettings,
    /// How many items are run, where limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The conventions its scores state.
    pub conventions: BTreeMap<String, String>,
    /// Content hash of the dataset, where one is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset_hash: Option<String>,
    /// Settings in force that change what is asked (see [`crate::Question`]); absent in runs of earlier
    /// programs and in imported ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<InForce>,
    /// Settings in force that change how answers are judged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judging: InForce,
    /// Where its items came from; absent in runs of earlier programs and in imported ones
    /// ([`TaskRun::item_source`] knows some of those too).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ItemSource>,
    /// Scale and rule of ties; absent in runs of earlier programs and in imported ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scoring: Option<Scoring>,
    /// Which form of which items it is, where the task itself says so (a task file that names its twin).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<Twin>,
    /// The program whose log this is, where it is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
}

/// Who reads answers, where a task wants a second model for that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgeChoice {
    /// No second model: tasks that need one are refused.
    #[default]
    None,
    /// Every model under study reads its own answers.
    Subject,
    /// This model reads the answers of all.
    Model(ModelRef),
}

impl JudgeChoice {
    /// Whether there is no judge.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Which items are asked, where the answers so far decide that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// Hash of the scale whose items these are.
    pub scale: String,
    /// Standard error of the ability at which a subject is asked no more.
    pub error: f64,
    /// Items asked of one subject, at most.
    pub most: usize,
}

/// How a run is carried out beside [`ModelSettings`], where that changes no answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecutionSettings {
    /// Answers are taken from the cache and kept in it.
    pub cache: bool,
    /// Everything goes through the providers' batch APIs.
    pub batch: bool,
    /// How items are chosen, where not all are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        Self {
            cache: true,
            batch: false,
            adaptive: None,
        }
    }
}

/// Everything that was decided before the first question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// Version of the log's form.
    pub schema: u32,
    /// Names the run; derived from what is run, so that the same command finds it again.
    pub id: String,
    /// When it began, as RFC 3339 in UTC.
    pub created: String,
    /// Version of the program.
    pub version: String,
    /// The command line, secrets never being part of one.
    pub command: Vec<String>,
    /// The models under study, fingerprints included.
    pub models: Vec<ModelCard>,
    /// How they were opened: device, number type, address.
    pub model_settings: ModelSettings,
    /// The judge, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<ModelCard>,
    /// How the judge was chosen. Folders made before this was kept hold the card alone;
    /// [`RunManifest::chosen_judge`] reads both.
    #[serde(default, skip_serializing_if = "JudgeChoice::is_none")]
    pub judge_choice: JudgeChoice,
    /// The tasks in the order in which they are asked.
    pub tasks: Vec<TaskRun>,
    /// Times every item is asked.
    pub trials: u32,
    /// Seed of items, draws and limits.
    pub seed: u64,
    /// How it is carried out.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub execution: ExecutionSettings,
}

impl RunManifest {
    /// The name of who judges, for rows and labels: `self` where every model reads its own answers.
    pub fn judge_name(&self) -> Option<String> {
        match self.chosen_judge() {
            JudgeChoice::None => None,
            JudgeChoice::Subject => Some("self".to_owned()),
            JudgeChoice::Model(model) => Some(model.to_string()),
        }
    }

    /// Who judges. In folders that do not say, the command line tells `--judge self` from the judge's
    /// name.
    pub fn chosen_judge(&self) -> JudgeChoice {
        let Some(card) = self.judge.as_ref().filter(|_| self.judge_choice.is_none()) else {
            return self.judge_choice.clone();
        };
        let mut words = self.command.iter().map(String::as_str);
        let oneself = words.any(|word| word == "--judge=self")
            || self
                .command
                .windows(2)
                .any(|pair| pair[0] == "--judge" && pair[1] == "self");
        if oneself {
            JudgeChoice::Subject
        } else {
            JudgeChoice::Model(card.model.clone())
        }
    }
}

/// Names a sample within a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SampleId {
    /// The model under study, as the user named it.
    pub model: String,
    /// `family/task`.
    pub task: String,
    /// The id of the item within the task.
    pub item: String,
    /// Which of the times it was asked, from 0.
    pub trial: u32,
}

impl SampleId {
    /// The answer of a model to an item of a task, and how often it was asked before.
    pub fn new(
        model: impl Into<String>,
        task: impl Into<String>,
        item: impl Into<String>,
        trial: u32,
    ) -> Self {
        Self {
            model: model.into(),
            task: task.into(),
            item: item.into(),
            trial,
        }
    }
}

/// One question and what came back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Names the answer in the cache.
    pub key: Key,
    /// What was asked of whom.
    pub ask: Ask,
    /// The answer, or why there is none.
    pub reply: Result<Reply, ModelError>,
}

/// One line of the log: an item, everything said about it, and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Model, task, item and trial.
    pub id: SampleId,
    /// The item; its first questions stand in `exchanges`.
    pub item: Item,
    /// Everything asked and answered, in order.
    pub exchanges: Vec<Exchange>,
    /// The verdict of the task's judge.
    pub judgement: Judgement,
}

/// A named number with its uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// For example `strict` or `adjusted_accuracy`.
    pub name: String,
    /// Its value with interval and number of items.
    pub estimate: Estimate,
}

impl Measure {
    /// A number under its name.
    pub fn new(name: impl Into<String>, estimate: Estimate) -> Self {
        let name = name.into();
        Self { name, estimate }
    }
}

/// Results by the values of one tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Breakdown {
    /// The tag whose values these are, for example `phenomenon`.
    pub tag: String,
    /// Value of the tag → estimate of the score.
    pub values: BTreeMap<String, Estimate>,
}

/// An answer that took nearly all of a task's answers: the score then says how often that answer is
/// right, and nothing about the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstantAnswer {
    /// The answer, as the parser read it.
    pub answer: String,
    /// How many answers it took.
    pub count: usize,
    /// Of how many that could be read.
    pub of: usize,
}

/// A score tested against chance and, where there is one, against the guesser who counts tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChanceTest {
    /// Two-sided p-value against chance, by the method of the score's interval: below 0.05 exactly where
    /// the 95 % interval leaves chance out.
    pub p: f64,
    /// The same against the guesser who counts tokens ([`FLOOR`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_floor: Option<f64>,
    /// The larger of the two, corrected by Holm over the tasks of this model in this run.
    pub p_holm: f64,
    /// How many tasks that are.
    pub tasks: usize,
}

/// The measure that holds a score's interval with the families of its items taken as fixed: narrower
/// than the score's own, and about these families only.
pub const FAMILIES_FIXED: &str = "families_fixed";
/// The measure of a guesser who knows nothing and decides by the number of tokens.
pub const FLOOR: &str = "floor";
/// The measure of a score less that guesser's, item by item.
pub const OVER_FLOOR: &str = "over_floor";
/// The measure of how many layers have all their vectors pointing the same way (every cosine above
/// 0.99), as a share.
pub const ANISOTROPIC: &str = "anisotropic_layers";

impl SummaryRow {
    /// The measure of this name.
    pub fn measure(&self, name: &str) -> Option<&Estimate> {
        let measure = self.measures.iter().find(|m| m.name == name)?;
        Some(&measure.estimate)
    }

    /// The score of the items with this tag.
    pub fn part(&self, tag: &str, value: &str) -> Option<&Estimate> {
        let breakdown = self.breakdowns.iter().find(|b| b.tag == tag)?;
        breakdown.values.get(value)
    }
}

/// One model on one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// The model, as the user named it.
    pub model: String,
    /// `family/task`.
    pub task: String,
    /// Mean score over the scored items; absent when nothing was scored.
    pub score: Option<Estimate>,
    /// Score of a guesser, where that means something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// Score of people on these items, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<f64>,
    /// Samples, all trials together.
    pub samples: usize,
    /// Of those, samples with a score.
    pub scored: usize,
    /// Of those scored, exact ties (score one half).
    #[serde(default)]
    pub ties: usize,
    /// Where one option took more than 95 % of the answers: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant_answer: Option<ConstantAnswer>,
    /// How the score was tested against chance, where both are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance_test: Option<ChanceTest>,
    /// Samples without a score, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unscored: BTreeMap<String, usize>,
    /// Samples that failed, by kind of error.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, usize>,
    /// Verdicts under other conventions, and metrics that are not means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<Measure>,
    /// Scores by the values of each tag.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakdowns: Vec<Breakdown>,
    /// What all its answers took.
    pub usage: Usage,
}

/// All results of a run. Holds no times, so that a disturbed run ends in the same bytes as an
/// undisturbed one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Everything that was decided before the first question.
    pub manifest: RunManifest,
    /// One row for each model and task.
    pub rows: Vec<SummaryRow>,
    /// Whether every planned sample is there.
    pub complete: bool,
}
