//! What a user may count on: nothing that was written is lost, nothing damaged goes unnoticed.

use crate::support;

use std::fs;
use std::io::Write as _;
use std::path::Path;

use mary_contract::{ErrorKind, Event, EventObserver as _, Judgement, RunSummary, StoreError};
use mary_store::{Recorder, RunFolder, State, merge, run_digest};
use proptest::prelude::*;
use support::{id, manifest, sample};

fn filled(root: &Path, n: usize) -> RunFolder {
    let mut folder = RunFolder::create_or_open(root, &manifest("run-1")).unwrap();
    for i in 0..n {
        folder.append(&sample(i)).unwrap();
    }
    folder.flush().unwrap();
    folder
}

#[test]
fn samples_come_back_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    let folder = filled(dir.path(), 50);
    let back: Vec<_> = folder.samples().unwrap().map(Result::unwrap).collect();
    assert_eq!(back, (0..50).map(sample).collect::<Vec<_>>());
    let verdicts: Vec<_> = folder.verdicts().unwrap().map(Result::unwrap).collect();
    assert_eq!(verdicts.len(), 50);
    for (n, verdict) in verdicts.iter().enumerate() {
        let whole = sample(n);
        assert_eq!(
            (&verdict.id, &verdict.judgement),
            (&whole.id, &whole.judgement)
        );
        assert_eq!(verdict.item.tags, whole.item.tags);
        assert_eq!(verdict.item.cluster, whole.item.cluster);
        assert_eq!(folder.sample_at(verdict.offset).unwrap(), whole);
    }
}

#[test]
fn the_same_command_continues_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), 10));
    let mut later = manifest("run-1");
    later.created = "2027-01-01T00:00:00Z".into();
    later.command.push("--threads=1".into());
    later.model_settings.threads = Some(1);
    let mut folder = RunFolder::create_or_open(dir.path(), &later).unwrap();
    let finished = folder.finished_ids().unwrap();
    assert_eq!(finished.len(), 10);
    assert!(finished.contains(&sample(9).id));
    assert!(!finished.contains(&sample(10).id));
    folder.append(&sample(10)).unwrap();
    folder.flush().unwrap();
    assert!(folder.finished_ids().unwrap().contains(&sample(10).id));
    assert_eq!(
        folder.manifest().created,
        "2026-01-02T03:04:05Z",
        "the first manifest stays"
    );
}

#[test]
fn another_run_under_the_same_name_is_refused_with_the_field() {
    let dir = tempfile::tempdir().unwrap();
    drop(filled(dir.path(), 1));
    let refuse = |change: &dyn Fn(&mut mary_contract::RunManifest)| {
        let mut other = manifest("run-1");
        change(&mut other);
        match RunFolder::create_or_open(dir.path(), &other).err().unwrap() {
            StoreError::Mismatch(message) => message,
            e => panic!("{e:?}"),
        }
    };
    assert!(refuse(&|m| m.seed = 7).contains("seed: was 42, is now 7"));
    assert!(refuse(&|m| m.models[0].fingerprint = "beef".into()).contains("models[0].fingerprint"));
    assert!(refuse(&|m| m.tasks[0].version = 2).contains("tasks[0].version"));
    assert!(refuse(&|m| m.model_settings.dtype = Some("bf16".into())).contains("dtype"));
    let mut unopened = manifest("run-1");
    unopened.models[0].fingerprint.clear();
    assert!(RunFolder::create_or_open(dir.path(), &unopened).is_ok());
}

#[test]
fn the_digest_names_what_decides_answers_and_nothing_else() {
    let base = run_digest(&manifest("a")).unwrap();
    let mut same = manifest("b");
    same.created = "later".into();
    same.command.clear();
    same.model_settings.device = Some("cuda:0".into());
    assert_eq!(run_digest(&same).unwrap(), base);
    let mut other = manifest("a");
    other.trials = 2;
    assert_ne!(run_digest(&other).unwrap(), base);
}

#[test]
fn one_process_writes_and_others_may_look() {
    let dir = tempfile::tempdir().unwrap();
    let writing = filled(dir.path(), 3);
    let error = RunFolder::create_or_open(dir.path(), &manifest("run-1"))
        .err()
        .unwrap()
        .to_string();
    let pid = std::process::id().to_string();
    assert!(
        error.contains(&format!("process {pid} is writing")),
        "{error}"
    );
    let mut looking = RunFolder::open(writing.path()).unwrap();
    assert_eq!(looking.samples().unwrap().count(), 3);
    assert!(looking.append(&sample(9)).is_err());
    drop(writing);
    assert!(RunFolder::resume(looking.path()).is_ok());
}

