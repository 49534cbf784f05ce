//! The released archive, where it is on this machine, and damaged ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use mary_contract::{Task as _, TaskSettings};
use zip::write::SimpleFileOptions;

use super::*;
use crate::grammar::BLIMP;

struct Folder(PathBuf);

impl DataSource for Folder {
    fn folder(&self, _: &str) -> Result<PathBuf, DataError> {
        Ok(self.0.clone())
    }

    fn hash(&self, _: &str) -> Result<String, DataError> {
        Ok(String::new())
    }
}

fn released() -> Option<Folder> {
    let folder = mary_testkit::lacking::datasets(DATASET)?.join(DATASET);
    folder.join(ARCHIVE).is_file().then_some(Folder(folder))
}

fn archive(lines: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut zip = zip::ZipWriter::new(File::create(folder.path().join(ARCHIVE)).unwrap());
    for name in ["data/some_set.jsonl", "__MACOSX/data/._some_set.jsonl"] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(lines.join("\n").as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    folder
}

const RECORD: &str = r#"{"sentence_good": "We saw it.", "sentence_bad": "We seen it.", "field":
    "syntax/semantics", "linguistics_term": "s-selection", "UID": "some_set", "pairID": "7"}"#;

#[test]
fn quirks_of_upstream_are_read_as_what_they_mean() {
    let line = RECORD.replace('\n', " ");
    let folder = archive(&[&line]);
    let pairs = pairs(&Folder(folder.path().into()), None).unwrap();
    assert_eq!(pairs.len(), 1, "macOS litter is left out");
    assert_eq!(pairs[0].id, "some_set-7");
    assert_eq!(pairs[0].phenomenon, Phenomenon::ArgumentStructure);
    assert_eq!(pairs[0].field, "syntax_semantics");
}

#[test]
fn a_bad_line_is_named() {
    let line = RECORD.replace('\n', " ");
    let odd = line.replace("s-selection", "astrology");
    let folder = archive(&[&line, &odd]);
    let error = pairs(&Folder(folder.path().into()), None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("some_set.jsonl:2") && error.contains("astrology"),
        "{error}"
    );
    std::fs::write(folder.path().join(ARCHIVE), "no zip").unwrap();
    let error = pairs(&Folder(folder.path().into()), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("mary data verify blimp"), "{error}");
}

#[test]
fn the_released_archive_holds_67_sets_of_1000_pairs() {
    let Some(data) = released() else { return };
    let all = pairs(&data, None).unwrap();
    assert_eq!(all.len(), 67_000);
    let ids: BTreeSet<&str> = all.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(ids.len(), 67_000);
    let mut sets: BTreeMap<&str, (Phenomenon, &str)> = BTreeMap::new();
    for pair in &all {
        sets.insert(&pair.set, (pair.phenomenon, pair.field));
    }
    let count = |field: &str| sets.values().filter(|(_, f)| *f == field).count();
    assert_eq!(
        ["syntax", "morphology", "syntax_semantics", "semantics"].map(count),
        [26, 18, 14, 9]
    );
    let phenomena: BTreeSet<Phenomenon> = sets.values().map(|(p, _)| *p).collect();
    assert_eq!(phenomena.len(), 12);
    let settings = TaskSettings {
        params: [("set".to_owned(), "passive_1".to_owned())].into(),
        ..TaskSettings::default()
    };
    assert_eq!(BLIMP.items(&settings, &data).unwrap().count(), 1_000);
}
