//! A table of words with a measure of how they were read.

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::TaskError;
use mary_taskfile::{Material, MaterialRow};
use serde_json::{Value, json};

use super::super::score::{frequency, length, words};
use crate::texts::{Frequencies, InstrumentError, material};

/// Which columns hold what.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingOptions {
    /// What was measured: a reading time, a fixation, an amplitude.
    pub measure: String,
    /// The words.
    pub word: String,
    /// Which sentence or text a word belongs to.
    pub sentence: String,
    /// The place of a word in its sentence; without one, rows stand in order.
    pub position: Option<String>,
    /// The whole text of the sentence, where not every word of it has a row.
    pub text: Option<String>,
    /// Who read, where every person has rows of their own.
    pub person: Option<String>,
    /// Surprisals of others, or anything else, beside or instead of those of models.
    pub predictors: Vec<String>,
    /// Frequency, where the table has it.
    pub frequency: Option<String>,
    /// Length, where the table has it; else characters without punctuation.
    pub length: Option<String>,
    /// What stands between words where the text is made of them.
    pub joint: String,
    /// Smallest and largest measure that counts.
    pub between: Option<(f64, f64)>,
}

impl Default for ReadingOptions {
    fn default() -> Self {
        Self {
            measure: String::new(),
            word: "word".into(),
            sentence: "sentence".into(),
            position: None,
            text: None,
            person: None,
            predictors: Vec::new(),
            frequency: None,
            length: None,
            joint: " ".into(),
            between: None,
        }
    }
}

/// A text as models read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// As the table calls it.
    pub id: String,
    /// The text.
    pub text: String,
    /// Its words.
    pub words: Vec<String>,
}

/// A word in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadWord {
    /// Which sentence, in the order of the table.
    pub sentence: usize,
    /// Which word of it, from 0.
    pub place: usize,
    /// As it is written.
    pub word: String,
    /// Mean measure over persons; nothing where none counts.
    pub measure: Option<f64>,
    /// Each measure with its person.
    pub trials: Vec<(usize, f64)>,
    /// Values of the named columns.
    pub given: Vec<Option<f64>>,
    /// Frequency, where it is known.
    pub frequency: Option<f64>,
    /// Length in characters.
    pub length: f64,
    /// The first line of the table that holds it, from 1.
    pub line: usize,
}

/// A predictor with its value for each word.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    /// A model or a column.
    pub name: String,
    /// One for each word of [`Reading::words`].
    pub values: Vec<Option<f64>>,
}

/// A table that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Texts in the order of the table.
    pub sentences: Vec<Sentence>,
    /// Words by sentence and place.
    pub words: Vec<ReadWord>,
    /// Names of persons.
    pub persons: Vec<String>,
    /// Names of the given columns.
    pub predictors: Vec<String>,
    /// What a reader should know: words that do not stand in their text, measures left out.
    pub notes: Vec<String>,
}

struct Raw {
    sentence: usize,
    position: f64,
    word: String,
    text: String,
    measure: Option<f64>,
    person: usize,
    given: Vec<Option<f64>>,
    frequency: Option<f64>,
    length: Option<f64>,
    line: usize,
}

/// The rows of one row of the table: itself, or one for each word where `word` is a list, as in a trial of jsPsych's plugin
/// `self-paced-reading`, and the measure and other columns of numbers are lists as long. None where there is no word, as in
/// jsPsych's other trials.
fn unfolded(
    material: &Material,
    row: MaterialRow,
    options: &ReadingOptions,
) -> Result<Vec<MaterialRow>, TaskError> {
    let list = |name: &str| match row.columns.get(name)? {
        Value::Array(cells) => Some(cells.clone()),
        Value::String(text) if text.starts_with('[') => serde_json::from_str(text).ok(),
        _ => None,
    };
    let Some(words) = list(&options.word) else {
        let empty = match row.columns.get(&options.word) {
            Some(Value::Null) => true,
            Some(cell) => cell.as_str().is_some_and(|text| text.trim().is_empty()),
            // In jsPsych's JSON another kind of trial has no such column.
            None => row.columns.contains_key("trial_type"),
        };
        return Ok(if empty { Vec::new() } else { vec![row] });
    };
    let numbers = options.predictors.iter().chain([&options.measure]);
    let lists: BTreeMap<&String, Vec<Value>> = numbers
        .filter_map(|name| Some((name, list(name)?)))
        .collect();
    let measured = lists.get(&options.measure).map_or(0, Vec::len);
    if let Some((name, cells)) = lists.iter().find(|(_, cells)| cells.len() != words.len())
        && measured > 0
    {
        let (many, words) = (cells.len(), words.len());
        let why = format!("column `{name}` lists {many} numbers for {words} words");
        return Err(material.wrong(row.line, why));
    }
    // Without a script in the browser there are words and no times.
    let each = words.into_iter().take(measured).enumerate();
    Ok(each
        .map(|(at, word)| {
            let mut one = row.clone();
            for (name, cells) in &lists {
                one.columns.insert((*name).clone(), cells[at].clone());
            }
            one.columns.insert(options.word.clone(), word);
            one.columns.insert(PLACE.to_owned(), Value::from(at + 1));
            one
        })
        .collect())
}

