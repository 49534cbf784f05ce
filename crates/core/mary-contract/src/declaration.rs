//! Tables and figures as a family's data file declares them (titles, captions, heads, axes, reference
//! lines), so that code adds only what was measured or printed.

use std::fmt::Display;

use serde::Deserialize;

use crate::{Cell, Estimate, Exhibits, Figure, Point, Series, Table};

/// The exhibits of a family, declared and still empty: [`Exhibits`] as JSON without rows and series.
///
/// A text or head may hold places in braces: `{model}` in an id, a title or a caption is filled by
/// [`Table::saying`] and [`Figure::saying`], a head `{tasks}` by [`Table::with_heads`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declarations {
    #[serde(default)]
    tables: Vec<Table>,
    #[serde(default)]
    figures: Vec<Figure>,
}

impl Declarations {
    /// Reads a data file that is part of the program. One that cannot be read declares nothing, which
    /// [`Declarations::check`] finds in a test.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// What is wrong with a data file: that it cannot be read, or an id that it declares twice.
    pub fn check(json: &str) -> Result<(), String> {
        let read: Self = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let tables: Vec<&String> = read.tables.iter().map(|t| &t.id).collect();
        let figures = read.figures.iter().map(|f| &f.id).collect();
        for mut ids in [tables, figures] {
            ids.sort_unstable();
            if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(format!("{} is declared twice", pair[0]));
            }
        }
        Ok(())
    }

    /// The table with this id, without rows.
    ///
    /// ```
    /// use mary_contract::{Cell, Declarations};
    ///
    /// let declared = Declarations::read(r#"{"tables": [{"id": "t", "title": "Scores of {model}",
    ///     "caption": "", "head": ["task", "{tasks}"]}]}"#);
    /// let table = declared.table("t").saying("model", "nano").with_heads("tasks", ["a", "b"]);
    /// assert_eq!((&*table.title, table.head.len()), ("Scores of nano", 3));
    /// // Rows that only a paper has are no reason to show a table.
    /// assert!(table.with_published([vec![Cell::from("x")]]).if_measured().is_none());
    /// ```
    pub fn table(&self, id: &str) -> Table {
        let declared = self.tables.iter().find(|t| t.id == id).cloned();
        debug_assert!(declared.is_some(), "no table {id} is declared");
        declared.unwrap_or_else(|| Table {
            id: id.to_owned(),
            ..Table::default()
        })
    }

    /// The table with this id and rows that were measured, if there are any.
    pub fn rows(&self, id: &str, rows: impl IntoIterator<Item = Vec<Cell>>) -> Option<Table> {
        self.table(id).with_rows(rows).if_measured()
    }

    /// The figure with this id and these series, if any was measured.
    pub fn series(&self, id: &str, series: impl IntoIterator<Item = Series>) -> Option<Figure> {
        self.figure(id).with_series(series).if_measured()
    }

    /// The figure with this id, without series.
    pub fn figure(&self, id: &str) -> Figure {
        let declared = self.figures.iter().find(|f| f.id == id).cloned();
        debug_assert!(declared.is_some(), "no figure {id} is declared");
        declared.unwrap_or_else(|| Figure {
            id: id.to_owned(),
            ..Figure::default()
        })
    }
}

/// Fills a place of a declared text.
fn say(text: &mut String, place: &str, words: &str) {
    let place = format!("{{{place}}}");
    if text.contains(&place) {
        *text = text.replace(&place, words);
    }
}

impl Table {
    /// With a place of its id, title and caption filled.
    #[must_use]
    pub fn saying(mut self, place: &str, words: impl Display) -> Self {
        let words = words.to_string();
        for text in [&mut self.id, &mut self.title, &mut self.caption] {
            say(text, place, &words);
        }
        self
    }

    /// With these heads where the declaration has the place `{place}`.
    #[must_use]
    pub fn with_heads(
        mut self,
        place: &str,
        heads: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let place = format!("{{{place}}}");
        if let Some(at) = self.head.iter().position(|head| *head == place) {
            self.head.splice(at..=at, heads.into_iter().map(Into::into));
        }
        self
    }

    /// With rows that were measured.
    #[must_use]
    pub fn with_rows(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// With rows that a paper prints, marked as such.
    #[must_use]
    pub fn with_published(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        let first = self.rows.len();
        self.rows.extend(rows);
        self.published.extend(first..self.rows.len());
        self
    }

    /// The table with rows as a paper prints them below its own, if it has any of its own.
    pub fn beside(self, printed: impl IntoIterator<Item = Vec<String>>) -> Option<Self> {
        self.with_published(Cell::printed_rows(printed))
            .if_measured()
    }

    /// The table, if it shows anything that was measured.
    pub fn if_measured(self) -> Option<Self> {
        (self.rows.len() > self.published.len()).then_some(self)
    }
}

impl Figure {
    /// With a place of its id, title, caption and axes filled.
    #[must_use]
    pub fn saying(mut self, place: &str, words: impl Display) -> Self {
        let words = words.to_string();
        let axes = [&mut self.x.title, &mut self.y.title];
        let texts = [&mut self.id, &mut self.title, &mut self.caption].into_iter();
        for text in texts.chain(axes) {
            say(text, place, &words);
        }
        self
    }

