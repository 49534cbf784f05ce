//! Tables of a user's: norms and examples as CSV, in the forms in which spreadsheet programs save them.

use std::fs::File;
use std::path::Path;

use mary_contract::{DataError, TaskError};
use mary_platform::{Separated, TextFault, open_plain};

/// A CSV file of this name with its columns in the first line; `what` it is expected to be.
pub(crate) fn open(path: &Path, what: &str) -> Result<csv::Reader<Separated<File>>, TaskError> {
    let text = open_plain(path).and_then(|file| Separated::fields(file, None, true));
    let text = text.map_err(|e| match TextFault::of(&e) {
        Some(fault) => record(path, fault.line, fault.message.clone()),
        None => TaskError::Data(DataError::damaged(path, format!("expected {what}: {e}"))),
    })?;
    Ok(csv::ReaderBuilder::new()
        .delimiter(text.delimiter())
        .trim(csv::Trim::All)
        .from_reader(text))
}

/// An error of the parser, in the line it names.
pub(crate) fn wrong(path: &Path, near: usize, error: &csv::Error) -> TaskError {
    if let csv::ErrorKind::Io(e) = error.kind()
        && let Some(fault) = TextFault::of(e)
    {
        return record(path, fault.line, fault.message.clone());
    }
    let line = error.position().map_or(near, |p| p.line() as usize);
    record(path, line, error.to_string())
}

/// A line of a user's file that is not what it should be.
pub(crate) fn record(path: &Path, line: usize, message: impl Into<String>) -> TaskError {
    TaskError::record(path, line, message)
}

/// The text of a file; `what` it is expected to be.
pub(crate) fn text(path: &Path, what: &str) -> Result<String, TaskError> {
    mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA)
        .map_err(|e| TaskError::Data(DataError::damaged(path, format!("expected {what}: {e}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(bytes: &[u8]) -> Result<Vec<(String, f64)>, TaskError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n.csv");
        std::fs::write(&path, bytes).unwrap();
        let mut reader = open(&path, "norms")?;
        reader
            .deserialize()
            .map(|row| row.map_err(|e| wrong(&path, 1, &e)))
            .collect()
    }

    #[test]
    fn norms_are_read_as_spreadsheet_programs_save_them() {
        let wanted = [("Hund".to_owned(), 12.5)];
        for text in [
            "word,age\nHund,12.5\n",
            "sep=;\r\nword;age\r\nHund ;12.5\r\n",
            "\u{feff}word\tage\nHund\t12.5\n",
        ] {
            assert_eq!(rows(text.as_bytes()).unwrap(), wanted, "{text:?}");
        }
        let open = rows(b"word,age\nHund,12.5\n\"Katze,13\nMaus,14\n").unwrap_err();
        assert!(
            open.to_string().contains("n.csv:3: a quote opens"),
            "{open}"
        );
        let latin = rows(b"word,age\nK\xe4fer,12\n").unwrap_err().to_string();
        assert!(
            latin.contains("n.csv:2: ") && latin.contains("`ä`"),
            "{latin}"
        );
        let sheet = rows(b"PK\x03\x04").unwrap_err().to_string();
        assert!(sheet.contains("convert-to"), "{sheet}");
    }
}
