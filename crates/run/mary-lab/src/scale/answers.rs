//! Answers of people and models from anywhere: runs, studies, tables.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use mary_contract::{Item, ModelCard, Outcome, Sample, Target, TaskRun};
use mary_store::RunFolder;
use serde::{Deserialize, Serialize};

use super::lineage::lineage;
use crate::RunError;
use crate::engine::summarise::digest;
use crate::error::unclear;

/// The group of studies' people, and of everybody a table puts into it.
pub const PEOPLE: &str = "people";
/// The group of everybody else.
pub const MODELS: &str = "models";
/// The group of who stands in a table without groups.
pub(super) const SUBJECTS: &str = "subjects";
/// Characters of an item's text that are kept.
const TEXT: usize = 400;

/// Somebody who answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// As tables call it.
    pub name: String,
    /// `people`, `models`, or what a table says.
    pub group: String,
    /// Subjects of one lineage are not independent.
    pub lineage: String,
}

/// Something that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The task, or the file of a table.
    pub task: String,
    /// Its id there.
    pub id: String,
    /// Of task, id and what is right: an item that changed is another.
    pub hash: String,
    /// What is asked, for people to read.
    pub text: String,
    /// Kind of content within the task: its stratum, or what a table says.
    pub kind: String,
    /// Share that a guesser has right.
    pub chance: f64,
}

/// Where answers come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Id of a run, or name of a file.
    pub name: String,
    /// Hash of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// Everything that was answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answers {
    /// Who answered, in the order in which they came.
    pub subjects: Vec<Subject>,
    /// What was asked, in the order in which it came.
    pub items: Vec<Asked>,
    /// Score by subject and item.
    pub scores: BTreeMap<(usize, usize), f64>,
    /// The tasks behind the items, as they were run.
    pub tasks: Vec<TaskRun>,
    /// Where all this comes from.
    pub sources: Vec<Source>,
    /// What was left out, with how often.
    pub left_out: BTreeMap<&'static str, usize>,
    people: HashMap<String, usize>,
    places: HashMap<String, usize>,
}

/// One line of a table.
#[derive(Deserialize)]
struct Row {
    subject: String,
    item: String,
    score: f64,
    group: Option<String>,
    lineage: Option<String>,
    text: Option<String>,
    kind: Option<String>,
    chance: Option<f64>,
}

impl Answers {
    /// Adds the answers of a run; the trials of `people/…` are persons, of models the first trial counts.
    pub fn add_run(&mut self, folder: &RunFolder) -> Result<(), RunError> {
        let manifest = folder.manifest();
        self.add_tasks(&manifest.id, &manifest.tasks);
        for sample in folder.samples()? {
            self.add_sample(&sample?, &manifest.models);
        }
        Ok(())
    }

    /// Says where samples come from that are added one by one.
    pub fn add_tasks(&mut self, name: &str, tasks: &[TaskRun]) {
        self.sources.push(Source {
            name: name.to_owned(),
            hash: None,
        });
        for task in tasks {
            if !self.tasks.iter().any(|known| known.id == task.id) {
                self.tasks.push(task.clone());
            }
        }
    }

    /// Adds one sample.
    pub fn add_sample(&mut self, sample: &Sample, cards: &[ModelCard]) {
        let id = &sample.id;
        let person = id.model.split('/').next() == Some(PEOPLE);
        let score = match (&sample.judgement.outcome, person || id.trial == 0) {
            (_, false) => return self.leave_out("later trials of models"),
            (Outcome::Scored(score), true) => *score,
            (Outcome::Unscored(_), true) => {
                return self.leave_out("answers that could not be read");
            }
            (Outcome::Failed(_), true) => return self.leave_out("failed answers"),
        };
        let card = cards.iter().find(|card| card.model.to_string() == id.model);
        let subject = match person {
            true => Subject {
                name: format!("{} {}", id.model, id.trial + 1),
                group: PEOPLE.to_owned(),
                lineage: format!("{} {}", id.model, id.trial + 1),
            },
            false => Subject {
                name: card
                    .and_then(|card| card.label.clone())
                    .unwrap_or_else(|| id.model.clone()),
                group: MODELS.to_owned(),
                lineage: lineage(&id.model),
            },
        };
        let hash = item_hash(&id.task, &sample.item);
        self.add(subject, &hash, score, || Asked {
            task: id.task.clone(),
            id: id.item.clone(),
            hash: hash.clone(),
            text: text(&sample.item.target),
            kind: sample.item.stratum.clone(),
            chance: match &sample.item.target {
                Target::Choice { options, .. } => 1.0 / options.len().max(1) as f64,
                Target::Pair { .. } => 0.5,
                Target::Text(_) | Target::Data(_) => 0.0,
            },
        });
    }

