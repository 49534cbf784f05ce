//! Everyday messages: names that the user gave, counts, estimates, hints, what is shown again at once, and
//! lists that one broken folder does not hide.

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::program::{done, mary, program, said};

const RUN: [&str; 6] = [
    "run",
    "-m",
    "s=builtin/nano",
    "-t",
    "htest/palindrome",
    "--limit=4",
];

fn run_folder(home: &Path) -> PathBuf {
    let mut all = std::fs::read_dir(home.join("runs")).unwrap();
    all.next().unwrap().unwrap().path()
}

#[test]
fn a_label_is_used_wherever_a_model_is_named() {
    let home = tempfile::tempdir().unwrap();
    let dry = done(home.path(), &[&RUN[..], &["--dry-run"]].concat());
    assert!(dry.contains("\ns      htest/palindrome"), "{dry}");
    assert!(!dry.contains("builtin/nano"), "{dry}");
    assert_eq!(mary(home.path(), &RUN).code, 0);
    let again = mary(home.path(), &RUN);
    assert!(
        again.err.contains("s: everything is already answered"),
        "{}",
        again.err
    );
    std::fs::write(home.path().join("t.txt"), "The cat sat.\n").unwrap();
    let table = done(home.path(), &["score", "t.txt", "-m", "s=builtin/nano"]);
    let row = table.lines().nth(1).unwrap();
    assert!(row.starts_with("s,"), "{table}");
    std::fs::write(home.path().join("p.tsv"), "a\tb\ncat\tdog\n").unwrap();
    let pairs = ["observe", "p.tsv", "--pair", "a,b", "-m", "s=builtin/nano"];
    let table = done(home.path(), &pairs);
    assert!(table.lines().nth(1).unwrap().starts_with("s,"), "{table}");
    // What a group holds and the model cannot run.
    let group = "run -m s=builtin/nano -t physico/associative* --limit 2 --dry-run";
    let group: Vec<&str> = group.split(' ').collect();
    let left = mary(home.path(), &group);
    assert!(left.err.contains("left out"), "{}", left.err);
    assert!(left.err.contains(": s lacks "), "{}", left.err);
    let refused = mary(home.path(), &[&group[..], &["--strict"]].concat());
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("\n  s on physico/"), "{}", refused.err);
}

