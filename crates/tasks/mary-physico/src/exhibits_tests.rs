use std::collections::BTreeMap;

use mary_contract::{
    Breakdown, Estimate, Measure, ModelSettings, RunManifest, RunSummary, SummaryRow, TaskRun,
    TaskSettings, Usage,
};

use super::*;

fn estimate(value: f64) -> Estimate {
    Estimate {
        value,
        low: (value - 0.1).max(0.0),
        high: (value + 0.1).min(1.0),
        n: 4,
        method: "wilson".into(),
    }
}

/// A row with these accuracies by split and by pair, and a deviation over three runs.
fn row(task: &str, splits: &[(&str, f64)], pairs: &[(&str, f64)]) -> SummaryRow {
    let mut measures = vec![];
    let mut tags: BTreeMap<&str, BTreeMap<String, Estimate>> = BTreeMap::new();
    for (tag, values) in [("split", splits), ("pair", pairs)] {
        for (value, accuracy) in values {
            measures.push(Measure::new(
                format!("accuracy[{tag}={value}]"),
                estimate(*accuracy),
            ));
            measures.push(Measure::new(
                format!("sd_over_runs[{tag}={value}]"),
                estimate(0.025),
            ));
            tags.entry(tag)
                .or_default()
                .insert((*value).to_owned(), estimate(*accuracy));
        }
    }
    SummaryRow {
        model: "test/parrot".into(),
        task: task.into(),
        score: Some(estimate(0.5)),
        chance: Some(0.25),
        human: None,
        samples: 40,
        scored: 36,
        ties: 0,
        constant_answer: None,
        chance_test: None,
        unscored: [("unparsed".to_owned(), 4)].into(),
        failed: BTreeMap::new(),
        measures,
        breakdowns: tags
            .into_iter()
            .map(|(tag, values)| Breakdown {
                tag: tag.into(),
                values,
            })
            .collect(),
        usage: Usage::default(),
    }
}

fn run(rows: Vec<SummaryRow>) -> RunSummary {
    RunSummary {
        manifest: RunManifest {
            schema: 1,
            id: "r".into(),
            created: String::new(),
            version: String::new(),
            command: vec![],
            models: vec![],
            model_settings: ModelSettings::default(),
            judge: None,
            judge_choice: Default::default(),
            execution: Default::default(),
            tasks: rows
                .iter()
                .map(|r| TaskRun {
                    id: r.task.clone(),
                    version: 1,
                    content: None,
                    settings: TaskSettings::default(),
                    limit: None,
                    conventions: BTreeMap::new(),
                    dataset_hash: None,
                    ..TaskRun::default()
                })
                .collect(),
            trials: 3,
            seed: 0,
        },
        rows,
        complete: true,
    }
}

fn runs() -> Vec<RunSummary> {
    let splits = [("core-dev", 0.30), ("core-test", 0.40)];
    vec![run(vec![
        row(
            "physico/core-text",
            &splits,
            &[
                ("core: gravity", 0.25),
                ("core: friction", 0.5),
                ("core: laser", 0.25),
            ],
        ),
        row(
            "physico/core-visual",
            &splits,
            &[
                ("core: gravity", 0.5),
                ("core: friction", 0.5),
                ("core: laser", 0.5),
            ],
        ),
        row(
            "physico/associative-text",
            &[("associative", 0.35)],
            &[("associative: mirror", 0.0)],
        ),
        row(
            "physico/definition",
            &[],
            &[
                ("core: gravity", 1.0),
                ("core: friction", 0.75),
                ("core: laser", 1.0),
            ],
        ),
    ])]
}

fn text(table: &Table) -> String {
    let mut lines = vec![table.head.join(" | ")];
    lines.extend(table.rows.iter().enumerate().map(|(i, r)| {
        let mark = if table.published.contains(&i) {
            "published "
        } else {
            ""
        };
        let cells: Vec<_> = r.iter().map(|c| c.full()).collect();
        format!("{mark}{}", cells.join(" | "))
    }));
    lines.join("\n")
}

