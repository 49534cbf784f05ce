//! Words and when they are learnt: the surprisal of each word in its contexts, at every checkpoint of a
//! sweep, to be held against the ages at which children know the words.
//!
//! The norms are a file the user supplies (`word,age`, the age in months, as Wordbank or the age-of-acquisition
//! ratings give it); nothing published is shipped. Contexts are a file of sentences, or six short carriers of
//! ours. A run by itself gives surprisals; the ages of acquisition are made from a sweep (`windows`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, ErrorKind, Item, ItemSource, Items, Judgement, Metric, Needs, Prompt, Reply,
    Response, Scoring, Target, Task, TaskCard, TaskError, TaskSettings,
};
use serde::Deserialize;
use serde_json::json;

use crate::cards::{card, conventions};
use crate::choice::{self, failed};
use crate::settings::no_shots;
use crate::tables;

pub const ID: &str = "psychometric/word-age";
/// The tag that names a word, and its age where norms say one: `dog @ 16.5`.
pub const WORD: &str = "word";
const AGE: &str = " @ ";

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/word-age"));

#[derive(Debug, Clone, Copy)]
pub struct WordAge;

/// What stands before a word where no sentences are given.
const CARRIERS: [&str; 6] = [
    "Look at the",
    "She has the",
    "Where is the",
    "I can see the",
    "He wants the",
    "This is the",
];

#[derive(Debug, Clone, PartialEq)]
pub struct Norm {
    pub word: String,
    /// In months, where norms are given.
    pub age: Option<f64>,
}

impl Norm {
    fn tag(&self) -> String {
        match self.age {
            Some(age) => format!("{}{AGE}{age}", self.word),
            None => self.word.clone(),
        }
    }

    pub fn of_tag(tag: &str) -> Self {
        let split = tag
            .rsplit_once(AGE)
            .and_then(|(word, age)| Some((word, age.parse().ok()?)));
        match split {
            Some((word, age)) => Self {
                word: word.to_owned(),
                age: Some(age),
            },
            None => Self {
                word: tag.to_owned(),
                age: None,
            },
        }
    }
}

#[derive(Deserialize)]
struct Record {
    word: String,
    age: f64,
}

fn norms(path: &Path) -> Result<Vec<Norm>, TaskError> {
    let mut reader = tables::open(path, "a CSV file with the columns word,age")?;
    let mut found: Vec<Norm> = Vec::new();
    for (index, record) in reader.deserialize().enumerate() {
        let wrong = |message: String| tables::record(path, index + 2, message);
        let Record { word, age } = record.map_err(|e| tables::wrong(path, index + 2, &e))?;
        if word.is_empty() || !age.is_finite() || age <= 0.0 {
            return Err(wrong(format!(
                "expected a word and an age in months above 0, found `{word}` and {age}"
            )));
        }
        if found.iter().any(|n| n.word == word) {
            return Err(wrong(format!("`{word}` stands twice")));
        }
        found.push(Norm {
            word,
            age: Some(age),
        });
    }
    if found.is_empty() {
        return Err(tables::record(path, 1, "no word found"));
    }
    Ok(found)
}

/// The words of the small world, which the built-in model has read and which have no ages.
fn small_world() -> Vec<Norm> {
    let mut words: Vec<&str> = mary_generators::small_world::categories()
        .flat_map(|c| c.members.iter().copied())
        .collect();
    words.sort_unstable();
    words.dedup();
    let norm = |word: &str| Norm {
        word: word.to_owned(),
        age: None,
    };
    words.into_iter().map(norm).collect()
}

/// What stands before a word in the sentences that have it, the word standing for itself.
fn before<'a>(sentences: &'a [&'a str], word: &str) -> Vec<&'a str> {
    sentences
        .iter()
        .filter_map(|sentence| {
            sentence.match_indices(word).find_map(|(at, _)| {
                let outside = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric());
                let (head, tail) = (&sentence[..at], &sentence[at + word.len()..]);
                let alone = outside(head.chars().next_back()) && outside(tail.chars().next());
                let prefix = head.strip_suffix(' ')?;
                (alone && !prefix.is_empty()).then_some(prefix)
            })
        })
        .collect()
}

fn items_of(norm: &Norm, prefixes: &[&str]) -> Vec<Item> {
    prefixes
        .iter()
        .enumerate()
        .map(|(number, prefix)| {
            let prefix = Prompt::plain((*prefix).to_owned());
            let ask = Ask::subject(choice::score(prefix, vec![format!(" {}", norm.word)]));
            let target = Target::Data(json!({"word": norm.word, "age": norm.age}));
            let mut item = Item::new(format!("{}-{number}", norm.word), target, vec![ask])
                .tagged(WORD, norm.tag());
            item.cluster = Some(norm.word.clone());
            item
        })
        .collect()
}