#[test]
fn a_dry_run_of_a_local_model_tells_tokens_and_time() {
    let home = tempfile::tempdir().unwrap();
    let words = [&RUN[..], &["--dry-run"]].concat();
    let dry = done(home.path(), &words);
    let row = dry.lines().find(|l| l.starts_with("s ")).unwrap();
    let numbers: Vec<u64> = row
        .split_whitespace()
        .filter_map(|w| w.parse().ok())
        .collect();
    assert!(numbers[0] == 4 && numbers[1] > 100, "{dry}");
    assert!(row.contains("about "), "{dry}");
    assert!(dry.contains("on this machine"), "{dry}");
    assert!(dry.contains("time is a rough estimate"), "{dry}");
    assert!(!dry.contains("price"), "{dry}");
    let json = done(home.path(), &[&words[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rows"][0]["model"], "builtin/nano");
    assert!(json["rows"][0]["estimate"]["seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_finished_run_asked_again_keeps_its_report() {
    let home = tempfile::tempdir().unwrap();
    let first = mary(home.path(), &RUN);
    assert!(first.err.contains("making the report"), "{}", first.err);
    let report = run_folder(home.path()).join("report.html");
    // What it is made from stands behind its end, so that a mark before it stays only if it is kept.
    let text = std::fs::read_to_string(&report).unwrap();
    std::fs::write(&report, format!("<!-- mark -->{text}")).unwrap();
    let again = mary(home.path(), &RUN);
    assert_eq!(again.out, first.out);
    assert!(!again.err.contains("making the report"), "{}", again.err);
    assert!(again.err.contains("report: "), "{}", again.err);
    assert!(
        std::fs::read_to_string(&report)
            .unwrap()
            .starts_with("<!-- mark -->")
    );
    // Another log, another report.
    let log = report.with_file_name("samples.jsonl");
    let lines = std::fs::read_to_string(&log).unwrap();
    let fewer: Vec<&str> = lines.split_inclusive('\n').skip(1).collect();
    std::fs::write(&log, fewer.concat()).unwrap();
    mary(home.path(), &RUN);
    assert!(
        !std::fs::read_to_string(&report)
            .unwrap()
            .starts_with("<!-- mark -->")
    );
}

/// The page at an address of a viewer of this home.
fn viewed(home: &Path, path: &str) -> String {
    let mut viewer = program(home)
        .args(["view", "--port", "0"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut told = std::io::BufReader::new(viewer.stderr.take().unwrap());
    told.read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap();
    let address = address.split_whitespace().next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut page = Vec::new();
    stream.read_to_end(&mut page).unwrap();
    viewer.kill().unwrap();
    viewer.wait().unwrap();
    String::from_utf8_lossy(&page).into_owned()
}

#[test]
fn one_unreadable_run_hides_no_other() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(mary(home.path(), &RUN).code, 0);
    let good = run_folder(home.path());
    let broken = home.path().join("runs/broken");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("manifest.json"), "{\"schema\": 1, ").unwrap();
    let page = viewed(home.path(), "/");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let name = good.file_name().unwrap().to_string_lossy().into_owned();
    assert!(page.contains(&name), "{page}");
    assert!(page.contains("1 run cannot be read"), "{page}");
    assert!(page.contains("runs/broken"), "{page}");
    let list = mary(home.path(), &["runs"]);
    assert_eq!(list.code, 0, "{}", list.err);
    assert!(list.out.contains(&name), "{}", list.out);
    assert!(list.err.contains("runs/broken"), "{}", list.err);
}

#[test]
fn runs_are_listed_in_eighty_columns() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(mary(home.path(), &RUN).code, 0);
    for columns in [None, Some("80")] {
        let mut list = program(home.path());
        list.arg("runs").env_remove("COLUMNS");
        if let Some(columns) = columns {
            list.env("COLUMNS", columns);
        }
        let list = said(&mut list);
        let widest = list.out.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= 80, "{widest}:\n{}", list.out);
    }
}

#[test]
fn one_of_a_thing_is_not_several() {
    let home = tempfile::tempdir().unwrap();
    let ran = mary(home.path(), &RUN);
    assert!(ran.out.contains("s, 1 task, seed 0"), "{}", ran.out);
    std::fs::write(home.path().join("t.txt"), "The cat sat.\nA dog.\n").unwrap();
    let words = ["observe", "t.txt", "--out", "v.npy", "-m", "builtin/nano"];
    let observed = mary(home.path(), &words);
    assert_eq!(observed.code, 0, "{}", observed.err);
    assert!(observed.err.contains("2 samples in"), "{}", observed.err);
    assert!(!observed.err.contains("unscored"), "{}", observed.err);
}

#[test]
fn every_name_that_is_listed_can_be_shown() {
    let home = tempfile::tempdir().unwrap();
    let listed = done(home.path(), &["models"]);
    let mut names = Vec::new();
    let mut lines = listed.lines();
    for line in lines.by_ref() {
        if line.starts_with("catalogue") {
            break;
        }
        let indent = line.len() - line.trim_start().len();
        if indent == 2 || (indent == 6 && line.contains('/')) {
            names.extend(line.split_whitespace().next());
        }
    }
    let catalogue = lines.filter(|l| l.starts_with("  ") && !l.starts_with("   "));
    names.extend(catalogue.filter_map(|l| l.split_whitespace().next()));
    assert!(
        names.contains(&"builtin/nano") && names.len() > 15,
        "{names:?}"
    );
    for name in names {
        let shown = said(
            program(home.path())
                .args(["models", "show", name])
                .env("HF_HOME", home.path().join("hf"))
                .env("HF_HUB_OFFLINE", "1")
                .env("XDG_CACHE_HOME", home.path().join("xdg")),
        );
        assert_eq!(shown.code, 0, "{name}: {}", shown.err);
        assert!(shown.out.contains(name), "{name}: {}", shown.out);
    }
}

#[test]
fn a_hint_can_be_followed() {
    let home = tempfile::tempdir().unwrap();
    let typed = mary(home.path(), &["rnu"]);
    assert_eq!(typed.code, 2);
    assert!(
        typed.err.contains("did you mean `mary run`?"),
        "{}",
        typed.err
    );
    assert!(
        !typed.err.contains("runs"),
        "one command, not two: {}",
        typed.err
    );
    let words = [
        "run",
        "-m",
        "anthropic/claude-sonnet-4",
        "-t",
        "htest/palindrome",
    ];
    let refused = mary(home.path(), &words);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(
        refused.err.contains("`--set mode=generate`"),
        "{}",
        refused.err
    );
    assert!(!refused.err.contains("max_tokens"), "{}", refused.err);
    assert!(!refused.err.contains("builtin/nano"), "{}", refused.err);
    let words = ["run", "-m", "openai/gpt-4o", "-t", "psychometric/grammar"];
    let refused = mary(home.path(), &words);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(!refused.err.contains("builtin/nano"), "{}", refused.err);
    assert!(refused.err.contains("open weights"), "{}", refused.err);
}

#[test]
fn contact_sheets_lie_in_a_folder_of_their_own() {
    let home = tempfile::tempdir().unwrap();
    let concepts = ["--concept", "gravity", "--concept", "mirror"];
    let printed = done(
        home.path(),
        &[&["physico", "sheet"][..], &concepts].concat(),
    );
    assert_eq!(printed.trim(), "physico-sheet/sheet-01.png");
    let mut there = std::fs::read_dir(home.path()).unwrap().flatten();
    assert!(
        there.all(|entry| entry.path().is_dir()),
        "no file beside it"
    );
    let words = [&["physico", "sheet", "--out", "one.png"][..], &concepts].concat();
    assert_eq!(done(home.path(), &words).trim(), "one.png");
}

/// A limit on the size of files is what a full disk is to a program. It lies between what a run writes here and
/// the index that SQLite maps into memory: the cache alone meets it.
#[test]
fn a_full_cache_disk_stops_a_run_that_can_go_on() {
    let home = tempfile::tempdir().unwrap();
    let limited = "trap '' XFSZ; ulimit -f 24 || exit 77; exec \"$@\"";
    let mut bash = std::process::Command::new("bash");
    let ran = bash
        .args(["-c", limited, "bash", env!("CARGO_BIN_EXE_mary")])
        .args(RUN)
        .args(["--quiet", "--no-report"])
        .current_dir(home.path())
        .env("MARY_RUNS", home.path().join("runs"))
        .env("MARY_CACHE_DIR", home.path().join("cache"))
        .env_remove("MARY_MODEL")
        .output();
    let Some(ran) = ran.ok().filter(|ran| ran.status.code() != Some(77)) else {
        mary_testkit::lacking::skip(mary_testkit::lacking::Lacking::Terminal, "no bash");
        return;
    };
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(5), "{err}");
    assert!(err.contains("answers.sqlite"), "{err}");
    let again = mary(home.path(), &RUN);
    assert_eq!(again.code, 0, "{}", again.err);
}

/// One machine, one output path each: the folders are brought together afterwards.
#[test]
fn shards_of_several_machines_are_merged() {
    let home = tempfile::tempdir().unwrap();
    let shard = |index: usize| {
        let runs = home.path().join(format!("machine-{index}"));
        let part = format!("{index}/2");
        let mut words = program(home.path());
        words
            .args(RUN)
            .args(["--shard", &part, "--quiet"])
            .env("MARY_RUNS", &runs)
            .env("TMPDIR", home.path());
        let ran = said(&mut words);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let mut all = std::fs::read_dir(runs).unwrap();
        all.next().unwrap().unwrap().path().display().to_string()
    };
    let (first, second) = (shard(0), shard(1));
    let merged = mary(home.path(), &["merge", &first, "--into", "half"]);
    assert_eq!(merged.code, 1, "{}", merged.err);
    assert!(
        merged.err.contains("of 4 samples are missing"),
        "{}",
        merged.err
    );
    let merged = mary(home.path(), &["merge", &first, &second, "--into", "whole"]);
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert!(merged.err.contains("4 samples"), "{}", merged.err);
    std::fs::write(
        Path::new(&first).join("shards/000-of-002/samples.jsonl"),
        "",
    )
    .unwrap();
    let nothing = mary(home.path(), &["merge", &first, "--into", "nothing"]);
    assert_ne!(nothing.code, 0);
    assert!(nothing.err.contains("nothing to join"), "{}", nothing.err);
}

#[test]
fn doctor_names_what_would_fail_and_shows_no_key() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("t.txt"), "a file").unwrap();
    let mut well = program(home.path());
    let well = said(well.arg("doctor").env("OPENAI_API_KEY", "secret-4711"));
    assert_eq!(well.code, 0, "{}", well.out);
    assert!(well.out.contains("Runs will work."), "{}", well.out);
    assert!(well.out.contains("OPENAI_API_KEY"), "{}", well.out);
    assert!(!well.out.contains("4711"), "{}", well.out);
    let left = std::fs::read_dir(home.path()).unwrap().count();
    assert_eq!(left, 1, "it leaves nothing behind");

    let mut ill = program(home.path());
    ill.args(["doctor", "--output-path", "t.txt/runs"]);
    let ill = said(ill.env("MARY_CPU", "fast"));
    assert_eq!(ill.code, 4, "{}", ill.out);
    for part in [
        "NO  processor",
        "NO  runs",
        "MARY_CPU=fast",
        "Runs will fail",
    ] {
        assert!(ill.out.contains(part), "{part}: {}", ill.out);
    }
}

