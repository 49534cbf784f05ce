//! The bounded part of the fuzzing that every test run does: fixed seeds, every reader.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mary_fuzz::watch::{Counting, watched};
use mary_fuzz::{run, targets};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: memory is counted for the whole process.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn no_mutated_file_or_reply_breaks_a_promise() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mary-weights/tests/golden");
    let mut targets = targets::all(&golden).unwrap();
    let findings = run(&mut targets, 40, 1);
    assert!(findings.broken.is_empty(), "{:#?}", findings.broken);
    assert!(findings.rows.len() >= 20, "{} readers", findings.rows.len());
    for row in &findings.rows {
        assert_eq!(row.cases, 40, "{}", row.target);
    }
    // Mutations that are all refused at the door would try nothing behind it.
    let accepted: usize = findings.rows.iter().map(|r| r.accepted).sum();
    let cases: usize = findings.rows.iter().map(|r| r.cases).sum();
    assert!(accepted * 10 > cases, "{accepted} of {cases} accepted");
}

/// Files that took gigabytes before they were refused: empty lists, and zeros without end.
#[test]
fn an_import_is_refused_in_bounded_memory() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let lists = "[],".repeat(8 << 20);
    let fronts = [
        "[",
        "{\"eval\": [",
        "{\"samples\": [[",
        "{\"doc_id\": 1, \"acc\": 1, \"doc\": [",
    ];
    let mut files = Vec::new();
    for (n, front) in fronts.iter().enumerate() {
        for ending in ["json", "jsonl"] {
            let path = folder.path().join(format!("{n}.{ending}"));
            std::fs::write(&path, format!("{front}{lists}[]")).unwrap();
            files.push(path);
        }
    }
    for ending in ["json", "jsonl", "eval"] {
        let path = folder.path().join(format!("zeros.{ending}"));
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(1 << 30).unwrap();
        files.push(path);
    }
    let options = mary_store::ImportOptions {
        model: Some("a/b".into()),
        ..Default::default()
    };
    for file in files {
        let root = folder.path().join("runs");
        let seen = watched(|| mary_store::import(&file, &options, &root).is_ok());
        let name = file.display();
        assert!(
            !seen.accepted && seen.panicked.is_none(),
            "{name}: {seen:?}"
        );
        assert!(seen.bytes < 512 << 20, "{name}: {} MiB", seen.bytes >> 20);
    }
}
