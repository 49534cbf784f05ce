//! Judgements of descriptions on paper or in a spreadsheet: the form that a family writes, filled in by one
//! judge or by several (a file each), read back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mary_contract::from_spreadsheet;
use mary_stats::raters::{Level, krippendorff_interval};
use mary_stats::{Interval, LEVEL, agreement, intervals};
use serde::Serialize;

use crate::exit::UsageError;

/// What judges say of one model's descriptions.
#[derive(Debug, Serialize)]
pub struct Judged {
    pub model: String,
    /// Share of judgements "correct".
    pub correct: Interval,
    /// Descriptions that were judged.
    pub descriptions: usize,
    /// Cohen's kappa, with two judges.
    pub kappa: Option<Interval>,
    /// Krippendorff's alpha, with two judges or more.
    pub alpha: Option<Interval>,
}

type Marks = BTreeMap<(String, String), Vec<(usize, f64)>>;

/// Reads forms, one for each judge.
pub fn read(forms: &[PathBuf]) -> anyhow::Result<Vec<Judged>> {
    let mut models: BTreeMap<String, Marks> = BTreeMap::new();
    for (judge, form) in forms.iter().enumerate() {
        let wrong = |line: usize, message: String| {
            UsageError::new(format!("{}:{line}: {message}", form.display()))
        };
        let mut reader = csv::Reader::from_path(form)?;
        let head = reader.headers()?.clone();
        let column = |wanted: &str| head.iter().position(|h| h.trim().starts_with(wanted));
        let (Some(model), Some(item), Some(trial), Some(mark)) = (
            column("model"),
            column("item"),
            column("trial"),
            column("0 ="),
        ) else {
            return Err(wrong(
                1,
                "expected the columns model, item, trial and one that begins with `0 =`\n\
                 hint: the command `form` of a family writes such a form"
                    .into(),
            )
            .into());
        };
        for (row, record) in reader.records().enumerate() {
            let record = record?;
            let get = |at: usize| {
                from_spreadsheet(record.get(at).unwrap_or_default())
                    .trim()
                    .to_owned()
            };
            let mark = match get(mark).as_str() {
                "" => continue, // not judged
                "0" => 0.0,
                "1" => 1.0,
                other => {
                    return Err(wrong(row + 2, format!("expected 0 or 1, found `{other}`")).into());
                }
            };
            let of_model = models.entry(get(model)).or_default();
            let of_item = of_model.entry((get(item), get(trial))).or_default();
            of_item.push((judge, mark));
        }
    }
    models
        .into_iter()
        .map(|(model, marks)| judged(model, &marks, forms.len()))
        .collect()
}

fn judged(model: String, marks: &Marks, judges: usize) -> anyhow::Result<Judged> {
    let all = || marks.values().flatten().map(|(_, mark)| *mark);
    let right = all().filter(|m| *m == 1.0).count() as u64;
    let each: Vec<Vec<f64>> = marks
        .values()
        .map(|said| said.iter().map(|(_, mark)| *mark).collect())
        .collect();
    let (first, second): (Vec<u8>, Vec<u8>) = each
        .iter()
        .filter_map(|said| match said.as_slice() {
            [a, b] => Some((*a as u8, *b as u8)),
            _ => None,
        })
        .unzip();
    let kappa = (judges == 2).then(|| agreement::cohen_kappa(&first, &second).ok());
    Ok(Judged {
        correct: intervals::wilson(right, all().count() as u64, LEVEL)?,
        descriptions: marks.len(),
        kappa: kappa.flatten().map(|k| k.kappa),
        alpha: krippendorff_interval(&each, Level::Nominal, 0).ok(),
        model,
    })
}

/// As a table.
pub fn table(judged: &[Judged]) -> String {
    let mut text = String::new();
    for one in judged {
        let Interval {
            value, low, high, ..
        } = one.correct;
        text.push_str(&format!(
            "{}: {:.2} % of {} descriptions without factual error [{:.2}, {:.2}]",
            one.model,
            100.0 * value,
            one.descriptions,
            100.0 * low,
            100.0 * high
        ));
        if let Some(kappa) = &one.kappa {
            text.push_str(&format!(", kappa {:.2}", kappa.value));
        }
        if let Some(alpha) = &one.alpha {
            text.push_str(&format!(", alpha {:.2}", alpha.value));
        }
        text.push('\n');
    }
    text
}
