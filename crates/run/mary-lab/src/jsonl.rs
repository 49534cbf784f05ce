//! Lists of one JSON record a line. A kill leaves at most a torn last line, which is not read.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use mary_contract::StoreError;
use mary_platform::{append_plain, read_plain_text};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a list, at most. A folder may come from elsewhere.
const LARGEST: u64 = 256 << 20;

/// What went wrong at a path, for `map_err`.
pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    move |source| StoreError::Io {
        path: path.to_owned(),
        source,
    }
}

/// The whole lines of a list; none where there is no file.
pub(crate) fn lines(path: &Path) -> Result<(Vec<String>, usize), StoreError> {
    let text = match read_plain_text(path, LARGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        other => other.map_err(at(path))?,
    };
    let whole = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
    Ok((whole.map(str::to_owned).collect(), text.len()))
}

/// Reads a list of `what`; `hint` says what becomes of a line that is deleted.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    what: &str,
    hint: &str,
) -> Result<Vec<T>, StoreError> {
    let (lines, _) = lines(path)?;
    let record = |(index, line): (usize, &String)| {
        serde_json::from_str(line).map_err(|e| StoreError::Corrupt {
            path: path.to_owned(),
            line: index + 1,
            message: format!("expected {what} as JSON, found: {e}"),
            hint: hint.to_owned(),
        })
    };
    lines.iter().enumerate().map(record).collect()
}

/// Adds a record to a list; it survives a power cut.
pub(crate) fn append(path: &Path, record: &impl Serialize) -> Result<(), StoreError> {
    let append = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = append_plain(path)?;
        let line = serde_json::to_string(record)? + "\n";
        file.write_all(line.as_bytes())?;
        file.sync_data()
    };
    append().map_err(at(path))
}
