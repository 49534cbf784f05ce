//! The paper's printed results, as reference rows (figures with their source).

use std::sync::OnceLock;

use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Published {
    pub citation: String,
    pub notes: Vec<String>,
    /// The columns of Tables 8, 12 and 14.
    pub columns: Vec<String>,
    pub table_4: Vec<PublishedRow>,
    /// PerceptualQA in English, people first.
    pub table_14: Vec<PublishedRow>,
    pub table_12_chinese: Vec<PublishedRow>,
    /// Before and after tuning, on the fifth left out.
    pub table_8: Vec<PublishedRow>,
    pub table_11: Vec<PublishedTuning>,
    pub table_13: Vec<PublishedConfounds>,
    /// Cohen's kappa of the two answers of people.
    pub human_kappa: f64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedRow {
    pub model: String,
    /// As the released files name it.
    pub released: String,
    pub sees: bool,
    /// In per cent.
    pub accuracy: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedTuning {
    pub model: String,
    pub method: String,
    /// In per cent.
    pub before: f64,
    /// In per cent.
    pub after: f64,
}

/// Means and standard deviations of one subtask's questions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PublishedConfounds {
    pub subtask: String,
    pub length: [f64; 2],
    pub frequency: [f64; 2],
    /// Age of acquisition in years.
    pub acquisition: [f64; 2],
}

impl Published {
    pub fn people(&self) -> Option<&PublishedRow> {
        self.table_14.iter().find(|row| row.released == "people")
    }
}

pub fn published() -> &'static Published {
    static PUBLISHED: OnceLock<Published> = OnceLock::new();
    // The file is compiled in; a test reads it, so that a slip is found there and not here.
    PUBLISHED
        .get_or_init(|| serde_json::from_str(include_str!("published.json")).unwrap_or_default())
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
    fn the_tables_are_complete_and_their_parts_give_their_sums() {
        let published: Published = serde_json::from_str(include_str!("published.json")).unwrap();
        assert_eq!(published.table_4.len(), 16);
        assert_eq!(published.table_14.len(), 25);
        assert_eq!(published.table_12_chinese.len(), 3);
        assert_eq!(published.table_13.len(), 9);
        for row in published.table_14.iter().chain(&published.table_12_chinese) {
            let a = &row.accuracy;
            assert_eq!(a.len(), published.columns.len());
            let visual = a[2..7].iter().sum::<f64>() / 5.0;
            let other = a[8..12].iter().sum::<f64>() / 4.0;
            assert!((visual - a[1]).abs() < 0.011, "{row:?}");
            assert!((other - a[7]).abs() < 0.011, "{row:?}");
            // 1,000 visual and 400 other questions; one row is printed a hundredth too high.
            assert!(
                (10.0 * visual + 4.0 * other - 14.0 * a[0]).abs() < 14.0 * 0.011,
                "{row:?}"
            );
        }
    }

    #[test]
    fn columns_are_the_subtasks_with_their_sums() {
        let codes: Vec<&str> = crate::Subtask::ALL.iter().map(|s| s.name()).collect();
        let columns: Vec<&str> = published()
            .columns
            .iter()
            .map(String::as_str)
            .filter(|c| !["all", "visual", "non-visual"].contains(c))
            .collect();
        assert_eq!(columns, codes);
        assert_eq!(published().people().unwrap().accuracy[0], 86.0);
    }
}
