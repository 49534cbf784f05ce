//! Command lines that a tired researcher types: each ends with the exit code of the README and a first
//! line that says what is wrong, and leaves no run folder behind.

use std::path::Path;
use std::process::Command;

/// Words, exit code, beginning of the first line, and something the whole message holds (a hint).
type Case = (&'static str, i32, &'static str, &'static str);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // mistyped commands and options
    ("rnu", 2, "error: unrecognized subcommand 'rnu'", "did you mean `mary run`"),
    ("tsaks", 2, "error: unrecognized subcommand 'tsaks'", "did you mean `mary tasks`"),
    ("runn -m builtin/nano", 2, "error: unrecognized subcommand 'runn'", "did you mean `mary run`"),
    ("cache stast", 2, "error: unrecognized subcommand 'stast'", "'stats'"),
    ("run --nosuch", 2, "error: unexpected argument '--nosuch'", "--help"),
    ("cache nosuch", 2, "error: unrecognized subcommand 'nosuch'", "mary cache"),
    ("physico nosuch", 2, "error: unrecognized subcommand 'nosuch'", "mary physico"),
    ("completions nosuch", 2, "error: invalid value 'nosuch'", "bash"),
    // models
    ("run -m nosuch -t htest/rhyme", 2, "error: `nosuch` is not a model", "provider/name"),
    ("run -m builtin/huge -t htest/rhyme", 2, "error: no built-in model is called `huge`", "builtin/nano"),
    ("run -m nobody/x -t htest/rhyme", 2, "error: no provider is called `nobody`", "mary models"),
    ("run -m gguf/./nosuch.gguf -t htest/rhyme", 4, "error: ./nosuch.gguf: no such file", ""),
    ("run -m gguf/./x.gguf -t htest/rhyme", 4, "error: ./x.gguf: is not a GGUF file", ""),
    ("run -m hf/./nosuch -t htest/rhyme", 4, "error: ./nosuch: no such file or folder", ""),
    ("run -m hf/./empty -t htest/rhyme", 4, "error: ./empty: has no config.json", "Hugging Face"),
    ("run -m =builtin/nano -t htest/rhyme", 2, "error: `=builtin/nano`: a label has", ""),
    ("run -m a=builtin/nano,a=builtin/nano -t htest/rhyme", 2, "error: two models are to be called `a`", ""),
    ("run -m openai/gpt-4o -t htest/rhyme --set mode=generate", 2, "error: OpenAI needs a key", "OPENAI_API_KEY"),
    ("run -m anthropic/claude-sonnet-4-5 -t htest/rhyme", 3, "error: these do not fit together", "--set mode=generate"),
    ("run -m compatible/x -t htest/rhyme --set mode=generate", 2, "error: `compatible` needs to know", "--base-url"),
    ("models show nano", 2, "error: `nano` is not a model", "did you mean builtin/nano?"),
    ("models show builtin/nan", 2, "error: no built-in model is called `nan`", "builtin/nano"),
    ("run -m builtin/nano@foo -t htest/rhyme", 2, "error: builtin/nano@foo is not among the checkpoints kept", "step512"),
    ("models show nosuch", 2, "error: `nosuch` is not a model", ""),
    ("models pull nosuch", 2, "error: the catalogue has no model `nosuch`", "mary models"),
    // tasks and settings
    ("run -t nosuch", 2, "error: no task is called `nosuch`", "mary tasks"),
    ("run -t htest/ryhme", 2, "error: no task is called `htest/ryhme`", "htest/rhyme"),
    ("run -t ./rows.jsonl", 2, "error: ./rows.jsonl:1: expected one JSON object", ""),
    ("run -t ./rows.txt", 2, "error: no task is called `./rows.txt`", "mary tasks new"),
    ("run -t ./nosuch.toml", 4, "error: ./nosuch.toml: the task file cannot be read", "mary tasks new"),
    ("run -t htest/rhyme --set nosuch=1", 2, "error: none of the chosen tasks has a setting `nosuch`", "mode"),
    ("run -t htest/rhyme --set mode=dance", 2, "error: htest/rhyme: `mode=dance` is not one of", ""),
    ("run -t htest/rhyme --set mode", 2, "error: `mode` is not of the form name=value", ""),
    ("run -t htest/rhyme --set source=published -k 3", 2, "error: htest/rhyme: 3 shots (-k, --shots) of released items; expected an even number", ""),
    ("run -t psychometric/typicality-surprisal -k 4", 2, "error: psychometric/typicality-surprisal: 4 shots (-k, --shots); this task takes 0 to 3", ""),
    ("run -t physico --strict", 3, "error: these do not fit together", "pictures"),
    ("run -t physico/core-visual", 3, "error: these do not fit together", "pictures"),
    ("run -t psychometric/blimp", 4, "error: psychometric/blimp: dataset `blimp` is not on this machine", "mary data pull blimp"),
    ("tasks show", 2, "error: the following required arguments", "<TASK>"),
    ("tasks show nosuch", 2, "error: no task is called `nosuch`", ""),
    ("tasks check nosuch.toml", 4, "error: nosuch.toml: the task file cannot be read", ""),
    ("run -m builtin/nano,builtin/nano -t htest/rhyme", 2, "error: builtin/nano is named twice", "--trials"),
    ("run -m python/./nosuch.py:f -t htest/rhyme", 4, "error: ./nosuch.py: there is no such file", ""),
    ("run -m python/./model.py -t htest/rhyme", 2, "error: `python/./model.py` names no object", "python/./model.py:answer"),
    ("items nosuch --to jsonl", 2, "error: no task is called `nosuch`", "mary tasks"),
    ("items htest/rhyme --to nosuch", 2, "error: invalid value 'nosuch'", "lm-eval"),
    ("tasks new x.txt", 2, "error: x.txt: a task file ends in .toml", ""),
    ("tasks import x.yaml --to tasks --python ./nosuch", 4, "error: ./nosuch cannot be started", "--python PYTHON"),
    ("run -m builtin/nano -t nosuch.yaml", 2, "error: nosuch.yaml: task files of lm-evaluation-harness are imported", "mary tasks import nosuch.yaml --to FOLDER"),
    // texts of one's own
    ("score nosuch.txt", 4, "error: nosuch.txt: there is no such file", ".parquet"),
    ("score own.csv", 2, "error: score/own: own.csv:2: there is no column `text`", "--text sentence"),
    ("score own.csv --pair sentence,ohter", 2, "error: score/own: own.csv:2: there is no column `ohter`", "did you mean `other`?"),
    ("score own.csv --text sentence --start <s>", 2, "error: builtin/nano: this model has no token `<s>`", "<|endoftext|> (id 0)"),
    ("run -t psychometric/grammar --set start=<s>", 2, "error: builtin/nano: this model has no token `<s>`", "<|endoftext|> (id 0)"),
    ("score own.csv --text sentence --start harnes", 2, "error: invalid value 'harnes'", "compare"),
    ("observe own.csv --pair sentence,other --layers 9", 2, "error: --layers 9: builtin/nano has layers 0 (the embedding) to 4", "-1"),
    ("observe own.csv --pair sentence,other --layers -6", 2, "error: --layers -6: builtin/nano has layers 0", ""),
    ("score - --by nosuch", 2, "error: invalid value 'nosuch'", "token"),
    ("observe rows.jsonl", 2, "error: vectors go into a file", "--out"),
    ("ask -m builtin/nano --temperature -1 hi", 2, "error: invalid value '-1'", "from 0 on"),
    ("ask -m builtin/nano --max-tokens 0 hi", 2, "error: invalid value '0'", ""),
    // numbers
    ("run -t htest/rhyme -k -3", 2, "error: invalid value '-3'", ""),
    ("run -t htest/rhyme --limit -3", 2, "error: invalid value '-3'", ""),
    ("run -t htest/rhyme --limit 0", 2, "error: invalid value '0'", "nothing to run"),
    ("run -t htest/rhyme --limit 1.5", 2, "error: invalid value '1.5'", "fraction"),
    ("run -t htest/rhyme --seed -1", 2, "error: invalid value '-1'", ""),
    ("run -t htest/rhyme --trials 0", 2, "error: invalid value '0'", ""),
    ("run -t htest/rhyme --budget -5", 2, "error: --budget -5: expected a number of dollars", ""),
    ("run -t htest/rhyme --budget five", 2, "error: invalid value 'five'", ""),
    ("run -t htest/rhyme --limit 50%", 2, "error: invalid value '50%'", "0.1"),
    ("run -t htest/rhyme --max-connections 0", 2, "error: invalid value '0'", "from 1 on"),
    ("run -t htest/rhyme --shard 3/2", 2, "error: invalid value '3/2'", "counted from 0"),
    ("run -t htest/rhyme --threads 0", 2, "error: --threads 0", ""),
    ("run -t htest/rhyme --batch-size many", 2, "error: --batch-size takes a number or `auto`", ""),
    ("run -t htest/rhyme --device tpu", 2, "error: `tpu` is not a device", "cpu"),
    ("run -t htest/rhyme --dtype f8", 2, "error: `f8` is not a number type", "f32"),
    ("run -t htest/rhyme --judge nosuch", 2, "error: `nosuch` is not a model", "--judge self"),
    ("run -t htest/rhyme --model-arg api_key=abc", 2, "error: `api_key` looks like a secret", ".env"),
    ("run -t htest/rhyme --model-arg key_env=sk-abc-def", 2, "error: key_env: expected the name of a variable", ".env"),
    ("view --port 99999", 2, "error: invalid value '99999'", ""),
    // runs
    ("resume", 4, "error: there is no run below", "mary run"),
    ("resume nosuch", 4, "error: no run is called `nosuch`", "mary runs"),
    ("rescore nosuch", 4, "error: no run is called `nosuch`", ""),
    ("report nosuch", 4, "error: no run is called `nosuch`", ""),
    ("view nosuch", 4, "error: no run is called `nosuch`", ""),
    ("compare a b", 4, "error: no run is called `a`", ""),
    ("confounds nosuch", 4, "error: no run is called `nosuch`", ""),
    ("runs", 4, "error: there is no run below", ""),
    ("jobs", 4, "error: there is no run with shards below", "mary submit"),
    ("runs remove nosuch", 4, "error: no run is called `nosuch`", ""),
    ("export --to nosuch", 2, "error: invalid value 'nosuch'", "parquet"),
    ("import nosuch", 4, "error: nosuch:", ""),
    ("import results_x.json", 4, "error: results_x.json", "samples_*.jsonl"),
    ("import file", 4, "error: file: expected a file ending in", "samples_*.jsonl"),
    ("import rows.jsonl", 4, "error: rows.jsonl:1: expected JSON", "--log_samples"),
    ("merge a b", 2, "error: several run folders are joined into a new one", "--into"),
    // growing and tuning
    ("grow", 2, "error: the following required arguments", "--out"),
    ("grow --out o --size giga", 2, "error: no size is called \"giga\"", ""),
    ("grow --out o --steps -1", 2, "error: invalid value '-1'", ""),
    ("grow --out o --text nosuch.txt", 4, "error: nosuch.txt", ""),
    ("tune -m builtin/nano --data nosuch --out o", 4, "error: nosuch: no such file, and no fine-tuning set", "htest/rhyme"),
    ("tune -m builtin/nano --data rows.jsonl --out o", 4, "error: rows.jsonl: line 1: expected", "messages"),
    ("tune -m nosuch --data rows.jsonl --out o", 2, "error: `nosuch` is not a model", ""),
    ("matrix --tune nosuch --out o", 2, "error: `nosuch` is not a model", ""),
    ("sweep nosuch", 2, "error: `nosuch` is not a model", ""),
    ("sweep builtin/nano --revisions nosuch -t htest/rhyme", 2, "error: builtin/nano has no checkpoint `nosuch`", "step512"),
    ("sweep builtin/nano --revisions step1..nosuch -t htest/rhyme", 2, "error: `step1..nosuch`: `nosuch` names no step", "step1000..step5000"),
    ("sweep builtin/nano -t nosuch", 2, "error: no task is called `nosuch`", ""),
    // data and places
    ("data verify nosuch", 2, "error: no dataset is called `nosuch`", ""),
    ("run --profile nosuch", 2, "error: no profile is called `nosuch`", "mary init"),
    ("data pull nosuch", 2, "error: no dataset is called `nosuch`", ""),
    ("data audit nosuch", 2, "error: no task is called `nosuch`", ""),
    ("physico sheet --out nosuch/dir/x.svg", 4, "error: nosuch/dir/x-01.svg", ""),
    ("run -t htest/rhyme --limit 2 --cache-dir file/below", 4, "error: file/below: the cache folder cannot be made", "--no-cache"),
    ("run -t htest/rhyme --limit 2 --output-path file/below", 4, "error: file/below", ""),
];

