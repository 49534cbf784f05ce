//! Exhibits from summaries as the engine writes them: only what was run is drawn, and nothing
//! published is taken for ours.

use mary_contract::{Breakdown, Capabilities, Measure, ModelSettings, RunManifest, TaskRun, Usage};

use super::*;

fn estimate(value: f64) -> Estimate {
    Estimate {
        value,
        low: value - 0.05,
        high: value + 0.05,
        n: 3,
        method: "student-t".into(),
    }
}

fn row(model: &str, task: &str, score: f64, measures: &[(&str, f64)]) -> SummaryRow {
    SummaryRow {
        model: model.into(),
        task: format!("psychometric/{task}"),
        score: Some(estimate(score)),
        chance: Some(0.125),
        human: None,
        samples: 3,
        scored: 3,
        ties: 0,
        constant_answer: None,
        chance_test: None,
        unscored: BTreeMap::new(),
        failed: BTreeMap::new(),
        measures: measures
            .iter()
            .map(|(name, value)| Measure::new(*name, estimate(*value)))
            .collect(),
        breakdowns: vec![Breakdown {
            tag: "size".into(),
            values: [("progression".to_owned(), estimate(0.5))].into(),
        }],
        usage: Usage::default(),
    }
}

fn run(rows: Vec<SummaryRow>, shots: usize) -> RunSummary {
    let settings = TaskSettings {
        shots: (shots > 0).then_some(shots),
        ..TaskSettings::default()
    };
    let mut models: Vec<ModelCard> = Vec::new();
    let mut tasks: Vec<TaskRun> = Vec::new();
    for row in &rows {
        let model = row.model.parse().unwrap();
        if models.iter().all(|m| m.model != model) {
            models.push(ModelCard::new(model, Capabilities::default()));
        }
        if tasks.iter().all(|t| t.id != row.task) {
            tasks.push(TaskRun {
                id: row.task.clone(),
                version: 1,
                content: None,
                settings: settings.clone(),
                limit: None,
                conventions: BTreeMap::new(),
                dataset_hash: None,
                ..TaskRun::default()
            });
        }
    }
    RunSummary {
        manifest: RunManifest {
            schema: 1,
            id: "x".into(),
            created: String::new(),
            version: String::new(),
            command: vec![],
            models,
            model_settings: ModelSettings::default(),
            judge: None,
            judge_choice: Default::default(),
            execution: Default::default(),
            tasks,
            trials: 1,
            seed: 0,
        },
        rows,
        complete: true,
    }
}

const NUMBERS: [(&str, f64); 16] = [
    ("distance", 0.9),
    ("ratio", 0.6),
    ("size", 0.4),
    ("distance_slope", -0.02),
    ("ratio_drop", 0.7),
    ("size_slope", -0.01),
    ("mds_stress", 0.2),
    ("mds_correlation", 0.7),
    ("max", 0.95),
    ("number_number", 0.9),
    ("number_word", 0.6),
    ("word_word", 0.5),
    ("distance.layer_00", 0.8),
    ("distance.layer_01", 0.9),
    ("cosine_at_distance_1", 0.9),
    ("cosine_at_distance_8", 0.7),
];

fn all() -> Vec<RunSummary> {
    let model = "builtin/nano";
    vec![
        run(
            vec![
                row(model, "numbers", 0.9, &NUMBERS),
                row(
                    model,
                    "matrices",
                    0.3,
                    &[
                        ("sum_logprob", 0.3),
                        ("mean_logprob", 0.25),
                        ("context_blind", 0.125),
                    ],
                ),
                row(model, "typicality-vectors", 0.1, &[("category:bird", 0.2)]),
                row(model, "analogies-vectors", 0.3, &[("cos_add", 0.3)]),
            ],
            0,
        ),
        run(
            vec![row(
                model,
                "typicality-surprisal",
                0.25,
                &[("category:bird", 0.3)],
            )],
            0,
        ),
        run(vec![row(model, "typicality-surprisal", 0.35, &[])], 2),
    ]
}

fn table<'a>(found: &'a Exhibits, id: &str) -> &'a mary_contract::Table {
    found.tables.iter().find(|t| t.id == id).unwrap()
}

