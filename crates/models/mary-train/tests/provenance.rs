//! What an adapter and a merged model were made from: the same is used again, anything else is told,
//! difference by difference.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use mary_train::{
    End, Ending, GrowSettings, MergedProvenance, PROVENANCE, Provenance, Reuse, Size, Storage,
    TrainError, TuneEvent, TuneSettings, derive, grow, merge, tune,
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
    settings.course.batch = 1;
    settings.course.threads = 1;
    settings.course.seed = seed;
    settings.course.storage = Storage::F32;
    settings.course.probe = false;
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
    settings.recipe.rank = 2;
    (settings.recipe.epochs, settings.recipe.batch) = (1, 2);
    settings.threads = 1;
    settings.recipe.held_out = 0.0;
    settings
}

fn reuse(settings: &TuneSettings) -> Reuse {
    let wanted = Provenance::planned(settings).expect("provenance");
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
    differs("rank", &|s| s.recipe.rank = 3);
    differs("optimizer.rate", &|s| s.recipe.optimizer.rate = 2e-3);
    differs("epochs", &|s| s.recipe.epochs = 2);
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

fn read(settings: &TuneSettings) -> Provenance {
    let text = std::fs::read_to_string(settings.out.join(PROVENANCE)).expect("a file");
    serde_json::from_str(&text).expect("provenance")
}

#[test]
fn an_adapter_that_was_stopped_half_way_says_so_and_is_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(folder.path());
    settings.recipe.epochs = 3;
    let stop = |at: u64| {
        move |event: TuneEvent| match event {
            TuneEvent::Step { step, .. } if step == at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let report = tune(&settings, &mut stop(4)).expect("tunes");
    assert!(!report.finished && report.after.is_empty());
    let ending = |end, steps| {
        let (of, kept) = (6, steps);
        Some(Ending {
            steps,
            of,
            kept,
            end,
        })
    };
    assert_eq!(read(&settings).ending, ending(End::Interrupted, 4));
    assert_eq!(reuse(&settings), Reuse::Unfinished);
    // Something else is another adapter all the same.
    let mut other = settings.clone();
    other.recipe.rank = 3;
    assert!(matches!(reuse(&other), Reuse::Other(_)));
    // A stopped tuning is no model: it is not merged.
    let error = derive(&settings, &mut stop(5)).expect_err("stopped");
    let told = matches!(error, TrainError::Stopped { step: 5, of: 6 });
    assert!(told && !settings.out.join("merged").exists(), "{error}");
    train(&settings);
    assert_eq!(read(&settings).ending, ending(End::Finished, 6));
    assert_eq!(reuse(&settings), Reuse::Same);
    let whole = std::fs::read(settings.out.join("adapter_model.safetensors")).expect("weights");
    settings.out = folder.path().join("at-once");
    train(&settings);
    let at_once = std::fs::read(settings.out.join("adapter_model.safetensors")).expect("weights");
    assert_eq!(whole, at_once);
}

/// Whatever a kill leaves while the adapter is written, the same command makes the same adapter.
#[test]
fn a_kill_while_the_adapter_is_written_leaves_no_adapter_of_unknown_origin() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path());
    train(&settings);
    let files = ["adapter_model.safetensors", "learning.jsonl", PROVENANCE];
    let whole = files.map(|name| std::fs::read(settings.out.join(name)).expect("a file"));
    for written in 0..=files.len() {
        std::fs::remove_dir_all(&settings.out).expect("removed");
        std::fs::create_dir_all(&settings.out).expect("a folder");
        for (name, bytes) in files.iter().zip(&whole).take(written) {
            std::fs::write(settings.out.join(name), bytes).expect("written");
        }
        assert_eq!(reuse(&settings), Reuse::Nothing, "{written} files");
        train(&settings);
        assert_eq!(reuse(&settings), Reuse::Same);
        let again = files.map(|name| std::fs::read(settings.out.join(name)).expect("a file"));
        assert_eq!(again, whole);
    }
}

#[test]
fn a_part_of_the_examples_is_another_adapter_and_says_how_many() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(folder.path());
    settings.recipe.examples = Some(3);
    let mut conversations = (0, 0);
    tune(&settings, &mut |event| {
        if let TuneEvent::Started {
            conversations: found,
            ..
        } = event
        {
            conversations = found;
        }
        ControlFlow::Continue(())
    })
    .expect("tunes");
    assert_eq!(conversations, (3, 0));
    assert_eq!(read(&settings).settings.examples, Some(3));
    settings.recipe.examples = None;
    let Reuse::Other(differences) = reuse(&settings) else {
        panic!("the whole set passed for a part");
    };
    assert!(
        differences[0].starts_with("examples was "),
        "{differences:?}"
    );
}

#[test]
fn a_merged_model_knows_its_base_and_adapter() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(folder.path());
    train(&settings);
    let merged = folder.path().join("merged");
    let look = |settings: &TuneSettings| {
        let wanted = MergedProvenance::planned(&settings.model, &settings.out, Storage::F32);
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
    changed("rank", &|s| s.recipe.rank = 3);
    changed("optimizer.rate", &|s| s.recipe.optimizer.rate = 2e-3);
    changed("base", &|s| s.model = base(folder.path(), 2));
    changed("data", &|s| {
        s.data = data(&folder.path().join("b.jsonl"), "B")
    });
}

/// The same of a merge, of which a kill leaves everything but the configuration.
#[test]
fn a_kill_while_a_model_is_merged_leaves_no_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(folder.path());
    let (first, ..) = derived(&settings);
    let merged = settings.out.join("merged");
    let wanted = MergedProvenance::planned(&settings.model, &settings.out, Storage::F32);
    let wanted = wanted.expect("provenance");
    std::fs::remove_file(merged.join("config.json")).expect("removed");
    assert_eq!(wanted.reuse(&merged).expect("compared"), Reuse::Nothing);
    merge(&settings.model, &settings.out, &merged, Storage::F32).expect("merges");
    assert_eq!(wanted.reuse(&merged).expect("compared"), Reuse::Same);
    let again = std::fs::read(merged.join("model.safetensors")).expect("weights");
    assert_eq!(again, first);
    assert!(
        merged.join("learning.jsonl").exists(),
        "the curve goes along"
    );
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