fn mary(home: &Path, words: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(words.split(' '))
        .current_dir(home)
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("HOME", home)
        .env("NO_COLOR", "1")
        .env_remove("MARY_RUNS")
        .env_remove("MARY_CACHE_DIR")
        .env_remove("MARY_DATA_DIR")
        .env_remove("MARY_MODEL")
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .output()
        .unwrap();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("rows.jsonl"), "{\"messages\": [}\n").unwrap();
    let own = "sentence,other,n\nThe dog sleeps.,A cat.,12\n";
    std::fs::write(home.path().join("own.csv"), own).unwrap();
    std::fs::write(home.path().join("x.gguf"), "not a model").unwrap();
    std::fs::write(home.path().join("results_x.json"), "{}").unwrap();
    std::fs::write(home.path().join("file"), "").unwrap();
    std::fs::create_dir(home.path().join("empty")).unwrap();
    home
}

#[test]
fn wrong_command_lines_say_what_is_wrong_with_the_documented_code() {
    assert!(CASES.len() >= 60);
    let mut wrong = Vec::new();
    for (words, code, first, holds) in CASES {
        let home = home();
        let (got, out, err) = mary(home.path(), words);
        let plain = err.trim_start();
        let line = plain.lines().next().unwrap_or_default();
        let runs = home.path().join("runs");
        let left = std::fs::read_dir(&runs).map_or(0, |entries| entries.count());
        if got != *code || !line.starts_with(first) || !plain.contains(holds) || left > 0 {
            wrong.push(format!(
                "mary {words}\n  expected {code} `{first}` … `{holds}`\n  found {got}, {left} run folders left:\n{err}{out}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn tables_fit_eighty_columns_and_break_no_word() {
    let home = home();
    let long = "a-model-with-a-long-name-of-40-characters";
    let words = format!(
        "run -m {}=builtin/nano,builtin/nano@step512 -t htest/rhyme,htest/palindrome --limit 4 --no-report",
        &long[..40]
    );
    let run = |words: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_mary"))
            .args(words.split(' '))
            .current_dir(home.path())
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path().join("cache"))
            .env("NO_COLOR", "1")
            .env("COLUMNS", "80")
            .env_remove("MARY_RUNS")
            .env_remove("MARY_DATA_DIR")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "mary {words}");
        String::from_utf8(output.stdout).unwrap()
    };
    let table = run(&words);
    // Below the table stand sentences, which a terminal wraps by itself.
    let table: String = table
        .lines()
        .take_while(|l| !l.starts_with(['▲', '△', '≈', '◇', '▽', '▼']))
        .map(|l| format!("{l}\n"))
        .collect();
    let mut shown = vec![(words.as_str(), table)];
    for words in ["runs", "tasks", "models", "compare a-model"] {
        shown.push((words, run(words)));
    }
    for (words, text) in &shown {
        let wide = text
            .lines()
            .find(|l| l.chars().count() > 80 && !l.contains("run "));
        assert_eq!(wide, None, "mary {words}\n{text}");
    }
    let of = |words: &str| &shown.iter().find(|(w, _)| *w == words).unwrap().1;
    assert!(of("runs").contains("htest/palindrome"), "{}", of("runs"));
    let compared = of("compare a-model");
    assert!(
        compared.contains("htest/palindrome\n  first score "),
        "{compared}"
    );
}

#[test]
fn a_dry_run_needs_no_key() {
    let home = home();
    let words = "run -m openai/gpt-4o -t htest/rhyme --set mode=generate --limit 3 --dry-run";
    let (code, out, err) = mary(home.path(), words);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("openai/gpt-4o"), "{out}");
    assert!(!home.path().join("runs").exists());
}

