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
        (&["score", "c.csv"], 4, "c.csv:3: duplicate id `1`"),
        (
            &["score", "c.csv", "--text", "words"],
            2,
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

/// The only run folder below a home.
fn run_of(home: &Path) -> std::path::PathBuf {
    let mut runs = std::fs::read_dir(home.join("runs")).unwrap();
    runs.next().unwrap().unwrap().path()
}

/// Leaves a finished run as an interruption would have left it: with its first sample alone.
fn interrupt(run: &Path) {
    let log = std::fs::read_to_string(run.join("samples.jsonl")).unwrap();
    let first = log.lines().next().unwrap();
    std::fs::write(run.join("samples.jsonl"), format!("{first}\n")).unwrap();
    std::fs::remove_file(run.join("summary.json")).unwrap();
}

#[test]
fn a_folder_of_texts_is_resumed_from_anywhere_and_prints_its_table() {
    let home = tempfile::tempdir().unwrap();
    let texts = "sentence,kind\nThe dog sleeps.,a\nA cat.,b\nThe lamp is red.,a\n";
    std::fs::write(home.path().join("t.csv"), texts).unwrap();
    // Options of mary.toml are part of what was asked.
    std::fs::write(home.path().join("mary.toml"), "[score]\nentropy = true\n").unwrap();
    let words = [
        "score",
        "t.csv",
        "--text",
        "sentence",
        "--keep",
        "kind",
        "--by",
        "word",
        "--no-cache",
    ];
    let whole = mary(home.path(), &words);
    assert_eq!(whole.code, 0, "{}", whole.err);
    assert!(whole.out.lines().next().unwrap().contains("entropy"));
    let run = run_of(home.path());
    interrupt(&run);
    let elsewhere = tempfile::tempdir().unwrap();
    let resumed = mary(elsewhere.path(), &["resume", &run.display().to_string()]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!(resumed.out, whole.out);
    // Judging again and the report find the texts too; a file that changed is told.
    let path = run.display().to_string();
    let rescored = mary(elsewhere.path(), &["rescore", &path]);
    assert_eq!(rescored.code, 0, "{}", rescored.err);
    std::fs::write(home.path().join("t.csv"), texts.replace("dog", "cow")).unwrap();
    interrupt(&run);
    let changed = mary(elsewhere.path(), &["resume", &path]);
    assert_eq!(changed.code, 2, "{}", changed.err);
    assert!(
        changed.err.contains("`score/t` has changed"),
        "{}",
        changed.err
    );
    std::fs::remove_file(home.path().join("t.csv")).unwrap();
    let gone = mary(elsewhere.path(), &["resume", &path]);
    assert_eq!(gone.code, 2, "{}", gone.err);
    assert!(
        gone.err.contains("t.csv: the file of texts is not there"),
        "{}",
        gone.err
    );
}

#[test]
fn vectors_are_resumed_and_written_by_their_own_command_only() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("p.tsv"),
        "a\tb\nA dog.\tA cat.\nThe sun.\tThe moon.\n",
    )
    .unwrap();
    let words = ["observe", "p.tsv", "--pair", "a,b", "--no-cache"];
    let whole = mary(home.path(), &words);
    assert_eq!(whole.code, 0, "{}", whole.err);
    let run = run_of(home.path());
    interrupt(&run);
    let resumed = mary(home.path(), &["resume"]);
    assert_eq!(
        (resumed.code, &resumed.out),
        (0, &whole.out),
        "{}",
        resumed.err
    );
    std::fs::remove_dir_all(&run).unwrap();
    let words = [
        "observe",
        "p.tsv",
        "--text",
        "a",
        "--out",
        "v.npy",
        "--no-cache",
    ];
    assert_eq!(mary(home.path(), &words).code, 0);
    let vectors = std::fs::read(home.path().join("v.npy")).unwrap();
    std::fs::remove_file(home.path().join("v.npy")).unwrap();
    interrupt(&run_of(home.path()));
    let resumed = mary(home.path(), &["resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert!(resumed.err.contains("writes its files"), "{}", resumed.err);
    assert!(!home.path().join("v.npy").exists());
    assert_eq!(mary(home.path(), &words).code, 0);
    assert_eq!(std::fs::read(home.path().join("v.npy")).unwrap(), vectors);
}

#[test]
fn parquet_is_read_as_the_same_texts_are_read_from_lines() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("t.txt"), "The dog sleeps.\nA cat.\n").unwrap();
    let lines = mary(home.path(), &["score", "t.txt", "--by", "token"]);
    let made = mary(home.path(), &["score", "t.txt", "--out", "p/test.parquet"]);
    assert_eq!(made.code, 0, "{}", made.err);
    // As one file, and as a folder the way datasets are saved.
    for place in ["p/test.parquet", "p"] {
        let rows = mary(home.path(), &["score", place, "--by", "token"]);
        assert_eq!(rows.code, 0, "{}", rows.err);
        assert_eq!(rows.out, lines.out, "{place}");
    }
    let absent = mary(home.path(), &["score", "p", "--text", "sentence"]);
    assert_eq!(absent.code, 2);
    assert!(
        absent.err.contains("p:1: there is no column `sentence`"),
        "{}",
        absent.err
    );
}