#[test]
fn a_table_is_fitted_and_a_gap_is_not_a_level() {
    let home = tempfile::tempdir().unwrap();
    let mut rows = String::from("rt,cond,person,age\n");
    for person in 0..6 {
        for trial in 0..8 {
            // The second condition takes 60 longer; persons differ by 20, trials scatter around zero.
            let scatter = [3.0, -5.0, 2.0, 4.0, -4.0, 6.0, -1.0, -5.0][(trial + person) % 8];
            let rt = 300.0 + 20.0 * person as f64 + 60.0 * (trial % 2) as f64 + scatter;
            let cond = ["a", "b"][trial % 2];
            rows += &format!(
                "{rt},{cond},p{person},{}\n",
                if person == 3 { "NA" } else { "30" }
            );
        }
    }
    std::fs::write(home.path().join("t.csv"), rows).unwrap();
    let fit = ["fit", "rt ~ cond + (1 | person)", "t.csv"];
    let shown = done(home.path(), &fit);
    assert!(
        shown.contains("cond[b]") && shown.contains("48 rows"),
        "{shown}"
    );
    let told: serde_json::Value =
        serde_json::from_str(&done(home.path(), &[&fit[..], &["--json"]].concat())).unwrap();
    let effect = told["fit"]["estimates"][1].as_f64().unwrap();
    assert!((effect - 60.0).abs() < 4.0, "{effect}");
    let smaller = ["--against", "rt ~ 1 + (1 | person)"];
    let shown = done(home.path(), &[&fit[..], &smaller].concat());
    assert!(
        shown.contains("1 degree(s) of freedom, p < .001"),
        "{shown}"
    );
    let shown = done(home.path(), &[&fit[..], &["--bootstrap", "100"]].concat());
    assert!(
        shown.contains("intervals from 100 refitted draws"),
        "{shown}"
    );
    let gap = mary(home.path(), &["fit", "rt ~ age + (1 | person)", "t.csv"]);
    assert_eq!(gap.code, 2, "{}", gap.err);
    assert!(gap.err.contains("none in row 25 of `age`"), "{}", gap.err);
}