    /// With more series, measured or published.
    #[must_use]
    pub fn with_series(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        self.series.extend(series);
        self
    }

    /// The figure, if it shows anything that was measured.
    pub fn if_measured(self) -> Option<Self> {
        let measured = self.series.iter().any(|s| !s.published);
        measured.then_some(self)
    }
}

impl Series {
    /// Points that were measured.
    pub fn measured(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self {
            name: name.into(),
            published: false,
            points: points.into_iter().collect(),
        }
    }

    /// Points that a paper prints.
    pub fn published(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self {
            published: true,
            ..Self::measured(name, points)
        }
    }
}

impl Point {
    /// A value without an interval.
    pub fn new(label: impl Into<String>, y: f64) -> Self {
        Self {
            label: label.into(),
            y,
            ..Self::default()
        }
    }

    /// A value with its interval.
    pub fn measured(label: impl Into<String>, estimate: &Estimate) -> Self {
        Self {
            low: Some(estimate.low),
            high: Some(estimate.high),
            ..Self::new(label, estimate.value)
        }
    }

    /// A share with its interval, in percent.
    pub fn percent(label: impl Into<String>, estimate: &Estimate) -> Self {
        Self {
            low: Some(100.0 * estimate.low),
            high: Some(100.0 * estimate.high),
            ..Self::new(label, 100.0 * estimate.value)
        }
    }

    /// At this place of the horizontal axis.
    #[must_use]
    pub fn at(self, x: f64) -> Self {
        Self { x, ..self }
    }

    /// With the address of the samples behind it.
    #[must_use]
    pub fn with_samples(self, address: impl Into<String>) -> Self {
        Self {
            samples: Some(address.into()),
            ..self
        }
    }
}

impl Exhibits {
    /// With tables, those that have something to show.
    #[must_use]
    pub fn with_tables(mut self, tables: impl IntoIterator<Item = Option<Table>>) -> Self {
        self.tables.extend(tables.into_iter().flatten());
        self
    }

    /// With figures, those that have something to show.
    #[must_use]
    pub fn with_figures(mut self, figures: impl IntoIterator<Item = Option<Figure>>) -> Self {
        self.figures.extend(figures.into_iter().flatten());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FigureKind, NumberColumns, Scale};

    const FILE: &str = r#"{
        "tables": [{"id": "t-{model}", "title": "Of {model}", "caption": "All.",
            "head": ["model", "{tasks}", "mean"], "numbers": {"from": 1}}],
        "figures": [{"id": "f", "title": "F", "caption": "", "kind": {"scatter": {"fit": true}},
            "x": {"title": "x", "scale": "log"}, "y": {"title": "y", "range": [0, 1]},
            "references": [{"name": "chance", "y": 0.5}]}]
    }"#;

    #[test]
    fn a_declared_table_is_filled_and_nothing_without_measured_rows() {
        let declared = Declarations::read(FILE);
        let row = || vec![Cell::from("m"), Cell::none(), Cell::none(), Cell::none()];
        let table = declared.table("t-{model}").saying("model", "gpt");
        let empty = table.clone().with_published([row()]);
        assert_eq!(empty.if_measured(), None);
        let table = table.with_heads("tasks", ["a", "b"]);
        let table = table.with_rows([row()]).with_published([row(), row()]);
        assert_eq!((&*table.id, &*table.title), ("t-gpt", "Of gpt"));
        assert_eq!(table.head, ["model", "a", "b", "mean"]);
        assert_eq!(table.published, [1, 2]);
        assert_eq!(table.numbers, NumberColumns::From(1));
        assert!(table.if_measured().is_some());
    }

    #[test]
    fn a_declared_figure_without_measured_series_is_none() {
        let figure = Declarations::read(FILE).figure("f");
        assert_eq!(figure.kind, FigureKind::Scatter { fit: true });
        assert_eq!(
            (figure.x.scale, figure.y.scale),
            (Scale::Log, Scale::Linear)
        );
        let paper = Series::published("paper", [Point::new("p", 0.4)]);
        let figure = figure.with_series([paper]);
        assert_eq!(figure.clone().if_measured(), None);
        let ours = Series::measured("ours", [Point::new("p", 0.3)]);
        assert!(figure.with_series([ours]).if_measured().is_some());
    }

    #[test]
    fn a_faulty_file_is_found() {
        assert_eq!(Declarations::check(FILE), Ok(()));
        assert!(Declarations::check("{\"table\": []}").is_err());
        let twice = r#"{"tables": [
            {"id": "t", "title": "", "caption": "", "head": []},
            {"id": "t", "title": "", "caption": "", "head": []}]}"#;
        let found = Declarations::check(twice).unwrap_err();
        assert_eq!(found, "t is declared twice");
    }
}