#[test]
fn a_torn_last_line_is_healed_and_its_bytes_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(dir.path(), 5).path().to_owned();
    let log = path.join("samples.jsonl");
    let whole = fs::read(&log).unwrap();
    let fourth = whole
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'\n')
        .nth(3)
        .unwrap()
        .0
        + 1;
    for cut in [fourth + 1, fourth + 40, whole.len() - 2] {
        fs::write(&log, &whole[..cut]).unwrap();
        let _ = fs::remove_file(path.join("samples.jsonl.torn"));
        let looking = RunFolder::open(&path).unwrap();
        assert_eq!(
            looking.samples().unwrap().count(),
            4,
            "a reader passes over it"
        );
        let folder = RunFolder::resume(&path).unwrap();
        let healed = folder.healed().unwrap();
        assert_eq!(healed.bytes, (cut - fourth) as u64);
        let kept = fs::read(&healed.kept_in).unwrap();
        assert_eq!(kept.trim_ascii_end(), whole[fourth..cut].trim_ascii_end());
        assert_eq!(folder.finished_ids().unwrap().len(), 4);
        assert_eq!(fs::read(&log).unwrap(), whole[..fourth]);
    }
    // Only the newline is missing: the sample is whole and stays.
    fs::write(&log, &whole[..whole.len() - 1]).unwrap();
    let folder = RunFolder::resume(&path).unwrap();
    assert!(folder.healed().is_none());
    assert_eq!(fs::read(&log).unwrap(), whole);
}

#[test]
fn zeros_that_a_power_cut_left_at_the_end_are_healed() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(dir.path(), 2).path().to_owned();
    let log = path.join("samples.jsonl");
    let whole = fs::read(&log).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(&vec![0; 200_000]).unwrap();
    let folder = RunFolder::resume(&path).unwrap();
    assert_eq!(folder.healed().unwrap().bytes, 200_000);
    assert_eq!(fs::read(&log).unwrap(), whole);
}

#[test]
fn a_damaged_line_in_the_middle_is_named_and_nothing_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(dir.path(), 6).path().to_owned();
    let log = path.join("samples.jsonl");
    let good = fs::read(&log).unwrap();
    let lines: Vec<&[u8]> = good.split_inclusive(|b| *b == b'\n').collect();
    let damage: [&[u8]; 4] = [
        b"not json at all\n",
        b"{\"id\":{\"model\":1}}\n",
        b"{\"id\":\xff\xfe}\n",
        &[&lines[2][..30], b"\n"].concat(),
    ];
    for bad in damage {
        let mut bytes = lines[..2].concat();
        bytes.extend_from_slice(bad);
        bytes.extend_from_slice(&lines[3..].concat());
        fs::write(&log, &bytes).unwrap();
        let error = RunFolder::resume(&path).err().unwrap().to_string();
        assert!(
            error.contains("samples.jsonl:3: expected one sample"),
            "{error}"
        );
        assert!(error.contains("hint: nothing was overwritten"), "{error}");
        assert_eq!(fs::read(&log).unwrap(), bytes);
    }
}

#[test]
fn damage_inside_a_prompt_is_found_when_the_prompt_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(dir.path(), 3).path().to_owned();
    let log = path.join("samples.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let text = text.replacen("\"exchanges\":[{\"key\":", "\"exchanges\":[{\"kex\":", 1);
    fs::write(&log, text).unwrap();
    let folder = RunFolder::open(&path).unwrap();
    assert_eq!(folder.verdicts().unwrap().filter(Result::is_ok).count(), 3);
    let first = folder.samples().unwrap().next().unwrap().unwrap_err();
    assert!(first.to_string().contains("samples.jsonl:1: "), "{first}");
    let at = folder.sample_at(0).unwrap_err();
    assert!(at.to_string().contains("samples.jsonl:1: "), "{at}");
}

#[test]
fn a_sample_that_stands_twice_is_named_with_both_lines() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = filled(dir.path(), 4);
    folder.append(&sample(1)).unwrap();
    folder.flush().unwrap();
    let error = folder.finished_ids().unwrap_err().to_string();
    assert!(error.contains("samples.jsonl:5: "), "{error}");
    assert!(error.contains("the first is in line 2"), "{error}");
}

