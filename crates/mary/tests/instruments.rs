//! `score`, `observe` and `ask` on the whole program: what is printed, where files go, and exit codes.

use std::path::Path;
use std::process::Command;

struct Said {
    code: i32,
    out: String,
    err: String,
}

fn mary(home: &Path, words: &[&str]) -> Said {
    let done = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(words)
        .args(["--output-path", "runs", "--cache-dir", "cache"])
        .current_dir(home)
        .stdin(std::process::Stdio::null())
        .env_remove("MARY_MODEL")
        .output()
        .unwrap();
    Said {
        code: done.status.code().unwrap(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    }
}

#[test]
fn texts_are_scored_and_the_same_command_asks_nothing_again() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("t.txt"), "The dog sleeps.\nA cat.\n").unwrap();
    let first = mary(home.path(), &["score", "t.txt", "--by", "word"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let lines: Vec<&str> = first.out.lines().collect();
    assert_eq!(lines.len(), 6, "{}", first.out);
    assert!(lines[0].starts_with(
        "model,id,position,word,start,end,tokens,logprob,surprisal,logprob_corrected"
    ));
    assert!(lines[1].starts_with("builtin/nano,1,1,The,0,3,1,-"));
    let again = mary(home.path(), &["score", "t.txt", "--by", "word"]);
    assert_eq!(again.out, first.out);
    assert!(
        again.err.contains("everything is already answered"),
        "{}",
        again.err
    );
    let folder = mary(
        home.path(),
        &[
            "score", "t.txt", "--out", "tables", "--format", "jsonl", "-q",
        ],
    );
    assert_eq!(folder.code, 0, "{}", folder.err);
    for name in ["texts", "words", "tokens"] {
        assert!(
            home.path().join(format!("tables/{name}.jsonl")).is_file(),
            "{name}"
        );
    }
}

#[test]
fn what_makes_no_sense_has_its_exit_code() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("c.csv"), "id,text\n1,one\n1,two\n").unwrap();
    std::fs::write(home.path().join("u.txt"), b"1\n2\n3\n4\n5\n6\n\xff\n").unwrap();
    std::fs::write(home.path().join("e.txt"), "").unwrap();
    for (words, code, said) in [
        (&["score", "absent.txt"][..], 4, "there is no such file"),
        (&["score", "c.csv"], 4, "c.csv:3: the id `1`"),
        (
            &["score", "c.csv", "--text", "words"],
            4,
            "c.csv:2: there is no column `words`",
        ),
        (&["score", "u.txt"], 4, "u.txt:7: byte 1 is not valid UTF-8"),
        (&["score", "e.txt"], 4, "e.txt:1: there are no rows"),
        (&["score", "c.csv", "--by", "pair"], 2, "--pair names them"),
        (&["score", "c.csv", "--format", "parquet"], 2, "--out names"),
        (&["observe", "c.csv"], 2, "vectors go into a file"),
        (&["ask", "  "], 2, "there is no question"),
    ] {
        let got = mary(home.path(), words);
        assert_eq!(got.code, code, "{words:?}: {}", got.err);
        assert!(got.err.contains(said), "{words:?}: {}", got.err);
    }
    assert!(!home.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_question_is_answered_and_said_again() {
    let home = tempfile::tempdir().unwrap();
    let words = ["ask", "The dog", "--max-tokens", "8", "-q"];
    let first = mary(home.path(), &words);
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(!first.out.trim().is_empty());
    assert_eq!(mary(home.path(), &words).out, first.out);
    let several = mary(
        home.path(),
        &[
            "ask",
            "The dog",
            "-n",
            "3",
            "--max-tokens",
            "4",
            "--json",
            "-q",
        ],
    );
    assert_eq!(several.out.lines().count(), 3, "{}", several.out);
}
