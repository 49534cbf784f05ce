//! The bounded part of the fuzzing that every test run does: fixed seeds, every reader.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::path::Path;

use mary_fuzz::watch::Counting;
use mary_fuzz::{run, targets};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_mutated_file_or_reply_breaks_a_promise() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mary-weights/tests/golden");
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
