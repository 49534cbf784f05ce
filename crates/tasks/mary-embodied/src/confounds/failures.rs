//! Items that every model fails, in the forms of Tables 6, 7 and 15, and where the right option stood, in
//! the form of Table 10. Made from stored answers: the texts are those of the runs.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{Cell, Item, Sample, Table, Target};

use crate::exhibits::DECLARED;

/// Items shown of each kind; the caption says how many there are.
const SHOWN: usize = 20;
/// Fewer models than this say little about what "every model" fails.
const FEWEST_MODELS: usize = 2;

#[derive(Debug, Default)]
struct Record {
    kind: String,
    text: String,
    answer: String,
    asked: BTreeSet<String>,
    right: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct Failures {
    questions: BTreeMap<String, Record>,
    triples: BTreeMap<String, Record>,
    /// How often each place held the right option, by order and once for each item.
    places: BTreeMap<String, BTreeMap<usize, BTreeSet<String>>>,
}

impl Failures {
    /// Takes a sample in. An answer without a score is not counted as wrong: nobody read it.
    pub(super) fn add(&mut self, sample: &Sample) {
        let item = &sample.item;
        let score = sample.judgement.score();
        match &item.target {
            Target::Choice {
                question,
                options,
                correct,
            } => {
                let order = item.tags.get("order").cloned().unwrap_or_default();
                let places = self.places.entry(order.clone()).or_default();
                places.entry(*correct).or_default().insert(item.id.clone());
                // Both orders of a question are one question.
                let key = item.id.trim_end_matches(order.as_str()).to_owned();
                let record = self.questions.entry(key).or_insert_with(|| Record {
                    kind: item.tags.get("subtask").cloned().unwrap_or_default(),
                    text: question.clone(),
                    answer: options.get(*correct).cloned().unwrap_or_default(),
                    ..Record::default()
                });
                record.take(&sample.id.model, score);
            }
            Target::Data(data) => {
                let word = |name: &str| data.get(name).and_then(|w| w.as_str()).map(str::to_owned);
                if let [Some(first), Some(synonym), Some(antonym)] =
                    ["word", "synonym", "antonym"].map(word)
                {
                    let record = self
                        .triples
                        .entry(item.id.clone())
                        .or_insert_with(|| Record {
                            kind: kind(item),
                            text: first,
                            answer: format!("{synonym} / {antonym}"),
                            ..Record::default()
                        });
                    record.take(&sample.id.model, score);
                }
            }
            _ => {}
        }
    }

    pub(super) fn tables(&self) -> Vec<Table> {
        let tables = [
            failed(&self.triples, "embodied-table-6"),
            failed(&self.questions, "embodied-table-7"),
            self.placing(),
        ];
        tables.into_iter().flatten().collect()
    }

    fn placing(&self) -> Option<Table> {
        let most = self.places.values().flat_map(BTreeMap::keys).max()? + 1;
        let letter = |place: usize| char::from(b'A' + place.min(25) as u8).to_string();
        let rows = self.places.iter().map(|(order, places)| {
            let mut cells = vec![order.clone()];
            cells.extend((0..most).map(|p| places.get(&p).map_or(0, BTreeSet::len).to_string()));
            cells
        });
        let table = DECLARED.table("embodied-table-10");
        let table = table.with_heads("places", (0..most).map(letter));
        Some(table.with_rows(Cell::figures(rows.collect())))
    }
}

impl Record {
    fn take(&mut self, model: &str, score: Option<f64>) {
        if let Some(score) = score {
            self.asked.insert(model.to_owned());
            if score > 0.5 {
                self.right.insert(model.to_owned());
            }
        }
    }
}

/// The sense of a triple, with the attribute of a visual one: `visual, shape`.
fn kind(item: &Item) -> String {
    let tag = |name: &str| item.tags.get(name).cloned();
    let sense = tag("sense").unwrap_or_default();
    match tag("attribute") {
        Some(attribute) => format!("{sense}, {attribute}"),
        None => sense,
    }
}

fn failed(records: &BTreeMap<String, Record>, id: &str) -> Option<Table> {
    let models: BTreeSet<&String> = records.values().flat_map(|r| &r.asked).collect();
    if models.len() < FEWEST_MODELS {
        return None;
    }
    let failed = |r: &&Record| r.asked.len() == models.len() && r.right.is_empty();
    let all: Vec<&Record> = records.values().filter(failed).collect();
    let rows = all.iter().take(SHOWN).map(|r| {
        let models = r.asked.len().to_string();
        [&r.kind, &r.text, &r.answer, &models]
            .map(String::clone)
            .into()
    });
    let table = DECLARED
        .table(id)
        .saying("all", all.len())
        .saying("records", records.len())
        .saying("models", models.len())
        .saying("shown", SHOWN);
    Some(table.with_rows(Cell::figures(rows.collect())))
}

#[cfg(test)]
mod tests {
    use mary_contract::{Judgement, SampleId};

    use super::*;

    fn sample(model: &str, id: &str, order: &str, correct: usize, score: f64) -> Sample {
        let target = Target::Choice {
            question: format!("question {id}"),
            options: ["p", "q", "r", "s"].map(String::from).to_vec(),
            correct,
        };
        Sample {
            id: SampleId::new(model, "embodied/perceptualqa", format!("{id}-{order}"), 0),
            item: Item::new(format!("{id}-{order}"), target, vec![])
                .tagged("order", order)
                .tagged("subtask", "V-S"),
            exchanges: vec![],
            judgement: Judgement::scored(score),
        }
    }

    #[test]
    fn only_what_every_model_fails_in_every_order_is_listed() {
        let mut failures = Failures::default();
        for (model, id, order, correct, score) in [
            ("a", "1", "1", 0, 0.0),
            ("a", "1", "2", 2, 0.0),
            ("b", "1", "1", 0, 0.0),
            // Right in one order: not failed.
            ("a", "2", "1", 1, 0.0),
            ("a", "2", "2", 3, 1.0),
            ("b", "2", "1", 1, 0.0),
        ] {
            failures.add(&sample(model, id, order, correct, score));
        }
        let tables = failures.tables();
        let ids: Vec<&str> = tables.iter().map(|t| t.id.as_str()).collect();
        assert_eq!(ids, ["embodied-table-7", "embodied-table-10"]);
        assert_eq!(tables[0].rows, [["V-S", "question 1", "p", "2"]]);
        assert!(tables[0].caption.contains("1 of 2 items"));
        // Each item once, however many models answered it.
        assert_eq!(tables[1].rows[0], ["1", "1", "1", "0", "0"]);
        assert_eq!(tables[1].rows[1], ["2", "0", "0", "1", "1"]);
    }

    #[test]
    fn one_model_is_not_every_model() {
        let mut failures = Failures::default();
        failures.add(&sample("a", "1", "1", 0, 0.0));
        assert!(failures.tables().iter().all(|t| t.id != "embodied-table-7"));
    }
}
