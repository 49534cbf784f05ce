//! SensoryVec's failures: does a word lie nearer to its antonym because the two look alike, or because
//! they are as frequent as each other?

use std::collections::BTreeMap;

use mary_contract::{Cell, Item, Table};
use serde_json::Value;

use super::norms::Norms;
use super::regression::{Design, coefficient_rows, file_name, standardise};
use crate::exhibits::DECLARED;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TripleRecord {
    visual: bool,
    /// How much more the antonym looks like the word than the synonym does.
    form: f64,
    /// How much nearer the antonym's frequency is to the word's than the synonym's is.
    frequency: Option<f64>,
    own_frequency: Option<f64>,
    score: f64,
}

impl TripleRecord {
    pub(super) fn read(data: &Value, item: &Item, score: f64, norms: &Norms) -> Option<Self> {
        let word = |role: &str| data.get(role).and_then(Value::as_str);
        let (word, synonym, antonym) = (word("word")?, word("synonym")?, word("antonym")?);
        let alike = |other: &str| strsim::normalized_levenshtein(word, other);
        let zipf = |w: &str| norms.frequency(&w.to_lowercase());
        let distance = |other: &str| Some((zipf(word)? - zipf(other)?).abs());
        Some(Self {
            visual: item.tags.get("modality").is_some_and(|m| m == "visual"),
            form: alike(antonym) - alike(synonym),
            frequency: distance(synonym).zip(distance(antonym)).map(|(s, a)| s - a),
            own_frequency: zipf(word),
            score,
        })
    }
}

const NAMES: [&str; 4] = [
    "visual",
    "antonym looks more alike (per SD)",
    "antonym is nearer in frequency (per SD)",
    "frequency of the word (per SD)",
];

pub(super) fn triple_regression(
    model: &str,
    records: &BTreeMap<String, TripleRecord>,
) -> Option<Table> {
    let complete = records.values().filter_map(|r| {
        let visual = f64::from(r.visual);
        Some((
            vec![visual, r.form, r.frequency?, r.own_frequency?],
            r.score,
        ))
    });
    let (rows, outcomes) = complete.unzip();
    let mut design = Design {
        names: NAMES.map(String::from).to_vec(),
        rows,
        outcomes,
    };
    for column in 1..NAMES.len() {
        standardise(&mut design.rows, column)?;
    }
    let fit = design.full()?;
    let table = DECLARED
        .table("embodied-words-{file}")
        .saying("file", file_name(model))
        .saying("model", model)
        .saying("listed", design.rows.len())
        .saying("triples", records.len());
    Some(table.with_rows(Cell::figures(coefficient_rows(&design.names, &fit))))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use mary_contract::Target;
    use serde_json::json;

    use super::*;

    #[test]
    fn form_and_frequency_are_measured_from_the_words() {
        let frequency: HashMap<String, f64> =
            [("sugarless", 2.0), ("unsweetened", 2.5), ("sugary", 3.5)]
                .map(|(w, f)| (w.to_owned(), f))
                .into();
        let norms = Norms::new(frequency, HashMap::new());
        let data = json!({"word": "sugarless", "synonym": "unsweetened", "antonym": "sugary"});
        let item =
            Item::new("x", Target::Data(data.clone()), vec![]).tagged("modality", "non-visual");
        let record = TripleRecord::read(&data, &item, 0.0, &norms).unwrap();
        assert!(record.form > 0.2, "{record:?}");
        assert_eq!(record.frequency, Some(-1.0));
        assert!(!record.visual);
    }
}
