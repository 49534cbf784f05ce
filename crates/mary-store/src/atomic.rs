//! Files that are either the old or the new version, never half of one.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use mary_contract::StoreError;
use serde::Serialize;

use crate::fault::{corrupt, io_at};

/// Writes bytes beside the file and renames them into place.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let result = File::create(&beside)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&beside, path));
    if result.is_err() {
        // The half file is of no use to anybody; the error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    result.map_err(io_at(path))
}

/// Writes a value as indented JSON.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|e| {
        corrupt(
            path,
            0,
            format!("cannot be written as JSON: {e}"),
            "this is a fault in Mary; please report it",
        )
    })?;
    bytes.push(b'\n');
    write(path, &bytes)
}
