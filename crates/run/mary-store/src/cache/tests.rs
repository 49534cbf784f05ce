use super::*;
use mary_contract::{Generated, Response};

fn key(n: usize) -> Key {
    serde_json::from_value(blake3::hash(&n.to_le_bytes()).to_hex().to_string().into()).unwrap()
}

fn reply(text: &str) -> Reply {
    Reply::bare(Response::Generated(Generated::whole(text.into())))
}

#[test]
fn a_cache_on_a_network_file_system_is_refused_by_its_kind_and_not_touched() {
    for kind in ["nfs4", "lustre", "gpfs", "beegfs"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("answers.sqlite");
        let error = ResponseCache::open_on(&path, Some(kind.to_owned()))
            .err()
            .unwrap();
        let said = error.to_string();
        assert!(
            said.contains(&format!("found {kind}")) && said.contains("--cache-dir"),
            "{said}"
        );
        assert!(!path.exists());
    }
}

#[test]
fn what_was_kept_is_recalled_at_once_and_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/folder/cache.sqlite");
    let mut cache = ResponseCache::open(&path).unwrap();
    assert_eq!(cache.recall(&key(1)).unwrap(), None);
    let long = "word ".repeat(10_000);
    cache.keep(&key(1), &reply("yes")).unwrap();
    cache.keep(&key(2), &reply(&long)).unwrap();
    assert_eq!(cache.recall(&key(1)).unwrap(), Some(reply("yes")));
    assert_eq!(cache.recall(&key(2)).unwrap(), Some(reply(&long)));
    cache.flush().unwrap();
    assert_eq!(cache.recall(&key(1)).unwrap(), Some(reply("yes")));
    drop(cache);
    let mut again = ResponseCache::open(&path).unwrap();
    assert_eq!(again.recall(&key(2)).unwrap(), Some(reply(&long)));
    assert!(
        again.stats().unwrap().bytes < 5_000,
        "large answers are compressed"
    );
}

#[test]
fn a_commit_comes_within_a_moment_without_anybody_flushing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let mut one = ResponseCache::open(&path).unwrap();
    let mut other = ResponseCache::open(&path).unwrap();
    one.keep(&key(7), &reply("seen")).unwrap();
    let start = std::time::Instant::now();
    while other.recall(&key(7)).unwrap().is_none() {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "never committed"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn two_writers_share_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    std::thread::scope(|scope| {
        for part in 0..2 {
            let path = &path;
            scope.spawn(move || {
                let mut cache = ResponseCache::open(path).unwrap();
                for n in 0..3_000 {
                    cache.keep(&key(n * 2 + part), &reply("x")).unwrap();
                }
                cache.flush().unwrap();
            });
        }
    });
    let mut cache = ResponseCache::open(&path).unwrap();
    assert_eq!(cache.stats().unwrap().rows, 6_000);
}

/// SQLite refuses the switch to the write-ahead log at once while another connection is about to
/// write, however long the busy time-out; the refusal must be waited out.
#[test]
fn a_refused_switch_to_the_write_ahead_log_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE t (x); BEGIN IMMEDIATE;")
        .unwrap();
    let ours = Connection::open(&path).unwrap();
    // A test that waited for this would stand still; the refusal comes without any waiting.
    ours.busy_timeout(Duration::from_secs(3_600)).unwrap();
    let refused = database::prepare(&ours).unwrap_err();
    assert!(patience::is_busy(&refused), "{refused}");
    let mut refusals = 0;
    let form = patience::again_while(
        || database::prepare(&ours),
        || {
            refusals += 1;
            other.execute_batch("COMMIT").unwrap();
            true
        },
    );
    assert_eq!((form.unwrap(), refusals), (1, 1));
    assert!(patience::PATIENCE >= Duration::from_secs(120));
}

/// The whole of opening, with the other connection letting go only once ours has been refused.
#[test]
fn opening_waits_for_another_to_let_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE t (x); BEGIN IMMEDIATE;")
        .unwrap();
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| ResponseCache::open(&path).map(drop));
        // However the two are scheduled, opening must end well: before, under or after the lock.
        std::thread::sleep(Duration::from_millis(50));
        other.execute_batch("COMMIT").unwrap();
        opening.join().unwrap().unwrap();
    });
}

