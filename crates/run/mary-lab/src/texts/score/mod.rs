//! How probable texts are: a file of texts or minimal pairs as a task, and tidy tables of what came of it.

pub(crate) mod regions;
mod rows;
mod tables;
pub mod words;

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{
    Ask, BLANK, ContinuationScore, DataSource, Details, ErrorKind, InForce, Item, Items, Judgement,
    Metric, ModelCard, Needs, Outcome, Prompt, Reply, Request, Response, START_MEASURE, Score,
    Scoring, Start, Target, Task, TaskCard, TaskError, TaskSettings, Ties,
};
use mary_taskfile::Material;
use serde::Serialize;
use serde_json::json;

pub use rows::{Part, Text};
pub use tables::{By, Tables, tables};
pub(crate) use tables::{frequency, length};

use crate::texts::cloze::likeliest;
use crate::texts::{InstrumentError, material};
pub(crate) use rows::Texts;

/// What is scored, and what is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreOptions {
    /// The column of texts.
    pub text: String,
    /// Minimal pairs instead: the columns of the acceptable and of the other text.
    pub pair: Option<(String, String)>,
    /// The column of what stands before a text.
    pub context: Option<String>,
    /// The column of ids; without one, `id` or the line.
    pub id: Option<String>,
    /// Columns carried into the tables.
    pub keep: Vec<String>,
    /// The column that holds the words of regions of interest.
    pub region: Option<String>,
    /// Regions of interest by marks in the text.
    pub marks: Option<(String, String)>,
    /// The column of a text's words, for writing without blanks; else words are runs without white space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Tell of each word its length in characters and how frequent it is.
    #[serde(skip)]
    pub predictors: bool,
    /// How frequent words are, where that is known: Zipf's scale.
    #[serde(skip)]
    pub frequency: Option<std::sync::Arc<mary_embodied::Norms>>,
    /// Tell of each word the surprisals of so many words after it.
    #[serde(skip)]
    pub next: usize,
    /// What stands between context and text; scored with the text.
    pub separator: String,
    /// What stands before the first token.
    pub start: Start,
    /// Ask with several start tokens instead ([`Start::COMPARED`]); the first decides.
    #[serde(skip)]
    pub compare: bool,
    /// Tell the entropy of each distribution.
    pub entropy: bool,
    /// Tell the rank of each token.
    pub rank: bool,
    /// Tell of each word so many tokens that were likeliest in its place.
    #[serde(skip_serializing_if = "mary_contract::is_default")]
    pub top: u32,
    /// Move the probability of a leading space to the word before it, beside the plain rule.
    pub correction: bool,
}

impl Default for ScoreOptions {
    fn default() -> Self {
        Self {
            text: "text".into(),
            pair: None,
            context: None,
            id: None,
            keep: Vec::new(),
            region: None,
            marks: None,
            words: None,
            predictors: false,
            frequency: None,
            next: 0,
            separator: " ".into(),
            start: Start::Text,
            compare: false,
            entropy: false,
            rank: false,
            top: 0,
            correction: true,
        }
    }
}

impl ScoreOptions {
    /// What stands before the first token; where it is several, the first decides.
    pub fn starts(&self) -> Vec<Start> {
        match self.compare {
            true => Start::COMPARED.to_vec(),
            false => vec![self.start.clone()],
        }
    }

    /// What a model's texts begin with: conventions that put the same token there share rows.
    pub fn beginnings(&self, card: &ModelCard) -> Vec<Beginning> {
        let mut found: Vec<Beginning> = Vec::new();
        for (which, start) in self.starts().iter().enumerate() {
            let name = start.name();
            let same = card.starts.as_ref().and_then(|known| {
                let token = known.shown(start);
                found.iter_mut().find(|other| other.token == token)
            });
            if let Some(same) = same {
                same.conventions = format!("{}, {name}", same.conventions);
                continue;
            }
            found.push(Beginning {
                which,
                conventions: name.to_owned(),
                // A server or a program of the user's does not tell.
                token: match &card.starts {
                    Some(known) => known.shown(start),
                    None => name.to_owned(),
                },
            });
        }
        found
    }