#[test]
fn a_failure_is_replaced_by_a_later_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create_or_open(dir.path(), &manifest("run-1")).unwrap();
    let mut failed = sample(0);
    failed.judgement = Judgement::failed(ErrorKind::Timeout, "no answer in 60 s");
    folder.append(&failed).unwrap();
    folder.append(&sample(1)).unwrap();
    folder.flush().unwrap();
    let finished = folder.finished_ids().unwrap();
    assert_eq!(finished.state(&failed.id), Some(State::Failed));
    assert!(!finished.contains(&failed.id));
    assert_eq!((finished.len(), finished.failed()), (2, 1));
    folder.append(&sample(0)).unwrap();
    folder.flush().unwrap();
    let finished = folder.finished_ids().unwrap();
    assert_eq!((finished.len(), finished.failed()), (2, 0));
    let read: Vec<_> = folder.samples().unwrap().map(|s| s.unwrap()).collect();
    assert_eq!(read, vec![sample(1), sample(0)]);
}

#[test]
fn a_number_that_is_none_never_reaches_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = filled(dir.path(), 0);
    let mut bad = sample(0);
    bad.judgement = Judgement::scored(f64::NAN);
    let error = folder.append(&bad).unwrap_err().to_string();
    assert!(
        error.contains("item-00000") && error.contains("NaN"),
        "{error}"
    );
    folder.append(&sample(0)).unwrap();
    folder.flush().unwrap();
    assert_eq!(folder.samples().unwrap().count(), 1);
}

#[test]
fn a_folder_that_is_no_run_and_a_broken_manifest_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let error = RunFolder::open(dir.path()).err().unwrap().to_string();
    assert!(error.contains("is not a run folder"), "{error}");
    let path = filled(dir.path(), 1).path().to_owned();
    fs::write(path.join("manifest.json"), "{\n  \"schema\": \"one\"\n}").unwrap();
    let error = RunFolder::open(&path).err().unwrap().to_string();
    assert!(error.contains("manifest.json:2: "), "{error}");
    fs::remove_file(path.join("manifest.json")).unwrap();
    let error = RunFolder::create_or_open(dir.path(), &manifest("run-1"))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("the manifest is missing"), "{error}");
    let escape = RunFolder::create_or_open(dir.path(), &manifest("../x"))
        .err()
        .unwrap();
    assert!(escape.to_string().contains("cannot name a run folder"));
}

#[test]
fn an_unwritable_place_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a-file");
    fs::write(&file, "x").unwrap();
    let error = RunFolder::create_or_open(&file, &manifest("run-1"))
        .err()
        .unwrap();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("a-file"), "{error}");
}

#[test]
fn the_summary_is_whole_or_absent() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = filled(dir.path(), 2);
    assert_eq!(folder.summary().unwrap(), None);
    let summary = RunSummary {
        manifest: manifest("run-1"),
        rows: vec![],
        complete: true,
    };
    folder.write_summary(&summary).unwrap();
    assert_eq!(folder.summary().unwrap(), Some(summary));
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_recorder_writes_what_the_engine_says() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = filled(dir.path(), 0);
    let mut recorder = Recorder::new(&mut folder);
    let one = sample(3);
    recorder.observe(&Event::SampleFinished(&one)).unwrap();
    recorder
        .observe(&Event::TaskFinished {
            model: support::MODEL,
            task: support::TASK,
        })
        .unwrap();
    assert!(folder.finished_ids().unwrap().contains(&id("item-00003")));
}

#[test]
fn shards_merge_to_the_same_bytes_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let shard = |name: &str, range: std::ops::Range<usize>| {
        let mut m = manifest(name);
        m.created = format!("2026-01-02T03:04:0{}Z", name.len());
        let mut folder = RunFolder::create_or_open(dir.path(), &m).unwrap();
        for n in range.rev() {
            folder.append(&sample(n)).unwrap();
        }
        folder.flush().unwrap();
        folder.path().to_owned()
    };
    let (a, b, c) = (shard("a", 0..5), shard("bb", 3..9), shard("ccc", 9..12));
    let first = merge(&dir.path().join("one"), &[&a, &b, &c]).unwrap();
    let second = merge(&dir.path().join("two"), &[&c, &b, &a]).unwrap();
    assert_eq!((first.samples, first.duplicates), (12, 2));
    for file in ["samples.jsonl", "manifest.json"] {
        assert_eq!(
            fs::read(first.path.join(file)).unwrap(),
            fs::read(second.path.join(file)).unwrap()
        );
    }
    let ids: Vec<_> = RunFolder::open(&first.path)
        .unwrap()
        .verdicts()
        .unwrap()
        .map(|v| v.unwrap().id)
        .collect();
    assert!(ids.is_sorted());
}

