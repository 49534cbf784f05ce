//! The texts of a file, row by row: what is scored, after what, and where the regions of interest lie.

use std::ops::Range;

use mary_contract::TaskError;
use mary_taskfile::{Material, MaterialRow};
use serde_json::Value;

use super::{ScoreOptions, regions};
use crate::texts::material::{self, Named};

/// One row: a text, or the two of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// Unique in the file.
    pub id: String,
    /// From 1.
    pub line: usize,
    /// What stands before; may be empty.
    pub context: String,
    /// The text; or the acceptable one and the other.
    pub parts: Vec<Part>,
    /// The columns carried along, in the order of the options.
    pub kept: Vec<String>,
}

/// One text of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// `text`, `good` or `bad`.
    pub name: &'static str,
    /// The text, marks taken off.
    pub text: String,
    /// What is asked for: the text, with what separates it from its context.
    pub continuation: String,
    /// Regions of interest, in bytes of the text.
    pub regions: Vec<Range<usize>>,
    /// Words by a column of the user's, in bytes of the text; else runs without white space.
    pub words: Option<Vec<Range<usize>>>,
}

impl Part {
    /// The places of its words, in bytes of the continuation.
    pub fn word_places(&self) -> Vec<Range<usize>> {
        let Some(words) = &self.words else {
            return super::words::places(&self.continuation);
        };
        let shift = self.shift();
        let moved = words.iter();
        moved.map(|w| w.start + shift..w.end + shift).collect()
    }

    /// Bytes of the separator before the text.
    pub fn shift(&self) -> usize {
        self.continuation.len() - self.text.len()
    }
}

/// A stream of rows; after an error it ends.
pub(crate) struct Texts {
    material: Material,
    options: ScoreOptions,
    rows: Named,
    ended: bool,
}

impl Texts {
    pub fn new(material: &Material, options: &ScoreOptions) -> Result<Self, TaskError> {
        Ok(Self {
            rows: Named::new(material, options.id.as_deref())?,
            material: material.clone(),
            options: options.clone(),
            ended: false,
        })
    }

    fn text(&self, id: String, row: &MaterialRow) -> Result<Text, TaskError> {
        let context = match &self.options.context {
            Some(name) => material::text(&self.material, row, name)?,
            None => String::new(),
        };
        let named = match &self.options.pair {
            Some((good, bad)) => vec![("good", good), ("bad", bad)],
            None => vec![("text", &self.options.text)],
        };
        let mut parts = Vec::new();
        for (name, column) in named {
            let written = material::words(&self.material, row, column)?;
            let (text, regions) = self.regions(row, &written)?;
            let continuation = match context.is_empty() {
                true => text.clone(),
                false => format!("{}{text}", self.options.separator),
            };
            let words = self.given_words(row, &text)?;
            parts.push(Part {
                name,
                text,
                continuation,
                regions,
                words,
            });
        }
        let kept = self.options.keep.iter();
        let kept = kept.map(|name| material::text(&self.material, row, name));
        Ok(Text {
            id,
            line: row.line,
            context,
            parts,
            kept: kept.collect::<Result<_, _>>()?,
        })
    }

    /// Words by their column: a list, or text with blanks between them.
    fn given_words(
        &self,
        row: &MaterialRow,
        text: &str,
    ) -> Result<Option<Vec<Range<usize>>>, TaskError> {
        let Some(column) = &self.options.words else {
            return Ok(None);
        };
        let words: Vec<String> = match row.columns.get(column) {
            Some(Value::Array(list)) => list
                .iter()
                .map(|word| word.as_str().unwrap_or_default().to_owned())
                .collect(),
            _ => material::text(&self.material, row, column)?
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
        };
        let found = super::words::found(text, &words);
        let wrong = |why| {
            self.material
                .wrong(row.line, format!("column `{column}`: {why}"))
        };
        found.map(Some).map_err(wrong)
    }

    fn regions(
        &self,
        row: &MaterialRow,
        written: &str,
    ) -> Result<(String, Vec<Range<usize>>), TaskError> {
        let wrong = |message: String| self.material.wrong(row.line, message);
        if let Some((open, close)) = &self.options.marks {
            return regions::unmark(written, open, close).map_err(wrong);
        }
        let Some(name) = &self.options.region else {
            return Ok((written.to_owned(), Vec::new()));
        };
        let column = match row.columns.get(name) {
            Some(column) => column.clone(),
            // Names the column and says what there is.
            None => Value::String(material::text(&self.material, row, name)?),
        };
        let found = regions::named(written, &column).map_err(wrong)?;
        Ok((written.to_owned(), found))
    }
}

impl Iterator for Texts {
    type Item = Result<Text, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.rows.next()?;
        let text = found.and_then(|(id, row)| self.text(id, &row));
        self.ended = text.is_err();
        Some(text)
    }
}