const CROWD_FILE: &str = "MARY_TEST_CROWD_FILE";
const CROWD_PART: &str = "MARY_TEST_CROWD_PART";
const EACH: usize = 60;

/// Not a test of its own: one process of the crowd below. Opens the file anew for every few
/// answers, since opening and closing are what collides.
#[test]
fn one_of_a_crowd() {
    let (Ok(path), Ok(part)) = (std::env::var(CROWD_FILE), std::env::var(CROWD_PART)) else {
        return;
    };
    let part: usize = part.parse().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let path = &path;
            scope.spawn(move || {
                for n in (0..EACH).step_by(6) {
                    let mut cache = ResponseCache::open(Path::new(path)).unwrap();
                    for m in n..n + 6 {
                        let key = key((part * 2 + thread) * EACH + m);
                        cache.keep(&key, &reply("x")).unwrap();
                        assert!(cache.recall(&key).unwrap().is_some());
                    }
                    cache.flush().unwrap();
                }
            });
        }
    });
}

#[test]
fn a_crowd_of_processes_opens_and_writes_one_new_file() {
    const PROCESSES: usize = 8;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let crowd: Vec<_> = (0..PROCESSES)
        .map(|part| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["cache::tests::one_of_a_crowd", "--exact", "--nocapture"])
                .env(CROWD_FILE, &path)
                .env(CROWD_PART, part.to_string())
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for (part, child) in crowd.into_iter().enumerate() {
        let out = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "process {part}: {said}");
    }
    let mut cache = ResponseCache::open(&path).unwrap();
    let rows = cache.stats().unwrap().rows;
    assert_eq!(rows, (PROCESSES * 2 * EACH) as u64);
}

#[test]
fn a_full_disk_loses_nothing_that_was_handed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let mut cache = ResponseCache::open(&path).unwrap();
    cache.limit_pages(12);
    let noise: Vec<String> = (0..200)
        .map(|n| blake3::hash(&[n as u8]).to_hex().to_string().repeat(8))
        .collect();
    for (n, text) in noise.iter().enumerate() {
        // Either call may be the one that hears of it.
        let _ = cache.keep(&key(n), &reply(text));
    }
    let error = cache.flush().unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(cache.recall(&key(199)).unwrap(), Some(reply(&noise[199])));
    cache.limit_pages(1_000_000);
    cache.flush().unwrap();
    drop(cache);
    let mut again = ResponseCache::open(&path).unwrap();
    for (n, text) in noise.iter().enumerate() {
        assert_eq!(again.recall(&key(n)).unwrap(), Some(reply(text)));
    }
}

#[test]
fn a_file_that_is_no_cache_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let text = "this is a letter, not a database. ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let error = ResponseCache::open(&path).err().unwrap();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("--no-cache"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_folder_in_the_way_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = ResponseCache::open(dir.path()).err().unwrap();
    assert!(error.to_string().contains("--no-cache"), "{error}");
}

#[test]
fn pruning_takes_what_it_is_told_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = ResponseCache::open(&dir.path().join("cache.sqlite")).unwrap();
    let label = cache.label();
    label.set("a/one", "htest/rhyme");
    for n in 0..10 {
        cache.keep(&key(n), &reply("one")).unwrap();
    }
    label.set("b/two", "htest/rhyme");
    for n in 10..14 {
        cache.keep(&key(n), &reply("two")).unwrap();
    }
    let stats = cache.stats().unwrap();
    assert_eq!((stats.rows, stats.models.len()), (14, 2));
    assert_eq!(cache.prune(&Prune::default()).unwrap().rows, 0);
    let old = Prune {
        older_than: Some(Duration::from_secs(3_600)),
        ..Prune::default()
    };
    assert_eq!(cache.prune(&old).unwrap().rows, 0);
    let one = Prune {
        model: Some("a/one".into()),
        ..Prune::default()
    };
    assert_eq!(cache.prune(&one).unwrap().rows, 10);
    let each = stats.models[1].bytes / stats.models[1].rows;
    let small = Prune {
        max_bytes: Some(each * 3),
        ..Prune::default()
    };
    assert_eq!(cache.prune(&small).unwrap().rows, 1);
    assert_eq!(cache.recall(&key(13)).unwrap(), Some(reply("two")));
    assert_eq!(
        cache.recall(&key(10)).unwrap(),
        None,
        "the oldest goes first"
    );
}

