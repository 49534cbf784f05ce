//! Runs that an earlier program wrote (kept in `old_run`, byte for byte) still open: fields that came
//! later have fallbacks, and the folder keeps its name.

use std::fs;
use std::path::{Path, PathBuf};

use mary_contract::{Metric, RunManifest, Scoring, Ties};
use mary_store::{RunFolder, merge, run_digest};

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_run")
}

/// A copy that may be written to.
fn copied(root: &Path) -> PathBuf {
    let name = "nano-htest-84dc0678aa";
    let folder = root.join(name);
    fs::create_dir_all(&folder).unwrap();
    for file in ["manifest.json", "summary.json", "samples.jsonl"] {
        fs::copy(kept().join(name).join(file), folder.join(file)).unwrap();
    }
    folder
}

#[test]
fn an_old_run_opens_and_says_what_was_asked_as_far_as_it_knows() {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::open(&copied(dir.path())).unwrap();
    assert_eq!(folder.samples().unwrap().count(), 4);
    let summary = folder.summary().unwrap().unwrap();
    assert_eq!(summary.rows[0].task, "htest/rhyme");
    let task = summary.manifest.task("htest/rhyme").unwrap();
    assert_eq!((task.asked.clone(), task.scoring), (None, None));
    let asked = task.question().asked;
    assert_eq!(asked["shots"], "2");
    assert_eq!(asked["seed"], "7");
}

#[test]
fn an_old_run_keeps_its_name_when_its_fields_are_filled_in() {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::open(&copied(dir.path())).unwrap();
    let mut manifest = folder.manifest().clone();
    assert!(run_digest(&manifest).unwrap().starts_with("84dc0678aa"));
    let task = &mut manifest.tasks[0];
    task.asked = Some([("shots".to_owned(), "2".to_owned())].into());
    task.scoring = Some(Scoring::share(Ties::Half));
    assert!(run_digest(&manifest).unwrap().starts_with("84dc0678aa"));
    // The folder of the old run is found again by the filled-in manifest.
    drop(folder);
    RunFolder::create_or_open(dir.path(), &manifest).unwrap();
}

#[test]
fn an_old_shard_is_merged_with_a_new_one_of_the_same_run() {
    let dir = tempfile::tempdir().unwrap();
    let old = copied(dir.path());
    let mut manifest = RunFolder::open(&old).unwrap().manifest().clone();
    manifest.id = "new".into();
    let asked = [
        ("shots", "2"),
        ("seed", "7"),
        ("form", "plain"),
        ("mode", "score"),
    ];
    manifest.tasks[0].asked = Some(asked.map(|(a, b)| (a.to_owned(), b.to_owned())).into());
    let new = RunFolder::create_or_open(dir.path(), &manifest).unwrap();
    let merged = merge(&dir.path().join("out"), &[&old, new.path()]).unwrap();
    assert_eq!(merged.samples, 4);
}

#[test]
fn a_scale_that_was_said_in_words_is_not_taken_for_a_share() {
    let text = fs::read_to_string(kept().join("nano-psychometric-51af88d9b9.json")).unwrap();
    let manifest: RunManifest = serde_json::from_str(&text).unwrap();
    assert!(run_digest(&manifest).unwrap().starts_with("51af88d9b9"));
    assert_eq!(manifest.tasks[0].metric(), Some(Metric::RSquared));
}
