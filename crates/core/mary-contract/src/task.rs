//! A task: what is asked and how an answer is judged. What a reader must know about it is its
//! [`TaskCard`].

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Ask, Capabilities, DataError, DataSource, ForPeople, InForce, Item, ItemSource, Judgement,
    Measure, PromptForm, Reference, Reply, SOURCE, Sample, Scoring, TaskCard, Ties, Twin,
};

/// A stream of items, made or read lazily.
pub type Items = Box<dyn Iterator<Item = Result<Item, TaskError>> + Send>;

/// More questions about an item, or why there are none.
pub type FollowUp = Result<Vec<Ask>, TaskError>;

/// The name of a setting and its value where nobody has chosen one.
pub type SettingDefault = Option<(&'static str, &'static str)>;

/// Why a task could not give an item. Lines are counted from 1.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum TaskError {
    /// The dataset is not there or damaged.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A record of a dataset makes no sense.
    #[error("{file}:{line}: {message}")]
    Record {
        file: String,
        line: usize,
        message: String,
    },
    /// A setting the task does not know or cannot use.
    #[error("{0}")]
    Setting(String),
    /// A generator could not fulfil its promise.
    #[error("{0}")]
    Generator(String),
}

impl TaskError {
    /// A record of a file that makes no sense.
    pub fn record(file: impl AsRef<Path>, line: usize, message: impl Into<String>) -> Self {
        Self::Record {
            file: file.as_ref().display().to_string(),
            line,
            message: message.into(),
        }
    }
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
    const NOTHING: Self = Self {
        generate: false,
        score: false,
        score_single_token: false,
        observe: false,
        images: false,
        judge: false,
    };
    /// Answers in words and nothing else.
    pub const GENERATE: Self = Self {
        generate: true,
        ..Self::NOTHING
    };
    /// Log-probabilities and nothing else.
    pub const SCORE: Self = Self {
        score: true,
        ..Self::NOTHING
    };
    /// Hidden states and nothing else.
    pub const OBSERVE: Self = Self {
        observe: true,
        ..Self::NOTHING
    };

    /// Answers that are scored, or else written.
    pub fn answers(scored: bool) -> Self {
        if scored { Self::SCORE } else { Self::GENERATE }
    }

    /// With a judge, where that holds.
    #[must_use]
    pub fn judged(self, judge: bool) -> Self {
        Self { judge, ..self }
    }

    /// What is missing, in words; empty when the model fits.
    ///
    /// ```
    /// use mary_contract::{Capabilities, Needs, PromptForm};
    ///
    /// let needs = Needs { score: true, ..Needs::default() };
    /// let chat_api = Capabilities { generate: true, chat: true, ..Capabilities::default() };
    /// let missing = needs.missing(&chat_api, PromptForm::Plain);
    /// assert_eq!(missing, ["log-probabilities of given text"]);
    /// ```
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
    /// The value of a parameter: the user's, or the card's default. Old words for the source of items
    /// are read as today's.
    pub fn param<'a>(&'a self, card: &'a TaskCard, name: &str) -> &'a str {
        let param = card.param(name);
        match self.params.get(name) {
            Some(set) if name == SOURCE => crate::source::source_value(param, set),
            Some(set) => set,
            None => param.map_or("", |p| &p.default),
        }
    }

