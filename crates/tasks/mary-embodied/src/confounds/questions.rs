//! Questions with options: what they are made of, by subtask and by whether they were answered right.

use std::collections::BTreeMap;

use mary_contract::{Cell, Table, p_value};
use mary_stats::{multiple, rank};

use super::norms::Norms;
use crate::Subtask;
use crate::exhibits::DECLARED;
use crate::published::published;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    /// Words between blanks, options included (characters where there are no blanks to speak of).
    pub length: f64,
    pub frequency: Option<f64>,
    /// Mean age of acquisition of the rated words, in years.
    pub acquisition: Option<f64>,
}

#[derive(Debug, Clone)]
pub(super) struct QuestionRecord {
    pub(super) subtask: String,
    pub(super) material: Material,
    pub(super) scores: Vec<f64>,
}

impl QuestionRecord {
    pub(super) fn new(subtask: String, material: Material) -> Self {
        Self {
            subtask,
            material,
            scores: Vec::new(),
        }
    }

    pub(super) fn score(&self) -> Option<f64> {
        let n = self.scores.len();
        (n > 0).then(|| self.scores.iter().sum::<f64>() / n as f64)
    }
}

/// Whether a character is written without blanks between words.
fn is_han(c: char) -> bool {
    ('\u{3400}'..='\u{9fff}').contains(&c)
}

