//! A model that sees, as a user grows and asks one: three steps of the smallest size, then the same questions
//! with their own picture and with a blank one.

use crate::program::mary;

#[test]
fn a_model_grown_with_eyes_is_asked_about_pictures() {
    let home = tempfile::tempdir().unwrap();
    let grow = [
        "grow", "--eyes", "--out", "seen", "--size", "pico", "--steps", "3",
    ];
    let grown = mary(home.path(), &grow);
    assert_eq!(grown.code, 0, "{}", grown.err);
    assert!(grown.err.contains("step 3 of 3"), "{}", grown.err);
    for picture in ["picture=own", "picture=blank"] {
        let asked = mary(
            home.path(),
            &[
                "run",
                "-m",
                "hf/./seen/step3",
                "-t",
                "embodied/scenes",
                "--set",
                picture,
                "--set",
                "n=80",
                "--json",
                "--no-report",
                "-q",
            ],
        );
        assert_eq!(asked.code, 0, "{picture}: {}", asked.err);
        let told: serde_json::Value = serde_json::from_str(&asked.out).unwrap();
        let text = told.to_string();
        assert!(text.contains("embodied/scenes"), "{text}");
        assert!(text.contains("\"n\":80"), "all eighty are scored: {text}");
    }
}

#[test]
fn eyes_grow_on_the_processor_alone() {
    let home = tempfile::tempdir().unwrap();
    let said = mary(
        home.path(),
        &["grow", "--eyes", "--out", "x", "--device", "cuda:0"],
    );
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("cuda:0") && said.err.contains("hint"),
        "{}",
        said.err
    );
}
