//! What else could explain an error: how long a question is, how rare its words are, how late they are
//! learned. An analysis over stored answers, in the forms of Table 13 and Appendix D.3, with a logistic
//! regression in which the subtask and the confounds stand beside each other; and for SensoryVec, the
//! forms and frequencies of the words.

mod norms;
mod questions;
mod regression;
mod words;

pub use norms::Norms;
pub use questions::{Material, material};

use std::collections::BTreeMap;

use mary_contract::{Outcome, Sample, Table, Target};

use questions::{QuestionRecord, by_subtask, right_and_wrong};
use regression::question_regression;
use words::{TripleRecord, triple_regression};

/// Answers of some models, gathered sample by sample.
#[derive(Debug, Default)]
pub struct Confounds {
    questions: BTreeMap<String, BTreeMap<String, QuestionRecord>>,
    triples: BTreeMap<String, BTreeMap<String, TripleRecord>>,
}

impl Confounds {
    /// Takes a sample in. What is neither a question with options nor a triple is left aside; an answer
    /// without a score tells what the question is made of and nothing else.
    pub fn add(&mut self, sample: &Sample, norms: &Norms) {
        let score = match sample.judgement.outcome {
            Outcome::Scored(score) => Some(score),
            _ => None,
        };
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
                let record = self.questions.entry(model).or_default().entry(key);
                record
                    .or_insert_with(|| {
                        QuestionRecord::new(subtask, material(question, options, norms))
                    })
                    .scores
                    .extend(score);
            }
            Target::Data(data) => {
                let record = score.and_then(|s| TripleRecord::of(data, item, s, norms));
                if let Some(record) = record {
                    let of_model = self.triples.entry(model).or_default();
                    of_model.insert(item.id.clone(), record);
                }
            }
            _ => {}
        }
    }

    /// All tables that the answers give.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        tables.extend(by_subtask(&self.questions));
        tables.extend(right_and_wrong(&self.questions));
        for (model, records) in &self.questions {
            tables.extend(question_regression(model, records));
        }
        for (model, records) in &self.triples {
            tables.extend(triple_regression(model, records));
        }
        tables
    }
}

/// A p-value as it is read.
fn p_cell(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}
