//! Joining shards: what lies in every folder is found, and a line that was changed, or that belongs
//! elsewhere, is named with its shard before anything is written.

use std::fs;
use std::path::{Path, PathBuf};

use mary_store::{RunFolder, ShardPlace, join_shards, merge};

use crate::support::{MODEL, TASK, manifest, sample};

const ITEMS: [std::ops::Range<usize>; 2] = [0..4, 4..9];

/// A run under `root` whose shards hold their items.
fn divided(root: &Path, shards: &[usize]) -> PathBuf {
    let manifest = manifest("run-1");
    let run = RunFolder::found(root, &manifest).unwrap().path().to_owned();
    for &index in shards {
        let path = ShardPlace::new(&run, index, 2).path;
        let mut folder = RunFolder::create_or_open_at(&path, &manifest).unwrap();
        plan(&folder, index);
        for n in ITEMS[index].clone().rev() {
            folder.append(&sample(n)).unwrap();
        }
        folder.flush().unwrap();
    }
    run
}

fn plan(folder: &RunFolder, index: usize) {
    let names: Vec<String> = ITEMS[index].clone().map(|n| sample(n).id.item).collect();
    let items = names.iter().map(|name| (MODEL, TASK, name.as_str()));
    ShardPlace::write_plan(folder, items).unwrap();
}

fn log(run: &Path, index: usize) -> PathBuf {
    ShardPlace::new(run, index, 2).path.join("samples.jsonl")
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn shards_made_under_different_output_paths_are_joined() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let (first, second) = (divided(&a, &[0]), divided(&b, &[1]));
    let merged = merge(&dir.path().join("out"), &[&first, &second]).unwrap();
    assert_eq!((merged.samples, merged.duplicates), (9, 0));
    // The same bytes as those of one folder that holds everything.
    let whole = divided(&dir.path().join("c"), &[0, 1]);
    let again = merge(&dir.path().join("again"), &[&whole]).unwrap();
    assert_eq!(
        fs::read(merged.path.join("samples.jsonl")).unwrap(),
        fs::read(again.path.join("samples.jsonl")).unwrap()
    );
    // What is joined can be joined once more: its checksums hold under its own name.
    let third = merge(&dir.path().join("third"), &[&merged.path]).unwrap();
    assert_eq!((third.samples, third.unchecked), (9, 0));
}

#[test]
fn joining_nothing_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let run = divided(&dir.path().join("a"), &[]);
    let out = dir.path().join("out");
    let error = merge(&out, &[&run]).unwrap_err().to_string();
    assert!(error.contains("nothing to join"), "{error}");
    assert!(error.contains("hint: "), "{error}");
    assert!(!out.exists());
    RunFolder::create_or_open_at(&ShardPlace::new(&run, 0, 2).path, &manifest("run-1")).unwrap();
    let error = join_shards(&run).unwrap_err().to_string();
    assert!(error.contains("nothing to join"), "{error}");
}

#[test]
fn a_changed_line_of_a_shard_is_named_and_a_restored_shard_helps() {
    let dir = tempfile::tempdir().unwrap();
    let changes: [(&str, &str, &str); 4] = [
        ("score", "\"scored\":0.0", "\"scored\":1.0"),
        ("id", "item-00005", "item-00006"),
        ("answer", "\"text\":\"A\"", "\"text\":\"B\""),
        ("checksum's name", "\"sum\":", "\"sun\":"),
    ];
    for (name, from, to) in changes {
        let run = divided(&dir.path().join(name), &[0, 1]);
        let log = log(&run, 1);
        let sound = fs::read(&log).unwrap();
        edit(&log, from, to);
        let error = join_shards(&run).unwrap_err().to_string();
        assert!(
            error.contains("001-of-002/samples.jsonl:"),
            "{name}: {error}"
        );
        assert!(
            error.contains("does not match its checksum"),
            "{name}: {error}"
        );
        assert!(error.contains("hint: restore"), "{name}: {error}");
        assert!(!run.join("samples.jsonl").exists(), "{name}");
        fs::write(&log, sound).unwrap();
        assert_eq!(join_shards(&run).unwrap().samples, 9, "{name}");
    }
}

#[test]
fn an_invalid_byte_is_not_copied_and_one_copied_before_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let run = divided(dir.path(), &[0, 1]);
    join_shards(&run).unwrap();
    let joined = fs::read(run.join("samples.jsonl")).unwrap();
    let spoil = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let at = bytes.windows(7).position(|w| w == b"Does wo").unwrap();
        bytes[at + 5] = 0xff;
        fs::write(path, bytes).unwrap();
    };
    // As an earlier version left it: the joined log holds the byte, and the shard was restored since.
    spoil(&run.join("samples.jsonl"));
    let again = join_shards(&run).unwrap();
    assert_eq!((again.samples, again.damaged), (9, 1));
    assert_eq!(fs::read(run.join("samples.jsonl")).unwrap(), joined);
    let aside = fs::read(run.join("samples.jsonl.torn")).unwrap();
    assert!(aside.contains(&0xff), "kept aside");
    spoil(&log(&run, 0));
    let error = join_shards(&run).unwrap_err().to_string();
    assert!(error.contains("000-of-002/samples.jsonl:"), "{error}");
    assert_eq!(fs::read(run.join("samples.jsonl")).unwrap(), joined);
}

