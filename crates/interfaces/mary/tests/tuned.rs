//! `mary tune` on the built-in model: an adapter that is there is used when it was made from the same,
//! and never overwritten when it was not.

use std::path::Path;
use std::process::Command;

fn tune(home: &Path, changed: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut options = vec![
        ("--model", "builtin/nano@step16"),
        ("--data", "set.jsonl"),
        ("--out", "adapter"),
        ("--rank", "1"),
        ("--lr", "0.0002"),
        ("--seed", "0"),
        ("--epochs", "1"),
        ("--threads", "1"),
    ];
    for (name, value) in changed {
        options.retain(|(option, _)| option != name);
        options.push((name, value));
    }
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .arg("tune")
        .args(
            options
                .iter()
                .flat_map(|(name, value)| [*name, *value])
                .filter(|w| !w.is_empty()),
        )
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said)
}

fn data(path: &Path, label: &str) {
    let line = format!(
        r#"{{"messages": [{{"role": "user", "content": "Label:"}}, {{"role": "assistant", "content": "{label}"}}]}}"#
    );
    std::fs::write(path, format!("{line}\n").repeat(8)).unwrap();
}

#[test]
fn an_adapter_made_from_something_else_is_neither_used_nor_overwritten() {
    let home = tempfile::tempdir().unwrap();
    data(&home.path().join("set.jsonl"), "A");
    data(&home.path().join("other.jsonl"), "B");
    let (code, said) = tune(home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let next = "try it: mary run -m builtin/nano@step16 --adapter adapter\n";
    assert!(said.contains(next), "{said}");
    let weights = home.path().join("adapter/adapter_model.safetensors");
    let made = std::fs::read(&weights).unwrap();

    let (code, said) = tune(home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("there already"), "{said}");

    for (option, value, field) in [
        ("--seed", "1", "seed"),
        ("--rank", "2", "rank"),
        ("--lr", "0.0004", "optimizer.rate"),
        ("--model", "builtin/nano@step64", "base"),
        ("--data", "other.jsonl", "data"),
    ] {
        let (code, said) = tune(home.path(), &[(option, value)]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(&format!("{field} was ")), "{said}");
        assert!(!said.contains("; "), "one difference: {said}");
    }
    assert_eq!(std::fs::read(&weights).unwrap(), made);

    // The user's word.
    let (code, said) = tune(home.path(), &[("--rank", "2"), ("--force", "")]);
    assert_eq!(code, Some(0), "{said}");
    assert_ne!(std::fs::read(&weights).unwrap(), made);
    let (code, said) = tune(home.path(), &[("--rank", "2")]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("there already"), "{said}");
}

/// `mary matrix --tune` on one task with this learning rate; what it said.
fn matrix(home: &Path, rate: &str) -> String {
    let args = "matrix --tune builtin/nano@step16 --tasks htest/rhyme --out tuned --epochs 1 --rank 1 \
                --limit 2 -k 2 --threads 1 --lr";
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(args.split_whitespace())
        .arg(rate)
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

#[test]
fn a_matrix_tunes_again_what_was_made_with_another_rate() {
    let home = tempfile::tempdir().unwrap();
    let runs = || std::fs::read_dir(home.path().join("runs")).unwrap().count();
    let said = matrix(home.path(), "0.001");
    assert!(said.contains("parameters are trained"), "{said}");
    let said = matrix(home.path(), "0.001");
    assert!(!said.contains("parameters are trained"), "{said}");
    assert_eq!(runs(), 1);
    let said = matrix(home.path(), "0.002");
    assert!(
        said.contains("optimizer.rate was 0.001, is now 0.002"),
        "{said}"
    );
    assert!(said.contains("parameters are trained"), "{said}");
    assert_eq!(runs(), 2, "other weights are another run");
}

fn mary(home: &Path, args: &str) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(args.split_whitespace())
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn an_adapter_of_the_built_in_model_applies_to_it() {
    let home = tempfile::tempdir().unwrap();
    data(&home.path().join("set.jsonl"), "A");
    let (code, said) = tune(home.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    let run = "run -m builtin/nano@step16 --adapter adapter -t htest/rhyme --limit 2 -k 2";
    let (code, _, said) = mary(home.path(), run);
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = mary(home.path(), &run.replace("step16", "step64"));
    assert_eq!(code, Some(0), "the shapes fit: {said}");
}

#[test]
fn recipes_are_those_that_papers_print() {
    let home = tempfile::tempdir().unwrap();
    data(&home.path().join("set.jsonl"), "A");
    let (code, said) = tune(home.path(), &[("--recipe", "physico"), ("--rank", "2")]);
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(home.path().join("adapter/provenance.json")).unwrap();
    let made: serde_json::Value = serde_json::from_str(&text).unwrap();
    let settings = &made["settings"];
    assert_eq!(settings["rank"], 2, "what is given counts more");
    assert_eq!(settings["batch"], 4);
    assert_eq!(settings["optimizer"]["decay"], 0.001);
    let (code, said) = tune(home.path(), &[("--recipe", "psychometric")]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("physico") && said.contains("embodied"),
        "{said}"
    );
}

#[test]
fn a_tuning_set_refuses_what_it_does_not_take() {
    let home = tempfile::tempdir().unwrap();
    for wish in [
        "htest/rhyme --set source=elsewhere",
        "htest/rhyme --set source=published -n 5",
        "htest/rhyme --set split=train",
        "htest/rhyme -n 5",
        "physico/matrix --set source=published",
        "physico/core --set source=published -n 5",
        "physico/matrix --set split=dev",
        "embodied/perceptualqa --set split=dev",
        "embodied/perceptualqa -n 5",
        "embodied/perceptualqa --set colour=red",
    ] {
        let (code, _, said) = mary(home.path(), &format!("data tuning {wish} -o set.jsonl"));
        assert_eq!(code, Some(2), "{wish}: {said}");
        assert!(!home.path().join("set.jsonl").exists(), "{wish}");
    }
}

/// One command from a family's set to a table before and after, with the learning curve in its report.
#[test]
fn a_set_is_tuned_on_and_tested_in_one_command() {
    let home = tempfile::tempdir().unwrap();
    let command = "tune -m builtin/nano@step16 --data embodied/perceptualqa --data-form instruction --examples 24 \
                   --epochs 2 --batch-size 4 --rank 1 --threads 1 --evaluate-every 3 -o adapter --csv tables.csv \
                   --test embodied/perceptualqa --set split=test --set template=tuning-letter --limit 6";
    let (code, out, said) = mary(home.path(), command);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("on 22 conversations (2 held out)"), "{said}");
    assert!(said.contains("loss per answer token (nats): "), "{said}");
    assert!(said.contains("; held out "), "{said}");
    assert!(
        out.contains("Qwen2-7B") && out.contains("45.00"),
        "the paper's beside it: {out}"
    );
    let csv = std::fs::read_to_string(home.path().join("tables.csv")).unwrap();
    assert!(csv.contains("before: model"), "{csv}");
    let report = said
        .lines()
        .find_map(|l| l.strip_prefix("report: "))
        .unwrap();
    let page = std::fs::read_to_string(report).unwrap();
    for shown in [
        "learning-loss",
        "learning-exact",
        "learning-table",
        "embodied-table-11",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    // The same again tunes nothing and asks nothing.
    let (code, _, said) = mary(home.path(), command);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("there already"), "{said}");
    // A file is what it is, and a name that is none lists those there are.
    let refused = [
        command.replace(
            "embodied/perceptualqa --data-form",
            "tables.csv --data-form",
        ),
        command.replace(
            "--data embodied/perceptualqa --data-form instruction",
            "--data htest/rime",
        ),
    ];
    // A form for a file is a mistake of the command line; a set that is not there is missing.
    for (command, expected) in refused.iter().zip([2, 4]) {
        let (code, _, said) = mary(home.path(), command);
        assert_eq!(code, Some(expected), "{command}: {said}");
    }
}

#[test]
fn an_adapter_made_on_a_gguf_file_applies_to_it() {
    let home = tempfile::tempdir().unwrap();
    data(&home.path().join("set.jsonl"), "A");
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../models/mary-local/tests/golden_gguf/qwen2.gguf");
    std::fs::copy(from, home.path().join("base.gguf")).unwrap();
    let (code, said) = tune(
        home.path(),
        &[("--model", "gguf/base.gguf"), ("--merge", "merged")],
    );
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("mary run -m gguf/merged/model.gguf"),
        "{said}"
    );
    let run = "run -m gguf/base.gguf --adapter adapter -t htest/rhyme --limit 2 -k 2 --json";
    let (code, out, said) = mary(home.path(), run);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("model.gguf"), "{out}");
}
