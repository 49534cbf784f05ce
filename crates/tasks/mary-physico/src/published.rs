//! The paper's printed results, as reference rows: accuracies in per cent on the authors' own grids.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{Cell, Declarations, Table};
use serde::Deserialize;

/// Titles, captions, heads and axes of our tables and figures.
pub static DECLARED: LazyLock<Declarations> =
    LazyLock::new(|| Declarations::read(include_str!("exhibits.json")));

/// A mean with the deviation over runs, as printed.
pub type Printed = (f64, Option<f64>);

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Published {
    pub citation: String,
    pub notes: Vec<String>,
    /// Rows as they stand under ours, by our table's id: model, how it was asked, what was found.
    pub printed: BTreeMap<String, Vec<Vec<String>>>,
    pub table_10: Vec<PublishedConcept>,
}

/// A row of Table 10.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedConcept {
    /// The concept; Table 10 prints "spectrum of light and optical filters" for "optical filters".
    pub concept: String,
    pub gpt_4_text: Printed,
    pub gpt_4o_visual: Printed,
    /// Third column, one run.
    pub o1_preview_text: Option<f64>,
}

pub fn published() -> &'static Published {
    // The file is compiled in; a test reads it, so that a slip is found there and not here.
    static PUBLISHED: LazyLock<Published> =
        LazyLock::new(|| serde_json::from_str(include_str!("published.json")).unwrap_or_default());
    &PUBLISHED
}

/// A table with the rows that the paper prints of it below its own.
pub fn with_printed(table: Table) -> Table {
    let printed = published().printed.get(&table.id).cloned();
    table.with_published(Cell::printed_rows(printed.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instances::Split;

    #[test]
    fn the_declared_tables_and_figures_can_be_read() {
        let file = include_str!("exhibits.json");
        assert_eq!(mary_contract::Declarations::check(file), Ok(()));
    }

    #[test]
    fn the_printed_tables_are_whole() {
        let read: Published = serde_json::from_str(include_str!("published.json")).unwrap();
        assert_eq!(read.printed["physico-table-3"].len(), 12);
        assert_eq!(read.table_10.len(), 27);
        assert_eq!(read.printed["physico-table-1"].len(), 8);
        for table in read.printed.keys() {
            assert!(!DECLARED.table(table).head.is_empty(), "{table}");
        }
        let values = read
            .table_10
            .iter()
            .flat_map(|c| [c.gpt_4_text.0, c.gpt_4o_visual.0]);
        assert!(values.into_iter().all(|v| (0.0..=100.0).contains(&v)));
    }

    #[test]
    fn table_10_has_exactly_the_concepts_of_table_7() {
        for row in &published().table_10 {
            assert_eq!(
                Split::of_core(&row.concept),
                Some(Split::CoreTest),
                "{}",
                row.concept
            );
        }
    }

    #[test]
    fn table_10s_mean_over_instances_is_table_3s_core_test() {
        // Table 7's counts as weights: the printed parts give the printed whole.
        let counts = [
            10.0, 4.0, 4.0, 6.0, 4.0, 6.0, 10.0, 2.0, 2.0, 10.0, 2.0, 10.0, 10.0, 10.0, 10.0, 10.0,
            10.0, 10.0, 10.0, 10.0, 10.0, 12.0, 8.0, 4.0, 4.0, 4.0, 8.0,
        ];
        let mean = |of: fn(&PublishedConcept) -> f64| {
            let rows = published().table_10.iter().zip(counts);
            rows.map(|(row, n)| of(row) * n).sum::<f64>() / counts.iter().sum::<f64>()
        };
        assert!(
            (mean(|r| r.gpt_4_text.0) - 41.3).abs() < 0.06,
            "{}",
            mean(|r| r.gpt_4_text.0)
        );
        assert!(
            (mean(|r| r.gpt_4o_visual.0) - 52.3).abs() < 0.06,
            "{}",
            mean(|r| r.gpt_4o_visual.0)
        );
    }
}
