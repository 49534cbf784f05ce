//! Logistic regression of correctness on subtask and confounds, and whether either adds to the other.

use std::collections::BTreeMap;

use mary_contract::{Cell, Table, p_value};
use mary_stats::distributions::chi_squared_upper;
use mary_stats::logistic::{Logistic, logistic};

use super::questions::{CONFOUNDS, QuestionRecord};
use crate::Subtask;
use crate::exhibits::DECLARED;

pub(super) struct Design {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<f64>>,
    pub(super) outcomes: Vec<f64>,
}

impl Design {
    fn only(&self, kept: &[usize]) -> Vec<Vec<f64>> {
        let pick = |row: &Vec<f64>| kept.iter().filter_map(|i| row.get(*i).copied()).collect();
        self.rows.iter().map(pick).collect()
    }

    fn fit(&self, kept: &[usize]) -> Option<Logistic> {
        logistic(&self.only(kept), &self.outcomes, 0.0).ok()
    }

    /// p of the likelihood-ratio test of everything against everything but `dropped`.
    pub(super) fn adds(&self, full: &Logistic, dropped: &[usize]) -> Option<(f64, f64)> {
        let kept = (0..self.names.len()).filter(|i| !dropped.contains(i));
        let smaller = match kept.collect::<Vec<_>>().as_slice() {
            [] => full.null_log_likelihood,
            kept => self.fit(kept)?.log_likelihood,
        };
        let gain = (2.0 * (full.log_likelihood - smaller)).max(0.0);
        Some((gain, chi_squared_upper(gain, dropped.len() as f64)))
    }

    pub(super) fn full(&self) -> Option<Logistic> {
        let all: Vec<usize> = (0..self.names.len()).collect();
        self.fit(&all)
    }
}

/// Standardises a column in place; nothing when it has no spread.
pub(super) fn standardise(rows: &mut [Vec<f64>], column: usize) -> Option<f64> {
    let n = rows.len() as f64;
    let value = |row: &Vec<f64>| row.get(column).copied().unwrap_or(0.0);
    let mean = rows.iter().map(value).sum::<f64>() / n;
    let deviation = (rows.iter().map(|r| (value(r) - mean).powi(2)).sum::<f64>() / n).sqrt();
    if !(deviation.is_finite() && deviation > 0.0) {
        return None;
    }
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
        *cell = (*cell - mean) / deviation;
    }
    Some(deviation)
}

/// The coefficients as rows: name, log-odds with error, odds ratio with interval, p.
pub(super) fn coefficient_rows(names: &[String], fit: &Logistic) -> Vec<Vec<String>> {
    let named = std::iter::once("intercept").chain(names.iter().map(String::as_str));
    let values = fit.coefficients.iter().zip(&fit.errors).zip(&fit.p);
    let rows = named.zip(values).map(|(name, ((b, error), p))| {
        let ratio = |x: f64| format!("{:.2}", x.exp());
        vec![
            name.to_owned(),
            format!("{b:+.3} ({error:.3})"),
            ratio(*b),
            format!("[{}, {}]", ratio(b - 1.96 * error), ratio(b + 1.96 * error)),
            p_value(*p),
        ]
    });
    rows.collect()
}

pub(super) fn question_regression(
    model: &str,
    records: &BTreeMap<String, QuestionRecord>,
) -> Option<Table> {
    let complete: Vec<(&QuestionRecord, f64, Vec<f64>)> = records
        .values()
        .filter_map(|r| {
            let values: Option<Vec<f64>> = CONFOUNDS.iter().map(|(_, f)| f(&r.material)).collect();
            Some((r, r.score()?, values?))
        })
        .collect();
    let asked = |code: &&str| complete.iter().any(|(r, ..)| r.subtask == *code);
    let codes = Subtask::ALL.iter().map(|s| s.name());
    let present: Vec<&str> = codes.filter(asked).collect();
    let (reference, others) = present.split_first()?;
    let name = |code: &&str| format!("{code} (against {reference})");
    let mut names: Vec<String> = others.iter().map(name).collect();
    names.extend(CONFOUNDS.iter().map(|(name, _)| format!("{name} (per SD)")));
    let rows = complete.iter().map(|(record, _, confounds)| {
        let dummies = others.iter().map(|code| f64::from(record.subtask == *code));
        dummies.chain(confounds.iter().copied()).collect()
    });
    let mut design = Design {
        rows: rows.collect(),
        outcomes: complete.iter().map(|(_, score, _)| *score).collect(),
        names,
    };
    for column in others.len()..design.names.len() {
        standardise(&mut design.rows, column)?;
    }
    let fit = design.full()?;
    let mut rows = coefficient_rows(&design.names, &fit);
    let (subtasks, confounds) = (0..others.len(), others.len()..design.names.len());
    for (name, dropped) in [("subtasks", subtasks), ("confounds", confounds)] {
        let dropped: Vec<usize> = dropped.collect();
        let added = || design.adds(&fit, &dropped);
        if let Some((gain, p)) = (!dropped.is_empty()).then(added).flatten() {
            rows.push(vec![
                format!("all {name} together"),
                format!("χ² = {gain:.1}, df = {}", dropped.len()),
                "–".into(),
                "–".into(),
                p_value(p),
            ]);
        }
    }
    let table = DECLARED
        .table("embodied-regression-{file}")
        .saying("file", file_name(model))
        .saying("model", model)
        .saying("questions", complete.len());
    Some(table.with_rows(Cell::figures(rows)))
}

pub(super) fn file_name(model: &str) -> String {
    let other = |c: char| !c.is_ascii_alphanumeric();
    model.replace(other, "-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confounds::Material;

    #[test]
    fn a_subtask_effect_is_told_from_a_length_effect() {
        // Symbols are hard whatever their length; length does nothing within a subtask.
        let mut records = BTreeMap::new();
        for i in 0..200u32 {
            let symbols = i % 2 == 0;
            let material = Material {
                length: f64::from(i * 37 % 50) + if symbols { 10.0 } else { 0.0 },
                frequency: Some(f64::from(i * 13 % 7)),
                acquisition: Some(f64::from(i * 29 % 11)),
            };
            let subtask = if symbols { "V-S" } else { "A" };
            let mut record = QuestionRecord::new(subtask.into(), material);
            let right = if symbols { i % 10 == 0 } else { i % 10 != 1 };
            record.scores = vec![f64::from(u8::from(right))];
            records.insert(format!("{i}"), record);
        }
        let table = question_regression("m", &records).unwrap();
        let p = |term: &str| {
            let row = table.rows.iter().find(|r| r[0].starts_with(term)).unwrap();
            row[4].clone()
        };
        assert_eq!(p("A (against V-S)"), "< .001");
        assert_eq!(p("all subtasks"), "< .001");
        assert!(p("length").parse::<f64>().unwrap() > 0.05);
        assert!(p("all confounds").parse::<f64>().unwrap() > 0.05);
    }
}