/// The place of a word that stood in a list.
const PLACE: &str = "\0place";

/// The number in a column; nothing where it is empty or not available, and an error where it is something else.
fn number(material: &Material, row: &MaterialRow, name: &str) -> Result<Option<f64>, TaskError> {
    let text = material::text(material, row, name)?;
    match text.trim() {
        "" | "NA" | "NaN" | "nan" | "null" => Ok(None),
        other => match other.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(material.wrong(row.line, format!("column `{name}`: `{other}` is no number"))),
        },
    }
}

fn numbered(names: &mut Vec<String>, places: &mut BTreeMap<String, usize>, name: String) -> usize {
    *places.entry(name).or_insert_with_key(|name| {
        names.push(name.clone());
        names.len() - 1
    })
}

impl Reading {
    /// Reads a table; frequencies are looked up where the table has none.
    pub fn open(
        path: &Path,
        options: &ReadingOptions,
        known: Option<&Frequencies>,
    ) -> Result<Self, InstrumentError> {
        let material = Material::open(path)?;
        let mut found = Self {
            predictors: options.predictors.clone(),
            ..Self::default()
        };
        let (mut sentences, mut rows) = (Vec::new(), Vec::new());
        let (mut by_sentence, mut by_person) = (BTreeMap::new(), BTreeMap::new());
        let (mut outside, mut wordless) = (0, 0);
        for row in material.rows()? {
            let unfolded = unfolded(&material, row?, options)?;
            wordless += usize::from(unfolded.is_empty());
            for row in unfolded {
                let text = |name: &str| material::text(&material, &row, name);
                let number = |name: &str| number(&material, &row, name);
                let sentence = numbered(&mut sentences, &mut by_sentence, text(&options.sentence)?);
                let person = match &options.person {
                    Some(name) => numbered(&mut found.persons, &mut by_person, text(name)?),
                    None => 0,
                };
                let mut measure = number(&options.measure)?;
                if let (Some((low, high)), Some(value)) = (options.between, measure)
                    && !(low..=high).contains(&value)
                {
                    outside += 1;
                    measure = None;
                }
                rows.push(Raw {
                sentence,
                position: match &options.position {
                    Some(name) => number(name)?.ok_or_else(|| {
                        material.wrong(row.line, format!("column `{name}` is empty"))
                    })?,
                    None if row.columns.contains_key(PLACE) => number(PLACE)?.unwrap_or_default(),
                    None if options.person.is_some() => return Err(InstrumentError::Usage(
                        "rows of several persons need --position: the place of a word in its sentence".into(),
                    )),
                    None => rows.len() as f64,
                },
                word: text(&options.word)?.trim().to_owned(),
                text: match &options.text {
                    Some(name) => text(name)?.trim().to_owned(),
                    None => String::new(),
                },
                measure,
                person,
                given: options
                    .predictors
                    .iter()
                    .map(|name| number(name))
                    .collect::<Result<_, _>>()?,
                frequency: options
                    .frequency
                    .as_deref()
                    .map(number)
                    .transpose()?
                    .flatten(),
                length: options.length.as_deref().map(number).transpose()?.flatten(),
                line: row.line,
            });
            }
        }
        if rows.is_empty() {
            return Err(material
                .wrong(1, "there are no rows; expected at least one")
                .into());
        }
        if wordless > 0 {
            found.notes.push(format!(
                "{wordless} rows without words or times are left out"
            ));
        }
        if outside > 0 {
            let bounds = options.between.unwrap_or_default();
            found.notes.push(format!(
                "{outside} measures below {} or above {} are left out",
                bounds.0, bounds.1
            ));
        }
        found.place(rows, sentences, options)?;
        if options.frequency.is_none() {
            for word in &mut found.words {
                let zipf = |known| frequency(known, &word.word);
                word.frequency = known.and_then(zipf);
            }
        }
        Ok(found)
    }