    /// Adds a table: columns `subject`, `item` and `score`, perhaps `group`, `lineage`, `kind`, `text` and
    /// `chance`.
    pub fn add_table(&mut self, path: &Path) -> Result<(), RunError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = mary_platform::read_plain(path, 1 << 30)
            .or_else(|e| unclear(format!("{}: {e}", path.display())))?;
        let tabs = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("tsv"));
        let mut reader = csv::ReaderBuilder::new();
        reader.delimiter(if tabs { b'\t' } else { b',' });
        for (line, row) in reader
            .from_reader(bytes.as_slice())
            .deserialize()
            .enumerate()
        {
            let row: Row = row.or_else(|e| {
                unclear(format!(
                    "{}: {e}\nhint: the columns subject, item and score are needed; group, lineage, kind, text and \
                     chance may stand beside them",
                    path.display()
                ))
            })?;
            let chance = row.chance.unwrap_or(0.0);
            if !row.score.is_finite() || !(0.0..1.0).contains(&chance) {
                let expected = "expected a number as score, and a chance from 0 to below 1";
                return unclear(format!("{}: line {}: {expected}", path.display(), line + 2));
            }
            // Only what a table calls a model is taken apart by its name.
            let group = row.group.unwrap_or_else(|| SUBJECTS.to_owned());
            let guessed = || match group.as_str() {
                MODELS => lineage(&row.subject),
                _ => row.subject.clone(),
            };
            let subject = Subject {
                lineage: row.lineage.unwrap_or_else(guessed),
                name: row.subject,
                group,
            };
            // Without the file, so that several tables can be about the same items.
            let hash = short_hash(&["table", &row.item]);
            self.add(subject, &hash, row.score, || Asked {
                task: name.to_string(),
                id: row.item.clone(),
                hash: hash.clone(),
                text: cut(&row.text.unwrap_or_default()),
                kind: row.kind.unwrap_or_default(),
                chance,
            });
        }
        self.sources.push(Source {
            name: name.to_string(),
            hash: Some(blake3::hash(&bytes).to_hex().to_string()),
        });
        Ok(())
    }

    fn add(&mut self, subject: Subject, item: &str, score: f64, asked: impl FnOnce() -> Asked) {
        let who = *self.people.entry(subject.name.clone()).or_insert_with(|| {
            self.subjects.push(subject);
            self.subjects.len() - 1
        });
        let what = *self.places.entry(item.to_owned()).or_insert_with(|| {
            self.items.push(asked());
            self.items.len() - 1
        });
        if self.scores.contains_key(&(who, what)) {
            return self.leave_out("second answers of one subject to one item");
        }
        self.scores.insert((who, what), score);
    }

    pub(super) fn leave_out(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }
}

/// Names an item by task, id and what is right.
pub fn item_hash(task: &str, item: &Item) -> String {
    let target = serde_json::to_string(&item.target).unwrap_or_default();
    short_hash(&[task, &item.id, &target])
}

fn short_hash(parts: &[&str]) -> String {
    digest(parts).to_hex().chars().take(20).collect()
}

fn text(target: &Target) -> String {
    cut(&match target {
        Target::Choice {
            question,
            options,
            correct,
        } => {
            let right = options.get(*correct).map_or("", String::as_str);
            format!("{question} [{}] right: {right}", options.join(" | "))
        }
        Target::Pair { good, bad } => format!("{good} / *{bad}"),
        Target::Text(text) => text.clone(),
        Target::Data(data) => data.to_string(),
    })
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