/// A joined log stands in the order of its ids and is read without an index; every other way of finding
/// out says the same, also when the order is broken by what is appended later.
#[test]
fn a_log_in_order_is_read_as_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create_or_open(dir.path(), &support::manifest("run-1")).unwrap();
    for n in 0..40 {
        folder.append(&support::sample(n)).unwrap();
    }
    folder.flush().unwrap();
    let path = folder.path().to_owned();
    let reader = RunFolder::open(&path).unwrap();
    let ids = |folder: &RunFolder| {
        let verdicts = folder.verdicts().unwrap().map(Result::unwrap);
        verdicts.map(|v| v.id.item).collect::<Vec<_>>()
    };
    assert_eq!(reader.count().unwrap(), 40);
    assert_eq!(
        reader.count().unwrap(),
        folder.finished_ids().unwrap().len()
    );
    assert_eq!(ids(&reader), ids(&folder));
    assert_eq!(reader.samples().unwrap().count(), 40);
    // Behind the last in order, and then one that stands before it.
    for n in [90, 70] {
        folder.append(&support::sample(n)).unwrap();
        folder.flush().unwrap();
        assert_eq!(reader.count().unwrap(), folder.count().unwrap());
        assert_eq!(ids(&reader), ids(&folder));
    }
    drop(folder);
    let held = RunFolder::hold(&path).unwrap();
    assert!(RunFolder::resume(&path).is_err(), "one holder at a time");
    assert_eq!(held.count().unwrap(), 42);
}

#[test]
fn a_conflict_between_shards_is_reported_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let a = filled(&dir.path().join("a"), 3).path().to_owned();
    let mut other = RunFolder::create_or_open(&dir.path().join("b"), &manifest("run-1")).unwrap();
    let mut differs = sample(1);
    differs.judgement = Judgement::scored(0.5);
    let mut failed = sample(2);
    failed.judgement = Judgement::failed(ErrorKind::Timeout, "late");
    other.append(&failed).unwrap();
    other.append(&differs).unwrap();
    other.flush().unwrap();
    let out = dir.path().join("out");
    let error = merge(&out, &[&a, other.path()]).unwrap_err().to_string();
    assert!(error.contains("1 sample with different content"), "{error}");
    assert!(error.contains("item-00001"), "{error}");
    assert!(!out.exists());
    let mut m = manifest("run-1");
    m.seed = 1;
    let c = RunFolder::create_or_open(&dir.path().join("c"), &m).unwrap();
    let error = merge(&out, &[&a, c.path()]).unwrap_err().to_string();
    assert!(error.contains("seed: was 42, is now 1"), "{error}");
}

#[test]
fn runs_of_two_questions_are_not_merged_and_the_setting_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str, shots: usize| {
        let mut m = manifest(name);
        m.tasks[0].settings.shots = Some(shots);
        let mut folder = RunFolder::create_or_open(dir.path(), &m).unwrap();
        // Different items, so that no sample contradicts another.
        folder.append(&sample(shots)).unwrap();
        folder.flush().unwrap();
        folder.path().to_owned()
    };
    let (four, two) = (at("four", 4), at("two", 2));
    let out = dir.path().join("out");
    let error = merge(&out, &[&four, &two]).unwrap_err().to_string();
    assert!(
        error.contains("do not ask the same question: htest/rhyme: shots 4 against 2"),
        "{error}"
    );
    assert!(error.contains("hint:"), "{error}");
    assert!(!out.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_cut_or_appended_no_whole_line_is_lost(
        cut in 0usize..4000,
        noise in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = filled(dir.path(), 4).path().to_owned();
        let log = path.join("samples.jsonl");
        let whole = fs::read(&log).unwrap();
        let cut = cut.min(whole.len());
        let mut bytes = whole[..cut].to_vec();
        // Noise without newlines: what a torn write leaves.
        bytes.extend(noise.iter().filter(|b| **b != b'\n'));
        fs::write(&log, &bytes).unwrap();
        let lines = whole[..cut].iter().filter(|b| **b == b'\n').count();
        let folder = RunFolder::resume(&path).unwrap();
        let found = folder.finished_ids().unwrap().len();
        prop_assert!(found == lines || found == lines + 1);
        prop_assert_eq!(folder.samples().unwrap().filter(Result::is_ok).count(), found);
    }

    #[test]
    fn hostile_text_survives(text in any::<String>(), item in any::<String>()) {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = filled(dir.path(), 0);
        let mut s = sample(0);
        s.id.item = item.clone();
        s.item.id = item;
        s.judgement.parsed = Some(text);
        folder.append(&s).unwrap();
        folder.flush().unwrap();
        prop_assert!(folder.finished_ids().unwrap().contains(&s.id));
        prop_assert_eq!(folder.samples().unwrap().next().unwrap().unwrap(), s);
    }
}