#[test]
fn a_number_that_is_none_is_not_kept() {
    use mary_contract::{ContinuationScore, Scored};
    let dir = tempfile::tempdir().unwrap();
    let mut cache = ResponseCache::open(&dir.path().join("cache.sqlite")).unwrap();
    let broken = Reply::bare(Response::Scored(Scored {
        continuations: vec![ContinuationScore {
            tokens: vec!["a".into()],
            logprobs: vec![f32::NAN],
            ..ContinuationScore::default()
        }],
    }));
    cache.keep(&key(1), &broken).unwrap();
    assert_eq!(cache.recall(&key(1)).unwrap(), None);
}

#[test]
fn an_answer_just_committed_is_recalled_though_a_view_was_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = ResponseCache::open(&dir.path().join("cache.sqlite")).unwrap();
    for n in 0..200 {
        // The look-up opens a view in which the next answer is not.
        assert!(cache.recall(&key(n)).unwrap().is_none());
        cache.keep(&key(n), &reply("x")).unwrap();
        if n % 3 == 0 {
            cache.flush().unwrap();
        } else if n % 3 == 1 {
            assert!(cache.recall(&key(n + 1_000)).unwrap().is_none());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(cache.recall(&key(n)).unwrap().is_some(), "answer {n}");
    }
}

/// Every bit of a row, one after the other: a flipped one is never an answer.
#[test]
fn a_flipped_bit_is_a_miss_and_said_once() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    for text in ["yes", &"word ".repeat(1_000)] {
        let row = database::pack(&key(1), &reply(text)).unwrap();
        let whole = Unpacked::Answer(Box::new(reply(text)));
        assert_eq!(database::unpack(&key(1), &row), whole);
        assert_eq!(database::unpack(&key(2), &row), Unpacked::Damaged);
        for bit in 0..row.len() * 8 {
            let mut bad = row.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let read = database::unpack(&key(1), &bad);
            assert!(!matches!(read, Unpacked::Answer(_)), "bit {bit}");
        }
        for length in 0..row.len() {
            let read = database::unpack(&key(1), &row[..length]);
            assert!(!matches!(read, Unpacked::Answer(_)), "cut at {length}");
        }
    }
    static SAID: AtomicUsize = AtomicUsize::new(0);
    mary_platform::hear_notices(|text| {
        SAID.fetch_add(usize::from(text.contains("checksum")), Ordering::SeqCst);
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let mut cache = ResponseCache::open(&path).unwrap();
    for n in 0..4 {
        cache.keep(&key(n), &reply("yes")).unwrap();
    }
    cache.flush().unwrap();
    let other = Connection::open(&path).unwrap();
    other.busy_timeout(Duration::from_secs(300)).unwrap();
    other
        .execute(
            "UPDATE replies SET reply = substr(reply, 1, length(reply) - 1)",
            [],
        )
        .unwrap();
    drop(other);
    drop(cache);
    let mut cache = ResponseCache::open(&path).unwrap();
    for n in 0..4 {
        assert_eq!(cache.recall(&key(n)).unwrap(), None);
    }
    assert_eq!(SAID.load(Ordering::SeqCst), 1);
    cache.keep(&key(0), &reply("again")).unwrap();
    cache.flush().unwrap();
    assert_eq!(cache.recall(&key(0)).unwrap(), Some(reply("again")));
}

#[test]
fn answers_of_earlier_versions_are_still_read() {
    let json = serde_json::to_vec(&reply("old")).unwrap();
    let row: Vec<u8> = [b"j".as_slice(), &json].concat();
    let whole = Unpacked::Answer(Box::new(reply("old")));
    assert_eq!(database::unpack(&key(1), &row), whole);
}
