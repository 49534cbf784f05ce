//! 200 sentences of our own against transformers (tokens) and minicons itself (words, under the plain and
//! the corrected rule). `tools/golden_minicons.py` makes the golden file.

use mary_contract::Start;
use mary_lab::texts::score::{By, ScoreOptions};
use mary_testkit::Lacking;
use mary_testkit::lacking::test_model;
use serde_json::Value;

use crate::texts::common::{self, number, words};

fn read(path: &str) -> Value {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Largest differences: of a token's log-probability and entropy in nats, of a word's surprisal in bits.
fn compare(model: &str, golden: &Value) -> (f64, f64, f64) {
    let sentences = read("../../models/mary-local/tests/golden_real.json")["sentences"].clone();
    let sentences: Vec<String> = serde_json::from_value(sentences).unwrap();
    assert_eq!(sentences.len(), 200);
    let (_folder, path) = common::file("sentences.txt", sentences.join("\n"));
    // minicons' `bos_token=True` puts the begin-of-sequence token first, whatever it is.
    let options = ScoreOptions {
        entropy: true,
        rank: true,
        start: Start::Always,
        ..ScoreOptions::default()
    };
    let scored = common::score(&path, options, &[model]).unwrap();
    assert_eq!((scored.done.scored, scored.done.without_words), (200, 0));
    let (mut worst, mut entropy, mut word_worst) = (0.0f64, 0.0f64, 0.0f64);
    let tokens = &scored.rows[&By::Token];
    let flat = |name: &str| -> Vec<f64> {
        let lists = golden[name].as_array().unwrap().iter();
        lists
            .flat_map(|l| l.as_array().unwrap())
            .map(|x| x.as_f64().unwrap())
            .collect()
    };
    let want = flat("logprobs");
    assert_eq!(tokens.len(), want.len());
    let mut ranks_apart = 0;
    for (at, row) in tokens.iter().enumerate() {
        worst = worst.max((number(&row["logprob"]) - want[at]).abs());
        let bits = flat_at(golden, "entropy", at) / std::f64::consts::LN_2;
        entropy = entropy.max((number(&row["entropy"]) - bits).abs());
        let (rank, theirs) = (number(&row["rank"]), flat_at(golden, "ranks", at));
        ranks_apart += usize::from((rank - theirs).abs() > 1.0 + theirs / 100.0);
    }
    // Among improbable tokens, neighbours of nearly the same probability change places.
    assert_eq!(ranks_apart, 0, "ranks differ");
    for (column, name) in [("surprisal", "plain"), ("surprisal_corrected", "corrected")] {
        let lists = golden[name].as_array().unwrap().iter();
        let want: Vec<(&str, f64)> = lists
            .flat_map(|l| l.as_array().unwrap())
            .map(|p| (p[0].as_str().unwrap(), p[1].as_f64().unwrap()))
            .collect();
        let got = &scored.rows[&By::Word];
        assert_eq!(got.len(), want.len());
        for (row, (word, bits)) in got.iter().zip(want) {
            assert_eq!(words(&row["word"]), word);
            word_worst = word_worst.max((number(&row[column]) - bits).abs());
        }
    }
    (worst, entropy, word_worst)
}

fn flat_at(golden: &Value, name: &str, mut at: usize) -> f64 {
    for list in golden[name].as_array().unwrap() {
        let list = list.as_array().unwrap();
        if at < list.len() {
            return list[at].as_f64().unwrap();
        }
        at -= list.len();
    }
    panic!("the golden file is too short");
}

fn check(model: &str, golden: &Value) {
    let (token, entropy, word) = compare(model, golden);
    eprintln!(
        "{model}: tokens {token:.1e} nats, entropy {entropy:.1e} bits, words {word:.1e} bits"
    );
    assert!(token <= 1e-3, "{token:e} nats");
    assert!(entropy <= 1e-2, "{entropy:e} bits");
    assert!(word <= 5e-3, "{word:e} bits");
}

#[test]
fn the_built_in_model_agrees_with_transformers_and_minicons() {
    check(
        "builtin/nano",
        &read("tests/texts/golden/minicons_nano.json"),
    );
}

#[test]
fn smollm2_agrees_with_transformers_and_minicons() {
    let Some(path) = test_model("smollm2-135m.gguf", Lacking::Models) else {
        return;
    };
    let model = format!("gguf/{}", path.display());
    check(&model, &read("tests/texts/golden/minicons_smollm2.json"));
}