fn table(id: &str) -> Table {
    exhibits(&runs())
        .tables
        .into_iter()
        .find(|t| t.id == id)
        .unwrap()
}

#[test]
fn table_3_has_the_papers_form_with_its_rows_below() {
    insta::assert_snapshot!(text(&table("physico-table-3")));
}

#[test]
fn table_10_puts_core_test_first_and_the_papers_columns_last() {
    insta::assert_snapshot!(text(&table("physico-table-10")));
}

#[test]
fn the_gap_is_paired_by_concept() {
    insta::assert_snapshot!(text(&table("physico-parrot-gap")));
    // Pictures were asked in writing and definitions by score: named, not compared.
    let left_out = table("physico-parrot-gap-left-out");
    assert_eq!(left_out.rows.len(), 1);
    assert_eq!(left_out.rows[0][1], "physico/core-visual");
    let gaps = parrot_gaps(&runs());
    let gap = &gaps[0];
    assert_eq!(gap.concepts.len(), 3);
    // 0.75, 0.25 and 0.75: their mean; three concepts carry no interval.
    let (value, estimate) = &gap.overall;
    assert!((value - 0.583_333).abs() < 1e-5);
    assert!(estimate.is_none());
    let (_, estimate) = over_concepts(&[0.75, 0.25, 0.75, 0.5, 0.5]).unwrap();
    let estimate = estimate.unwrap();
    assert!(
        estimate.low > -1.0 && estimate.low < 0.55 && estimate.high > 0.55 && estimate.high <= 1.0
    );
}

/// A model that says nothing readable of a concept used to lose the concept, and where it said nothing readable
/// at all, Table 10 and the gap.
#[test]
fn a_concept_without_a_read_answer_is_wrong_and_not_absent() {
    let mut runs = runs();
    for breakdown in &mut runs[0].rows[0].breakdowns {
        breakdown.values.remove("core: laser");
    }
    assert_eq!(parrot_gaps(&runs)[0].concepts.len(), 3);
    runs[0].rows[0].breakdowns.clear();
    assert_eq!(parrot_gaps(&runs)[0].concepts.len(), 3);
    let tables = exhibits(&runs[..1]).tables;
    let tenth = tables.iter().find(|t| t.id == "physico-table-10").unwrap();
    assert!(tenth.rows.iter().any(|r| &*r[0] == "laser"));
}

#[test]
fn points_lead_to_their_samples() {
    let figures = exhibits(&runs()).figures;
    let scatter = figures.iter().find(|f| f.id == "physico-low-high").unwrap();
    let addresses: Vec<&str> = scatter.series[0]
        .points
        .iter()
        .filter_map(|p| p.samples.as_deref())
        .collect();
    assert!(addresses.contains(&"test/parrot|physico/core-text|pair=core: gravity"));
}

#[test]
fn pictures_minus_text_is_paired_too() {
    let rows = table("physico-text-picture").rows;
    assert_eq!(rows.len(), 1);
    // Text by score, pictures in writing: said, since the difference holds both.
    assert_eq!(rows[0][1], "core (text, score; pictures, generate)");
    assert_eq!(rows[0][2..4], ["33.3", "50.0"]);
}