/// Length, frequency and age of a question with its options. Averages are over every occurrence of a
/// word; words that are not listed are left out, as in the paper (whose Table 13 this gives to a
/// hundredth).
pub fn material(question: &str, options: &[String], norms: &Norms) -> Material {
    let text = format!("{question} {}", options.join(" ")).to_lowercase();
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    // An English question may name a Chinese character.
    let length = if 2 * text.chars().filter(|c| is_han(*c)).count() > letters {
        letters
    } else {
        text.split_whitespace().count()
    };
    let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words: Vec<&str> = parts.filter(|w| !w.is_empty()).collect();
    let mean = |value: &dyn Fn(&str) -> Option<f64>| {
        let known: Vec<f64> = words.iter().filter_map(|w| value(w)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    Material {
        length: length as f64,
        frequency: mean(&|w| norms.frequency(w)),
        acquisition: mean(&|w| norms.acquisition(w)),
    }
}

type Questions = BTreeMap<String, BTreeMap<String, QuestionRecord>>;

pub(super) type Confound = (&'static str, fn(&Material) -> Option<f64>);
pub(super) const CONFOUNDS: [Confound; 3] = [
    ("length", |m| Some(m.length)),
    ("word frequency", |m| m.frequency),
    ("age of acquisition", |m| m.acquisition),
];

/// Table 13: means (standard deviations) by subtask, published ones below.
pub(super) fn by_subtask(all: &Questions) -> Option<Table> {
    let mut distinct: BTreeMap<&str, (&str, Material)> = BTreeMap::new();
    for (id, record) in all.values().flatten() {
        distinct.insert(id, (&record.subtask, record.material));
    }
    let mut rows = Vec::new();
    for subtask in Subtask::ALL {
        let of = distinct.values();
        let of = of.filter(|(code, _)| *code == subtask.name());
        let of: Vec<Material> = of.map(|(_, m)| *m).collect();
        if of.is_empty() {
            continue;
        }
        let mut row = vec![subtask.name().to_owned(), of.len().to_string()];
        row.extend(CONFOUNDS.iter().map(|(_, value)| {
            let values: Vec<f64> = of.iter().filter_map(value).collect();
            mean_and_deviation(&values)
        }));
        rows.push(row);
    }
    let printed = published().table_13.iter().map(|row| {
        let cell = |v: [f64; 2]| format!("{:.2} ({:.2})", v[0], v[1]);
        let means = [row.length, row.frequency, row.acquisition].map(cell);
        let first = [row.subtask.clone(), "–".into()].into_iter();
        first.chain(means).collect()
    });
    let table = DECLARED.table("embodied-table-13");
    let table = table.with_rows(Cell::figures(rows));
    let printed = Cell::figures(printed.collect());
    table.with_published(printed).if_measured()
}

/// As the paper: the standard deviation of the population.
fn mean_and_deviation(values: &[f64]) -> String {
    if values.is_empty() {
        return "–".into();
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    format!("{mean:.2} ({:.2})", variance.sqrt())
}

/// Questions answered right against questions answered wrong, by Mann–Whitney's U, for each model.
pub(super) fn right_and_wrong(all: &Questions) -> Option<Table> {
    let mut rows = Vec::new();
    let mut p_values = Vec::new();
    for (model, records) in all {
        for (name, value) in CONFOUNDS {
            let of = |wanted: fn(f64) -> bool| -> Vec<f64> {
                let answered = records.values().filter(|r| r.score().is_some_and(wanted));
                answered.filter_map(|r| value(&r.material)).collect()
            };
            let (right, wrong) = (of(|s| s > 0.5), of(|s| s < 0.5));
            let Ok(test) = rank::mann_whitney(&right, &wrong) else {
                continue;
            };
            let mean = |v: &[f64]| format!("{:.2}", v.iter().sum::<f64>() / v.len().max(1) as f64);
            p_values.push(test.p);
            rows.push(vec![
                model.clone(),
                name.to_owned(),
                right.len().to_string(),
                mean(&right),
                wrong.len().to_string(),
                mean(&wrong),
                format!("{:.0}", test.u),
                format!("{:.3}", test.superiority),
                p_value(test.p),
            ]);
        }
    }
    let corrected = multiple::holm(&p_values).ok()?;
    for (row, p) in rows.iter_mut().zip(corrected) {
        row.push(p_value(p));
    }
    let table = DECLARED.table("embodied-confounds");
    Some(table.with_rows(Cell::figures(rows)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn norms() -> Norms {
        let words = |pairs: &[(&str, f64)]| -> HashMap<String, f64> {
            pairs.iter().map(|(w, v)| ((*w).to_owned(), *v)).collect()
        };
        Norms::new(
            words(&[("bell", 4.0), ("the", 7.0)]),
            words(&[("bell", 5.0)]),
        )
    }

    #[test]
    fn words_are_counted_with_the_options_and_unknown_ones_left_out() {
        let options = ["Bell.", "A zorp", "the-bell", "7"].map(String::from);
        let m = material("The bell?", &options, &norms());
        // The bell? | Bell. | A zorp | the-bell | 7
        assert_eq!(m.length, 7.0);
        assert_eq!(m.frequency, Some((7.0 + 4.0 + 4.0 + 7.0 + 4.0) / 5.0));
        assert_eq!(m.acquisition, Some(5.0));
    }

    #[test]
    fn chinese_is_counted_in_characters() {
        let options = ["红色", "蓝色", "绿色", "黄色"].map(String::from);
        let m = material("苹果是什么颜色？", &options, &norms());
        assert_eq!(m.length, 15.0);
        assert_eq!(m.frequency, None);
    }

    #[test]
    fn a_longer_wrong_group_is_found() {
        let mut records = BTreeMap::new();
        for i in 0..40 {
            let wrong = i % 2 == 0;
            let material = Material {
                length: f64::from(i) + if wrong { 30.0 } else { 0.0 },
                frequency: None,
                acquisition: None,
            };
            let mut record = QuestionRecord::new("V-S".into(), material);
            record.scores = vec![if wrong { 0.0 } else { 1.0 }];
            records.insert(format!("{i}"), record);
        }
        let all = BTreeMap::from([("m".to_owned(), records)]);
        let table = right_and_wrong(&all).unwrap();
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.rows[0][8], "< .001");
        let table = by_subtask(&all).unwrap();
        assert_eq!(table.rows[0][..2], ["V-S", "40"]);
        assert_eq!(table.rows[0][3], "–");
    }
}
