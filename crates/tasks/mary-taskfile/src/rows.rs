//! Rows of JSONL, CSV, TSV and Parquet files, read one by one, so that a file of any length takes
//! the memory of one row (of Parquet: of the pages being read).

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use mary_contract::TaskError;
use mary_platform::{given, open_plain};

use crate::folder;
use crate::formats::wrong;
pub(crate) use crate::formats::{Columns, Format, format_of};
use crate::part::{Part, PartReader, state};

/// Rows in one file or several, as they were when they were hashed.
#[derive(Debug, Clone)]
pub struct Table {
    /// The file, or the folder of Parquet.
    pub path: PathBuf,
    pub format: Format,
    /// Whether `"` encloses fields.
    pub quotes: bool,
    /// blake3 of its bytes, as hex.
    pub hash: String,
    parts: Arc<[Part]>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub file: Arc<str>,
    /// From 1; of Parquet, the row.
    pub line: usize,
    /// From 1, over all files of the table; of a single file its line, or in a CSV file whose lines end
    /// with carriage return and line feed the one before. It is the id of a row without one, and ids stay
    /// what they were when that was the parser's count.
    pub number: usize,
    pub columns: Columns,
}

impl Row {
    pub fn wrong(&self, message: impl Into<String>) -> TaskError {
        TaskError::record(self.file.to_string(), self.line, message)
    }

    /// A column's text, or which columns there are.
    pub fn text(&self, column: &str) -> Result<String, String> {
        use serde_json::Value;
        match self.columns.get(column) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Null) => Ok(String::new()),
            Some(other) => Ok(other.to_string()),
            None => {
                let have: Vec<&str> = self.columns.keys().map(String::as_str).collect();
                Err(format!("there are: {}", have.join(", ")))
            }
        }
    }
}

impl Table {
    /// Hashes a file, or the Parquet files of a folder (of one split, where it is named); its rows are
    /// not looked at.
    pub fn open(
        path: PathBuf,
        format: Format,
        quotes: Option<bool>,
        split: Option<&str>,
    ) -> std::io::Result<Self> {
        let files = if path.is_dir() {
            if format != Format::Parquet {
                return Err(std::io::Error::other("it is a folder, not a file of rows"));
            }
            folder::files(&path, split)?
        } else {
            vec![path.clone()]
        };
        Self::of_files(path, files, format, quotes)
    }

    pub fn of_files(
        path: PathBuf,
        files: Vec<PathBuf>,
        format: Format,
        quotes: Option<bool>,
    ) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 18];
        let mut parts = Vec::new();
        for path in files {
            let place = path.display().to_string();
            let named = |e: std::io::Error| std::io::Error::new(e.kind(), format!("{place}: {e}"));
            let mut file = open_plain(&path).map_err(named)?;
            let state = state(&file).map_err(named)?;
            loop {
                let n = file.read(&mut buffer).map_err(named)?;
                if n == 0 {
                    break;
                }
                hasher.update(buffer.get(..n).unwrap_or_default());
            }
            parts.push(Part { path, state });
        }
        Ok(Self {
            path,
            format,
            quotes: quotes.unwrap_or(format == Format::Csv),
            hash: hasher.finalize().to_hex().to_string(),
            parts: parts.into(),
        })
    }

    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// An error in a line of this table (of its first file, where it has several).
    pub fn wrong(&self, line: usize, message: impl Into<String>) -> TaskError {
        let name = self.parts.first().map(|p| p.path.display().to_string());
        wrong(&name.unwrap_or_else(|| self.name()), line, message)
    }

    pub fn rows(&self) -> Result<Rows, TaskError> {
        let mut rows = Rows {
            table: self.clone(),
            next: 0,
            part: None,
            number: 0,
            ended: false,
        };
        // The first file is opened at once, so that a changed one is told before any row.
        rows.open()?;
        Ok(rows)
    }
}

/// A stream of rows; after an error it ends.
pub struct Rows {
    table: Table,
    next: usize,
    part: Option<PartReader>,
    number: usize,
    ended: bool,
}

impl Rows {
    fn open(&mut self) -> Result<bool, TaskError> {
        let Some(part) = self.table.parts.get(self.next) else {
            return Ok(false);
        };
        let opened = PartReader::open(part, self.table.format, self.table.quotes)?;
        self.part = Some(opened);
        self.next += 1;
        Ok(true)
    }

    fn step(&mut self) -> Result<Option<Row>, TaskError> {
        loop {
            let Some(part) = &mut self.part else {
                return Ok(None);
            };
            if let Some(row) = part.next() {
                let (line, columns) = row?;
                self.number = if self.table.parts.len() == 1 {
                    line - part.early()
                } else {
                    self.number + 1
                };
                return Ok(Some(Row {
                    file: Arc::clone(&part.file),
                    line,
                    number: self.number,
                    columns,
                }));
            }
            self.part = None;
            if !self.open()? {
                return Ok(None);
            }
        }
    }
}

impl Iterator for Rows {
    type Item = Result<Row, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        given(!self.ended)?;
        let found = self.step().transpose();
        self.ended = !matches!(found, Some(Ok(_)));
        found
    }
}