#[test]
fn a_family_runs_what_can_run_and_lists_the_rest() {
    let home = home();
    let (code, out, err) = mary(home.path(), "run -t physico --limit 1 --no-report --quiet");
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("left out, "), "{err}");
    assert!(
        err.contains("physico/core-visual: nano lacks pictures in the prompt"),
        "{err}"
    );
    assert!(out.contains("core-text"), "{out}");
    let (code, _, err) = mary(home.path(), "run -t psychometric --limit 1 --dry-run");
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains(
            "psychometric/blimp: the dataset `blimp` is not on this machine (mary data pull blimp)"
        ),
        "{err}"
    );
}

#[test]
fn labels_stand_in_tables_folders_and_reports() {
    let home = home();
    let (code, out, err) = mary(
        home.path(),
        "run -m tiny=builtin/nano -t htest/rhyme --limit 4",
    );
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("tiny"), "{out}");
    let runs: Vec<String> = std::fs::read_dir(home.path().join("runs"))
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(runs.len(), 1);
    assert!(runs[0].starts_with("tiny-htest-"), "{runs:?}");
    let page = home.path().join("runs").join(&runs[0]).join("report.html");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("<title>H-TEST: rhyme on tiny</title>"),
        "{}",
        &page[..600]
    );
    // Full names stay where machines read.
    let manifest = home
        .path()
        .join("runs")
        .join(&runs[0])
        .join("manifest.json");
    assert!(
        std::fs::read_to_string(manifest)
            .unwrap()
            .contains("builtin/nano")
    );
    // The same command finds the same folder; a resumed run keeps its label.
    let (code, _, err) = mary(home.path(), &format!("resume {}", runs[0]));
    assert_eq!(code, 0, "{err}");
}

