//! Rows of a user's file for whoever reads texts without a task file: the formats of task files, and
//! plain lines of text. Whatever is wrong is told with file and line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use mary_contract::{DataError, TaskError};
use mary_platform::{Separated, TextFault, open_plain};
use serde_json::{Map, Value};

use crate::rows::{Rows, Table, format_of};

/// Bytes of one line of plain text, at most.
const LONGEST_LINE: u64 = 64 << 20;

/// A file of rows, known by its hash.
#[derive(Debug, Clone)]
pub struct Material(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Table(Table),
    /// One text a line, in a column `text`.
    Lines {
        path: PathBuf,
        hash: String,
    },
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct MaterialRow {
    /// From 1.
    pub line: usize,
    /// What a row without an id is called by (as in [`Rows`]).
    pub number: usize,
    /// Its columns, in order.
    pub columns: Map<String, Value>,
}

/// A lazy stream of rows.
pub type MaterialRows = Box<dyn Iterator<Item = Result<MaterialRow, TaskError>> + Send>;

impl Material {
    /// Hashes a file; its rows are not looked at. Endings that name no format of rows are plain text.
    pub fn open(path: &Path) -> Result<Self, TaskError> {
        let cannot = |e: std::io::Error| {
            TaskError::Data(DataError::Damaged {
                path: path.to_owned(),
                message: format!("cannot be read: {e}"),
            })
        };
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let plain = matches!(ending.to_ascii_lowercase().as_str(), "" | "txt" | "text");
        if plain && !path.is_dir() {
            return Ok(Self(Kind::Lines {
                path: path.to_owned(),
                hash: hash(path).map_err(cannot)?,
            }));
        }
        let format = format_of(path).map_err(|message| {
            TaskError::Data(DataError::Damaged {
                path: path.to_owned(),
                message,
            })
        })?;
        let table = Table::open(path.to_owned(), format, None, None).map_err(cannot)?;
        Ok(Self(Kind::Table(table)))
    }

    /// blake3 of the file's bytes, as hex.
    pub fn hash(&self) -> &str {
        match &self.0 {
            Kind::Table(table) => &table.hash,
            Kind::Lines { hash, .. } => hash,
        }
    }

    pub fn path(&self) -> &Path {
        match &self.0 {
            Kind::Table(table) => &table.path,
            Kind::Lines { path, .. } => path,
        }
    }

    /// Whether its rows are plain lines.
    pub fn is_lines(&self) -> bool {
        matches!(self.0, Kind::Lines { .. })
    }

    /// An error in one of its lines.
    pub fn wrong(&self, line: usize, message: impl Into<String>) -> TaskError {
        TaskError::Record {
            file: self.path().display().to_string(),
            line,
            message: message.into(),
        }
    }

    /// An error of reading near a line, or in the line that it names itself.
    fn unreadable(&self, near: usize, error: &std::io::Error) -> TaskError {
        match TextFault::of(error) {
            Some(fault) => self.wrong(fault.line, fault.message.clone()),
            None => self.wrong(near, error.to_string()),
        }
    }

    /// Its rows, from the first.
    pub fn rows(&self) -> Result<MaterialRows, TaskError> {
        match &self.0 {
            Kind::Table(table) => {
                let rows: Rows = table.rows()?;
                Ok(Box::new(rows.map(|row| {
                    row.map(|row| MaterialRow {
                        line: row.line,
                        number: row.number,
                        columns: row.columns,
                    })
                })))
            }
            Kind::Lines { path, .. } => {
                let file = open_plain(path).map_err(|e| {
                    TaskError::Data(DataError::Damaged {
                        path: path.clone(),
                        message: format!("cannot be read: {e}"),
                    })
                })?;
                Ok(Box::new(Lines {
                    material: self.clone(),
                    reader: BufReader::with_capacity(
                        1 << 16,
                        Separated::lines(file).map_err(|e| self.unreadable(1, &e))?,
                    ),
                    line: 0,
                    ended: false,
                }))
            }
        }
    }
}

fn hash(path: &Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut file = open_plain(path)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(hasher.finalize().to_hex().to_string());
        }
        hasher.update(buffer.get(..n).unwrap_or_default());
    }
}

/// Lines that are not blank; a line ends at a line feed, with or without a carriage return.
struct Lines {
    material: Material,
    reader: BufReader<Separated<File>>,
    line: usize,
    ended: bool,
}

impl Iterator for Lines {
    type Item = Result<MaterialRow, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.read();
        self.ended = !matches!(found, Ok(Some(_)));
        found.transpose()
    }
}

impl Lines {
    fn read(&mut self) -> Result<Option<MaterialRow>, TaskError> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            self.line += 1;
            let mut bounded = self.reader.by_ref().take(LONGEST_LINE);
            let n = bounded
                .read_until(b'\n', &mut bytes)
                .map_err(|e| self.material.unreadable(self.line, &e))?;
            if n == 0 {
                return Ok(None);
            }
            if n as u64 == LONGEST_LINE {
                let message = format!("the line is longer than {} MiB", LONGEST_LINE >> 20);
                return Err(self.material.wrong(self.line, message));
            }
            // Nothing is lost: what comes from `Separated` is UTF-8, without a byte order mark.
            let text = String::from_utf8_lossy(&bytes);
            let text = text.strip_suffix('\n').unwrap_or(&text);
            let text = text.strip_suffix('\r').unwrap_or(text);
            if text.trim().is_empty() {
                continue;
            }
            let mut columns = Map::new();
            columns.insert("text".to_owned(), Value::String(text.to_owned()));
            return Ok(Some(MaterialRow {
                line: self.line,
                number: self.line,
                columns,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(bytes: &[u8]) -> Vec<Result<MaterialRow, TaskError>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        std::fs::write(&path, bytes).unwrap();
        Material::open(&path).unwrap().rows().unwrap().collect()
    }

    #[test]
    fn lines_keep_their_numbers_and_their_spaces() {
        let found: Vec<(usize, String)> = rows("\u{feff}a b \r\n\n  \n c\n".as_bytes())
            .into_iter()
            .map(|r| r.unwrap())
            .map(|r| (r.line, r.columns["text"].as_str().unwrap().to_owned()))
            .collect();
        assert_eq!(found, [(1, "a b ".to_owned()), (4, " c".to_owned())]);
    }

    #[test]
    fn a_line_that_is_no_text_is_named_and_ends_the_reading() {
        let found = rows(b"1\n2\n3\n4\n5\n6\nab\xffc\n8\n");
        assert_eq!(found.len(), 7);
        let error = found[6].as_ref().unwrap_err().to_string();
        assert!(
            error.contains("x.txt:7: byte 3 is not valid UTF-8"),
            "{error}"
        );
    }
}