impl Task for WordAge {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn source(&self, settings: &TaskSettings) -> ItemSource {
        match settings.param(&CARD, "norms_file") {
            "" => ItemSource::Fresh,
            _ => ItemSource::File,
        }
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::SCORE
    }

    fn items(&self, settings: &TaskSettings, _data: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        let most = settings.number(&CARD, "contexts", |n: usize| n > 0)?;
        let words = match settings.param(&CARD, "norms_file") {
            "" => small_world(),
            path => norms(Path::new(path))?,
        };
        let text = match settings.param(&CARD, "contexts_file") {
            "" => None,
            path => Some(tables::text(Path::new(path), "sentences, one a line")?),
        };
        let sentences: Vec<&str> = text.as_deref().map_or(vec![], |t| {
            t.trim_start_matches('\u{feff}').lines().collect()
        });
        let (mut items, mut without) = (Vec::new(), Vec::new());
        for norm in &words {
            let prefixes = match text {
                None => CARRIERS.to_vec(),
                Some(_) => before(&sentences, &norm.word),
            };
            if prefixes.is_empty() {
                without.push(norm.word.as_str());
            }
            let taken = prefixes.len().min(most);
            items.extend(items_of(norm, &prefixes[..taken]));
        }
        if !without.is_empty() {
            let named: Vec<&str> = without.iter().copied().take(5).collect();
            return Err(TaskError::Setting(format!(
                "{ID}: {} words stand after another word in no line of {}: {} …\nhint: give sentences for them, \
                 or take them out of the norms",
                without.len(),
                settings.param(&CARD, "contexts_file"),
                named.join(", ")
            )));
        }
        Ok(Box::new(items.into_iter().map(Ok)))
    }

    fn judge(&self, _: &TaskSettings, _item: &Item, answers: &[Reply]) -> Judgement {
        let [reply] = answers else {
            return failed("expected one answer for a word in its context");
        };
        let Response::Scored(scored) = &reply.answer else {
            return failed("expected the log-probability of a word");
        };
        let [word] = scored.continuations.as_slice() else {
            return failed("expected the log-probability of one word");
        };
        let bits = -word.sum() / std::f64::consts::LN_2;
        if !bits.is_finite() {
            let message = "a word's log-probability is not a number";
            return Judgement::failed(ErrorKind::NotFinite, message);
        }
        Judgement::scored(bits)
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::number(Metric::Number)
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        conventions(&CARD, settings, &[])
    }
}

#[cfg(test)]
mod tests {
    use mary_contract::{NoData, Request};

    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    fn items(params: &[(&str, &str)]) -> Result<Vec<Item>, TaskError> {
        let settings = TaskSettings {
            params: params
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..TaskSettings::default()
        };
        WordAge.items(&settings, &NoData)?.collect()
    }

    #[test]
    fn a_word_is_asked_after_each_of_its_contexts() {
        let norms = file("word,age\ndog,16.5\nrun,20\n");
        let contexts =
            file("The old dog can run.\nHe likes dogs.\nDogs run fast.\nrun\nI run to the dog.\n");
        let path = |f: &tempfile::NamedTempFile| f.path().display().to_string();
        let found = items(&[
            ("norms_file", &path(&norms)),
            ("contexts_file", &path(&contexts)),
        ])
        .unwrap();
        let prefixes: Vec<(String, String)> = found
            .iter()
            .map(|item| {
                let Request::Score(score) = &item.asks[0].request else {
                    panic!("a score")
                };
                let prefix = score.prefix.text();
                (score.continuations[0].clone(), prefix)
            })
            .collect();
        let expected = [
            (" dog", "The old"),
            (" dog", "I run to the"),
            (" run", "The old dog can"),
            (" run", "Dogs"),
            (" run", "I"),
        ]
        .map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(prefixes, expected);
        assert_eq!(found[0].tags[WORD], "dog @ 16.5");
        assert_eq!(Norm::of_tag("dog @ 16.5").age, Some(16.5));
        assert_eq!(Norm::of_tag("at @ home").word, "at @ home");
    }

    #[test]
    fn without_files_the_small_world_is_asked() {
        let found = items(&[]).unwrap();
        assert!(found.len() > 300 && found.len().is_multiple_of(CARRIERS.len()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |norms: &str, contexts: &str| {
            let (norms, contexts) = (file(norms), file(contexts));
            let path = |f: &tempfile::NamedTempFile| f.path().display().to_string();
            items(&[
                ("norms_file", &path(&norms)),
                ("contexts_file", &path(&contexts)),
            ])
            .unwrap_err()
            .to_string()
        };
        assert!(wrong("word,age\ndog,0\n", "x").contains(":2: expected a word and an age"));
        assert!(wrong("word,age\ndog,9\ndog,8\n", "x").contains(":3: `dog` stands twice"));
        assert!(wrong("word,age\ndog,9\ncat,8\n", "The dog.\n").contains("cat"));
    }
}
