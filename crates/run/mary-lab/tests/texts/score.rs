//! Columns, contexts, regions, pairs and checkpoints; and what is said of a file that is wrong.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mary_contract::Task;
use mary_lab::texts::score::{By, ScoreOptions, ScoreTask};
use mary_lab::texts::table::Cell;

use crate::texts::common::{self, file, number, words};

const NANO: &str = "builtin/nano";

#[test]
fn pairs_get_a_verdict_a_margin_and_their_condition_for_every_checkpoint() {
    let rows = "kind,good,bad\nagree,the dog sleeps.,the dog sleep.\nsame,a cat.,a cat.\n";
    let (_folder, path) = file("pairs.csv", rows);
    let options = ScoreOptions {
        pair: Some(("good".into(), "bad".into())),
        keep: vec!["kind".into()],
        ..ScoreOptions::default()
    };
    let scored = common::score(&path, options, &[NANO, "builtin/nano@step0"]).unwrap();
    let pairs = &scored.rows[&By::Pair];
    let models: Vec<&str> = pairs.iter().map(|p| words(&p["model"])).collect();
    assert_eq!(
        models,
        [NANO, NANO, "builtin/nano@step0", "builtin/nano@step0"]
    );
    for pair in pairs {
        let margin = number(&pair["logprob_good"]) - number(&pair["logprob_bad"]);
        assert!((number(&pair["margin"]) - margin).abs() < 1e-9);
        let same = words(&pair["kind"]) == "same";
        let right = match same {
            true => 0.5,
            false => f64::from(u8::from(margin > 0.0)),
        };
        assert_eq!(number(&pair["verdict"]), right);
        assert_eq!(words(&pair["scoring"]), "chain rule");
    }
    assert_eq!(
        number(&pairs[0]["verdict"]),
        1.0,
        "the grown model knows agreement"
    );
    // The texts of a pair are told apart in the other tables.
    let parts: Vec<&str> = scored.rows[&By::Text]
        .iter()
        .take(2)
        .map(|t| words(&t["part"]))
        .collect();
    assert_eq!(parts, ["good", "bad"]);
}

#[test]
fn a_context_is_read_and_not_scored_and_regions_add_up() {
    let rows = concat!(
        "{\"id\": \"a\", \"before\": \"The dog barks.\", \"text\": \"The [[dog]] is [[very small]].\"}\n",
        "{\"id\": \"b\", \"before\": \"\", \"text\": \"The [[dog]] is [[very small]].\"}\n",
    );
    let (_folder, path) = file("texts.jsonl", rows);
    let options = ScoreOptions {
        context: Some("before".into()),
        marks: Some(("[[".into(), "]]".into())),
        ..ScoreOptions::default()
    };
    let scored = common::score(&path, options, &[NANO]).unwrap();
    let texts = &scored.rows[&By::Text];
    assert!(
        texts
            .iter()
            .all(|t| words(&t["text"]) == "The dog is very small.")
    );
    assert_ne!(texts[0]["logprob"], texts[1]["logprob"]);
    let words_of = |id: &str| -> Vec<&std::collections::BTreeMap<String, Cell>> {
        let all = scored.rows[&By::Word].iter();
        all.filter(|w| words(&w["id"]) == id).collect()
    };
    for (text, id) in texts.iter().zip(["a", "b"]) {
        let found = words_of(id);
        let names: Vec<&str> = found.iter().map(|w| words(&w["word"])).collect();
        assert_eq!(names, ["The", "dog", "is", "very", "small."]);
        assert_eq!(
            (number(&found[1]["start"]), number(&found[1]["end"])),
            (4.0, 7.0)
        );
        let sum: f64 = found.iter().map(|w| number(&w["logprob"])).sum();
        assert!((sum - number(&text["logprob"])).abs() < 1e-5);
        let regions: Vec<_> = scored.rows[&By::Region]
            .iter()
            .filter(|r| words(&r["id"]) == id)
            .collect();
        assert_eq!(words(&regions[0]["words"]), "dog");
        let near = |a: &Cell, b: &Cell| (number(a) - number(b)).abs() < 1e-6;
        assert!(near(&regions[0]["logprob"], &found[1]["logprob"]));
        assert!(near(
            &regions[0]["logprob_corrected"],
            &found[1]["logprob_corrected"]
        ));
        // "very small" without the full stop, which is a token of its own.
        assert!(
            number(&regions[1]["logprob"])
                > number(&found[3]["logprob"]) + number(&found[4]["logprob"])
        );
    }
}

