//! What a person reads when a run ends.

use crate::fixture;

use mary_report::terminal::{self, TableStyle};

#[test]
fn one_model_gets_a_row_per_task() {
    let bench = fixture::bench(&["builtin/tiny"], 60);
    insta::assert_snapshot!(terminal::table(&bench.run, TableStyle::default()));
}

#[test]
fn several_models_get_a_column_each_and_wide_characters_stay_aligned() {
    let bench = fixture::bench(&["builtin/tiny", "local/通义千问"], 60);
    insta::assert_snapshot!(terminal::table(&bench.run, TableStyle::default()));
}

#[test]
fn columns_that_do_not_fit_become_rows() {
    let bench = fixture::usual();
    let style = TableStyle {
        color: false,
        width: Some(100),
    };
    let text = terminal::table(&bench.run, style);
    for line in text.lines().skip(1) {
        assert!(line.chars().count() <= 100, "{line}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn colour_is_asked_for_and_never_the_only_mark() {
    let bench = fixture::bench(&["remote/large"], 60);
    let bare = terminal::table(&bench.run, TableStyle::default());
    let dressed = terminal::table(
        &bench.run,
        TableStyle {
            color: true,
            width: None,
        },
    );
    assert!(!bare.contains('\u{1b}'));
    assert!(dressed.contains('\u{1b}'));
    assert!(bare.contains('▲'));
}

#[test]
fn a_name_cannot_write_to_the_terminal() {
    let mut bench = fixture::bench(&["builtin/tiny"], 20);
    bench.run.rows[0].task = "htest/\u{1b}]0;owned\u{7}".into();
    let text = terminal::table(&bench.run, TableStyle::default());
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
    assert!(text.contains("<U+001B>"));
}

#[test]
fn machines_get_every_row_with_its_verdict() {
    let bench = fixture::usual();
    let json: serde_json::Value =
        serde_json::from_str(&terminal::json(&bench.run).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), bench.run.rows.len());
    assert_eq!(rows[0]["source"], "fresh");
    assert_eq!(rows[0]["scale"], "proportion");
    assert_eq!(rows[5]["scale"], "plain");
    assert!(rows.iter().any(|r| r["versus_chance"] == "above"));
    let low = rows[0]["score"]["low"].as_f64().unwrap();
    assert_eq!(low, bench.run.rows[0].score.as_ref().unwrap().low);
}

#[test]
fn a_run_without_rows_says_so() {
    let mut bench = fixture::bench(&["builtin/tiny"], 20);
    bench.run.rows.clear();
    bench.run.complete = false;
    let text = terminal::table(&bench.run, TableStyle::default());
    assert!(text.contains("No sample has been judged yet"));
    assert!(text.contains("incomplete"));
}

/// A run of these models in which one score may come from counting tokens.
fn at_the_floor(models: &[&str]) -> fixture::Bench {
    use mary_contract::{Estimate, FLOOR, Measure, OVER_FLOOR};
    let mut bench = fixture::bench(models, 60);
    let estimate = |value: f64, half: f64| Estimate {
        value,
        low: value - half,
        high: value + half,
        n: 13,
        method: "clustered-t".into(),
    };
    let row = &mut bench.run.rows[5];
    row.chance = Some(0.0);
    row.score = Some(estimate(0.474, 0.11));
    row.measures = [(FLOOR, 0.471), (OVER_FLOOR, 0.003)]
        .map(|(name, value)| Measure::new(name, estimate(value, 0.1)))
        .into();
    bench
}

/// Issue 37: the floor of a correlation was printed in percent, under a mark that named the interval.
#[test]
fn the_floor_of_a_correlation_is_no_percentage() {
    let bench = at_the_floor(&["builtin/tiny"]);
    let text = terminal::table(&bench.run, TableStyle::default());
    assert!(text.contains("counting tokens scores 0.471"), "{text}");
    assert!(text.contains("[0.364, 0.584]   ◇"), "{text}");
    assert!(text.contains("◇ may come from counting tokens"), "{text}");
}

/// What a score is held against is no answer that was not counted.
#[test]
fn the_floor_has_a_heading_of_its_own() {
    let bench = at_the_floor(&["builtin/tiny", "builtin/large"]);
    let text = terminal::table(&bench.run, TableStyle::default());
    let (before, after) = text.split_once("\nAbout the scores:\n").unwrap();
    let (_, not_counted) = before.split_once("\nNot counted as wrong:\n").unwrap();
    assert!(!not_counted.contains("counting tokens"), "{text}");
    let first = after.lines().next().unwrap();
    assert!(first.ends_with("counting tokens scores 0.471"), "{text}");
}

#[test]
fn the_first_words_of_a_report_mention_scores_at_the_floor() {
    let bench = at_the_floor(&["builtin/tiny"]);
    let mut page = Vec::new();
    let options = mary_report::html::ReportOptions::default();
    let runs = [bench.run.clone()];
    mary_report::html::report(&runs, &[], &mut bench.tagged(), &options, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let said = "1 other differs from it, but not from what counting tokens scores (◇)";
    assert!(page.contains(said));
}
