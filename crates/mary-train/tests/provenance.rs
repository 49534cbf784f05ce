//! What an adapter and a merged model were made from: the same is used again, anything else is told,
//! difference by difference.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use mary_train::{
    GrowSettings, MergedProvenance, PROVENANCE, Provenance, Reuse, Size, Storage, TuneEvent,
    TuneSettings, derive, grow, merge, tune,
};

use crate::tuning::with_tokenizer;

/// A model of one training step: any will do.
fn base(folder: &Path, seed: u64) -> PathBuf {
    let size = Size {
        width: 16,
        layers: 1,
        heads: 2,
        context: 64,
        vocabulary: 300,
    };
    let out = folder.join(format!("base{seed}"));
    let mut settings = GrowSettings::new(out.clone(), size, 1);
    settings.batch = 1;
    settings.threads = 1;
    settings.seed = seed;
    settings.storage = Storage::F32;
    settings.probe = false;
    with_tokenizer(&out);
    grow(&settings, &mut |_| ControlFlow::Continue(())).expect("grows");
    out.join("step1")
}

fn data(path: &Path, label: &str) -> PathBuf {
    let line = serde_json::json!({"messages": [
        {"role": "user", "content": "Label:"},
        {"role": "assistant", "content": label},
    ]});
    std::fs::write(path, format!("{line}\n").repeat(4)).expect("written");
    path.to_owned()
}

fn settings(folder: &Path) -> TuneSettings {
    let data = data(&folder.join("set.jsonl"), "A");
    let mut settings = TuneSettings::new(base(folder, 1), data, folder.join("adapter"));
    settings.rank = 2;
    (settings.epochs, settings.batch) = (1, 2);
    settings.threads = 1;
    settings.held_out = 0.0;
    settings
}

fn reuse(settings: &TuneSettings) -> Reuse {
    let wanted = Provenance::of(settings).expect("provenance");
    wanted.reuse(&settings.out).expect("compared")
}

fn train(settings: &TuneSettings) {
    tune(settings, &mut |_| ControlFlow::Continue(())).expect("tunes");
}

#[test]
fn an_adapter_is_used_again_only_for_the_same_base_data_settings_and_seed() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = settings(folder.path());
    assert_eq!(reuse(&first), Reuse::Nothing);
    train(&first);
    assert_eq!(reuse(&first), Reuse::Same);

    let differs = |name: &str, change: &dyn Fn(&mut TuneSettings)| {
        let mut other = first.clone();
        change(&mut other);
        let Reuse::Other(differences) = reuse(&other) else {
            panic!("another {name} passed for the same");
        };
        assert_eq!(differences.len(), 1, "{differences:?}");
        assert!(
            differences[0].starts_with(&format!("{name} was ")),
            "{differences:?}"
        );
    };
    differs("seed", &|s| s.seed = 9);
    differs("rank", &|s| s.rank = 3);
    differs("optimizer.rate", &|s| s.optimizer.rate = 2e-3);
    differs("epochs", &|s| s.epochs = 2);
    differs("base", &|s| s.model = base(folder.path(), 2));
    differs("data", &|s| {
        s.data = data(&folder.path().join("other.jsonl"), "B")
    });

    // Where and on how many threads it is computed is no part of it.
    let mut elsewhere = first.clone();
    (elsewhere.threads, elsewhere.memory_limit) = (2, Some(1 << 30));
    assert_eq!(reuse(&elsewhere), Reuse::Same);

    // Tuning anew in its place makes it what is wanted.
    let mut other = first.clone();
    other.seed = 9;
    train(&other);
    assert_eq!(reuse(&other), Reuse::Same);
    assert!(matches!(reuse(&first), Reuse::Other(_)));

    std::fs::remove_file(first.out.join(PROVENANCE)).expect("removed");
    let Reuse::Other(why) = reuse(&other) else {
        panic!("an adapter of unknown origin passed");
    };
    assert!(why[0].contains(PROVENANCE), "{why:?}");
}

#[test]
fn an_adapter_that_was_stopped_half_way_has_no_provenance() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path());
    tune(&settings, &mut |_| ControlFlow::Break(())).expect("tunes");
    assert!(matches!(reuse(&settings), Reuse::Other(_)));
}

#[test]
fn a_merged_model_knows_its_base_and_adapter() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(folder.path());
    train(&settings);
    let merged = folder.path().join("merged");
    let look = |settings: &TuneSettings| {
        let wanted = MergedProvenance::of(&settings.model, &settings.out, Storage::F32);
        wanted
            .expect("provenance")
            .reuse(&merged)
            .expect("compared")
    };
    assert_eq!(look(&settings), Reuse::Nothing);
    merge(&settings.model, &settings.out, &merged, Storage::F32).expect("merges");
    assert_eq!(look(&settings), Reuse::Same);
    settings.seed = 9;
    train(&settings);
    let Reuse::Other(differences) = look(&settings) else {
        panic!("another adapter passed for the same");
    };
    assert!(differences.iter().any(|d| d.starts_with("adapter was ")));
    assert!(differences.iter().any(|d| d.starts_with("seed was ")));
}

/// Makes the tuned model and says what was noted, and whether it was tuned now.
fn derived(settings: &TuneSettings) -> (Vec<u8>, Vec<String>, bool) {
    let mut notes = Vec::new();
    let made = derive(settings, &mut |event| {
        if let TuneEvent::Note(note) = event {
            notes.push(note);
        }
        ControlFlow::Continue(())
    });
    let made = made.expect("derives");
    let weights = std::fs::read(made.merged.join("model.safetensors")).expect("weights");
    (weights, notes, made.tuned.is_some())
}

#[test]
fn a_tuned_model_is_made_again_for_another_seed_rank_rate_base_or_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(folder.path());
    let (first, notes, tuned) = derived(&settings);
    assert!(tuned && notes.is_empty(), "{notes:?}");
    let (again, notes, tuned) = derived(&settings);
    assert!(!tuned && notes.is_empty() && again == first);

    let mut before = first;
    let mut changed = |field: &str, change: &dyn Fn(&mut TuneSettings)| {
        change(&mut settings);
        let (after, notes, tuned) = derived(&settings);
        assert!(tuned && after != before, "another {field} changed nothing");
        let [note] = notes.as_slice() else {
            panic!("{notes:?}");
        };
        assert!(note.contains(&format!("{field} was ")), "{note}");
        before = after;
    };
    changed("seed", &|s| s.seed = 9);
    changed("rank", &|s| s.rank = 3);
    changed("optimizer.rate", &|s| s.optimizer.rate = 2e-3);
    changed("base", &|s| s.model = base(folder.path(), 2));
    changed("data", &|s| {
        s.data = data(&folder.path().join("b.jsonl"), "B")
    });
}

#[test]
fn a_merged_model_that_is_lost_is_merged_again_without_tuning() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path());
    let (first, ..) = derived(&settings);
    std::fs::remove_file(settings.out.join("merged").join(PROVENANCE)).expect("removed");
    let (again, _, tuned) = derived(&settings);
    assert!(!tuned && again == first);
}
