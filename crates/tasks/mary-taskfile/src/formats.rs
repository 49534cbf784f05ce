//! How rows are written down, and what is said of a line that cannot be read.

use std::path::Path;

use mary_contract::TaskError;
use mary_platform::{SPREADSHEET_HINT, TextFault};
use serde::Deserialize;
use serde_json::Value;

pub(crate) type Columns = serde_json::Map<String, Value>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Jsonl,
    /// Fields with commas (or semicolons or tabs), the names of columns in the first line.
    Csv,
    Tsv,
    Parquet,
    /// A list of objects, read as a whole; or one object a line.
    Json,
    /// One text a line, in a column `text`; of a user's file, never of a task's.
    #[serde(skip)]
    Text,
}

pub(crate) fn format_of(path: &Path) -> Result<Format, String> {
    if path.is_dir() {
        return Ok(Format::Parquet);
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    match ending.to_ascii_lowercase().as_str() {
        "jsonl" | "ndjson" => Ok(Format::Jsonl),
        "csv" => Ok(Format::Csv),
        "tsv" | "tab" => Ok(Format::Tsv),
        "parquet" => Ok(Format::Parquet),
        "json" => Ok(Format::Json),
        "xlsx" | "xls" | "xlsm" | "xlsb" | "ods" | "numbers" => Err(format!(
            "it is a spreadsheet; expected .csv, .tsv, .jsonl, .json or .parquet\n{SPREADSHEET_HINT}"
        )),
        other => Err(format!(
            "`.{other}` says nothing about the format; expected .jsonl, .json, .csv, .tsv or .parquet, or `format = \"jsonl\"` \
             under [data]"
        )),
    }
}

/// An error of reading near a line, or in the line that it names itself.
pub(crate) fn unreadable(file: &str, near: usize, error: &std::io::Error) -> TaskError {
    match TextFault::of(error) {
        Some(fault) => wrong(file, fault.line, fault.message.clone()),
        None => wrong(file, near, error.to_string()),
    }
}

pub(crate) fn wrong(file: &str, line: usize, message: impl Into<String>) -> TaskError {
    TaskError::record(file, line, message)
}

pub(crate) type Numbered = (usize, Columns);
