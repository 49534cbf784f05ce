//! RAVEN and I-RAVEN (centre-single) in symbolic form: the 500 problems of lm-raven.

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{DataError, DataSource, TaskError};
use mary_generators::{shuffle, stream};
use serde::Deserialize;

use super::matrix::{Matrix, Panel};
use crate::tables;

pub const DATASET: &str = "raven";
/// Problems with RAVEN's answer sets, which give the answer away.
pub const RAVEN: &str = "raven_center_single_subset500.json";
/// The same with I-RAVEN's balanced answer sets.
pub const IRAVEN: &str = "iraven_center_single_subset500.json";

#[derive(Deserialize)]
struct Record {
    rules: Vec<BTreeMap<String, String>>,
    rpm: Vec<Vec<Symbol>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Symbol {
    r#type: String,
    size: String,
    color: String,
}

impl Symbol {
    fn panel(&self) -> Result<Panel, String> {
        let wrong = |text: &str| format!("expected a level, found `{text}`");
        let level = |text: &str| text.parse::<i32>().map_err(|_| wrong(text));
        let (kind, size) = (level(&self.r#type)?, level(&self.size)?);
        Ok([kind, size, level(&self.color)?])
    }
}

/// The problems of a file. Upstream lists the right candidate first; here the order is drawn by a seed
/// fixed for each problem.
pub fn problems(data: &dyn DataSource, file: &str) -> Result<Vec<Matrix>, TaskError> {
    let path = data.folder(DATASET)?.join(file);
    let text = tables::text(&path, "RAVEN's matrices in symbolic form")?;
    let records: BTreeMap<String, Record> =
        serde_json::from_str(&text).map_err(|e| DataError::damaged(path.clone(), e.to_string()))?;
    let numbered = records.iter().enumerate();
    let problems = numbered.map(|(index, (id, record))| problem(&path, index, id, record));
    problems.collect()
}

fn problem(path: &Path, index: usize, id: &str, record: &Record) -> Result<Matrix, TaskError> {
    let wrong =
        |message: String| tables::record(path, index + 1, format!("problem {id}: {message}"));
    let many = |n: usize| wrong(format!("expected one shape in a panel, found {n}"));
    let panels = record.rpm.iter().map(|panel| match panel.as_slice() {
        [one] => one.panel().map_err(wrong),
        other => Err(many(other.len())),
    });
    let panels: Vec<Panel> = panels.collect::<Result<_, _>>()?;
    let (context, candidates) = match panels.split_at_checked(8) {
        Some((context, candidates)) if candidates.len() == 8 => (context, candidates),
        _ => return Err(wrong(format!("expected 16 panels, found {}", panels.len()))),
    };
    let mut order: Vec<usize> = (0..8).collect();
    let mut rng = stream(0, &format!("psychometric/raven/{id}"));
    shuffle(&mut rng, &mut order);
    let rule = |attribute: &str| {
        let named = record.rules.first().and_then(|r| r.get(attribute));
        named.map_or_else(String::new, |r| r.to_lowercase().replace('_', "-"))
    };
    Ok(Matrix {
        id: id.to_owned(),
        context: context.to_vec(),
        candidates: order.iter().map(|&i| candidates[i]).collect(),
        correct: order.iter().position(|&i| i == 0).unwrap_or(0),
        rules: ["Type", "Size", "Color"].map(rule),
    })
}
