//! The paper's printed results, as reference rows. The data file cites the tables.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Published {
    pub citation: String,
    pub notes: Vec<String>,
    pub table_3: Vec<PublishedRow>,
    pub table_4: Vec<PublishedRow>,
    pub table_5: Vec<PublishedRow>,
    /// Typicality by prompting, by category; the last row is the average.
    pub table_6: Vec<PublishedCategory>,
    pub table_7: Vec<PublishedRow>,
    /// Typicality by prompting: fifty runs of each category, three models.
    pub tables_8_to_10: Vec<PublishedRuns>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedRuns {
    /// As Table 6 names it.
    pub model: String,
    pub category: String,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    pub sd: f64,
}

/// One model's values by name; a value that is not printed is absent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedRow {
    pub model: String,
    #[serde(flatten)]
    pub values: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedCategory {
    pub category: String,
    #[serde(flatten)]
    pub models: BTreeMap<String, f64>,
}

pub fn published() -> &'static Published {
    // The file is part of the program and read by a test: it cannot fail here.
    static PUBLISHED: LazyLock<Published> =
        LazyLock::new(|| serde_json::from_str(include_str!("published.json")).unwrap_or_default());
    &PUBLISHED
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
    fn the_tables_are_whole() {
        let all: Published = serde_json::from_str(include_str!("published.json")).unwrap();
        let rows = |t: &Vec<PublishedRow>| t.len();
        assert_eq!(
            [
                rows(&all.table_3),
                rows(&all.table_4),
                rows(&all.table_5),
                rows(&all.table_7)
            ],
            [23, 20, 22, 23]
        );
        assert_eq!(all.table_6.len(), 28);
        assert!(all.table_4.iter().all(|r| r.values.len() == 7));
    }

    #[test]
    fn tables_that_print_the_same_value_agree() {
        let all = published();
        let of = |table: &'static [PublishedRow], model: &str, name: &str| {
            let row = table.iter().find(|r| r.model == model)?;
            row.values.get(name).copied()
        };
        for row in &all.table_3 {
            for (table, names) in [
                (&all.table_4, ["distance", "ratio"].as_slice()),
                (&all.table_5, &["blimp"]),
                (&all.table_7, &["latent", "zero_shot", "prompting"]),
            ] {
                for name in names {
                    if let Some(other) = of(table, &row.model, name) {
                        assert_eq!(row.values.get(*name), Some(&other), "{row:?} {name}");
                    }
                }
            }
        }
    }

    #[test]
    fn tables_8_to_10_have_the_means_of_table_6() {
        let all = published();
        assert_eq!(all.tables_8_to_10.len(), 81);
        for row in &all.tables_8_to_10 {
            let in_6 = all.table_6.iter().find(|c| c.category == row.category);
            assert_eq!(in_6.unwrap().models[&row.model], row.mean, "{row:?}");
            assert!(row.min <= row.mean && row.mean <= row.max, "{row:?}");
        }
    }

    #[test]
    fn the_average_of_table_6_is_the_mean_of_its_categories() {
        let all = &published().table_6;
        let (average, categories) = all.split_last().unwrap();
        assert_eq!(average.category, "Average");
        for (model, printed) in &average.models {
            let sum: f64 = categories.iter().map(|c| c.models[model]).sum();
            let mean = sum / categories.len() as f64;
            assert!((mean - printed).abs() < 0.0006, "{model}: {mean} {printed}");
        }
    }
}
