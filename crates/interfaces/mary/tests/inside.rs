//! `patch`, `lens`, `steer`, `probe` and `observe --pool none` on the whole program: what is written, and what is refused
//! before a model is opened.

use std::path::Path;

use super::program::{done, mary};

const PAIRS: &str = "id,clean,corrupted,good,bad
a,The men near the dog,The man near the dog,are,is
b,The woman near the cat,The women near the cat,is,are
c,The children near the girl,The child near the girl,are,is
d,The man near the boy,The men near the boy,is,are
";

fn write(home: &Path, name: &str, text: &str) {
    std::fs::write(home.join(name), text).unwrap();
}

#[test]
fn pairs_are_patched_into_a_page_a_table_and_json() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    write(home, "pairs.csv", PAIRS);
    let out = done(home, &["patch", "pairs.csv", "-q", "--out", "found"]);
    assert!(out.contains("4 pairs") && out.contains("-4 men …"), "{out}");
    let table = std::fs::read_to_string(home.join("found/cells.csv")).unwrap();
    assert!(
        table.starts_with("model,layer,place,effect,effect_low,effect_high"),
        "{table}"
    );
    let page = std::fs::read_to_string(home.join("found/report.html")).unwrap();
    assert!(page.contains("random direction") && page.contains("untrained model"));
    let json = std::fs::read(home.join("found/patch.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    // The untrained twin stands beside every cell.
    let cells = json[0]["cells"].as_array().unwrap();
    assert!(
        cells
            .iter()
            .all(|c| c["controls"]["untrained model"]["value"].is_number())
    );
    let lens = done(
        home,
        &[
            "lens",
            "pairs.csv",
            "--text",
            "clean",
            "--columns",
            "good,bad",
            "-q",
            "--out",
            "lens",
        ],
    );
    assert!(lens.contains("rank") && lens.contains("good"), "{lens}");
    assert!(home.join("lens/texts.csv").is_file());
}

#[test]
fn a_direction_is_saved_as_a_control_vector_and_read_again() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    write(
        home,
        "texts.csv",
        "text,good,bad\nthe dog,are,is\nthe cat,are,is\nthe horse,are,is\n",
    );
    write(
        home,
        "sides.csv",
        "positive,negative\nthe girls,the girl\nthe boys,the boy\n",
    );
    let common = ["steer", "texts.csv", "--factors", "1,2", "-q", "--json"];
    let first = done(
        home,
        &[
            &common[..],
            &[
                "--contrast",
                "sides.csv",
                "--layers",
                "2",
                "--save",
                "number.gguf",
            ],
        ]
        .concat(),
    );
    let again = done(home, &[&common[..], &["--vector", "number.gguf"]].concat());
    assert_eq!(first, again);
    let wrong = mary(
        home,
        &[
            "steer",
            "texts.csv",
            "--contrast",
            "sides.csv",
            "--layers",
            "40",
        ],
    );
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(wrong.err.contains("no layer 40"), "{}", wrong.err);
}

#[test]
fn every_token_has_a_vector() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    write(home, "t.txt", "the dog sleeps\nthe cat\n");
    done(
        home,
        &[
            "observe",
            "t.txt",
            "--pool",
            "none",
            "--layers",
            "0,-1",
            "--out",
            "v.parquet",
            "-q",
        ],
    );
    assert!(home.join("v.parquet").metadata().unwrap().len() > 1000);
    // What the heads of the last block attend to.
    done(
        home,
        &[
            "observe",
            "t.txt",
            "--attention",
            "--out",
            "a.parquet",
            "-q",
        ],
    );
    assert!(home.join("a.parquet").metadata().unwrap().len() > 1000);
    for more in [["--pool", "none,mean"], ["--limit", "1"]] {
        let words = [
            &["observe", "t.txt", "--pool", "none", "--out", "v.parquet"][..],
            &more,
        ]
        .concat();
        let said = mary(home, &words);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("stands alone"), "{}", said.err);
    }
}

#[test]
fn what_cannot_be_changed_is_refused_before_anything_is_asked() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    write(home, "pairs.csv", PAIRS);
    // No key is there, none is asked for: the card says it before.
    let remote = mary(
        home,
        &["patch", "pairs.csv", "-m", "builtin/nano,openai/gpt-4o"],
    );
    assert_eq!(remote.code, 2, "{}", remote.err);
    assert!(
        remote
            .err
            .contains("openai/gpt-4o: values inside it cannot be changed"),
        "{}",
        remote.err
    );
    let heads = mary(
        home,
        &["patch", "pairs.csv", "--site", "heads", "--at", "-9"],
    );
    assert!(
        heads.code == 2 && heads.err.contains("no place `-9`"),
        "{}",
        heads.err
    );
    let none = mary(home, &["lens", "pairs.csv", "--text", "clean"]);
    assert!(
        none.code == 2 && none.err.contains("--words"),
        "{}",
        none.err
    );
}
