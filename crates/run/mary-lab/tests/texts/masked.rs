//! Masked language models against minicons: pseudo-log-likelihood and the within-word left-to-right form, on
//! tiny random models of both kinds and on a real one. `tools/golden_minicons.py --masked` makes the files.

use std::path::Path;

use mary_lab::texts::score::{By, ScoreOptions};
use mary_testkit::Lacking;
use mary_testkit::lacking::test_model;
use serde_json::Value;

use crate::texts::common::{self, number, words};

fn golden() -> Value {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/texts/golden/masked.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The largest difference of a token's log-probability.
fn difference(folder: &Path, golden: &Value, form: &str) -> f64 {
    let sentences: Vec<String> = serde_json::from_value(golden["sentences"].clone()).unwrap();
    let (_folder, path) = common::file("sentences.txt", sentences.join("\n"));
    let model = format!("hf/{}", folder.display());
    let args = [("masked", form)];
    let scored = common::score_with(&path, ScoreOptions::default(), &[&model], &args).unwrap();
    assert_eq!(scored.done.scored, sentences.len());
    let lists = golden[form].as_array().unwrap().iter();
    let want: Vec<f64> = lists
        .flat_map(|l| l.as_array().unwrap())
        .map(|x| x.as_f64().unwrap())
        .collect();
    let tokens = &scored.rows[&By::Token];
    assert_eq!(tokens.len(), want.len());
    let said = words(&tokens[0]["scoring"]);
    let paper = if form == "original" {
        "Salazar"
    } else {
        "Kauf"
    };
    assert!(
        said.contains(paper),
        "the convention stands beside the score: {said}"
    );
    let pairs = tokens.iter().zip(want);
    pairs
        .map(|(row, want)| (number(&row["logprob"]) - want).abs())
        .fold(0.0, f64::max)
}

#[test]
fn tiny_masked_models_agree_with_minicons_under_both_conventions() {
    let golden = golden();
    for kind in ["bert", "roberta"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/texts/golden")
            .join(kind);
        for form in ["original", "within-word"] {
            let worst = difference(&folder, &golden[kind], form);
            eprintln!("{kind}, {form}: {worst:.1e} nats");
            assert!(worst <= 1e-4, "{kind}, {form}: {worst:e}");
        }
        // Words of several tokens are what the two forms differ in.
        assert_ne!(golden[kind]["original"], golden[kind]["within-word"]);
    }
}

#[test]
fn a_real_masked_model_agrees_with_minicons() {
    let Some(folder) = test_model("antiberty", Lacking::Extras) else {
        return;
    };
    let golden = golden();
    for form in ["original", "within-word"] {
        let worst = difference(&folder, &golden["antiberty"], form);
        eprintln!("AntiBERTy, {form}: {worst:.1e} nats");
        assert!(worst <= 1e-3, "{form}: {worst:e}");
    }
}
