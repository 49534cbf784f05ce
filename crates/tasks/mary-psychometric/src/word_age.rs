//! Words and when they are learnt: the surprisal of each word in its contexts, at every checkpoint of a
//! sweep, to be held against the ages at which children know the words.
//!
//! The norms are a file the user supplies (`word,age`, the age in months, or Wordbank's shares of children by month);
//! nothing published is shipped. Contexts are a file of sentences, or six short carriers of
//! ours. A run by itself gives surprisals; the ages of acquisition are made from a sweep (`windows`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, ErrorKind, Item, ItemSource, Items, Judgement, Metric, Needs, Prompt, Reply,
    Response, Scoring, Target, Task, TaskCard, TaskError, TaskSettings,
};
use mary_stats::logistic::logistic;
use serde_json::json;

use crate::cards::{card, conventions};
use crate::choice;
use crate::settings::no_shots;
use crate::tables;

pub const ID: &str = "psychometric/word-age";
/// The tag that names a word, its age where norms say one, and predictors: `dog @ 16.5 @ class=noun`.
pub const WORD: &str = "word";
const AGE: &str = " @ ";
/// The predictor that needs no column.
const LENGTH: &str = "length";

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
    /// What else is known of it: columns of the norms, by name.
    pub more: Vec<(String, String)>,
}

impl Norm {
    fn tag(&self) -> String {
        let age = self.age.map(|age| age.to_string());
        let more = self.more.iter();
        let more = more.map(|(name, value)| format!("{name}={value}"));
        let parts = std::iter::once(self.word.clone()).chain(age).chain(more);
        parts.collect::<Vec<_>>().join(AGE)
    }

    pub fn of_tag(tag: &str) -> Self {
        let mut parts = tag.split(AGE);
        let word = parts.next().unwrap_or_default();
        let age = parts.next().and_then(|age| age.parse().ok());
        let more: Option<Vec<(String, String)>> = parts
            .map(|part| {
                let (name, value) = part.split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            })
            .collect();
        match (age, more) {
            (Some(age), Some(more)) => Self {
                word: word.to_owned(),
                age: Some(age),
                more,
            },
            _ => Self {
                word: tag.to_owned(),
                age: None,
                more: Vec::new(),
            },
        }
    }
}

/// Reads norms: `word,age`, or Wordbank's shares of children who say a word (`definition` and a column for each month), of
/// which the age is that at which a logistic curve passes one half.
pub(crate) fn norms(path: &Path, predictors: &[&str]) -> Result<Vec<Norm>, TaskError> {
    let wanted =
        "a CSV file with the columns word,age, or word and a share of children for each month";
    let mut reader = tables::open(path, wanted)?;
    let head = reader.headers().map_err(|e| tables::wrong(path, 1, &e))?;
    let head = head.clone();
    let column = |name: &str| head.iter().position(|h| h == name);
    let month = |(at, name): (usize, &str)| Some((at, name.parse::<u32>().ok()?.into()));
    let months: Vec<(usize, f64)> = head.iter().enumerate().filter_map(month).collect();
    let age = column("age");
    let Some(word) = column("word").or(column("definition")) else {
        return Err(tables::record(path, 1, format!("expected {wanted}")));
    };
    if age.is_none() && months.len() < 3 {
        return Err(tables::record(path, 1, format!("expected {wanted}")));
    }
    let absent = |p: &&&str| **p != LENGTH && column(p).is_none();
    if let Some(other) = predictors.iter().find(absent) {
        let why = format!("there is no column `{other}`");
        return Err(tables::record(path, 1, why));
    }
    let mut found: Vec<Norm> = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let wrong = |message: String| tables::record(path, index + 2, message);
        let record = record.map_err(|e| tables::wrong(path, index + 2, &e))?;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let word = cell(word);
        let age = match age {
            Some(at) => cell(at).parse().ok(),
            None => half(&months, &record).map_err(&wrong)?,
        };
        let whole = |age: &f64| age.is_finite() && *age > 0.0;
        let Some(age) = age.filter(whole).filter(|_| !word.is_empty()) else {
            let why = format!("expected a word and an age in months above 0, found `{word}`");
            return Err(wrong(why));
        };
        if found.iter().any(|n| n.word == word) {
            return Err(wrong(format!("`{word}` stands twice")));
        }
        let known = |name: &&str| {
            let value = match column(name) {
                Some(at) => cell(at).to_owned(),
                None => word.chars().count().to_string(),
            };
            ((*name).to_owned(), value)
        };
        found.push(Norm {
            word: word.to_owned(),
            age: Some(age),
            more: predictors.iter().map(known).collect(),
        });
    }
    if found.is_empty() {
        return Err(tables::record(path, 1, "no word found"));
    }
    Ok(found)
}

