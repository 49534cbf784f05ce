//! A small crowd before a server that is killed while they answer; `examples/crowd` is the large one.

use std::path::PathBuf;
use std::process::Command;

use crate::stampede::{Crowd, make, run, serve};

const FOLDER: &str = "MARY_STUDY_TEST_FOLDER";

/// Not a test by itself: the process that the next one starts and kills.
#[test]
fn serves_when_asked() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        serve(&PathBuf::from(folder));
    }
}

#[test]
fn what_was_acknowledged_survives_kills() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("study");
    let crowd = Crowd {
        people: 24,
        trials: 6,
        at_once: 12,
        kills: 4,
    };
    make(&folder, &crowd);
    let own = std::env::current_exe().unwrap();
    let outcome = run(&folder, &crowd, &|| {
        let mut command = Command::new(&own);
        command.args(["--exact", "crowd::serves_when_asked", "--nocapture"]);
        command.env(FOLDER, &folder);
        command
    });
    assert_eq!(outcome.killed, crowd.kills);
}
