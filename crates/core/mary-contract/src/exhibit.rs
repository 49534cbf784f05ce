//! Tables and figures as data: a family says what is to be seen, the report draws it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::label::with_labels;
use crate::{Basis, Cell};

/// What a family has to show for some runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exhibits {
    /// Tables in the order in which they are read.
    pub tables: Vec<Table>,
    /// Figures in the order in which they are read.
    pub figures: Vec<Figure>,
    /// Pictures of items (glyphs, grids).
    pub pictures: Vec<Picture>,
}

impl Exhibits {
    /// Tables and nothing else.
    pub fn of_tables(tables: Vec<Table>) -> Self {
        Self {
            tables,
            ..Self::default()
        }
    }

    /// Shows what others hold too, behind what it has.
    pub fn append(&mut self, other: Self) {
        self.tables.extend(other.tables);
        self.figures.extend(other.figures);
        self.pictures.extend(other.pictures);
    }

    /// With models called otherwise, by their full names, in every text but those that machines go by.
    #[must_use]
    pub fn renamed(mut self, names: &BTreeMap<String, String>) -> Self {
        let rename = |text: &mut String| *text = with_labels(text, names);
        for table in &mut self.tables {
            let said = [&mut table.title, &mut table.caption];
            said.into_iter().for_each(rename);
            table.head.iter_mut().for_each(rename);
            let cells = table.rows.iter_mut().flatten();
            cells.map(Cell::text_mut).for_each(rename);
        }
        for figure in &mut self.figures {
            let said = [&mut figure.title, &mut figure.caption];
            said.into_iter().for_each(rename);
            for series in &mut figure.series {
                rename(&mut series.name);
                for point in &mut series.points {
                    rename(&mut point.label);
                }
            }
            for line in &mut figure.references {
                rename(&mut line.name);
            }
        }
        for picture in &mut self.pictures {
            rename(&mut picture.caption);
        }
        self
    }
}

/// A table. Cells are text as it is to be read; numbers are formatted by who made them, and what was
/// measured carries its items and its interval ([`Cell`]).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredTable", into = "StoredTable")]
pub struct Table {
    /// Stable name, for file names: `htest-table-6`.
    pub id: String,
    /// Stands above the table.
    pub title: String,
    /// What is shown, which paper's form it follows, how to read it.
    pub caption: String,
    /// Heads of the columns; every row has as many cells.
    pub head: Vec<String>,
    /// Rows of the same length.
    pub rows: Vec<Vec<Cell>>,
    /// Indices of rows that are published, not measured here.
    pub published: Vec<usize>,
    /// Which columns hold numbers and are set flush right.
    pub numbers: NumberColumns,
}

/// A table as JSON: rows of strings, and beside them what measured cells rest on.
#[derive(Serialize, Deserialize)]
struct StoredTable {
    id: String,
    title: String,
    caption: String,
    head: Vec<String>,
    #[serde(default)]
    rows: Vec<Vec<String>>,
    #[serde(default)]
    published: Vec<usize>,
    #[serde(default, skip_serializing_if = "NumberColumns::is_unsaid")]
    numbers: NumberColumns,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    measured: Vec<StoredBasis>,
}

#[derive(Serialize, Deserialize)]
struct StoredBasis {
    row: usize,
    column: usize,
    #[serde(flatten)]
    basis: Basis,
}

impl From<Table> for StoredTable {
    fn from(table: Table) -> Self {
        let cells = table.rows.iter().enumerate();
        let placed = cells.flat_map(|(row, cells)| cells.iter().enumerate().map(move |c| (row, c)));
        let measured = placed
            .filter_map(|(row, (column, cell))| {
                let basis = cell.basis()?.clone();
                Some(StoredBasis { row, column, basis })
            })
            .collect();
        let texts = |cells: &Vec<Cell>| cells.iter().map(ToString::to_string).collect();
        Self {
            rows: table.rows.iter().map(texts).collect(),
            id: table.id,
            title: table.title,
            caption: table.caption,
            head: table.head,
            published: table.published,
            numbers: table.numbers,
            measured,
        }
    }
}

impl From<StoredTable> for Table {
    fn from(stored: StoredTable) -> Self {
        let mut rows = Cell::rows(stored.rows);
        for StoredBasis { row, column, basis } in stored.measured {
            if let Some(cell) = rows.get_mut(row).and_then(|cells| cells.get_mut(column)) {
                *cell = Cell::stored(cell.to_string(), Some(basis));
            }
        }
        Self {
            id: stored.id,
            title: stored.title,
            caption: stored.caption,
            head: stored.head,
            rows,
            published: stored.published,
            numbers: stored.numbers,
        }
    }
}

impl Table {
    /// Numbers of its own rows that say neither what they are nor what they rest on: column head and
    /// text of each. Tests hold every family's tables to having none.
    pub fn bare(&self) -> Vec<(String, String)> {
        let own = self.rows.iter().enumerate();
        let cells = own.filter(|(index, _)| !self.published.contains(index));
        let cells = cells.flat_map(|(_, row)| row.iter().enumerate());
        let bare =
            cells.filter(|(at, cell)| self.numbers.holds(*at) != Some(false) && cell.is_bare());
        let head = |at: usize| self.head.get(at).cloned().unwrap_or_default();
        bare.map(|(at, cell)| (head(at), cell.to_string()))
            .collect()
    }
}