#[test]
fn tables_have_our_rows_first_and_published_ones_marked() {
    let found = exhibits(&all());
    for t in &found.tables {
        assert!(t.rows.iter().all(|r| r.len() == t.head.len()), "{}", t.id);
    }
    let three = table(&found, "psychometric-table-3");
    assert_eq!(
        three.rows[0],
        [
            "builtin/nano",
            "0.900",
            "0.600",
            "–",
            "0.100",
            "0.250",
            "0.300",
            "typicality: world, matrices: fresh"
        ]
    );
    assert_eq!(three.published.len(), 23);
    assert_eq!(three.published[0], 1);
    let four = table(&found, "psychometric-table-4");
    assert_eq!(four.rows[0][8], "− + −");
    let seven = table(&found, "psychometric-table-7");
    assert_eq!(seven.rows[0][3].full(), "0.250 (n 3, few · 0.200–0.300)");
    assert_eq!(seven.rows[0][5].full(), "0.350 (n 3, few · 0.300–0.400)");
    assert!(found.tables.iter().all(|t| t.id != "psychometric-table-5"));
    assert!(found.tables.iter().all(|t| t.id != "psychometric-table-6"));
}

#[test]
fn figures_of_layers_and_distances_are_drawn() {
    let found = exhibits(&all());
    let ids: Vec<&str> = found.figures.iter().map(|f| f.id.as_str()).collect();
    for id in [
        "psychometric-numbers-layers",
        "psychometric-numbers-distance",
        "psychometric-typicality",
        "psychometric-matrices-rules",
    ] {
        assert!(ids.contains(&id), "{id} in {ids:?}");
    }
    assert!(!ids.contains(&"psychometric-figure-5"));
    let mut two = all();
    two.push(run(vec![row("gguf/other", "numbers", 0.5, &NUMBERS)], 0));
    let found = exhibits(&two);
    let figure = found
        .figures
        .iter()
        .find(|f| f.id == "psychometric-numbers-layers-distance")
        .unwrap();
    assert_eq!(figure.series.len(), 2);
    assert!(exhibits(&[]).figures.is_empty());
}

#[test]
fn checkpoints_become_figures_5_and_6_and_tables_show_the_last() {
    let rows = [1, 1000, 2000]
        .map(|step| {
            let model = format!("hf/EleutherAI/pythia-70m@step{step}");
            row(&model, "numbers", f64::from(step) / 4000.0, &NUMBERS)
        })
        .to_vec();
    let found = exhibits(&[run(rows, 0)]);
    let figure = |id: &str| found.figures.iter().find(|f| f.id == id).unwrap();
    assert_eq!(figure("psychometric-figure-5").series[0].points.len(), 3);
    assert_eq!(
        figure("psychometric-figure-5").series[0].points[1].x,
        2_097_152_000.0
    );
    assert_eq!(figure("psychometric-figure-6").series.len(), 3);
    let four = table(&found, "psychometric-table-4");
    assert_eq!(four.rows.len() - four.published.len(), 1);
    assert_eq!(four.rows[0][0], "hf/EleutherAI/pythia-70m@step2000");
}

#[test]
fn a_column_of_table_3_is_of_one_question_and_the_rest_is_named() {
    let matrices = |model: &str, layout: &str, value: f64| {
        let mut run = run(vec![row(model, "matrices", value, &[])], 0);
        run.manifest.tasks[0]
            .settings
            .params
            .insert("layout".into(), layout.into());
        run
    };
    // The odd one first: the order of the arguments decides nothing.
    let runs = [
        matrices("hf/a/x", "choices", 0.9),
        matrices("hf/a/x", "paper", 0.2),
        matrices("hf/a/y", "paper", 0.3),
        matrices("hf/a/z", "choices", 0.8),
        matrices("hf/a/w", "paper", 0.4),
    ];
    let found = exhibits(&runs);
    let three = table(&found, "psychometric-table-3");
    let cells: Vec<(&str, &str)> = three.rows[..4].iter().map(|r| (&*r[0], &*r[6])).collect();
    assert_eq!(
        cells,
        [
            ("hf/a/x", "0.200"),
            ("hf/a/y", "0.300"),
            ("hf/a/z", "–"),
            ("hf/a/w", "0.400"),
        ]
    );
    assert!(
        three
            .caption
            .contains("hf/a/z on matrices (layout choices against paper)"),
        "{}",
        three.caption
    );
    // Two results of one model are two rows that say what tells them apart.
    let fluid = table(&found, "psychometric-fluid-reasoning");
    let of_x: Vec<&str> = fluid
        .rows
        .iter()
        .filter(|r| r[0] == "hf/a/x")
        .map(|r| &*r[2])
        .collect();
    assert!(of_x[0].ends_with("(layout = choices)"), "{of_x:?}");
    assert!(of_x[1].ends_with("(layout = paper)"), "{of_x:?}");
}