#[test]
fn a_long_file_is_wrong_on_its_last_line_and_nothing_is_begun() {
    let home = tempfile::tempdir().unwrap();
    let mut rows = String::from("id,text\n");
    for n in 0..50_000 {
        rows.push_str(&format!("i{n},A dog.\n"));
    }
    std::fs::write(home.path().join("long.csv"), format!("{rows}i7,A cat.\n")).unwrap();
    let got = mary(home.path(), &["score", "long.csv"]);
    assert_eq!(got.code, 4);
    assert!(
        got.err
            .contains("long.csv:50002: duplicate id `i7` (first on line 9)"),
        "{}",
        got.err
    );
    let mut bytes = rows.into_bytes();
    bytes.extend_from_slice(b"last,\xff\n");
    std::fs::write(home.path().join("long.csv"), bytes).unwrap();
    let got = mary(home.path(), &["score", "long.csv", "--limit", "10"]);
    assert_eq!(got.code, 4);
    assert!(
        got.err
            .contains("long.csv:50002: byte 6 is not valid UTF-8"),
        "{}",
        got.err
    );
    assert!(!home.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn a_masked_model_takes_part_in_minimal_pairs() {
    let home = tempfile::tempdir().unwrap();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bert = crates.join("run/mary-lab/tests/texts/golden/bert");
    let model = format!("hf/{}", bert.canonicalize().unwrap().display());
    let task = crates.join("../docs/examples/agreement.toml");
    let task = task.display().to_string();
    // Own pairs as a task file, BLiMP's kind of pairs, and a plain file.
    for words in [
        &["run", "-m", &model, "-t", &task, "--no-report"][..],
        &[
            "run",
            "-m",
            &model,
            "-t",
            "psychometric/grammar",
            "--limit",
            "8",
            "--no-report",
        ],
    ] {
        let got = mary(home.path(), words);
        assert_eq!(got.code, 0, "{words:?}: {}", got.err);
        assert!(got.out.contains("8"), "{}", got.out);
    }
    std::fs::write(
        home.path().join("p.csv"),
        "good,bad\nThe dogs run.,The dogs runs.\n",
    )
    .unwrap();
    let got = mary(
        home.path(),
        &["score", "p.csv", "-m", &model, "--pair", "good,bad"],
    );
    assert_eq!(got.code, 0, "{}", got.err);
    assert!(
        got.out.contains("Kauf"),
        "the convention stands beside it: {}",
        got.out
    );
}

#[test]
fn start_tokens_are_shown_and_compared() {
    let home = tempfile::tempdir().unwrap();
    let rows = "good,bad\nthe dog sleeps.,the dog sleep.\nthe dogs sleep.,the dogs sleeps.\n";
    std::fs::write(home.path().join("p.csv"), rows).unwrap();
    let words = ["score", "p.csv", "--pair", "good,bad"];
    let one = mary(home.path(), &words);
    assert_eq!(one.code, 0, "{}", one.err);
    assert!(
        one.out
            .lines()
            .next()
            .unwrap()
            .ends_with(",start_token,scoring")
    );
    let first = |line: &str| {
        let cells: Vec<&str> = line.rsplitn(3, ',').collect();
        cells[1].to_owned()
    };
    let token = first(one.out.lines().nth(1).unwrap());
    assert!(token.contains(" (id "), "{token}");
    // By three conventions side by side, each named; two that put the same token there share a row.
    let by_start = |more: &[&str]| {
        let all = [
            &["score", "p.csv", "--start", "compare", "--format", "jsonl"],
            more,
        ]
        .concat();
        let got = mary(home.path(), &all);
        assert_eq!(got.code, 0, "{}", got.err);
        let rows = got
            .out
            .lines()
            .map(|row| serde_json::from_str(row).unwrap());
        (rows.collect::<Vec<serde_json::Value>>(), got.err)
    };
    let (rows, said) = by_start(&["--pair", "good,bad"]);
    let began = |row: &serde_json::Value| {
        let cell = |name: &str| row[name].as_str().unwrap().to_owned();
        (cell("start_convention"), cell("start_token"))
    };
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert_eq!(began(&rows[0]), ("auto, harness".to_owned(), token.clone()));
    assert_eq!(began(&rows[1]), ("none".to_owned(), "nothing".to_owned()));
    assert_ne!(rows[0]["margin"], rows[1]["margin"]);
    assert!(
        said.contains("auto and harness put the same token"),
        "{said}"
    );
    assert!(
        said.contains("no verdict depends on the start token"),
        "{said}"
    );
    let (rows, _) = by_start(&["--text", "good", "--by", "word"]);
    assert_eq!(began(&rows[0]).0, "auto, harness");
    let wrong = mary(home.path(), &[&words[..], &["--start", "allways"]].concat());
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(
        wrong.err.contains("compare, auto, harness"),
        "{}",
        wrong.err
    );
    let unknown = mary(
        home.path(),
        &[&words[..], &["--start", "<nowhere>"]].concat(),
    );
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""));
    assert!(
        unknown.err.contains("no token `<nowhere>`"),
        "{}",
        unknown.err
    );
    let card = mary(home.path(), &["models", "show", "builtin/nano"]);
    let shown = card
        .out
        .lines()
        .find(|l| l.trim_start().starts_with("start:"));
    assert!(shown.unwrap().contains(" (id "), "{}", card.out);
}