    /// What the word that a parameter is set to means.
    pub fn choose<T: Copy>(
        &self,
        card: &TaskCard,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<T, TaskError> {
        let said = self.param(card, name);
        let found = words.iter().find(|(word, _)| *word == said);
        let value = found.map(|found| found.1);
        value.ok_or_else(|| card.not_one_of(name, said))
    }

    /// A parameter that is a number, where it fits.
    pub fn number<T: FromStr + Copy>(
        &self,
        card: &TaskCard,
        name: &str,
        fits: impl Fn(T) -> bool,
    ) -> Result<T, TaskError> {
        let said = self.param(card, name);
        let read = said.parse().ok().filter(|value| fits(*value));
        read.ok_or_else(|| card.not_one_of(name, said))
    }

    /// Refuses parameters that the task does not have.
    pub fn check(&self, card: &TaskCard) -> Result<(), TaskError> {
        match self.params.keys().find(|name| card.param(name).is_none()) {
            None => Ok(()),
            Some(unknown) => {
                let known: Vec<&str> = card.params.iter().map(|p| &*p.name).collect();
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

impl TaskCard {
    /// A parameter is set to something that it cannot be.
    pub fn not_one_of(&self, name: &str, found: &str) -> TaskError {
        let values = self.param(name).map_or("", |p| &p.values);
        let id = &self.id;
        TaskError::Setting(format!("{id}: `{name}={found}` is not one of: {values}"))
    }
}

/// One task. Pure: it makes items and judges answers, and never sees a model.
pub trait Task: Send + Sync {
    /// What a reader must know.
    fn card(&self) -> &TaskCard;

    /// What it needs under these settings.
    fn needs(&self, settings: &TaskSettings) -> Needs;

    /// What people score on these items; the card's figure, unless it was measured on others.
    fn human(&self, _settings: &TaskSettings) -> Option<Reference> {
        self.card().human.clone()
    }

    /// Its items, in a fixed order for given settings.
    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError>;

    /// The tag whose values are the families in which items were written (the paradigms of minimal
    /// pairs, the kinds of a problem). A family is then the unit that was sampled: the score's
    /// interval, and with it the verdict against chance, generalises over families. `None` where
    /// items (or their clusters) were drawn one by one. docs/units.md says which and why.
    fn family_tag(&self, _settings: &TaskSettings) -> Option<&'static str> {
        None
    }

    /// Where its items come from under these settings.
    fn source(&self, settings: &TaskSettings) -> ItemSource {
        ItemSource::by_card(self.card(), settings)
    }

    /// A setting whose default depends on who is asked, with its value there: for the `builtin` model
    /// alone, whose whole world is small, or for others too. `None` where nothing depends on that or the
    /// user has chosen.
    fn default_for(&self, _settings: &TaskSettings, _builtin: bool) -> SettingDefault {
        None
    }

    /// Whether the items are all there are (the three ways of writing a number) and not a sample: no
    /// interval then says how other items would come out, and what stands in its place is the range of
    /// these.
    fn fixed_items(&self, _settings: &TaskSettings) -> bool {
        false
    }

    /// More questions, now that all so far are answered. Called until it returns none.
    fn follow_up(&self, _: &TaskSettings, _item: &Item, _answers: &[Reply]) -> FollowUp {
        Ok(Vec::new())
    }

    /// The verdict, once everything is answered. Needs no model, so that stored runs can be judged
    /// again.
    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement;

    /// The item as a person is shown it, in a study with people. Nothing where a person cannot answer.
    fn for_people(&self, _settings: &TaskSettings, item: &Item) -> Option<ForPeople> {
        ForPeople::of(item)
    }

    /// Metrics of the whole set that are not a mean over items. The samples come lazily, so that a
    /// task that needs none of them costs nothing.
    fn overall(
        &self,
        _settings: &TaskSettings,
        _samples: &mut dyn Iterator<Item = Sample>,
    ) -> Vec<Measure> {
        Vec::new()
    }

    /// What is asked under these settings, by name: whatever two runs must share for their scores to
    /// be of the same [`crate::Question`]. By default what the card's parameters say; a task whose
    /// items do not depend on the seed, or that has a number of shots of its own, says so here.
    fn asked(&self, settings: &TaskSettings) -> InForce {
        settings.asked(self.card())
    }

    /// How answers are judged under these settings, by name.
    fn judging(&self, settings: &TaskSettings) -> InForce {
        settings.judging(self.card())
    }

    /// Which form of which items it is under these settings, where it has a twin. Families answer for their
    /// own tasks ([`crate::Family::twin`]); this is for a task that no family knows.
    fn twin(&self, _settings: &TaskSettings) -> Option<Twin> {
        None
    }

    /// What its score is: scale and rule of ties. Unless a task says otherwise its scores are what
    /// [`crate::Outcome::Scored`] says: 1 right, 0 wrong, one half a tie.
    fn scoring(&self, _settings: &TaskSettings) -> Scoring {
        Scoring::share(Ties::Half)
    }

    /// The conventions under which a score was made: template, start, sum or mean, ties, pooling.
    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String>;
}

/// Every method is handed on, those with a default too: a default here would silently replace what
/// the task itself says.
macro_rules! task_behind_a_pointer {
    ($($pointer:ty),+: $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        task_behind_a_pointer! {@each [$($pointer),+] {$(
            fn $name(&self, $($argument: $type),*) -> $result {
                (**self).$name($($argument),*)
            }
        )+}}
    };
    (@each [$($pointer:ty),+] $methods:tt) => {
        $(task_behind_a_pointer! {@one $pointer, $methods})+
    };
    (@one $pointer:ty, {$($methods:tt)+}) => {
        impl<T: Task + ?Sized> Task for $pointer {
            $($methods)+
        }
    };
}

task_behind_a_pointer! { &T, Arc<T>:
    fn card() -> &TaskCard;
    fn needs(settings: &TaskSettings) -> Needs;
    fn human(settings: &TaskSettings) -> Option<Reference>;
    fn items(settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError>;
    fn family_tag(settings: &TaskSettings) -> Option<&'static str>;
    fn source(settings: &TaskSettings) -> ItemSource;
    fn default_for(settings: &TaskSettings, builtin: bool) -> SettingDefault;
    fn fixed_items(settings: &TaskSettings) -> bool;
    fn follow_up(settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp;
    fn judge(settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement;
    fn for_people(settings: &TaskSettings, item: &Item) -> Option<ForPeople>;
    fn overall(settings: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure>;
    fn asked(settings: &TaskSettings) -> InForce;
    fn judging(settings: &TaskSettings) -> InForce;
    fn twin(settings: &TaskSettings) -> Option<Twin>;
    fn scoring(settings: &TaskSettings) -> Scoring;
    fn conventions(settings: &TaskSettings) -> BTreeMap<String, String>;
}
