//! Eight processes on one run folder, each on its shard, and on one cache, killed at random moments
//! and started again: nothing is lost, nothing is doubled, and no two ever write to one shard.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mary_contract::{Cache as _, Reply, Response};
use mary_store::{ResponseCache, RunFolder, ShardPlace, join_shards};

use crate::support::{key, manifest, sample};

const FOLDER: &str = "MARY_TEST_EIGHT_FOLDER";
const SHARD: &str = "MARY_TEST_EIGHT_SHARD";
const PROCESSES: usize = 8;
const SAMPLES: usize = 8 * 300;
const ROUNDS: usize = 6;

fn reply(n: usize) -> Reply {
    Reply::bare(Response::Generated(mary_contract::Generated {
        text: n.to_string(),
        finish: mary_contract::Finish::Stop,
        reasoning: None,
    }))
}

/// Not a test of its own: a process that gets killed. It says how far it has flushed, and `whole` at its
/// end.
#[test]
fn worker() {
    let (Ok(root), Ok(shard)) = (std::env::var(FOLDER), std::env::var(SHARD)) else {
        return;
    };
    let (root, shard) = (
        std::path::PathBuf::from(root),
        shard.parse::<usize>().unwrap(),
    );
    let whole = RunFolder::found(&root, &manifest("run-1")).unwrap();
    let place = ShardPlace::new(whole.path(), shard, PROCESSES);
    let mut folder = RunFolder::create_or_open_at(&place.path, whole.manifest()).unwrap();
    let mut cache = ResponseCache::open(&root.join("cache.sqlite")).unwrap();
    let finished = folder.finished_ids().unwrap();
    let mut since = 0;
    for n in (0..SAMPLES).filter(|n| n % PROCESSES == shard) {
        let next = sample(n);
        if finished.contains(&next.id) {
            continue;
        }
        cache.keep(&key(&n.to_string()), &reply(n)).unwrap();
        folder.append(&next).unwrap();
        since += 1;
        if since % 5 == 0 {
            cache.flush().unwrap();
            folder.flush().unwrap();
            eprintln!("flushed {n}");
        }
    }
    cache.flush().unwrap();
    folder.flush().unwrap();
    eprintln!("whole");
}

fn start(root: &std::path::Path, shard: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["eight::worker", "--exact", "--nocapture"])
        .env(FOLDER, root)
        .env(SHARD, shard.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn eight_processes_killed_at_random_lose_and_double_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut dice = 20_260_u64;
    let mut roll = move |sides: u64| {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let mut promised = BTreeSet::new();
    let mut killed = 0;
    for round in 0..ROUNDS {
        let children: Vec<Child> = (0..PROCESSES)
            .map(|shard| start(dir.path(), shard))
            .collect();
        for mut child in children {
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
            let mut note = |line: &str| {
                if let Some(n) = line.strip_prefix("flushed ") {
                    promised.insert(n.parse::<usize>().unwrap());
                }
            };
            // At least one line, so that something was done; then a random moment, except at the end.
            if let Some(Ok(line)) = lines.next() {
                note(&line);
            }
            if round + 1 < ROUNDS {
                std::thread::sleep(Duration::from_micros(roll(20_000)));
                child.kill().unwrap();
                killed += 1;
            }
            let rest: Vec<String> = lines.map_while(Result::ok).collect();
            rest.iter().for_each(|line| note(line));
            child.wait().unwrap();
        }
    }
    eprintln!("{killed} kills, {} promises", promised.len());
    let run = dir.path().join("run-1");
    let report = join_shards(&run).unwrap();
    assert_eq!(
        (report.samples, report.failed, report.duplicates),
        (SAMPLES, 0, 0)
    );
    let joined = RunFolder::open(&run).unwrap();
    let ids: Vec<String> = joined
        .verdicts()
        .unwrap()
        .map(|v| v.unwrap().id.item)
        .collect();
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(
        (ids.len(), distinct.len()),
        (SAMPLES, SAMPLES),
        "nothing lost, nothing doubled"
    );
    let mut cache = ResponseCache::open(&dir.path().join("cache.sqlite")).unwrap();
    for n in promised {
        let kept = cache.recall(&key(&n.to_string())).unwrap();
        assert_eq!(kept, Some(reply(n)), "answer {n} was promised");
    }
}

#[test]
fn one_shard_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let whole = RunFolder::found(dir.path(), &manifest("run-1")).unwrap();
    let place = ShardPlace::new(whole.path(), 0, PROCESSES);
    let held = RunFolder::create_or_open_at(&place.path, whole.manifest()).unwrap();
    assert!(place.at_work().is_some());
    let second = start(dir.path(), 0).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        !second.status.success() && said.contains("is writing to this run"),
        "{said}"
    );
    drop(held);
    assert!(place.at_work().is_none());
}

#[test]
fn caches_of_shards_are_joined() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    for shard in 0..3 {
        let place = ShardPlace::new(&run, shard, 3);
        std::fs::create_dir_all(&place.path).unwrap();
        let node = dir.path().join(format!("node{shard}/answers.sqlite"));
        let mut cache = ResponseCache::open(&node).unwrap();
        // Two answers of its own, and one that all have.
        for n in [shard * 2, shard * 2 + 1, 99] {
            cache.keep(&key(&n.to_string()), &reply(n)).unwrap();
        }
        drop(cache);
        place.keep_cache(&node).unwrap();
        // Started again on another node, it finds what it kept.
        let other = dir.path().join(format!("other{shard}/answers.sqlite"));
        place.fetch_cache(&other).unwrap();
        let mut cache = ResponseCache::open(&other).unwrap();
        assert!(cache.recall(&key("99")).unwrap().is_some());
    }
    let mut cache = ResponseCache::open(&dir.path().join("mine.sqlite")).unwrap();
    assert_eq!(mary_store::join_caches(&mut cache, &run).unwrap(), 7);
    assert_eq!(
        mary_store::join_caches(&mut cache, &run).unwrap(),
        0,
        "repeated"
    );
    assert_eq!(cache.recall(&key("5")).unwrap(), Some(reply(5)));
}
