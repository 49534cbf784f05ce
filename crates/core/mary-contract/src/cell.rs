//! A cell of a table. What was measured is made from an [`Estimate`] and carries the number of items and
//! the interval wherever the table goes; everything else has to say what it is.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::Estimate;

/// With fewer items than these a cell says that they are few.
const FEW: usize = 5;
/// Bounds further apart than this share of the scale are written without decimals.
const WIDE: f64 = 0.1;

/// A cell. It reads as its text; [`Cell::basis`] is what a measured value rests on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    text: String,
    holds: Holds,
}

#[derive(Debug, Clone, Default, PartialEq)]
enum Holds {
    /// Words. A number among them is a number nobody vouches for ([`crate::Table::bare`]).
    #[default]
    Words,
    /// A count, or a figure that is no estimate of anything: a setting, a p-value, a deviation.
    Figure,
    /// A number as a paper prints it.
    Printed,
    Measured(Basis),
}

/// What a measured value rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    /// Items, or whatever else the mean is over.
    pub n: usize,
    /// What the items are, where they are not items: `concepts`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Bounds as they are written beside the value; nothing where there are too few items for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(String, String)>,
    /// The bounds are the least and the greatest item, which are all there are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub range: bool,
}

impl Basis {
    /// In few words: `n 24 · 41–78`.
    pub fn words(&self) -> String {
        let mut out = match self.of.as_str() {
            "" => format!("n {}", self.n),
            of => format!("{} {of}", self.n),
        };
        match &self.bounds {
            Some(_) if self.n < FEW && !self.range => out.push_str(", few"),
            Some(_) => {}
            None => out.push_str(", too few for an interval"),
        }
        if let Some((low, high)) = &self.bounds {
            let between = match low.starts_with('-') || low.starts_with('+') {
                true => " to ",
                false => "–",
            };
            let range = if self.range { "range " } else { "" };
            out.push_str(&format!(" · {range}{low}{between}{high}"));
        }
        out
    }
}

#[derive(Clone, Copy)]
struct Written {
    factor: f64,
    decimals: usize,
    signed: bool,
}

impl Written {
    fn text(self, value: f64) -> String {
        self.to(value, self.decimals)
    }

    /// "-0.0" says something that is not meant.
    fn to(self, value: f64, decimals: usize) -> String {
        let value = self.factor * value;
        let digits = format!("{:.decimals$}", value.abs());
        let zero = digits.bytes().all(|b| matches!(b, b'0' | b'.'));
        let value = if zero { 0.0 } else { value };
        match self.signed {
            true => format!("{value:+.decimals$}"),
            false => format!("{value:.decimals$}"),
        }
    }

    /// Bounds have as many digits as they are worth: percents that are far apart have no decimals.
    fn bounds(self, low: f64, high: f64) -> (String, String) {
        let decimals = match self.factor > 1.0 && high - low > WIDE {
            true => 0,
            false => self.decimals,
        };
        (self.to(low, decimals), self.to(high, decimals))
    }
}

/// A p-value as papers write it, wherever one is shown.
pub fn p_value(p: f64) -> String {
    match p < 0.001 {
        true => "< .001".into(),
        false => format!("{p:.3}").trim_start_matches('0').to_owned(),
    }
}

impl Cell {
    /// A dash: there is no value to show.
    pub fn none() -> Self {
        Self::from("–")
    }

    /// A number of things, which needs no interval.
    pub fn count(n: usize) -> Self {
        Self::figure(n.to_string())
    }

