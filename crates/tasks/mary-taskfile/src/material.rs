//! Rows of a user's file for whoever reads texts without a task file: the formats of task files, and
//! plain lines of text. Whatever is wrong is told with file and line.

use std::path::Path;

use mary_contract::{DataError, TaskError};
use mary_platform::open_plain;

use crate::rows::{Format, Row, Rows, Table, format_of};

#[derive(Debug, Clone)]
pub struct Material(Table);

pub type MaterialRow = Row;
pub type MaterialRows = Rows;

impl Material {
    /// Hashes a file; its rows are not looked at. Endings that name no format of rows are plain text.
    pub fn open(path: &Path) -> Result<Self, TaskError> {
        let damaged = |message: String| TaskError::Data(DataError::damaged(path, message));
        let cannot = |e: std::io::Error| damaged(format!("cannot be read: {e}"));
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let plain = matches!(ending.to_ascii_lowercase().as_str(), "" | "txt" | "text");
        let format = if plain && !path.is_dir() {
            open_plain(path).map_err(cannot)?;
            Format::Text
        } else {
            format_of(path).map_err(damaged)?
        };
        let table = Table::open(path.to_owned(), format, None, None).map_err(cannot)?;
        Ok(Self(table))
    }

    /// blake3 of the file's bytes, as hex.
    pub fn hash(&self) -> &str {
        &self.0.hash
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    pub fn wrong(&self, line: usize, message: impl Into<String>) -> TaskError {
        TaskError::record(self.0.name(), line, message)
    }

    pub fn rows(&self) -> Result<MaterialRows, TaskError> {
        self.0.rows()
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
