//! The paper's printed results, as reference rows. The data file cites the tables and lists where a
//! printed average is not the mean of its tasks; tables show the printed one and that mean beside it,
//! figures the mean.

use std::sync::LazyLock;

use mary_contract::Declarations;
use serde::Deserialize;

/// Titles, captions, heads and axes of our tables and figures.
pub(super) static DECLARED: LazyLock<Declarations> =
    LazyLock::new(|| Declarations::read(include_str!("exhibits.json")));

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Published {
    pub citation: String,
    pub notes: Vec<String>,
    /// The order of every row's accuracies.
    pub tasks: Vec<String>,
    /// Tables 5 and 6.
    pub rows: Vec<PublishedRow>,
    /// Table 2, as printed: six models at k = 50.
    pub table_2: Vec<PublishedModel>,
    /// Table 7.
    pub human: Vec<PublishedPerson>,
    /// Table 6's last line.
    pub geometry: Vec<PublishedGeometry>,
    pub table_8: PublishedMatrix,
    /// The pairs of models that Table 5 holds against each other.
    pub table_5: Vec<PublishedApproach>,
    /// Printed averages that their tasks do not give.
    pub misprints: Vec<String>,
}

/// One block of Table 5: what was done, and the two models that it is held against, each with the shots
/// of its row in Table 6 where Table 5 repeats it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedApproach {
    pub approach: String,
    /// Before and after.
    pub models: [(String, Option<usize>); 2],
    /// Parts of names under which each of the two can be run.
    pub known_as: [Vec<String>; 2],
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedRow {
    pub model: String,
    /// Models of one maker and line, weaker ones first.
    pub family: String,
    pub table: u32,
    /// Shots; absent where the paper does not say.
    pub k: Option<usize>,
    /// Ten accuracies, unread answers wrong.
    pub accuracy: Vec<f64>,
    pub average: f64,
}

impl PublishedRow {
    pub fn mean(&self) -> f64 {
        mean(&self.accuracy)
    }

    pub(super) fn shots(&self) -> String {
        let k = self.k.map(|k| k.to_string());
        k.unwrap_or_else(|| "not stated".to_owned())
    }

    /// The tasks, the average as printed, and the mean that the tasks give.
    pub(super) fn percents(&self) -> impl Iterator<Item = String> {
        let all = self.accuracy.iter().copied();
        all.chain([self.average, self.mean()]).map(percent)
    }
}

pub(super) fn mean(accuracy: &[f64]) -> f64 {
    accuracy.iter().sum::<f64>() / accuracy.len().max(1) as f64
}

/// One column of Table 2.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedModel {
    pub model: String,
    pub accuracy: Vec<f64>,
    pub average: f64,
}

/// One line of Table 7: people named rules, they did not label items.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedPerson {
    pub person: String,
    pub k: usize,
    pub rules_named: usize,
    pub of: usize,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedGeometry {
    pub model: String,
    /// Of 90 items.
    pub accuracy: f64,
}

/// Table 8.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct PublishedMatrix {
    pub model: String,
    /// Columns: `original`, then the task trained on.
    pub trained: Vec<String>,
    pub tested: Vec<String>,
    pub accuracy: Vec<Vec<f64>>,
    /// The last line, as printed.
    pub average: Vec<f64>,
}

pub fn published() -> &'static Published {
    // The file is compiled in; a test reads it, so that a slip is found there and not here.
    static PUBLISHED: LazyLock<Published> =
        LazyLock::new(|| serde_json::from_str(include_str!("published.json")).unwrap_or_default());
    &PUBLISHED
}

/// As in the paper's tables: one decimal, in per cent.
pub fn percent(value: f64) -> String {
    format!("{:.1}", 100.0 * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declared_tables_and_figures_can_be_read() {
        let file = include_str!("exhibits.json");
        assert_eq!(mary_contract::Declarations::check(file), Ok(()));
    }

    #[test]
    fn every_published_row_has_ten_accuracies() {
        let published: Published = serde_json::from_str(include_str!("published.json")).unwrap();
        assert_eq!(published.tasks.len(), 10);
        assert_eq!(published.rows.len(), 36);
        assert!(published.rows.iter().all(|r| r.accuracy.len() == 10));
        assert!(
            published
                .rows
                .iter()
                .flat_map(|r| &r.accuracy)
                .all(|a| (0.0..=1.0).contains(a))
        );
        assert_eq!(published.table_2.len(), 6);
        assert!(published.table_2.iter().all(|m| m.accuracy.len() == 10));
        assert_eq!(published.human.len(), 4);
        assert_eq!(published.table_8.accuracy.len(), 10);
        assert!(published.table_8.accuracy.iter().all(|r| r.len() == 11));
    }

    #[test]
    fn a_printed_average_is_the_mean_of_its_tasks_or_listed_as_a_misprint() {
        for row in &published().rows {
            let listed = published().misprints.iter().any(|m| {
                m.contains(&format!("Table {}", row.table))
                    && m.contains(&format!("{}: printed", row.model))
                    && row.k.is_none_or(|k| m.contains(&format!("k = {k},")))
            });
            let right = (row.mean() - row.average).abs() <= 0.0011;
            assert_ne!(right, listed, "{row:?}");
        }
    }

    #[test]
    fn tasks_are_in_the_order_of_the_family() {
        let ours: Vec<&str> = crate::AB_TASKS
            .iter()
            .filter(|t| t.upstream.is_some())
            .filter_map(|t| t.card.id.strip_prefix("htest/"))
            .collect();
        assert_eq!(published().tasks, ours);
    }
}
