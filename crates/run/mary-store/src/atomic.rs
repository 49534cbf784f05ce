//! JSON files that are either the old or the new version, never half of one.

use std::path::Path;

use mary_contract::StoreError;
use mary_platform::replace_file;
use serde::Serialize;

use crate::fault::{Result, corrupt, io_at};

pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(unwritable(path))?;
    bytes.push(b'\n');
    replace_file(path, &bytes).map_err(io_at(path))
}

pub(crate) fn unwritable(path: &Path) -> impl Fn(serde_json::Error) -> StoreError + '_ {
    move |e| {
        let hint = "this is a fault in Mary; please report it";
        corrupt(path, 0, format!("cannot be written as JSON: {e}"), hint)
    }
}
