//! Tables and figures as data: a family says what is to be seen, the report draws it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a family has to show for some runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exhibits {
    /// In reading order.
    pub tables: Vec<Table>,
    /// In reading order.
    pub figures: Vec<Figure>,
    /// Pictures of items (glyphs, grids).
    pub pictures: Vec<Picture>,
}

impl Exhibits {
    /// With models called otherwise, by their full names, in every text but those that machines go by.
    #[must_use]
    pub fn renamed(mut self, names: &BTreeMap<String, String>) -> Self {
        // The longest first: one name may begin another.
        let mut pairs: Vec<(&String, &String)> = names.iter().filter(|(a, b)| a != b).collect();
        pairs.sort_by_key(|(full, _)| std::cmp::Reverse(full.len()));
        let rename = |text: &mut String| {
            for (full, label) in &pairs {
                if text.contains(full.as_str()) {
                    *text = text.replace(full.as_str(), label);
                }
            }
        };
        for table in &mut self.tables {
            [&mut table.title, &mut table.caption]
                .into_iter()
                .for_each(rename);
            table.head.iter_mut().for_each(rename);
            table.rows.iter_mut().flatten().for_each(rename);
        }
        for figure in &mut self.figures {
            [&mut figure.title, &mut figure.caption]
                .into_iter()
                .for_each(rename);
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

/// A table. Cells are text as it is to be read; numbers are formatted by who made them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Stable name, for file names: `htest-table-6`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What is shown, which paper's form it follows, how to read it.
    pub caption: String,
    /// Column heads.
    pub head: Vec<String>,
    /// Rows of the same length.
    pub rows: Vec<Vec<String>>,
    /// Indices of rows that are published, not measured here.
    #[serde(default)]
    pub published: Vec<usize>,
    /// Which columns hold numbers.
    #[serde(default, skip_serializing_if = "NumberColumns::is_unsaid")]
    pub numbers: NumberColumns,
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
    /// These columns.
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

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Stable name, for file names: `htest-figure-3`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What is shown, which paper's form it follows, how to read it.
    pub caption: String,
    /// What kind of drawing.
    pub kind: FigureKind,
    /// Horizontal.
    pub x: Axis,
    /// Vertical.
    pub y: Axis,
    /// The data.
    pub series: Vec<Series>,
    /// Chance, humans.
    pub references: Vec<ReferenceLine>,
    /// Stretches of the horizontal axis that are shaded behind the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<ShadedRange>,
}

/// A stretch of the horizontal axis with a name: a window of growth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadedRange {
    /// What it is.
    pub name: String,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Published, not found here.
    #[serde(default)]
    pub published: bool,
}

/// What kind of drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// Points joined by lines, intervals as whiskers or bands.
    Line,
    /// Bars side by side with whiskers.
    Bar,
    /// Points; with `fit`, the fitted line of each series.
    Scatter {
        /// Draw a least-squares line.
        fit: bool,
    },
    /// Colours on a grid: a series is a row, a point's `label` its column and `y` the value.
    Heatmap,
    /// Boxes: all points of a series with the same label are one box.
    Box,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// With unit.
    pub title: String,
    /// How values are placed.
    pub scale: Scale,
    /// Fixed range, where that reads better.
    #[serde(default)]
    pub range: Option<(f64, f64)>,
}

/// How values are placed on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm.
    Log,
    /// One place per label.
    Category,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// Published, not measured here: drawn so that nobody takes it for ours.
    #[serde(default)]
    pub published: bool,
    /// The points.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Place on a linear or log axis.
    pub x: f64,
    /// Place on a category axis, or the column of a heat map.
    #[serde(default)]
    pub label: String,
    /// Value.
    pub y: f64,
    /// Lower bound of its interval.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper bound.
    #[serde(default)]
    pub high: Option<f64>,
    /// Address of the samples behind it: `model|task|tag=value`, for a viewer to follow.
    #[serde(default)]
    pub samples: Option<String>,
}

/// A horizontal line with a name: chance, people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceLine {
    /// What it is.
    pub name: String,
    /// Where it is.
    pub y: f64,
}

/// A picture of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Stable name, for file names.
    pub id: String,
    /// What is seen.
    pub caption: String,
    /// SVG, made by us.
    pub svg: String,
}
