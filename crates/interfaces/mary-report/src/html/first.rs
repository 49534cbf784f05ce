//! What is seen first of many models: a page of forty shows the strongest, and keeps the others behind one
//! switch. Nothing is left out of copies, exports and print.

use mary_contract::{Cell, RunSummary, Table};

use crate::number::VersusChance;
use crate::subject::{self, Subject};

/// Up to this many models all are shown.
const MOST: usize = 12;
const SHOWN: usize = 6;
/// Rows of a table that are shown where they are no models; a few more are not worth a fold.
const ROWS: usize = 6;
const ROWS_UNFOLDED: usize = 8;

pub(super) struct First {
    /// By their places among all; everything where there are few.
    shown: Vec<usize>,
    /// Labels of those shown; empty where all are.
    labels: Vec<String>,
    how: &'static str,
}

impl First {
    /// Of some subjects: those with most scores above chance and, among equals, furthest above it on
    /// average; of checkpoints some at equal distances.
    pub(super) fn choose(runs: &[RunSummary], subjects: &[Subject]) -> Self {
        if subjects.len() <= MOST {
            return Self {
                shown: (0..subjects.len()).collect(),
                labels: Vec::new(),
                how: "",
            };
        }
        let (mut shown, how) = match subject::are_checkpoints(subjects) {
            true => {
                let last = subjects.len() - 1;
                let place = |n: usize| (n * last + (SHOWN - 1) / 2) / (SHOWN - 1);
                ((0..SHOWN).map(place).collect(), "at equal distances")
            }
            false => {
                let mut ranked: Vec<(usize, (usize, f64))> = subjects
                    .iter()
                    .enumerate()
                    .map(|(n, who)| (n, strength(runs, who)))
                    .collect();
                ranked.sort_by(|(_, a), (_, b)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
                let first: Vec<usize> = ranked.iter().take(SHOWN).map(|(n, _)| *n).collect();
                (first, "with most scores above chance")
            }
        };
        shown.sort_unstable();
        shown.dedup();
        let label = |&n: &usize| subjects.get(n).map(|who| who.label.clone());
        Self {
            labels: shown.iter().filter_map(label).collect(),
            shown,
            how,
        }
    }

    pub(super) fn folds(&self) -> bool {
        !self.labels.is_empty()
    }

    pub(super) fn holds(&self, subject: usize) -> bool {
        self.shown.contains(&subject)
    }

    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// `the 8 of 40 models with most scores above chance`.
    pub(super) fn words(&self, all: usize) -> String {
        format!("the {} of {all} models {}", self.len(), self.how)
    }

    /// Which own rows of a table are behind the switch: those of models that are not seen first, or, where
    /// no row begins with a model, all beyond the first few. Rows without a number go before any that has
    /// one.
    pub(super) fn folded(&self, table: &Table) -> Vec<usize> {
        let own: Vec<usize> = (0..table.rows.len())
            .filter(|n| !table.published.contains(n))
            .collect();
        if own.len() <= ROWS_UNFOLDED {
            return Vec::new();
        }
        let model = |n: &usize| {
            let begins = table.rows.get(*n).and_then(|row| row.first());
            // Alone or with what tells its rows apart: `small (k = 4)`.
            let is = |rest: &str| rest.is_empty() || rest.starts_with(" (");
            let of = |cell: &str, label: &String| cell.strip_prefix(label.as_str()).is_some_and(is);
            begins.is_some_and(|cell| self.labels.iter().any(|label| of(cell, label)))
        };
        match own.iter().filter(|n| model(n)).count() {
            1..=ROWS_UNFOLDED => own.into_iter().filter(|n| !model(n)).collect(),
            _ => {
                let (filled, empty): (Vec<usize>, Vec<usize>) =
                    own.into_iter().partition(|n| has_number(table, *n));
                // Where all rows with numbers have room, only the empty ones are folded.
                let shown = match filled.len() {
                    0..=ROWS_UNFOLDED => filled.len().max(ROWS),
                    _ => ROWS,
                };
                let mut folded: Vec<usize> = filled.into_iter().chain(empty).skip(shown).collect();
                folded.sort_unstable();
                folded
            }
        }
    }
}

/// Whether a row holds a number of ours: something measured, or where a table does not say what was, any.
fn has_number(table: &Table, row: usize) -> bool {
    let measured = |cell: &Cell| cell.basis().is_some();
    let cells = || table.rows.get(row).into_iter().flatten();
    match table.rows.iter().flatten().any(measured) {
        true => cells().any(measured),
        false => cells().enumerate().any(|(column, cell)| {
            let text = cell.trim();
            crate::text::numeric_column(table, column)
                && text.contains(|c: char| c.is_ascii_digit())
        }),
    }
}

/// Scores above chance, and the mean of what is above it.
fn strength(runs: &[RunSummary], who: &Subject) -> (usize, f64) {
    let rows = runs.get(who.run).map_or(&[][..], |run| run.rows.as_slice());
    let own = || rows.iter().filter(|row| row.model == who.model);
    let above = own().filter(|row| VersusChance::judge(row) == VersusChance::Above);
    let margins: Vec<f64> = own()
        .filter_map(|row| Some(row.score.as_ref()?.value - row.chance?))
        .filter(|margin| margin.is_finite())
        .collect();
    let mean = margins.iter().sum::<f64>() / margins.len().max(1) as f64;
    (above.count(), mean)
}

#[cfg(test)]
mod tests {
    use mary_contract::NumberColumns;

    use super::*;

    /// Eleven tasks of which two ran: the second stood behind “5 more rows” while empty ones were shown.
    #[test]
    fn rows_without_a_number_are_folded_before_any_that_has_one() {
        let folded = |ran: &[usize]| {
            let row = |n: usize| {
                let score = if ran.contains(&n) { "62.5" } else { "–" };
                vec![format!("task {n}"), score.to_owned(), String::new()]
            };
            let table = Table {
                id: "t".into(),
                title: "T".into(),
                caption: String::new(),
                head: ["task", "score", "remark"].map(String::from).to_vec(),
                rows: Cell::figures((0..11).map(row).collect()),
                published: vec![],
                numbers: NumberColumns::At(vec![1]),
            };
            First::choose(&[], &[]).folded(&table)
        };
        assert_eq!(folded(&[1, 9]), [5, 6, 7, 8, 10]);
        assert_eq!(folded(&[3, 4, 5, 6, 7, 8, 9, 10]), [0, 1, 2]);
        let all: Vec<usize> = (0..11).collect();
        assert_eq!(folded(&all), [6, 7, 8, 9, 10]);
    }
}