    /// Puts rows into the places of their sentences' words.
    fn place(
        &mut self,
        mut rows: Vec<Raw>,
        ids: Vec<String>,
        options: &ReadingOptions,
    ) -> Result<(), InstrumentError> {
        rows.sort_by(|a, b| {
            let place = a.sentence.cmp(&b.sentence);
            place.then(a.position.total_cmp(&b.position))
        });
        let shift = shift(&rows);
        let mut strangers: Vec<usize> = Vec::new();
        for same in rows.chunk_by(|a, b| a.sentence == b.sentence) {
            let at = self.sentences.len();
            let mut sentence = Sentence {
                id: ids[same[0].sentence].clone(),
                text: same[0].text.clone(),
                words: Vec::new(),
            };
            if options.text.is_some() {
                sentence.words = sentence
                    .text
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect();
            }
            for (count, trials) in same.chunk_by(|a, b| a.position == b.position).enumerate() {
                let first = &trials[0];
                let place = match options.text {
                    Some(_) => (first.position - shift).max(0.0) as usize,
                    None => count,
                };
                if options.text.is_none() {
                    sentence.words.push(first.word.clone());
                }
                let there = sentence.words.get(place);
                let same = |t: &Raw| there == Some(&t.word);
                strangers.extend(trials.iter().filter(|t| !same(t)).map(|t| t.line));
                let counted: Vec<(usize, f64)> = trials
                    .iter()
                    .filter(|t| same(t))
                    .filter_map(|t| Some((t.person, t.measure?)))
                    .collect();
                let sum: f64 = counted.iter().map(|(_, value)| value).sum();
                self.words.push(ReadWord {
                    sentence: at,
                    place,
                    word: first.word.clone(),
                    measure: (!counted.is_empty()).then(|| sum / counted.len() as f64),
                    trials: counted,
                    given: first.given.clone(),
                    frequency: first.frequency,
                    length: first.length.unwrap_or(length(&first.word) as f64),
                    line: first.line,
                });
            }
            if options.text.is_none() {
                sentence.text = sentence.words.join(&options.joint);
            }
            self.sentences.push(sentence);
        }
        strangers.sort_unstable();
        if let Some(first) = strangers.first() {
            self.notes.push(format!(
                "{} of {} rows hold another word than their sentence has in that place, and are left out; the first is line {first}",
                strangers.len(),
                rows.len()
            ));
        }
        Ok(())
    }

    /// The sentences for [`super::super::score::ScoreTask`], one object a line with `id`, `text` and `words`.
    pub fn lines(&self) -> String {
        let line = |s: &Sentence| json!({"id": s.id, "text": s.text, "words": s.words}).to_string();
        let lines: Vec<String> = self.sentences.iter().map(line).collect();
        lines.join("\n") + "\n"
    }

    /// The named columns as predictors.
    pub fn given(&self) -> Vec<Predictor> {
        let named = self.predictors.iter().enumerate();
        named
            .map(|(at, name)| Predictor {
                name: name.clone(),
                values: self.words.iter().map(|w| w.given[at]).collect(),
            })
            .collect()
    }

    /// A predictor by the value of each word of each sentence, from 0.
    pub fn predictor(&self, name: &str, values: &BTreeMap<(String, usize), f64>) -> Predictor {
        let of = |w: &ReadWord| {
            let id = self.sentences[w.sentence].id.clone();
            values.get(&(id, w.place)).copied()
        };
        Predictor {
            name: name.to_owned(),
            values: self.words.iter().map(of).collect(),
        }
    }

    /// Whether the words of each sentence can be found in its text.
    pub fn check(&self) -> Result<(), InstrumentError> {
        for sentence in &self.sentences {
            words::found(&sentence.text, &sentence.words).map_err(|why| {
                InstrumentError::Usage(format!("sentence `{}`: {why}", sentence.id))
            })?;
        }
        Ok(())
    }
}

/// Where positions begin: with 0 or 1, whichever finds more words in their texts.
fn shift(rows: &[Raw]) -> f64 {
    let right = |shift: f64| {
        let there = |row: &&Raw| {
            let place = (row.position - shift).max(0.0) as usize;
            row.text.split_whitespace().nth(place) == Some(&row.word)
        };
        rows.iter().filter(there).count()
    };
    if right(1.0) > right(0.0) { 1.0 } else { 0.0 }
}