#[test]
fn runs_are_listed_filtered_renamed_and_removed() {
    let home = home();
    for task in ["htest/rhyme", "htest/palindrome"] {
        let words = format!("run -t {task} --limit 4 --no-report --quiet");
        assert_eq!(mary(home.path(), &words).0, 0);
    }
    let (code, out, err) = mary(home.path(), "runs");
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("htest/rhyme") && out.contains("htest/palindrome"),
        "{out}"
    );
    assert!(out.contains("complete"), "{out}");
    // In a pipe the list keeps to 80 columns; what it leaves out is in the JSON.
    let (_, out, _) = mary(home.path(), "runs --json");
    assert!(out.contains("limit=4"), "{out}");
    let (_, out, _) = mary(home.path(), "runs rhyme --json");
    let listed: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let name = listed[0]["name"].as_str().unwrap().to_owned();
    let (code, _, err) = mary(home.path(), "report nano");
    assert_eq!(code, 2);
    assert!(err.contains("fits 2 runs") && err.contains(&name), "{err}");
    assert_eq!(mary(home.path(), &format!("runs rename {name} first")).0, 0);
    assert_eq!(mary(home.path(), "resume first").0, 0);
    let (code, out, _) = mary(home.path(), "runs show first");
    assert_eq!(code, 0);
    assert!(out.contains("rhyme"), "{out}");
    let (code, _, err) = mary(home.path(), "runs remove first");
    assert_eq!(code, 2);
    assert!(err.contains("--yes"), "{err}");
    assert!(home.path().join("runs/first").exists());
    assert_eq!(mary(home.path(), "runs remove first --yes").0, 0);
    assert!(!home.path().join("runs/first").exists());
}

#[test]
fn a_profile_stands_for_what_would_be_typed() {
    let home = home();
    assert_eq!(mary(home.path(), "init").0, 0);
    assert_eq!(mary(home.path(), "init").0, 2, "what is there stays");
    let (code, out, err) = mary(home.path(), "run --profile paper --limit 2 -k 4 --dry-run");
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("htest/rhyme") && !out.contains("physico"),
        "{out}"
    );
    std::fs::write(home.path().join("mary.toml"), "[run]\nshotz = 4\n").unwrap();
    let (code, _, err) = mary(home.path(), "tasks");
    assert_eq!(code, 2);
    assert!(err.contains("`mary run` has no option `shotz`"), "{err}");
}

#[test]
fn a_busy_port_is_the_users_to_change() {
    let home = home();
    assert_eq!(
        mary(
            home.path(),
            "run -t htest/rhyme --limit 2 --no-report --quiet"
        )
        .0,
        0
    );
    let busy = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = busy.local_addr().unwrap().port();
    let (code, _, err) = mary(home.path(), &format!("view --port {port}"));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--port names another"), "{err}");
}
