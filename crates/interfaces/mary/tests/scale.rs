//! `mary scale` and `mary run --adaptive` as a user types them.

use crate::program::{done, mary};

#[test]
fn a_table_becomes_a_scale_and_too_few_subjects_do_not() {
    let home = tempfile::tempdir().unwrap();
    let table = |subjects: usize| {
        let mut text = String::from("subject,item,score,kind\n");
        for subject in 0..subjects {
            for item in 0..24 {
                // The abler the subject and the easier the item, the likelier: with a little disorder.
                let right = (subject * 5 + item * 7) % 11 + subject > item % 12 + 3;
                text += &format!("s{subject},i{item},{},k{}\n", u8::from(right), item % 4);
            }
        }
        std::fs::write(home.path().join("answers.csv"), text).unwrap();
    };
    table(12);
    let out = done(
        home.path(),
        &["scale", "answers.csv", "--out", "s", "--curve", "1pl"],
    );
    assert!(out.starts_with("one group of subjects"), "{out}");
    assert!(
        out.contains("12 of 12 subjects") && out.contains("s11"),
        "{out}"
    );
    let page = std::fs::read_to_string(home.path().join("s/report.html")).unwrap();
    assert!(page.contains("Wright map") && page.contains("scale-information"));
    let json = done(home.path(), &["scale", "answers.csv", "--json", "-q"]);
    let scale: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        scale["items"][0]["kind"].as_str().map(|k| &k[..1]),
        Some("k")
    );
    table(4);
    let refused = mary(home.path(), &["scale", "answers.csv"]);
    assert!(
        refused.code != 0 && refused.err.contains("fewer than 5 independent"),
        "{}",
        refused.err
    );
}

#[test]
fn items_are_compared_between_groups_by_the_test_asked_for() {
    let home = tempfile::tempdir().unwrap();
    // Item 10 is harder for models, who are otherwise as able as people; `top` 2 makes two marks of every answer.
    let table = |top: usize| {
        let (mut text, mut state) = (String::from("subject,item,score,group\n"), 1u64);
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        for subject in 0..300 {
            let (group, able) = (["people", "models"][subject % 2], 4.0 * draw() - 2.0);
            for item in 0..20 {
                let apart = item == 10 && group == "models";
                let hard = item as f64 / 5.0 - 2.0 + if apart { 2.0 } else { 0.0 };
                let right = 1.0 / (1.0 + (hard - able).exp());
                let score: u8 = (0..top).map(|_| u8::from(draw() < right)).sum();
                text += &format!("s{subject},i{item},{score},{group}\n");
            }
        }
        std::fs::write(home.path().join("answers.csv"), text).unwrap();
    };
    let scale = |test: &str| {
        let asked = [
            "scale",
            "answers.csv",
            "--out",
            test,
            "--dif",
            test,
            "--json",
            "-q",
        ];
        serde_json::from_str::<serde_json::Value>(&done(home.path(), &asked)).unwrap()
    };
    let finding = |found: &serde_json::Value| found["findings"][0].as_str().unwrap().to_owned();
    let differs = |found: &serde_json::Value| {
        let items = found["items"].as_array().unwrap().iter();
        let apart = items.filter(|i| i["only"].is_string());
        let ids = apart.map(|i| (i["id"].clone(), i["compared"]["class"] != "A"));
        ids.collect::<Vec<_>>()
    };
    table(1);
    for (test, name) in [
        ("wald", "(Wald tests)"),
        ("mantel-haenszel", "(Mantel-Haenszel tests)"),
        ("likelihood-ratio", "(likelihood-ratio tests)"),
    ] {
        let found = scale(test);
        let line = finding(&found);
        assert!(line.contains("19 of 20") && line.contains(name), "{line}");
        assert_eq!(
            differs(&found),
            [("i10".into(), true), ("i10".into(), true)]
        );
        let page = std::fs::read_to_string(home.path().join(test).join("report.html")).unwrap();
        assert!(page.contains("scale-differing") && page.contains(name) && page.contains("ETS"));
    }
    // Scores above 1: one of the tests takes them, the others say that they do not.
    table(2);
    assert!(finding(&scale("likelihood-ratio")).contains("19 of 20"));
    let line = finding(&scale("mantel-haenszel"));
    assert!(
        line.contains("cannot be told") && line.contains("scores of 0 and 1"),
        "{line}"
    );
}

#[test]
fn an_adaptive_run_has_its_chapter_and_checkpoints_their_curve() {
    let home = tempfile::tempdir().unwrap();
    let models = [10000, 7000, 5000, 3000, 2000, 1000, 512, 256, 64, 0];
    let models = models.map(|step| format!("builtin/nano@step{step}"));
    let mut run = vec![
        "run",
        "-t",
        "psychometric/grammar-small",
        "-l",
        "90",
        "-q",
        "--no-report",
    ];
    models.iter().for_each(|model| run.extend(["-m", model]));
    done(home.path(), &run);
    let made = std::fs::read_dir(home.path().join("runs")).unwrap();
    let made = made
        .map(|entry| entry.unwrap().path())
        .find(|path| path.join("manifest.json").exists());
    let made = made.unwrap().display().to_string();
    // For the sake of the test every checkpoint is a model of its own.
    let lineages = models.each_ref().map(|model| format!("{model}={model}"));
    let mut scale = vec!["scale", &made, "--out", "s", "-q"];
    lineages
        .iter()
        .for_each(|lineage| scale.extend(["--lineage", lineage]));
    done(home.path(), &scale);
    let page = std::fs::read_to_string(home.path().join("s/report.html")).unwrap();
    assert!(page.contains("scale-development") && page.contains("Ability over training"));
    let out = done(
        home.path(),
        &[
            "run",
            "-m",
            "builtin/nano,builtin/nano@step1000",
            "--adaptive",
            "s",
            "--until",
            "items=20",
            "-q",
        ],
    );
    assert!(
        out.contains("expected %") && out.contains("ability"),
        "{out}"
    );
    let runs = std::fs::read_dir(home.path().join("runs")).unwrap();
    let mut folders = runs.map(|entry| entry.unwrap().path());
    let folder = folders.find(|f| f.join("turns.jsonl").exists()).unwrap();
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Wright map") && page.contains("adaptive-course-"));
    // Shares of the items asked, which were others for each model, are neither tabulated nor compared.
    assert!(page.contains("family-adaptive") && page.contains("Nothing to show beyond the scores"));
    let refused = mary(home.path(), &["compare", &folder.display().to_string()]);
    assert!(
        refused.code == 2 && refused.err.contains("is an adaptive run"),
        "{}",
        refused.err
    );
    let out = done(
        home.path(),
        &["atlas", "runs", "--out", "site", "--no-reports"],
    );
    assert!(out.contains("index.html"), "{out}");
    let table = std::fs::read_to_string(home.path().join("site/index.html")).unwrap();
    assert!(
        !table.contains("20 items"),
        "an adaptive run stands among the others"
    );
    let stranger = mary(
        home.path(),
        &[
            "scale",
            &made,
            "--lineage",
            "nano@step0=other",
            "--out",
            "t",
        ],
    );
    assert!(
        stranger.code != 0 && stranger.err.contains("begins with `nano@step0`"),
        "{}",
        stranger.err
    );
}