/// Which columns of a table hold numbers, alone or with an interval, a deviation or a count beside
/// them: these are set flush right.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberColumns {
    /// Its maker did not say; the report goes by the cells.
    #[default]
    Unsaid,
    /// Every column from this index on.
    From(usize),
    /// The columns with these indices.
    At(Vec<usize>),
}

impl NumberColumns {
    /// Whether a column holds numbers, where that was said.
    pub fn holds(&self, column: usize) -> Option<bool> {
        match self {
            Self::Unsaid => None,
            Self::From(first) => Some(column >= *first),
            Self::At(columns) => Some(columns.contains(&column)),
        }
    }

    fn is_unsaid(&self) -> bool {
        *self == Self::Unsaid
    }
}

/// A figure as data: what is drawn, not how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Stable name, for file names: `htest-figure-3`.
    pub id: String,
    /// Stands above the drawing.
    pub title: String,
    /// What is shown, which paper's form it follows, how to read it.
    pub caption: String,
    /// Lines, bars, points, colours or boxes.
    pub kind: FigureKind,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn; each has an entry in the legend.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Levels to compare with: chance, people.
    #[serde(default)]
    pub references: Vec<ReferenceLine>,
    /// Stretches of the horizontal axis that are shaded behind the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<ShadedRange>,
}

/// A stretch of the horizontal axis with a name: a window of growth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadedRange {
    /// Its entry in the legend.
    pub name: String,
    /// First value of the axis that is shaded.
    pub from: f64,
    /// Last value of the axis that is shaded.
    pub to: f64,
    /// Printed in a paper, not found in these runs.
    #[serde(default)]
    pub published: bool,
}

/// What kind of drawing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Points joined by lines, intervals as whiskers or bands.
    #[default]
    Line,
    /// Bars side by side with whiskers.
    Bar,
    /// Points; with `fit`, the fitted line of each series.
    Scatter {
        /// Whether a least-squares line is drawn.
        fit: bool,
    },
    /// Colours on a grid: a series is a row, a point's `label` its column and `y` the value.
    Heatmap,
    /// Boxes: all points of a series with the same label are one box.
    Box,
}

/// One axis of a figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What is measured, with its unit.
    pub title: String,
    /// Linear unless said otherwise.
    #[serde(default)]
    pub scale: Scale,
    /// Fixed range, where that reads better.
    #[serde(default)]
    pub range: Option<(f64, f64)>,
}

/// How values are placed on an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal differences are equally far apart.
    #[default]
    Linear,
    /// Equal ratios are equally far apart.
    Log,
    /// Every label has a place of its own, in order of appearance.
    Category,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its entry in the legend.
    pub name: String,
    /// Published, not measured here: drawn so that nobody takes it for ours.
    #[serde(default)]
    pub published: bool,
    /// In the order in which they are joined.
    pub points: Vec<Point>,
}

/// One point of a series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Place on a linear or log axis.
    pub x: f64,
    /// Place on a category axis, or the column of a heat map.
    #[serde(default)]
    pub label: String,
    /// Value on the vertical axis.
    pub y: f64,
    /// Lower bound of its interval.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper bound of its interval.
    #[serde(default)]
    pub high: Option<f64>,
    /// Address of the samples behind it: `model|task|tag=value`, for a viewer to follow.
    #[serde(default)]
    pub samples: Option<String>,
}

/// A horizontal line with a name: chance, people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceLine {
    /// Written beside the line.
    pub name: String,
    /// Its place on the vertical axis.
    pub y: f64,
}

impl ReferenceLine {
    /// The score of a guesser, where there is one.
    pub fn chance(y: Option<f64>) -> Vec<Self> {
        let name = || "chance".to_owned();
        y.into_iter().map(|y| Self { name: name(), y }).collect()
    }
}

/// A picture of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Stable name, for file names.
    pub id: String,
    /// Stands below the picture.
    pub caption: String,
    /// The drawing; it is put into pages unescaped, so it is made here and never read from a file.
    pub svg: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimate;

    #[test]
    fn rows_are_strings_in_json_and_measured_cells_come_back_with_their_basis() {
        let estimate = Estimate {
            value: 0.5,
            low: 0.1,
            high: 0.9,
            n: 7,
            method: "exact".into(),
        };
        let table = Table {
            id: "t".into(),
            head: vec!["model".into(), "score".into()],
            rows: vec![vec!["a".into(), Cell::percent(&estimate, 1)]],
            ..Table::default()
        };
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json["rows"], serde_json::json!([["a", "50.0"]]));
        assert_eq!(
            json["measured"],
            serde_json::json!([{"row": 0, "column": 1, "n": 7, "bounds": ["10", "90"]}])
        );
        assert_eq!(serde_json::from_value::<Table>(json).unwrap(), table);
        // Tables of earlier programs have no `measured`.
        let old = r#"{"id":"t","title":"","caption":"","head":["a"],"rows":[["50.0"]]}"#;
        let old: Table = serde_json::from_str(old).unwrap();
        assert_eq!(old.bare(), [("a".to_owned(), "50.0".to_owned())]);
        assert!(table.bare().is_empty());
    }
}