/// A name in a manifest becomes the name of files and folders elsewhere: none of them is a path.
#[test]
fn a_manifest_cannot_name_a_run_so_that_files_lie_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = filled(dir.path(), 2).path().to_owned();
    let file = path.join("manifest.json");
    let text = fs::read_to_string(&file).unwrap();
    for id in [
        "../../evil",
        "/tmp/evil",
        "a/b",
        "",
        ".hidden",
        "a\u{0}b",
        "line\nbreak",
    ] {
        let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        manifest["id"] = id.into();
        fs::write(&file, manifest.to_string()).unwrap();
        let error = RunFolder::open(&path).err().unwrap();
        assert!(
            error.to_string().contains("cannot name a run"),
            "{id:?}: {error}"
        );
        assert!(merge(&dir.path().join("all"), &[&path]).is_err(), "{id:?}");
        assert!(RunFolder::resume(&path).is_err(), "{id:?}");
    }
}

/// Exports lie in the run folder unless told otherwise, and a folder may come from elsewhere.
#[cfg(unix)]
#[test]
fn an_export_writes_through_no_link() {
    use mary_store::{ExportForm, export};
    let dir = tempfile::tempdir().unwrap();
    let folder = filled(dir.path(), 2);
    let into = folder.path().join("export");
    let theirs = dir.path().join("diary.csv");
    fs::write(&theirs, "mine").unwrap();
    for form in [
        ExportForm::Csv,
        ExportForm::Parquet,
        ExportForm::InspectJson,
        ExportForm::LmEval,
    ] {
        let _ = fs::remove_dir_all(&into);
        let files = export(&folder, form, &into).unwrap();
        for file in &files {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink(&theirs, file).unwrap();
        }
        // What is replaced whole takes the link's place; nothing goes through it.
        let _ = export(&folder, form, &into);
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine", "{form:?}");
    }
    fs::remove_dir_all(&into).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &into).unwrap();
    let error = export(&folder, ExportForm::Csv, &into).unwrap_err();
    assert!(error.to_string().contains("link"), "{error}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

/// An archive of another tool's that unpacks to far more than itself.
#[test]
fn an_imported_archive_is_bounded_by_its_ratio() {
    let dir = tempfile::tempdir().unwrap();
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    out.start_file("header.json", options).unwrap();
    out.write_all(b"{\"eval\": \"").unwrap();
    let piece = vec![b'a'; 1 << 20];
    for _ in 0..48 {
        out.write_all(&piece).unwrap();
    }
    out.write_all(b"\"}").unwrap();
    let file = dir.path().join("bomb.eval");
    fs::write(&file, out.finish().unwrap().into_inner()).unwrap();
    let options = mary_store::ImportOptions {
        model: None,
        task: None,
        score: None,
    };
    let error = mary_store::import(&file, &options, dir.path()).unwrap_err();
    assert!(
        error.to_string().contains("unpacks to more than"),
        "{error}"
    );
}

/// Special files where plain ones are expected are refused before they are opened: opening a FIFO waits
/// for whoever writes into it.
#[cfg(unix)]
#[test]
fn a_fifo_in_place_of_a_lock_or_an_import_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let folder = filled(dir.path(), 1);
    let path = folder.path().to_owned();
    drop(folder);
    for name in ["run.lock", "x.jsonl", "x.eval", "x.json"] {
        let _ = fs::remove_file(path.join(name));
        let made = std::process::Command::new("mkfifo")
            .arg(path.join(name))
            .status();
        assert!(made.unwrap().success());
    }
    assert!(mary_store::holder(&path).is_none());
    for name in ["x.jsonl", "x.eval", "x.json"] {
        let options = mary_store::ImportOptions {
            model: Some("a/b".into()),
            task: Some("c/d".into()),
            score: None,
        };
        let error = mary_store::import(&path.join(name), &options, dir.path()).unwrap_err();
        assert!(error.to_string().contains("FIFO"), "{name}: {error}");
    }
}
