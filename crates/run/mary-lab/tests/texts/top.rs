//! The likeliest words in a blank against Hugging Face transformers, of masked and causal models.
//! `tools/golden_top.py` makes the file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_lab::Silent;
use mary_lab::texts::top::{TopTask, predictions, table};
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
        let lab = common::lab(runs.path(), Arc::new(TopTask::new(sentences.clone(), 5)));
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
            let found = predictions(sample).unwrap();
            assert_eq!(found.len(), 5, "{name}");
            for ((word, p), wanted) in found.iter().zip(wanted.as_array().unwrap()) {
                let (token, q) = (wanted[0].as_str().unwrap(), wanted[1].as_f64().unwrap());
                assert_eq!(word.trim(), token.replace(['Ġ', '▁'], "").trim(), "{name}");
                assert!((p - q).abs() < 2e-6, "{name}: {word} {p} {q}");
            }
        }
        // In the form of the paper's Table 1: a line a sentence, the words with their probabilities.
        let shown = table(&samples);
        assert_eq!((shown.rows.len(), shown.head.len()), (3, 7));
    }
}