/// The month at which half of the children say a word, by a logistic curve through the shares.
fn half(months: &[(usize, f64)], record: &csv::StringRecord) -> Result<Option<f64>, String> {
    let share = |at: usize| record.get(at).and_then(|cell| cell.parse::<f64>().ok());
    let shares: Option<Vec<f64>> = months.iter().map(|(at, _)| share(*at)).collect();
    let shares = shares.ok_or("expected a share of children for each month")?;
    let ages: Vec<Vec<f64>> = months.iter().map(|(_, age)| vec![*age]).collect();
    let found = logistic(&ages, &shares, 0.0).map_err(|e| e.to_string())?;
    Ok(match found.coefficients.as_slice() {
        [intercept, slope] if *slope > 0.0 => Some(-intercept / slope),
        _ => None,
    })
}

/// The words of the small world, which the built-in model has read and which have no ages.
fn small_world() -> Vec<Norm> {
    let categories = mary_generators::small_world::categories();
    let mut words: Vec<&str> = categories.flat_map(|c| c.members.iter().copied()).collect();
    words.sort_unstable();
    words.dedup();
    let norm = |word: &str| Norm {
        word: word.to_owned(),
        age: None,
        more: Vec::new(),
    };
    words.into_iter().map(norm).collect()
}

/// What stands before a word in the sentences that have it, the word standing for itself.
fn before<'a>(sentences: &'a [&'a str], word: &str) -> Vec<&'a str> {
    let prefixes = sentences.iter().filter_map(|sentence| {
        sentence.match_indices(word).find_map(|(at, _)| {
            let outside = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric());
            let (head, tail) = (&sentence[..at], &sentence[at + word.len()..]);
            let alone = outside(head.chars().next_back()) && outside(tail.chars().next());
            let prefix = head.strip_suffix(' ')?;
            (alone && !prefix.is_empty()).then_some(prefix)
        })
    });
    prefixes.collect()
}

fn items_of(norm: &Norm, prefixes: &[&str]) -> Vec<Item> {
    let items = prefixes.iter().enumerate().map(|(number, prefix)| {
        let prefix = Prompt::plain((*prefix).to_owned());
        let ask = Ask::subject(choice::score(prefix, vec![format!(" {}", norm.word)]));
        let target = Target::Data(json!({"word": norm.word, "age": norm.age}));
        let mut item = Item::new(format!("{}-{number}", norm.word), target, vec![ask])
            .tagged(WORD, norm.tag());
        item.cluster = Some(norm.word.clone());
        item
    });
    items.collect()
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
            path => {
                let predictors = settings.param(&CARD, "predictors").split(',');
                let named = predictors.map(str::trim).filter(|p| !p.is_empty());
                let predictors: Vec<&str> = named.collect();
                norms(Path::new(path), &predictors)?
            }
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
            return Judgement::fault("expected one answer for a word in its context");
        };
        let Response::Scored(scored) = &reply.answer else {
            return Judgement::fault("expected the log-probability of a word");
        };
        let [word] = scored.continuations.as_slice() else {
            return Judgement::fault("expected the log-probability of one word");
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

    /// Shares of Wordbank's form; ages by R 4.5, `glm(share ~ month, family = quasibinomial)`.
    #[test]
    fn ages_are_read_off_shares_of_children() {
        let table = file(
            "definition,category,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n\
             dog,animals,0.68,0.72,0.78,0.83,0.82,0.85,0.87,0.94,0.93,0.95,0.98,0.96,0.99,0.97,0.96\n\
             above,locations,0,0.01,0.01,0.01,0.03,0.03,0.05,0.07,0.08,0.14,0.17,0.19,0.24,0.26,0.3\n",
        );
        let found = norms(table.path(), &["length", "category"]).unwrap();
        let ages: Vec<f64> = found.iter().map(|n| n.age.unwrap()).collect();
        assert!((ages[0] - 12.760_686_86).abs() < 1e-6, "{ages:?}");
        assert!((ages[1] - 32.243_042_28).abs() < 1e-6, "{ages:?}");
        assert_eq!(Norm::of_tag(&found[1].tag()), found[1]);
        assert_eq!(found[0].more[0], ("length".to_owned(), "3".to_owned()));
        let error = norms(table.path(), &["use"]).unwrap_err().to_string();
        assert!(error.contains("there is no column `use`"), "{error}");
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