#[test]
fn a_run_of_an_earlier_program_goes_on_with_its_own_start_token() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("t.txt"), "The dog sleeps.\nA cat.\n").unwrap();
    let words = ["score", "t.txt", "--by", "word"];
    let old = mary(home.path(), &[&words[..], &["--start", "always"]].concat());
    assert_eq!(old.code, 0, "{}", old.err);
    // The command as it was given when `always` was the default, and nobody wrote it down.
    let run = run_of(home.path());
    let path = run.join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["tasks"][0]["conventions"]["start"], "always");
    let command = manifest["command"].as_array_mut().unwrap();
    command.retain(|w| w != "--start" && w != "always");
    manifest["tasks"][0]["asked"]
        .as_object_mut()
        .unwrap()
        .remove("start");
    std::fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    interrupt(&run);
    let resumed = mary(home.path(), &["resume", run.to_str().unwrap()]);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!(resumed.out, old.out);
}

/// The mean is over the words that have a score, as it is over the tokens that have one.
#[test]
fn a_first_word_without_a_score_is_no_part_of_the_mean() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("t.txt"), "the dog sleeps.\nword\n").unwrap();
    let rows = |words: &[&str]| {
        let all = [&["score", "t.txt", "--format", "jsonl"], words].concat();
        let got = mary(home.path(), &all);
        assert_eq!(got.code, 0, "{}", got.err);
        let rows = got
            .out
            .lines()
            .map(|row| serde_json::from_str(row).unwrap());
        rows.collect::<Vec<serde_json::Value>>()
    };
    let mean = |words: &[serde_json::Value]| {
        let told = words.iter().filter(|w| w["id"] == "1");
        let told: Vec<f64> = told.filter_map(|w| w["surprisal"].as_f64()).collect();
        (told.len(), told.iter().sum::<f64>() / told.len() as f64)
    };
    for (start, scored) in [("auto", 3), ("none", 2)] {
        let texts = rows(&["--start", start]);
        let (n, expected) = mean(&rows(&["--start", start, "--by", "word"]));
        assert_eq!(n, scored, "{start}");
        let found = texts[0]["surprisal_per_word"].as_f64().unwrap();
        assert!(
            (found - expected).abs() < 1e-9,
            "{start}: {found} {expected}"
        );
        // A text of one word without a score has no mean.
        assert_eq!(texts[1]["surprisal_per_word"].is_null(), start == "none");
    }
}

