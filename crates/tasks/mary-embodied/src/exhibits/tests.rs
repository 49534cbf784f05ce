use mary_contract::{
    Breakdown, Capabilities, Estimate, Measure, ModelCard, ModelSettings, RunManifest, SummaryRow,
    Task as _, TaskRun, TaskSettings, Usage,
};

use super::*;
use crate::perceptualqa::PERCEPTUAL_QA;
use crate::sensoryvec::SENSORY_VEC;

fn estimate(value: f64) -> Estimate {
    Estimate {
        value,
        low: value - 0.05,
        high: value + 0.05,
        n: 100,
        method: "wilson".into(),
    }
}

fn settings(pairs: &[(&str, &str)]) -> TaskSettings {
    TaskSettings {
        params: pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        ..TaskSettings::default()
    }
}

fn run(model: &str, task: &str, settings: TaskSettings, row: SummaryRow) -> RunSummary {
    RunSummary {
        manifest: RunManifest {
            schema: 1,
            id: "x".into(),
            created: String::new(),
            version: String::new(),
            command: vec![],
            models: vec![ModelCard::new(
                model.parse().unwrap(),
                Capabilities::default(),
            )],
            model_settings: ModelSettings::default(),
            judge: None,
            judge_choice: Default::default(),
            execution: Default::default(),
            tasks: vec![TaskRun {
                id: task.into(),
                version: 1,
                content: None,
                settings,
                limit: None,
                conventions: Default::default(),
                dataset_hash: None,
                ..TaskRun::default()
            }],
            trials: 1,
            seed: 0,
        },
        rows: vec![row],
        complete: true,
    }
}

fn row(model: &str, task: &str) -> SummaryRow {
    SummaryRow {
        model: model.into(),
        task: task.into(),
        score: Some(estimate(0.6)),
        chance: None,
        human: None,
        samples: 100,
        scored: 90,
        ties: 0,
        constant_answer: None,
        chance_test: None,
        unscored: [("not_applicable".to_owned(), 10)].into(),
        failed: Default::default(),
        measures: vec![],
        breakdowns: vec![],
        usage: Usage::default(),
    }
}

fn breakdown(tag: &str, values: &[(&str, f64)]) -> Breakdown {
    Breakdown {
        tag: tag.into(),
        values: values
            .iter()
            .map(|(v, x)| ((*v).to_owned(), estimate(*x)))
            .collect(),
    }
}

fn qa(model: &str, language: &str, exact: f64) -> RunSummary {
    let id = PERCEPTUAL_QA.card().id.as_ref();
    let mut row = row(model, id);
    let names = [
        "exact",
        "exact[visual]",
        "exact[non-visual]",
        "exact[V-S]",
        "position_bias",
    ];
    row.measures = names
        .map(|name| Measure::new(name, estimate(exact)))
        .to_vec();
    let settings = settings(&[
        ("source", "upstream"),
        ("mode", "generate"),
        ("language", language),
    ]);
    run(model, id, settings, row)
}

fn vec(model: &str, source: &str) -> RunSummary {
    let id = SENSORY_VEC.card().id.as_ref();
    let mut row = row(model, id);
    row.breakdowns = vec![
        breakdown("modality", &[("visual", 0.5), ("non-visual", 0.7)]),
        breakdown("sense", &[("visual", 0.5), ("tactile", 0.65)]),
        breakdown("looks_closer", &[("antonym", 0.4), ("synonym", 0.8)]),
        breakdown("shares_stem", &[("neither", 0.6)]),
        breakdown("attribute", &[("colour", 0.55), ("shape", 0.4)]),
    ];
    row.measures = ["layer_00", "layer_01"]
        .map(|name| Measure::new(name, estimate(0.55)))
        .to_vec();
    run(model, id, settings(&[("source", source)]), row)
}

#[test]
fn nothing_is_shown_for_runs_of_other_families() {
    assert_eq!(exhibits(&[]), Exhibits::default());
}

#[test]
fn published_rows_stand_only_beside_released_items() {
    let own = exhibits(&[vec("hf/m", "own")]);
    assert!(own.tables.iter().all(|t| t.published.is_empty()));
    let released = exhibits(&[vec("hf/m", "upstream")]);
    let table = released
        .tables
        .iter()
        .find(|t| t.id == "embodied-table-4")
        .unwrap();
    assert_eq!(table.published.len(), 16);
    assert_eq!(table.rows[0][2].full(), "60.00 (n 100 · 55–65)");
    assert_eq!(table.rows[0].last().unwrap(), "10");
    let bert = table.rows.iter().find(|r| r[0] == "BERT").unwrap();
    assert_eq!(bert[2..5], ["72.21", "70.44", "74.66"]);
    let figures: Vec<&str> = released.figures.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(
        figures,
        [
            "embodied-figure-2a",
            "embodied-figure-2a-visual",
            "embodied-layers"
        ]
    );
}

#[test]
fn every_row_is_as_long_as_its_head() {
    let runs = [
        qa("hf/m", "en", 0.5),
        qa("hf/m", "zh", 0.4),
        qa(crate::PEOPLE, "en", 0.86),
        vec("hf/m", "upstream"),
    ];
    let shown = exhibits(&runs);
    let ids: Vec<&str> = shown.tables.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "embodied-table-4",
            "embodied-attributes",
            "embodied-form",
            "embodied-table-5",
            "embodied-table-14",
            "embodied-table-12"
        ]
    );
    let pair = ("hf/m".to_owned(), crate::PEOPLE.to_owned());
    let more = before_after(&runs, &[pair]);
    assert_eq!(more.len(), 2);
    for table in shown.tables.iter().chain(&more) {
        for row in &table.rows {
            assert_eq!(row.len(), table.head.len(), "{}: {row:?}", table.id);
        }
    }
    // The paper's reading, not the score of 60 %; people come first.
    let five = &shown.tables[3];
    assert_eq!(five.rows[0][0], crate::PEOPLE);
    assert_eq!(five.rows[1][2].full(), "50.00 (n 100 · 45–55)");
    assert_eq!(five.rows[1][5], "60.00");
    let twelve = &shown.tables[5];
    assert_eq!(twelve.rows[0][1], "en");
    assert_eq!(twelve.rows[1][1], "zh");
    let boxes = shown
        .figures
        .iter()
        .find(|f| f.id == "embodied-figure-2b")
        .unwrap();
    let names: Vec<&str> = boxes.series.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "models",
            "people",
            "24 models of the paper",
            "people of the paper"
        ]
    );
}

#[test]
fn before_and_after_stand_side_by_side_only_within_one_question() {
    // The tuned model was asked in two languages, the other way round first; the base in one.
    let runs = [
        qa("hf/tuned", "zh", 0.9),
        qa("hf/tuned", "en", 0.5),
        qa("hf/base", "en", 0.4),
    ];
    let pair = ("hf/tuned".to_owned(), "hf/base".to_owned());
    let shown = before_after(&runs, std::slice::from_ref(&pair));
    let overall = &shown[1];
    let measured = overall.rows.len() - overall.published.len();
    assert_eq!(measured, 1);
    assert_eq!(overall.rows[0][2..], ["40.00", "50.00"]);
    assert!(
        shown[0]
            .caption
            .contains("Left out: hf/tuned (published zh"),
        "{}",
        shown[0].caption
    );
    assert!(before_after(&[runs[0].clone(), runs[2].clone()], &[pair]).is_empty());
}