#[test]
fn tuned_models_stand_below_what_they_were_made_from() {
    let of = |model: &str, value: f64| {
        let mut rows = vec![
            row("physico/core-text", &[("core-test", value)], &[]),
            row("physico/associative-text", &[("associative", value)], &[]),
        ];
        for row in &mut rows {
            row.model = model.to_owned();
        }
        rows
    };
    let mut rows = of("hf/base", 0.25);
    rows.extend(of("hf/tuned", 0.5));
    let mut runs = [run(rows)];
    // The tasks of both models are the same two.
    runs[0].manifest.tasks.truncate(2);
    let pairs = [("hf/tuned".to_owned(), "hf/base".to_owned())];
    let table = crate::tuned::tuned_rows(&runs, &pairs).unwrap();
    let own: Vec<Vec<&str>> = table.rows[..2]
        .iter()
        .map(|row| row.iter().map(|c| &**c).collect())
        .collect();
    assert_eq!(
        own[0],
        ["hf/base", "text, score", "–", "25.0 ± 2.5", "25.0 ± 2.5"]
    );
    assert_eq!(
        own[1][1..],
        ["text, score, tuned", "–", "50.0 ± 2.5", "50.0 ± 2.5"]
    );
    // Below them the paper's models that were tuned, with their rows before.
    assert_eq!(table.published, (2..10).collect::<Vec<_>>());
    assert!(table.rows[2..].iter().all(|row| !row[0].contains("GPT-4")));
    assert!(table.bare().is_empty(), "{:?}", table.bare());
    let others = [("hf/other".to_owned(), "hf/base".to_owned())];
    assert!(crate::tuned::tuned_rows(&runs, &others).is_none());
}

fn seeded(mut run: RunSummary, seed: u64) -> RunSummary {
    for task in &mut run.manifest.tasks {
        task.settings.seed = seed;
    }
    run
}

/// The rows of our own of a table, as text.
fn own(table: &Table) -> Vec<Vec<String>> {
    let rows = table.rows.iter().enumerate();
    let own = rows.filter(|(i, _)| !table.published.contains(i));
    own.map(|(_, row)| row.iter().map(|c| c.to_string()).collect())
        .collect()
}

#[test]
fn a_run_is_one_row_though_another_seed_was_asked_on_one_of_its_sets() {
    let core = |value| row("physico/core-text", &[("core-test", value)], &[]);
    let associative = row("physico/associative-text", &[("associative", 0.35)], &[]);
    let both = run(vec![core(0.4), associative]);
    let runs = [seeded(both, 0), seeded(run(vec![core(0.2)]), 1)];
    let tables = exhibits(&runs).tables;
    let rows = own(tables.iter().find(|t| t.id == "physico-table-3").unwrap());
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(rows[0][4..6], ["40.0 ± 2.5", "35.0 ± 2.5"]);
    assert_eq!(rows[1][4..6], ["20.0 ± 2.5", "–"]);
    assert_ne!(rows[0][1], rows[1][1], "the seeds are told apart");
}

#[test]
fn shots_stand_beside_the_same_items_without_them() {
    let concepts = ["a", "b", "c", "d", "e"].map(|c| format!("associative: {c}"));
    let asked = |values: [f64; 5], icl: &str| {
        let pairs: Vec<(&str, f64)> = concepts.iter().map(String::as_str).zip(values).collect();
        let mut row = row("physico/associative-text", &[("associative", 0.3)], &pairs);
        let mean = values.iter().sum::<f64>() / 5.0;
        let tags = [(SHARED, vec![(WITH_CORE, mean)]), (SHARED_PAIR, pairs)];
        for (tag, values) in tags {
            let values = values.into_iter().map(|(v, x)| (v.to_owned(), estimate(x)));
            row.breakdowns.push(Breakdown {
                tag: tag.into(),
                values: values.collect(),
            });
        }
        let mut run = run(vec![row]);
        run.manifest.tasks[0]
            .settings
            .params
            .insert("icl".into(), icl.into());
        run
    };
    let runs = [
        asked([0.25, 0.5, 0.25, 0.0, 0.5], "0"),
        asked([0.5, 0.5, 0.5, 0.25, 0.5], "9-same"),
    ];
    let tables = exhibits(&runs).tables;
    let table = tables.iter().find(|t| t.id == "physico-table-4").unwrap();
    let rows = own(table);
    let words: Vec<&str> = rows.iter().map(|r| r[1].as_str()).collect();
    assert_eq!(
        words,
        [
            "text, score",
            "text, score, the items of 9-same",
            "text, score, 9 shots, same concepts"
        ]
    );
    assert_eq!((&*rows[1][3], &*rows[2][5]), ("30.0", "+15.0"), "{rows:?}");
    assert!(
        rows[0][5] == "–" && table.bare().is_empty(),
        "{:?}",
        table.bare()
    );
}
