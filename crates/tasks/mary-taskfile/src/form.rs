//! What a task file may say, as it is written. Unknown keys are refused, so that a misspelt one is not
//! silently ignored.

use mary_contract::{Start, StartError};
use serde::Deserialize;
use toml::Spanned;

use crate::rows::Format;

/// Text whose place in the file is known.
pub(crate) type Placed = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    /// `task` or `family/task`.
    pub name: Option<Placed>,
    pub title: Option<String>,
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    pub citation: String,
    #[serde(default)]
    pub link: String,
    pub data: Data,
    pub request: Request,
    pub judge: Judge,
    #[serde(default)]
    pub shots: Shots,
    pub people: Option<People>,
    pub twin: Option<Twin>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Twin {
    pub words: Placed,
    #[serde(default)]
    pub shown: TwinShown,
}

/// What stands in this file's prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TwinShown {
    #[default]
    Picture,
    Both,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub path: Placed,
    pub format: Option<Format>,
    /// Column; without one, the line is the id.
    pub id: Option<String>,
    #[serde(default, alias = "stratum")]
    pub strata: Columns,
    pub cluster: Option<String>,
    #[serde(default)]
    pub tags: Columns,
    /// Rows for which this is true.
    #[serde(rename = "where")]
    pub filter: Option<Placed>,
    /// Whether `"` encloses fields.
    pub quotes: Option<bool>,
    pub split: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(crate) enum Columns {
    #[default]
    None,
    One(String),
    Several(Vec<String>),
}

impl Columns {
    pub fn names(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RequestKind {
    Generate,
    Score,
    Observe,
}

/// Templates of the options, or one that gives a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Choices {
    List(String),
    Each(Vec<String>),
}

mary_generators::named! {
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub(crate) enum Normalisation {
        #[default]
        None = "none",
        Token = "token",
        Byte = "byte",
        Character = "character",
        Word = "word",
        Unconditional = "unconditional",
    }
}

impl Normalisation {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|n| n.name() == name)
    }
}

/// What stands before the first token, by the name of the convention.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct StartForm(pub Start);

impl TryFrom<String> for StartForm {
    type Error = StartError;

    fn try_from(text: String) -> Result<Self, StartError> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PoolForm {
    #[default]
    Mean,
    Last,
    First,
}

/// `last`, `all`, or numbers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum LayersForm {
    Word(String),
    These(Vec<i32>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub kind: Spanned<RequestKind>,
    pub system: Option<Placed>,
    pub prompt: Option<Placed>,
    /// Messages of a chat, in place of a prompt.
    pub turns: Option<Placed>,
    #[serde(default)]
    pub pictures: Vec<Placed>,
    pub choices: Option<Spanned<Choices>>,
    /// How an option (`choice`) or the scored text follows the prompt.
    pub continuation: Option<Placed>,
    pub good: Option<Placed>,
    pub bad: Option<Placed>,
    #[serde(default)]
    pub texts: Vec<Placed>,
    #[serde(default)]
    pub normalisation: Normalisation,
    /// What stands before an option for its unconditional probability.
    pub unconditional: Option<Placed>,
    pub start: Option<StartForm>,
    #[serde(default)]
    pub stop: Vec<String>,
    #[serde(default = "some_tokens")]
    pub max_tokens: u32,
    #[serde(default)]
    pub temperature: f64,
    pub top_p: Option<f64>,
    #[serde(default)]
    pub pool: PoolForm,
    pub layers: Option<Spanned<LayersForm>>,
}

fn some_tokens() -> u32 {
    64
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum JudgeKind {
    Choice,
    Exact,
    Contains,
    Regex,
    Number,
    Model,
    Correlation,
    Triple,
    Greedy,
    Perplexity,
}

/// What becomes of options that are equally probable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TiesForm {
    #[default]
    Shared,
    First,
}

/// What an answer is from which nothing can be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unread {
    #[default]
    Unparsed,
    Wrong,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Take {
    First,
    #[default]
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ignore {
    Case,
    Punctuation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerIs {
    Text,
    Index,
    Letter,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Judge {
    pub kind: Spanned<JudgeKind>,
    pub answer: Option<Placed>,
    /// How `answer` names the right option, where that is not plain.
    pub answer_is: Option<AnswerIs>,
    pub pattern: Option<Placed>,
    /// Which number or match counts.
    pub take: Option<Take>,
    #[serde(default)]
    pub tolerance: f64,
    #[serde(default)]
    pub relative: f64,
    pub ignore: Option<Vec<Ignore>>,
    /// Patterns that are taken out of answers and of what is right before they are compared.
    #[serde(default)]
    pub remove: Vec<Placed>,
    #[serde(default)]
    pub keep_spaces: bool,
    #[serde(default)]
    pub unread: Unread,
    #[serde(default)]
    pub ties: TiesForm,
    pub rubric: Option<Placed>,
    /// Lowest and highest mark of a model that judges.
    pub scale: Option<Spanned<[f64; 2]>>,
    pub with: Option<Placed>,
    pub chance: Option<f64>,
    pub human: Option<f64>,
    pub human_source: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    #[default]
    Balanced,
    Random,
    Fixed,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shots {
    #[serde(default)]
    pub count: usize,
    pub path: Option<Placed>,
    pub format: Option<Format>,
    pub split: Option<String>,
    #[serde(rename = "where")]
    pub filter: Option<Placed>,
    #[serde(default)]
    pub order: Order,
    pub template: Option<Placed>,
    pub separator: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct People {
    #[serde(default)]
    pub wording: String,
    #[serde(default)]
    pub answer: String,
}
