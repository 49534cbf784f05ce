//! What a reader must know about a task: its card, with the settings it takes, the figures shown beside
//! ours and the paper. A card owns its text, so that a task read from a file has one like any other;
//! the cards of built-in tasks borrow theirs from the program ([`text`]).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Changes;

/// Text of a card: borrowed from the program, or owned.
pub type Text = Cow<'static, str>;

/// Text from the program, in a `static` card.
pub const fn text(said: &'static str) -> Text {
    Cow::Borrowed(said)
}

/// A value a user can set with `--set name=value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// As it stands before the `=` of `--set`.
    pub name: Text,
    /// The value in force when nobody sets one.
    pub default: Text,
    /// The values it can take, as `mary tasks show` prints them.
    pub values: Text,
    /// One sentence on what the value decides.
    pub about: Text,
    /// What it changes: the question, the judging, or neither.
    #[serde(default)]
    pub changes: Changes,
}

impl Param {
    /// A parameter of a built-in task: its name, its default, what it can be, and one sentence.
    pub const fn new(
        name: &'static str,
        default: &'static str,
        values: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            name: text(name),
            default: text(default),
            values: text(values),
            about: text(about),
            changes: Changes::Question,
        }
    }

    /// The same, with what it changes where that is not the question.
    #[must_use]
    pub const fn changing(mut self, changes: Changes) -> Self {
        self.changes = changes;
        self
    }

    /// The parameters of a built-in task, for its card.
    pub const fn list(params: &'static [Self]) -> Cow<'static, [Self]> {
        Cow::Borrowed(params)
    }
}

/// A published or human figure shown beside ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reference {
    /// The value on the task's scale.
    pub value: f64,
    /// Where it is from ("Lee & Lim 2024, Table 6").
    pub source: Text,
}

impl Reference {
    /// A figure with its source.
    pub const fn new(value: f64, source: &'static str) -> Self {
        Self {
            value,
            source: text(source),
        }
    }
}

/// A paper that a task follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// As in a reference list.
    pub text: Text,
    /// DOI or arXiv id.
    pub link: Text,
}

impl Citation {
    /// A paper, as in a reference list, with its DOI or arXiv id.
    pub const fn new(reference: &'static str, link: &'static str) -> Self {
        Self {
            text: text(reference),
            link: text(link),
        }
    }
}

/// What a reader must know about a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskCard {
    /// `family/task`, unique in a laboratory.
    pub id: Text,
    /// The part of the id before the slash.
    pub family: Text,
    /// Raised whenever items, prompts or judging change; part of every cache key.
    pub version: u32,
    /// A few words for heads of tables.
    pub title: Text,
    /// What it measures and why, one paragraph.
    pub about: Text,
    /// Score of a guesser on the task's scale, where that means something.
    pub chance: Option<f64>,
    /// Score of people, where known.
    pub human: Option<Reference>,
    /// What a user can set, beside shots, form and seed.
    pub params: Cow<'static, [Param]>,
    /// Dataset it reads, if any; `None` for tasks that make their own items.
    pub dataset: Option<Text>,
    /// The paper whose task this is; empty for a task of one's own.
    pub citation: Citation,
    /// Part of the starter selection, with this many items.
    pub starter: Option<usize>,
    /// Hash of everything that makes the task (its file and its data), for a task that is not built
    /// in. It stands in the manifest and in every cache key, since nobody raises the version of a
    /// file that is edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Text>,
}

impl TaskCard {
    /// The card of a task of one's own: `family/task`, a title, and what it measures. What nobody knows
    /// yet (chance, people, a paper) is absent.
    ///
    /// ```
    /// use mary_contract::TaskCard;
    ///
    /// let card = TaskCard::new("mine/rhyme", "Rhyme", "Whether two words rhyme.");
    /// assert_eq!((&*card.family, card.version), ("mine", 1));
    /// assert!(card.chance.is_none() && card.citation.text.is_empty());
    /// ```
    pub fn new(id: impl Into<Text>, title: impl Into<Text>, about: impl Into<Text>) -> Self {
        let id = id.into();
        let family = id.split_once('/').map_or("", |(family, _)| family);
        Self {
            family: family.to_owned().into(),
            id,
            version: 1,
            title: title.into(),
            about: about.into(),
            chance: None,
            human: None,
            params: Cow::Borrowed(&[]),
            dataset: None,
            citation: Citation::new("", ""),
            starter: None,
            content: None,
        }
    }

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|p| p.name == name)
    }
}