/// The tutorial of docs/designs.md, command by command.
#[test]
fn a_table_becomes_a_figure_with_an_interaction() {
    let home = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/examples");
    for name in ["attraction.toml", "attraction.csv"] {
        std::fs::copy(examples.join(name), home.path().join(name)).unwrap();
    }
    let asked = mary(
        home.path(),
        &["run", "-m", "builtin/nano", "-t", "attraction.toml"],
    );
    assert_eq!(asked.code, 0, "{}", asked.err);
    let report = mary(home.path(), &["report", "--out", "attraction.html"]);
    assert_eq!(report.code, 0, "{}", report.err);
    let page = std::fs::read_to_string(home.path().join("attraction.html")).unwrap();
    assert!(page.contains("attractor × match, region verb"));
    assert!(page.contains("own/attraction: region verb"));
    let regions = "score attraction.csv --text sentence --marks --by region --keep item,attractor,match -m builtin/nano --out regions.csv";
    let scored = mary(home.path(), &regions.split(' ').collect::<Vec<_>>());
    assert_eq!(scored.code, 0, "{}", scored.err);
    let formula = "surprisal ~ attractor * match + (1 | item)";
    let fit = mary(home.path(), &["fit", formula, "regions.csv", "--json"]);
    assert_eq!(fit.code, 0, "{}", fit.err);
    let fit: serde_json::Value = serde_json::from_str(&fit.out).unwrap();
    assert_eq!(fit["fit"]["rows"], 48);
    // The mixed model's interaction and the mean of the items' differences of differences are one number in a balanced design.
    let names = fit["fit"]["names"].as_array().unwrap();
    let at = names
        .iter()
        .position(|n| n == "attractor[singular]:match[good]");
    let crossed = fit["fit"]["estimates"][at.unwrap()].as_f64().unwrap();
    let tables = mary(
        home.path(),
        &[
            "run",
            "-m",
            "builtin/nano",
            "-t",
            "attraction.toml",
            "--json",
        ],
    );
    let run: serde_json::Value = serde_json::from_str(&tables.out).unwrap();
    let measures = run["rows"][0]["measures"].as_array().unwrap();
    let name = "attractor × match, region verb, bits";
    let own = measures.iter().find(|m| m["name"] == name).unwrap();
    let value = own["estimate"]["value"].as_f64().unwrap();
    assert!((value - crossed).abs() < 1e-4, "{value} {crossed}");
}

#[test]
fn reading_times_are_explained_by_columns_and_by_a_model() {
    let home = tempfile::tempdir().unwrap();
    let mut rows = "sentence,position,word,rt,given,noise,freq\n".to_owned();
    let (mut state, words) = (
        11u64,
        ["the", "dog", "sleeps", "in", "a", "garden", "today"],
    );
    let mut draw = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    for sentence in 0..60 {
        for position in 1..=7 {
            let word = words[(draw() * 7.0) as usize];
            let (given, noise, freq) = (10.0 * draw(), draw(), 3.0 + 4.0 * draw());
            let rt = 250.0 + 8.0 * given + 3.0 * word.len() as f64 + 40.0 * draw();
            rows += &format!("{sentence},{position},{word},{rt},{given},{noise},{freq}\n");
        }
    }
    std::fs::write(home.path().join("t.csv"), rows).unwrap();
    let line = "reading t.csv -m builtin/nano --measure rt --position position --frequency freq --predictors given,noise --spill 1 --json";
    let said = mary(home.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(said.code, 0, "{}", said.err);
    let found: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (&found["words"], &found["sentences"]),
        (&360.into(), &60.into())
    );
    let gain = |at: usize| {
        let gain = &found["added"][at]["gain"];
        ["low", "high"].map(|side| gain[side].as_f64().unwrap())
    };
    let names: Vec<&str> = (0..3)
        .map(|at| found["added"][at]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["builtin/nano", "given", "noise"]);
    assert!(gain(1)[0] > 0.5, "{:?}", gain(1));
    // Words were drawn without regard to sense, and times without regard to the model.
    assert!(gain(0)[0] < 0.0 && gain(2)[0] < 0.0);
    let slope = &found["added"][1]["slopes"][0];
    assert!((slope["value"].as_f64().unwrap() - 8.0).abs() < 0.5);
    // Over checkpoints, a page with both curves.
    let line = "reading t.csv -m builtin/nano@step64,builtin/nano --measure rt --position position --frequency freq --out page.html";
    let said = mary(home.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(said.code, 0, "{}", said.err);
    let page = std::fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("Gain against mean surprisal") && page.contains("builtin/nano@step64"));
    let wrong = mary(
        home.path(),
        &[
            "reading",
            "t.csv",
            "--measure",
            "time",
            "--no-model",
            "--predictors",
            "given",
        ],
    );
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

#[test]
fn words_come_from_a_column_where_there_are_no_blanks() {
    let home = tempfile::tempdir().unwrap();
    let rows = "text,cut\n我喜欢猫,我 喜欢 猫\n";
    std::fs::write(home.path().join("t.csv"), rows).unwrap();
    let line = "score t.csv --by word --words cut --predictors --next 1 --rank";
    let said = mary(home.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(said.code, 0, "{}", said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", said.out);
    assert!(lines[0].contains("rank,length,frequency,surprisal_next_1"));
    assert!(lines[2].contains(",2,喜欢,3,9,"), "{}", lines[2]);
    std::fs::write(home.path().join("t.csv"), rows.replace("喜欢 猫", "喜 猫")).unwrap();
    let wrong = mary(home.path(), &line.split(' ').collect::<Vec<_>>());
    assert_eq!(wrong.code, 4);
    assert!(
        wrong
            .err
            .contains("word 3 is `猫`, and the text goes on `欢猫`"),
        "{}",
        wrong.err
    );
}