    /// A number that is no estimate: a setting, a p-value, a deviation, an order.
    pub fn figure(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            holds: Holds::Figure,
        }
    }

    /// A number as a paper prints it.
    pub fn printed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            holds: Holds::Printed,
        }
    }

    /// A share in percent. With few items its bounds are written without decimals they are not worth.
    ///
    /// ```
    /// use mary_contract::{Cell, Estimate};
    ///
    /// let score = Estimate::new(0.625, (0.427, 0.788), 24, "wilson");
    /// let cell = Cell::percent(&score, 1);
    /// assert_eq!(&*cell, "62.5");
    /// assert_eq!(cell.full(), "62.5 (n 24 · 43–79)");
    /// assert!(Cell::from("62.5").is_bare(), "a number that says nothing of where it comes from");
    /// ```
    pub fn percent(estimate: &Estimate, decimals: usize) -> Self {
        Self::measured(estimate, 100.0, decimals, false)
    }

    /// A difference of shares in percentage points, with its sign.
    pub fn points(estimate: &Estimate, decimals: usize) -> Self {
        Self::measured(estimate, 100.0, decimals, true)
    }

    /// A number on another scale.
    pub fn number(estimate: &Estimate, decimals: usize) -> Self {
        Self::measured(estimate, 1.0, decimals, false)
    }

    /// A mean over so few units that nothing is known of how far it can be trusted.
    pub fn too_few(text: impl Into<String>, n: usize, of: &str) -> Self {
        Self {
            text: text.into(),
            holds: Holds::Measured(Basis {
                n,
                of: of.to_owned(),
                bounds: None,
                range: false,
            }),
        }
    }

    fn measured(estimate: &Estimate, factor: f64, decimals: usize, signed: bool) -> Self {
        let written = Written {
            factor,
            decimals,
            signed,
        };
        // A value without spread that says nothing of an interval has none.
        let known = estimate.low < estimate.high
            || (estimate.low, estimate.high) == (estimate.value, estimate.value)
                && estimate.method == "range";
        Self {
            text: written.text(estimate.value),
            holds: Holds::Measured(Basis {
                n: estimate.n,
                of: String::new(),
                bounds: known.then(|| written.bounds(estimate.low, estimate.high)),
                range: estimate.method == "range",
            }),
        }
    }

    /// The same with other words around its value: `41.3 ± 1.3`.
    #[must_use]
    pub fn worded(self, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..self
        }
    }

    /// The same, its mean being over these: `concepts`.
    #[must_use]
    pub fn over(mut self, of: &str) -> Self {
        if let Holds::Measured(basis) = &mut self.holds {
            basis.of = of.to_owned();
        }
        self
    }

    /// What a measured value rests on.
    pub fn basis(&self) -> Option<&Basis> {
        match &self.holds {
            Holds::Measured(basis) => Some(basis),
            _ => None,
        }
    }

    /// Whether it is a number that says neither what it is nor what it rests on.
    pub fn is_bare(&self) -> bool {
        let signs = ['-', '−', '+', '[', '<', '.', ' ', '±'];
        let text = self.text.trim_start_matches(signs);
        let number = text.starts_with(|c: char| c.is_ascii_digit())
            && !text.contains(|c: char| c.is_alphabetic());
        number && self.holds == Holds::Words
    }

    /// Text and basis on one line, for tables without a second one: `62.5 (n 24 · 41–78)`.
    pub fn full(&self) -> Cow<'_, str> {
        match self.basis() {
            Some(basis) => Cow::Owned(format!("{} ({})", self.text, basis.words())),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// A cell read back: its text, and what it rests on where it was measured.
    pub(crate) fn stored(text: String, basis: Option<Basis>) -> Self {
        Self {
            text,
            holds: basis.map_or(Holds::Words, Holds::Measured),
        }
    }

    /// With its text changed: models called otherwise.
    pub(crate) fn text_mut(&mut self) -> &mut String {
        &mut self.text
    }

    /// Rows of words.
    pub fn rows(rows: Vec<Vec<String>>) -> Vec<Vec<Self>> {
        let row = |cells: Vec<String>| cells.into_iter().map(Self::from).collect();
        rows.into_iter().map(row).collect()
    }

    /// Rows in which a number is a count, an order, a p-value or a setting, never a share of items.
    pub fn figures(rows: Vec<Vec<String>>) -> Vec<Vec<Self>> {
        let row = |cells: Vec<String>| cells.into_iter().map(Self::figure).collect();
        rows.into_iter().map(row).collect()
    }

    /// Rows as a paper prints them.
    pub fn printed_rows(rows: impl IntoIterator<Item = Vec<String>>) -> Vec<Vec<Self>> {
        let row = |cells: Vec<String>| cells.into_iter().map(Self::printed).collect();
        rows.into_iter().map(row).collect()
    }
}

impl Deref for Cell {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for Cell {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Option<Self>> for Cell {
    fn from(cell: Option<Self>) -> Self {
        cell.unwrap_or_else(Self::none)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            holds: Holds::Words,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl PartialEq<str> for Cell {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl PartialEq<&str> for Cell {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64, n: usize) -> Estimate {
        Estimate {
            value,
            low,
            high,
            n,
            method: "wilson".into(),
        }
    }

    #[test]
    fn a_share_carries_its_items_and_its_interval() {
        let wide = Cell::percent(&estimate(0.625, 0.4271, 0.7884, 24), 1);
        assert_eq!(wide.full(), "62.5 (n 24 · 43–79)");
        let narrow = Cell::percent(&estimate(0.625, 0.5936, 0.6554, 960), 1);
        assert_eq!(narrow.full(), "62.5 (n 960 · 59.4–65.5)");
        let few = Cell::percent(&estimate(1.0, 0.2924, 1.0, 3), 1);
        assert_eq!(few.full(), "100.0 (n 3, few · 29–100)");
        let correlation = Cell::number(&estimate(0.1, -0.2, 0.38, 40), 3);
        assert_eq!(correlation.full(), "0.100 (n 40 · -0.200 to 0.380)");
        let difference = Cell::points(&estimate(-0.0001, -0.2, 0.18, 40), 1).over("concepts");
        assert_eq!(difference.full(), "+0.0 (40 concepts · -20 to +18)");
        let alone = Cell::too_few("+58.3", 3, "concepts");
        assert_eq!(alone.full(), "+58.3 (3 concepts, too few for an interval)");
    }

    #[test]
    fn a_number_says_what_it_is_or_is_bare() {
        assert!(Cell::from("62.5").is_bare());
        assert!(Cell::from("+3.0 [1.0, 5.0]").is_bare());
        for fine in [
            Cell::from("gpt-2"),
            Cell::from("3 shots"),
            Cell::none(),
            Cell::count(3),
            Cell::printed("62.5"),
            Cell::percent(&estimate(0.5, 0.1, 0.9, 7), 1),
        ] {
            assert!(!fine.is_bare(), "{fine:?}");
        }
    }
}