#[test]
fn samples_outside_a_shards_plan_and_those_of_another_run_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = divided(&dir.path().join("a"), &[0, 1]);
    fs::copy(log(&run, 1), log(&run, 0)).unwrap();
    let error = join_shards(&run).unwrap_err().to_string();
    assert!(error.contains("000-of-002/samples.jsonl:1:"), "{error}");
    assert!(error.contains("not in this shard's plan"), "{error}");

    // The same items, asked under another seed: only the manifest says otherwise, and it was exchanged.
    let run = divided(&dir.path().join("b"), &[0, 1]);
    let mut other = manifest("run-2");
    other.seed = 7;
    let mut theirs = RunFolder::create_or_open(&dir.path().join("other"), &other).unwrap();
    for n in ITEMS[0].clone() {
        theirs.append(&sample(n)).unwrap();
    }
    theirs.flush().unwrap();
    fs::copy(theirs.path().join("samples.jsonl"), log(&run, 0)).unwrap();
    let error = join_shards(&run).unwrap_err().to_string();
    assert!(error.contains("another run"), "{error}");
    assert!(!run.join("samples.jsonl").exists());
}

/// A shard of an earlier version has neither a plan nor checksums. It is joined as it is, and where it is
/// continued, what is new has both.
#[test]
fn shards_from_before_checksums_are_joined_and_continued() {
    let dir = tempfile::tempdir().unwrap();
    let run = divided(dir.path(), &[0, 1]);
    let old = log(&run, 1);
    let text = fs::read_to_string(&old).unwrap();
    let bare = |line: &str| format!("{}}}\n", &line[..line.find(",\"sum\":").unwrap()]);
    let lines: Vec<String> = text.lines().map(bare).collect();
    fs::write(&old, lines[..3].concat()).unwrap();
    fs::remove_file(old.with_file_name("plan.jsonl")).unwrap();
    let joined = join_shards(&run).unwrap();
    assert_eq!((joined.samples, joined.unchecked), (7, 1));
    let mut folder = RunFolder::resume(old.parent().unwrap()).unwrap();
    plan(&folder, 1);
    for n in [4, 5] {
        folder.append(&sample(n)).unwrap();
    }
    folder.flush().unwrap();
    drop(folder);
    let joined = join_shards(&run).unwrap();
    assert_eq!((joined.samples, joined.unchecked), (9, 1));
    edit(&old, "item-00004", "item-00007");
    assert!(join_shards(&run).is_err(), "what is new is checked");
}

/// Wherever a kill cuts the log, a shard that goes on ends with sound checksums.
#[test]
fn a_shard_cut_anywhere_goes_on_with_sound_checksums() {
    let dir = tempfile::tempdir().unwrap();
    let run = divided(dir.path(), &[0, 1]);
    join_shards(&run).unwrap();
    let whole = fs::read(run.join("samples.jsonl")).unwrap();
    let path = log(&run, 0);
    let bytes = fs::read(&path).unwrap();
    let step = (bytes.len() / 40).max(1);
    for cut in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
        fs::write(&path, &bytes[..cut]).unwrap();
        let mut folder = RunFolder::resume(path.parent().unwrap()).unwrap();
        plan(&folder, 0);
        let there = folder.finished_ids().unwrap();
        for n in ITEMS[0].clone() {
            if !there.contains(&sample(n).id) {
                folder.append(&sample(n)).unwrap();
            }
        }
        folder.flush().unwrap();
        drop(folder);
        fs::remove_file(run.join("samples.jsonl")).unwrap();
        let joined = join_shards(&run).unwrap();
        assert_eq!((joined.samples, joined.unchecked, joined.torn), (9, 0, 0));
        assert_eq!(fs::read(run.join("samples.jsonl")).unwrap(), whole, "{cut}");
    }
}

#[test]
fn a_damaged_plan_is_named_and_written_anew_when_the_shard_starts() {
    let dir = tempfile::tempdir().unwrap();
    let run = divided(dir.path(), &[0, 1]);
    let file = log(&run, 0).with_file_name("plan.jsonl");
    edit(&file, "item-00002", "item-00012");
    let error = join_shards(&run).unwrap_err().to_string();
    assert!(error.contains("plan.jsonl"), "{error}");
    assert!(error.contains("start the shard again"), "{error}");
    let folder = RunFolder::resume(file.parent().unwrap()).unwrap();
    plan(&folder, 0);
    drop(folder);
    assert_eq!(join_shards(&run).unwrap().samples, 9);
}
