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
            "builtin/nano",
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
    let pages = runs.filter_map(|entry| {
        std::fs::read_to_string(entry.unwrap().path().join("report.html")).ok()
    });
    let pages: Vec<String> = pages.collect();
    assert!(
        pages
            .iter()
            .any(|page| page.contains("Wright map") && page.contains("adaptive-course-"))
    );
}
