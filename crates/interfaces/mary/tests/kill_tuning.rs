//! `kill -9` at any moment of a tuning: the same command goes on, and ends in the same adapter, bit for bit,
//! as one that nobody disturbed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Kills that must have fallen between two saved states.
const MIDWAY: usize = 5;
/// Kills at any moment before that, from the start of the process on.
const ANYWHERE: usize = 5;

const FILES: [&str; 4] = [
    "adapter_model.safetensors",
    "adapter_config.json",
    "learning.jsonl",
    "provenance.json",
];

fn start(home: &Path, out: &str) -> Child {
    let arguments = "tune -m builtin/nano@step16 --data set.jsonl --epochs 12 --batch-size 4 --rank 2 --seed 7 \
                     --evaluate-every 15 --patience 1000 --threads 1 --out";
    Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(arguments.split_whitespace())
        .arg(out)
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env_remove("MARY_DATA_DIR")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn data(path: &Path) {
    let lines = (0..60).map(|n| {
        let label = if n % 3 == 0 { "A" } else { "B" };
        format!(
            r#"{{"messages": [{{"role": "user", "content": "Number {n}. Label:"}}, {{"role": "assistant", "content": "{label}"}}]}}"#
        ) + "\n"
    });
    std::fs::write(path, lines.collect::<String>()).unwrap();
}

fn made(folder: &Path) -> Vec<Vec<u8>> {
    let read = |name| std::fs::read(folder.join(name)).unwrap();
    FILES.map(read).to_vec()
}

/// A number that nobody chose.
fn any(below: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().subsec_nanos() as u64 / 128 % below
}

/// Waits until `reached`, or until the process has ended by itself.
fn wait(child: &mut Child, reached: &mut dyn FnMut() -> bool) -> bool {
    while child.try_wait().unwrap().is_none() {
        if reached() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

#[test]
fn a_tuning_that_is_killed_at_any_moment_ends_in_the_same_bits() {
    let home = tempfile::tempdir().unwrap();
    data(&home.path().join("set.jsonl"));
    let begun = Instant::now();
    assert!(start(home.path(), "whole").wait().unwrap().success());
    let whole_time = begun.elapsed();
    let wanted = made(&home.path().join("whole"));

    let out = home.path().join("killed");
    let (state, weights) = (out.join("state.safetensors"), out.join(FILES[0]));
    let saved = || std::fs::metadata(&state).and_then(|m| m.modified()).ok();
    let (mut anywhere, mut midway) = (0, 0);
    while midway < MIDWAY {
        let before = saved();
        let mut child = start(home.path(), "killed");
        let alive = if anywhere < ANYWHERE {
            anywhere += 1;
            let (start, moment) = (Instant::now(), any(whole_time.as_millis() as u64));
            wait(&mut child, &mut || {
                start.elapsed().as_millis() as u64 >= moment
            })
        } else if midway == MIDWAY - 1 {
            // While the adapter is written.
            wait(&mut child, &mut || weights.exists())
        } else {
            let reached = wait(&mut child, &mut || saved() > before);
            std::thread::sleep(Duration::from_millis(any(20)));
            reached
        };
        child.kill().unwrap();
        let killed = child.wait().unwrap().code().is_none();
        if alive && killed && anywhere == ANYWHERE {
            midway += usize::from(state.exists() || weights.exists());
        } else if !killed && midway < MIDWAY - 1 {
            // It was quicker than the kill: from the beginning.
            std::fs::remove_dir_all(&out).unwrap();
        } else if !killed {
            break;
        }
    }
    assert!(start(home.path(), "killed").wait().unwrap().success());
    for (name, (wanted, found)) in FILES.iter().zip(wanted.iter().zip(made(&out))) {
        assert_eq!(wanted, &found, "{name}");
    }
    assert!(!state.exists(), "a finished tuning needs no state");
}
