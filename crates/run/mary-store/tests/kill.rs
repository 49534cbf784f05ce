//! `kill -9` at random moments: what was flushed is there, what was kept is recalled, and the log
//! never needs more than its last line healed.

use crate::support;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use mary_contract::{Cache as _, Reply, Response};
use mary_store::{ResponseCache, RunFolder};
use support::{key, manifest, sample};

const FOLDER: &str = "MARY_TEST_KILL_FOLDER";
const TOTAL: usize = 400_000;

fn reply(n: usize) -> Reply {
    Reply::bare(Response::Generated(mary_contract::Generated {
        text: n.to_string(),
        finish: mary_contract::Finish::Stop,
        reasoning: None,
    }))
}

/// Not a test of its own: the process that gets killed. It says how far it has flushed.
#[test]
fn victim() {
    let Ok(root) = std::env::var(FOLDER) else {
        return;
    };
    let root = std::path::Path::new(&root);
    let mut folder = RunFolder::create_or_open(root, &manifest("run-1")).unwrap();
    let mut cache = ResponseCache::open(&root.join("cache.sqlite")).unwrap();
    let finished = folder.finished_ids().unwrap();
    let mut since = 0;
    for n in 0..TOTAL {
        let next = sample(n);
        if finished.contains(&next.id) {
            continue;
        }
        cache.keep(&key(&n.to_string()), &reply(n)).unwrap();
        folder.append(&next).unwrap();
        since += 1;
        if since % 37 == 0 {
            cache.flush().unwrap();
            folder.flush().unwrap();
            eprintln!("flushed {n}");
        }
    }
}

#[test]
fn fifty_kills_lose_nothing_that_was_flushed() {
    let dir = tempfile::tempdir().unwrap();
    let mut promised = 0;
    for round in 0..50u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["kill::victim", "--exact", "--nocapture"])
            .env(FOLDER, dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // At least one promise, then a random moment.
        let first = lines.next().unwrap().unwrap();
        std::thread::sleep(Duration::from_micros((round * 7_919) % 30_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let last = lines.map_while(Result::ok).last().unwrap_or(first);
        promised = last
            .strip_prefix("flushed ")
            .unwrap_or("0")
            .parse()
            .unwrap_or(promised);
        let folder = RunFolder::create_or_open(dir.path(), &manifest("run-1")).unwrap();
        let finished = folder.finished_ids().unwrap();
        for n in 0..=promised {
            assert!(
                finished.contains(&sample(n).id),
                "round {round}: {n} is lost"
            );
        }
        assert_eq!(
            folder.samples().unwrap().filter(|s| s.is_ok()).count(),
            finished.len()
        );
    }
    assert!(
        promised > 50 * 37,
        "the victim hardly wrote anything: {promised}"
    );
    let mut cache = ResponseCache::open(&dir.path().join("cache.sqlite")).unwrap();
    for n in 0..=promised {
        assert_eq!(cache.recall(&key(&n.to_string())).unwrap(), Some(reply(n)));
    }
}
