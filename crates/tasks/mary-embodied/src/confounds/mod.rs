//! What else could explain an error: how long a question is, how rare its words are, how late they are
//! learned. An analysis over stored answers, in the forms of Table 13 and Appendix D.3, with a logistic
//! regression in which the subtask and the confounds stand beside each other; and for SensoryVec, the
//! forms and frequencies of the words. Beside them, what every model fails.

mod failures;
mod norms;
mod questions;
mod regression;
mod words;

pub use norms::Norms;
pub use questions::{Material, material};

use std::collections::BTreeMap;

use mary_contract::{Conditions, Sample, Table, Target, TaskRun, question_names};

use failures::Failures;
use questions::{QuestionRecord, by_subtask, right_and_wrong};
use regression::question_regression;
use words::{TripleRecord, triple_regression};

/// Answers of some models, gathered sample by sample. Items are told apart within what was asked of
/// whom (task, version, settings; model), never by their id alone: tasks number their items alike.
#[derive(Debug, Default)]
pub struct Confounds {
    gathered: BTreeMap<Conditions, Gathered>,
}

/// What was gathered under one set of conditions: by model, then by item.
#[derive(Debug, Default)]
struct Gathered {
    questions: BTreeMap<String, BTreeMap<String, QuestionRecord>>,
    triples: BTreeMap<String, BTreeMap<String, TripleRecord>>,
    failures: Failures,
}

impl Confounds {
    /// Takes a sample in. What is neither a question with options nor a triple is left aside; an answer
    /// without a score tells what the question is made of and nothing else.
    pub fn add(&mut self, run: &TaskRun, sample: &Sample, norms: &Norms) {
        let gathered = self.gathered.entry(run.conditions()).or_default();
        gathered.failures.add(sample);
        let score = sample.judgement.score();
        let (model, item) = (sample.id.model.clone(), &sample.item);
        match &item.target {
            Target::Choice {
                question, options, ..
            } => {
                // Both orders and all trials of a question are one question.
                let key = match item.tags.get("order") {
                    Some(order) => item.id.trim_end_matches(order.as_str()).to_owned(),
                    None => item.id.clone(),
                };
                let subtask = item.tags.get("subtask").cloned().unwrap_or_default();
                let record = gathered.questions.entry(model).or_default().entry(key);
                record
                    .or_insert_with(|| {
                        QuestionRecord::new(subtask, material(question, options, norms))
                    })
                    .scores
                    .extend(score);
            }
            Target::Data(data) => {
                let record = score.and_then(|s| TripleRecord::read(data, item, s, norms));
                if let Some(record) = record {
                    let of_model = gathered.triples.entry(model).or_default();
                    of_model.insert(item.id.clone(), record);
                }
            }
            _ => {}
        }
    }

    pub fn tables(&self) -> Vec<Table> {
        let all = self.gathered.iter();
        let fruitful: Vec<(&Conditions, Vec<Table>)> = all
            .map(|(conditions, gathered)| (conditions, gathered.tables()))
            .filter(|(_, tables)| !tables.is_empty())
            .collect();
        let conditions: Vec<&Conditions> = fruitful.iter().map(|(c, _)| *c).collect();
        let names = question_names(&conditions);
        let mut all = Vec::new();
        for (place, ((_, tables), name)) in fruitful.into_iter().zip(names).enumerate() {
            all.extend(tables.into_iter().map(|table| match name.as_str() {
                "" => table,
                name => Table {
                    id: format!("{}-{}", table.id, place + 1),
                    title: format!("{}: {name}", table.title),
                    ..table
                },
            }));
        }
        all
    }
}

impl Gathered {
    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        tables.extend(by_subtask(&self.questions));
        tables.extend(right_and_wrong(&self.questions));
        for (model, records) in &self.questions {
            tables.extend(question_regression(model, records));
        }
        for (model, records) in &self.triples {
            tables.extend(triple_regression(model, records));
        }
        tables.extend(self.failures.tables());
        tables
    }
}

#[cfg(test)]
mod tests {
    use mary_contract::{Item, Judgement, SampleId};

    use super::*;

    fn run(task: &str, language: &str) -> TaskRun {
        TaskRun {
            id: task.into(),
            version: 1,
            asked: Some([("language".to_owned(), language.to_owned())].into()),
            ..TaskRun::default()
        }
    }

    /// Twenty questions of a task, numbered from 0 as every task numbers its own.
    fn add_all(confounds: &mut Confounds, run: &TaskRun, subtask: &str) {
        for i in 0..20 {
            let target = Target::Choice {
                question: format!("which {}", "word ".repeat(i % 5)),
                options: vec!["a".into(), "b".into()],
                correct: 0,
            };
            let item = Item::new(format!("{i}"), target, vec![]).tagged("subtask", subtask);
            let sample = Sample {
                id: SampleId::new("m", run.id.clone(), item.id.clone(), 0),
                item,
                exchanges: vec![],
                judgement: Judgement::scored(f64::from(u8::from(i % 3 == 0))),
            };
            confounds.add(run, &sample, &Norms::default());
        }
    }

    #[test]
    fn items_of_two_tasks_that_share_an_id_are_two_questions() {
        let mut confounds = Confounds::default();
        add_all(&mut confounds, &run("f/one", "en"), "V-S");
        add_all(&mut confounds, &run("f/two", "en"), "V-S");
        add_all(&mut confounds, &run("f/two", "zh"), "V-S");
        let tables = confounds.tables();
        let counted: Vec<(&str, &str)> = tables
            .iter()
            .filter(|t| t.id.starts_with("embodied-table-13"))
            .map(|t| (t.title.as_str(), &*t.rows[0][1]))
            .collect();
        assert_eq!(
            counted,
            [
                ("What the questions are made of: f/one", "20"),
                (
                    "What the questions are made of: f/two (language = en)",
                    "20"
                ),
                (
                    "What the questions are made of: f/two (language = zh)",
                    "20"
                ),
            ]
        );
        let mut ids: Vec<&str> = tables.iter().map(|t| t.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), tables.len(), "every table has a name of its own");
    }
}