    /// What a task is made of beside its file; the start token as by default in earlier programs, whose kept
    /// answers must be found.
    fn made_of(&self) -> String {
        let mut options = self.clone();
        if matches!(self.start, Start::Text | Start::Token(_)) {
            options.start = Start::Always;
        }
        serde_json::to_string(&options).unwrap_or_default()
    }

    /// What is asked of each token besides its log-probability.
    pub fn details(&self) -> Details {
        Details {
            places: true,
            entropy: self.entropy,
            rank: self.rank,
            word_starts: self.correction,
            ..Details::default()
        }
    }
}

/// What texts begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// The first of its conventions, by its place in [`ScoreOptions::starts`].
    pub which: usize,
    /// The conventions that put this token there.
    pub conventions: String,
    /// The token, for tables.
    pub token: String,
}

/// A file of texts or pairs as a task.
#[derive(Clone)]
pub struct ScoreTask {
    material: Material,
    options: ScoreOptions,
    card: TaskCard,
}

impl ScoreTask {
    /// Hashes the file; its rows are not looked at yet.
    pub fn open(path: &Path, options: ScoreOptions) -> Result<Self, InstrumentError> {
        let material = Material::open(path)?;
        if options.marks.is_some() && options.region.is_some() {
            return Err(InstrumentError::Usage(
                "regions are either marked in the text or named in a column, not both".into(),
            ));
        }
        if let Some((open, close)) = &options.marks
            && (open.is_empty() || close.is_empty() || open == close)
        {
            return Err(InstrumentError::Usage(
                "--marks takes two different marks, for example '[[ ]]'".into(),
            ));
        }
        let about = match options.pair {
            Some(_) => "How often the first text of a pair is the more probable.",
            None => "How probable texts are, in bits of surprisal.",
        };
        let mut card = material::card("score", &material, about, &options.made_of());
        card.chance = options.pair.as_ref().map(|_| 0.5);
        Ok(Self {
            material,
            options,
            card,
        })
    }

    /// What is scored, and what is told of it.
    pub fn options(&self) -> &ScoreOptions {
        &self.options
    }

    pub(crate) fn texts(&self) -> Result<Texts, TaskError> {
        Texts::new(&self.material, &self.options)
    }

    /// What would stand in the place of each word, asked beside the text.
    fn likeliest<'a>(&'a self, text: &'a Text) -> impl Iterator<Item = Ask> + 'a {
        let wanted = (self.options.top > 0).then_some(&text.parts);
        let words = wanted.into_iter().flatten().flat_map(|part| {
            let places = part.word_places().into_iter();
            let text = |range| part.continuation.get(range).unwrap_or_default();
            places.map(move |place| {
                (
                    text(0..place.start),
                    text(place.end..part.continuation.len()),
                )
            })
        });
        words.map(|(before, after)| {
            let before = format!("{}{before}", text.context);
            // The space belongs to the token that is predicted.
            let bare = before.trim_end();
            let space = before.get(bare.len()..).unwrap_or_default();
            let (start, top) = (self.options.start.clone(), self.options.top);
            likeliest(
                bare.to_owned(),
                format!("{space}{BLANK}{after}"),
                start,
                top,
            )
        })
    }

    fn item(&self, text: &Text) -> Item {
        let continuations: Vec<String> =
            text.parts.iter().map(|p| p.continuation.clone()).collect();
        let ask = |start: Start| {
            Ask::subject(Request::Score(Score {
                prefix: Prompt::plain(text.context.clone()),
                continuations: continuations.clone(),
                start,
                details: self.options.details(),
            }))
        };
        let mut asks: Vec<Ask> = self.options.starts().into_iter().map(ask).collect();
        asks.extend(self.likeliest(text));
        let target = match text.parts.as_slice() {
            [good, bad] => Target::Pair {
                good: good.text.clone(),
                bad: bad.text.clone(),
            },
            _ => Target::Data(json!({ "line": text.line })),
        };
        let mut item = Item::new(text.id.clone(), target, asks);
        for (name, value) in self.options.keep.iter().zip(&text.kept) {
            item = item.tagged(name, value.clone());
        }
        item
    }
}