fn refused(path: &Path, options: ScoreOptions) -> String {
    match common::score(path, options, &[NANO]) {
        Ok(_) => panic!("{} was scored", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_told_with_file_and_line() {
    let plain = ScoreOptions::default;
    let cases: Vec<(&str, &[u8], ScoreOptions, &str)> = vec![
        (
            "a.csv",
            b"id,words\n1,one\n",
            plain(),
            "a.csv:2: there is no column `text`; the row has: id, words",
        ),
        (
            "b.csv",
            b"id,text\n1,one\n2,two\n1,three\n",
            plain(),
            "b.csv:4: duplicate id `1` (first on line 2)",
        ),
        (
            "c.txt",
            b"1\n2\n3\n4\n5\n6\n\xff\n",
            plain(),
            "c.txt:7: byte 1 is not valid UTF-8",
        ),
        ("d.txt", b"", plain(), "d.txt:1: there are no rows"),
        (
            "e.tsv",
            b"text\tnote\n",
            plain(),
            "e.tsv:1: there are no rows",
        ),
        (
            "f.jsonl",
            b"{\"text\": \"a\"}\n{\"text\": null}\n",
            plain(),
            "f.jsonl:2: column `text` is empty",
        ),
        (
            "g.txt",
            b"a [[b",
            ScoreOptions {
                marks: Some(("[[".into(), "]]".into())),
                ..plain()
            },
            "g.txt:1: `[[` is not closed by `]]`",
        ),
    ];
    for (name, bytes, options, said) in cases {
        let (_folder, path) = file(name, bytes);
        let error = refused(&path, options);
        assert!(error.contains(said), "{name}: {error}");
    }
}

#[test]
fn another_question_or_another_file_is_another_task() {
    let (_folder, path) = file("x.txt", "one\ntwo\n");
    let content = |options: ScoreOptions| {
        let task: Arc<dyn Task> = Arc::new(ScoreTask::open(&path, options).unwrap());
        task.card().content.clone().unwrap()
    };
    let first = content(ScoreOptions::default());
    assert_eq!(first, content(ScoreOptions::default()));
    let entropy = ScoreOptions {
        entropy: true,
        ..ScoreOptions::default()
    };
    assert_ne!(first, content(entropy));
    std::fs::write(&path, "one\nthree\n").unwrap();
    assert_ne!(first, content(ScoreOptions::default()));
}

/// The likeliest tokens in a word's place: the one at the word's rank is its first token, with its probability.
#[test]
fn the_likeliest_tokens_stand_beside_each_word() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("texts.txt");
    std::fs::write(
        &file,
        "A robin is a kind of bird.\nThe dog can see the cat.\n",
    )
    .unwrap();
    let options = ScoreOptions {
        rank: true,
        top: 50,
        ..ScoreOptions::default()
    };
    let found = common::score(&file, options, &["builtin/nano"]).unwrap();
    let (words, tokens) = (&found.rows[&By::Word], &found.rows[&By::Token]);
    let mut compared = 0;
    for word in words {
        let first =
            |t: &&BTreeMap<String, Cell>| t["id"] == word["id"] && t["word"] == word["position"];
        let token = tokens.iter().find(first).unwrap();
        assert!(word["top_1"].is_string() && word["top_50_p"].is_number());
        let rank = word["rank"].as_u64().unwrap();
        if rank > 50 {
            continue;
        }
        let spelled = token["token"].as_str().unwrap().trim();
        assert_eq!(
            word[&format!("top_{rank}")].as_str().unwrap().trim(),
            spelled
        );
        let p = word[&format!("top_{rank}_p")].as_f64().unwrap();
        let own = token["logprob"].as_f64().unwrap().exp();
        assert!((p - own).abs() < 1e-4, "{spelled}: {p} {own}");
        compared += 1;
    }
    assert!(compared > 5, "{compared} of {}", words.len());
}
