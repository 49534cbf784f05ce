//! BLiMP as released: 67 files of 1,000 pairs inside the original archive, read with their quirks
//! (13 `linguistics_term` values, one `syntax/semantics`, macOS litter between the files).

use std::io::{BufRead, BufReader};
use std::path::Path;

use mary_contract::{DataError, DataSource, TaskError};
use serde::Deserialize;
use zip::ZipArchive;

use super::Phenomenon;
use super::pair::Pair;

pub const DATASET: &str = "blimp";
const ARCHIVE: &str = "BLiMP.zip";

#[derive(Debug, Deserialize)]
struct Record {
    sentence_good: String,
    sentence_bad: String,
    field: String,
    linguistics_term: String,
    #[serde(rename = "UID")]
    uid: String,
    #[serde(rename = "pairID")]
    pair_id: String,
}

fn field(written: &str) -> Option<&'static str> {
    Some(match written {
        "morphology" => "morphology",
        "syntax" => "syntax",
        "semantics" => "semantics",
        "syntax_semantics" | "syntax/semantics" => "syntax_semantics",
        _ => return None,
    })
}

/// All pairs, set by set in the order of their names; with `only`, those of one set.
pub fn pairs(data: &dyn DataSource, only: Option<&str>) -> Result<Vec<Pair>, TaskError> {
    let path = data.folder(DATASET)?.join(ARCHIVE);
    let damaged = |what: String| {
        let why = format!("{what}\nhint: `mary data verify blimp` says what is wrong");
        DataError::damaged(path.clone(), why)
    };
    let file =
        mary_platform::open_plain(&path).map_err(|e| damaged(format!("cannot be opened: {e}")))?;
    let archive = ZipArchive::new(file);
    let mut archive = archive.map_err(|e| damaged(format!("is no zip archive: {e}")))?;
    let wanted = |name: &std::borrow::Cow<'_, str>| {
        let set = name.ends_with(".jsonl") && !name.contains("__MACOSX");
        set && only.is_none_or(|set| stem(name) == set)
    };
    let files = archive.file_names().filter_map(Result::ok).filter(wanted);
    let mut names: Vec<String> = files.map(|name| name.into_owned()).collect();
    names.sort_unstable();
    if names.is_empty() {
        return Err(match only {
            Some(set) => TaskError::Setting(format!(
                "BLiMP has no set `{set}`\nhint: names are upstream's, for example \
                 anaphor_gender_agreement"
            )),
            None => damaged("holds no .jsonl file".to_owned()).into(),
        });
    }
    let mut pairs = Vec::with_capacity(names.len() * 1_000);
    for name in &names {
        let unpacked =
            |e: &dyn std::fmt::Display| damaged(format!("{name} cannot be unpacked: {e}"));
        let member = archive.by_name(name).map_err(|e| unpacked(&e))?;
        for (index, line) in BufReader::new(member).lines().enumerate() {
            let line = line.map_err(|e| unpacked(&e))?;
            if !line.trim().is_empty() {
                pairs.push(pair(name, index + 1, &line)?);
            }
        }
    }
    Ok(pairs)
}

fn stem(name: &str) -> &str {
    let stem = Path::new(name).file_stem();
    stem.and_then(|s| s.to_str()).unwrap_or_default()
}

fn pair(file: &str, line: usize, text: &str) -> Result<Pair, TaskError> {
    let wrong = |message: String| TaskError::record(format!("{ARCHIVE}/{file}"), line, message);
    let record: Record = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    let unknown = |what: &str, found: &str| wrong(format!("unknown {what} `{found}`"));
    let term = &record.linguistics_term;
    let phenomenon = Phenomenon::upstream(term).ok_or_else(|| unknown("linguistics_term", term))?;
    let field = field(&record.field).ok_or_else(|| unknown("field", &record.field))?;
    Ok(Pair {
        id: format!("{}-{}", record.uid, record.pair_id),
        set: record.uid,
        phenomenon,
        field,
        good: record.sentence_good,
        bad: record.sentence_bad,
    })
}

#[cfg(test)]
#[path = "upstream_tests.rs"]
mod tests;