/// Bits of a natural logarithm.
pub(crate) fn bits(nats: f64) -> f64 {
    nats / std::f64::consts::LN_2
}

/// The scores of an answer, one for each text.
fn scores(answer: &Reply) -> &[ContinuationScore] {
    match &answer.answer {
        Response::Scored(scored) => &scored.continuations,
        _ => &[],
    }
}

/// Which text of a pair is the more probable: 1 the first, 0 the second, ties one half.
fn verdict(margin: f64) -> f64 {
    match margin {
        m if m > 0.0 => 1.0,
        m if m < 0.0 => 0.0,
        _ => 0.5,
    }
}

/// The verdict on one answer.
fn judged(answer: &Reply) -> Judgement {
    match scores(answer) {
        [only] => {
            let mut judgement = Judgement::scored(-bits(only.sum()));
            if let Some(mean) = only.mean() {
                judgement = judgement.measured("surprisal_per_token", -bits(mean));
            }
            judgement.measured("tokens", only.tokens.len() as f64)
        }
        [good, bad] => {
            let margin = good.sum() - bad.sum();
            let mut judgement = Judgement::scored(verdict(margin)).measured("margin", margin);
            if let (Some(good), Some(bad)) = (good.mean(), bad.mean()) {
                judgement = judgement.measured("per_token", verdict(good - bad));
            }
            judgement
        }
        _ => Judgement::failed(
            ErrorKind::Internal,
            "the answer does not hold one score for each text",
        ),
    }
}

impl Task for ScoreTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let (texts, again) = (self.texts()?, self.clone());
        Ok(Box::new(
            texts.map(move |text| text.map(|t| again.item(&t))),
        ))
    }

    fn judge(&self, _: &TaskSettings, _: &Item, answers: &[Reply]) -> Judgement {
        let Some((first, others)) = answers.split_first() else {
            return Judgement::failed(ErrorKind::Internal, "there is no answer");
        };
        let mut judgement = judged(first);
        for (start, other) in self.options.starts().iter().skip(1).zip(others) {
            if let Outcome::Scored(score) = judged(other).outcome {
                let name = format!("{START_MEASURE}{}", start.name());
                judgement = judgement.measured(&name, score);
            }
        }
        judgement
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked_whatever_the_seed(&self.card);
        let start = match self.options.compare {
            true => "compare",
            false => self.options.start.name(),
        };
        asked.insert("start".to_owned(), start.to_owned());
        asked
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        match self.options.pair {
            Some(_) => Scoring::share(Ties::Half),
            None => Scoring::number(Metric::Number),
        }
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        let mut said = BTreeMap::new();
        let mut say = |name: &str, text: &str| said.insert(name.to_owned(), text.to_owned());
        say("data", &material::origin(&self.material));
        match self.options.compare {
            true => say("start", "compare: auto decides, harness and none beside it"),
            false => say("start", &self.options.start.stated()),
        };
        match &self.options.words {
            Some(column) => say(
                "words",
                &format!("by column `{column}`; plain sum over tokens"),
            ),
            None => say("words", "runs without white space; plain sum over tokens"),
        };
        if self.options.correction {
            say(
                "words, corrected",
                "the probability of a leading space counts for the word before it (Pimentel and Meister \
                 2024; Oh and Schuler 2024), where tokens hold leading spaces",
            );
        }
        match self.options.pair {
            Some(_) => say(
                "score",
                "share of pairs whose first text has the larger sum; ties one half",
            ),
            None => say("scale", "surprisal of a text, bits"),
        };
        if self.options.context.is_some() {
            say(
                "separator",
                &format!("{:?}, scored with the text", self.options.separator),
            );
        }
        said
    }
}
