//! The likeliest words in a blank against Hugging Face transformers, of masked and causal models.
//! `tools/golden_top.py` makes the file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_lab::Silent;
use mary_lab::texts::top::TopTask;
use serde_json::Value;

use crate::texts::common;

#[test]
fn the_likeliest_words_are_those_of_transformers() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(here.join("tests/texts/golden/top.json")).unwrap();
    let golden: Value = serde_json::from_str(&text).unwrap();
    let sentences: Vec<String> = serde_json::from_value(golden["sentences"].clone()).unwrap();
    for (name, folder) in [
        ("bert", "tests/texts/golden/bert"),
        ("roberta", "tests/texts/golden/roberta"),
        ("gpt2", "../../models/mary-local/tests/golden/gpt2"),
    ] {
        let runs = tempfile::tempdir().unwrap();
        let task = Arc::new(TopTask::new(sentences.clone(), 5, false));
        let lab = common::lab(runs.path(), task.clone());
        let model = format!("hf/{}", here.join(folder).display());
        let spec = common::spec(&[&model], TopTask::ID);
        let mut run = lab.prepare(&spec).unwrap().open().unwrap();
        run.go(&mut Silent, &AtomicBool::new(false)).unwrap();
        let mut samples: Vec<_> = run
            .folder()
            .samples()
            .unwrap()
            .map(Result::unwrap)
            .collect();
        samples.sort_by(|a, b| a.id.item.cmp(&b.id.item));
        assert_eq!(samples.len(), sentences.len());
        for (sample, wanted) in samples
            .iter()
            .zip(golden["models"][name].as_array().unwrap())
        {
            let found = task.predictions(sample).unwrap();
            assert_eq!(found.len(), 5, "{name}");
            for ((word, p), wanted) in found.iter().zip(wanted.as_array().unwrap()) {
                let (token, q) = (wanted[0].as_str().unwrap(), wanted[1].as_f64().unwrap());
                assert_eq!(word.trim(), token.replace(['Ġ', '▁'], "").trim(), "{name}");
                assert!((p - q).abs() < 2e-6, "{name}: {word} {p} {q}");
            }
        }
        // In the form of the paper's Table 1: a line a sentence, the words with their probabilities.
        let shown = task.table(&samples);
        assert_eq!((shown.rows.len(), shown.head.len()), (3, 7));
    }
}

/// Whole words of a real model: their probabilities add up to less than one, and asking for fewer gives the first of them.
#[test]
fn whole_words_of_a_real_model_are_the_same_however_many_are_asked_for() {
    let Some(model) =
        mary_testkit::lacking::test_model("smollm2-135m.gguf", mary_testkit::Lacking::Models)
    else {
        return;
    };
    let asked = |top: u32| {
        let runs = tempfile::tempdir().unwrap();
        let sentences = vec!["The capital of Portugal is ___.".to_owned()];
        let task = Arc::new(TopTask::new(sentences, top, true));
        let lab = common::lab(runs.path(), task.clone());
        let spec = common::spec(&[&format!("gguf/{}", model.display())], TopTask::ID);
        let mut run = lab.prepare(&spec).unwrap().open().unwrap();
        run.go(&mut Silent, &AtomicBool::new(false)).unwrap();
        let mut samples: Vec<_> = run
            .folder()
            .samples()
            .unwrap()
            .map(Result::unwrap)
            .collect();
        samples.sort_by(|a, b| a.id.item.cmp(&b.id.item));
        samples
            .iter()
            .map(|s| task.predictions(s).unwrap())
            .collect::<Vec<_>>()
    };
    let found = asked(6);
    let sum: f64 = found[0].iter().map(|(_, p)| p).sum();
    assert_eq!(found[0][0].0, "Lisbon", "{found:?}");
    assert!(
        sum < 1.0
            && found
                .iter()
                .all(|words| words.len() == 6 && words.is_sorted_by(|a, b| a.1 >= b.1))
    );
    for (words, first) in found.iter().zip(asked(2)) {
        for ((a, p), (b, q)) in words.iter().zip(&first) {
            assert!(a == b && (p - q).abs() < 1e-9, "{a} {p}, {b} {q}");
        }
    }
}
