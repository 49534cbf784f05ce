//! Exhibits from summaries as the engine writes them: only what was run is drawn, and nothing
//! published is taken for ours.

use mary_contract::{
    Capabilities, Estimate, Measure, ModelCard, ModelSettings, RunManifest, SummaryRow, TaskRun,
    TaskSettings, Usage,
};

use super::*;
use crate::AB_TASKS;

fn estimate(value: f64) -> Estimate {
    Estimate {
        value,
        low: value - 0.07,
        high: value + 0.07,
        n: 200,
        method: "wilson".into(),
    }
}

fn row(model: &str, task: &str, value: f64, read: bool) -> SummaryRow {
    SummaryRow {
        model: model.into(),
        task: task.into(),
        score: Some(estimate(value)),
        chance: Some(0.5),
        human: None,
        samples: 200,
        scored: 200,
        ties: 0,
        constant_answer: None,
        chance_test: None,
        unscored: BTreeMap::new(),
        failed: BTreeMap::new(),
        measures: if read {
            vec![]
        } else {
            vec![Measure::new("accuracy", estimate(value - 0.1))]
        },
        breakdowns: vec![],
        usage: Usage::default(),
    }
}

/// A run of the ten tasks with one model; `geometry` adds letter geometry.
fn run(model: &str, params: &[(&str, &str)], k: usize, value: f64, geometry: bool) -> RunSummary {
    let settings = TaskSettings {
        shots: Some(k),
        params: params
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect(),
        ..TaskSettings::default()
    };
    let mut card = ModelCard::new(model.parse().unwrap(), Capabilities::default());
    card.parameters = Some(1_000_000);
    let mut ids: Vec<&str> = AB_TASKS.iter().map(|t| &*t.card.id).collect();
    if geometry {
        ids.push(GEOMETRY);
    }
    let tasks = ids
        .iter()
        .map(|id| TaskRun {
            id: (*id).to_owned(),
            version: 1,
            content: None,
            settings: settings.clone(),
            limit: None,
            conventions: BTreeMap::new(),
            dataset_hash: None,
            ..TaskRun::default()
        })
        .collect();
    let read = params
        .iter()
        .all(|p| p.1 == "published" || p.1 == "fresh" || p.1 == "score");
    RunSummary {
        manifest: RunManifest {
            schema: 1,
            id: "x".into(),
            created: String::new(),
            version: String::new(),
            command: vec![],
            models: vec![card],
            model_settings: ModelSettings::default(),
            judge: None,
            judge_choice: Default::default(),
            execution: Default::default(),
            tasks,
            trials: 1,
            seed: 0,
        },
        rows: ids.iter().map(|id| row(model, id, value, read)).collect(),
        complete: true,
    }
}

#[test]
fn nothing_is_drawn_from_nothing() {
    assert_eq!(exhibits(&[]), Exhibits::default());
}

#[test]
fn one_run_gives_the_table_figure_two_and_no_more() {
    let shown = exhibits(&[run("hf/a/pythia-70m", &[], 50, 0.5, false)]);
    let ids: Vec<&str> = shown.figures.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids, ["htest-figure-2"]);
    let table = &shown.tables[0];
    assert_eq!(table.rows[0][0], "hf/a/pythia-70m");
    assert!(!table.published.contains(&0));
    assert_eq!(table.published.len(), table.rows.len() - 1);
    assert!(table.rows.iter().all(|r| r.len() == table.head.len()));
    assert!(shown.pictures.is_empty());
}

#[test]
fn shots_thinking_and_geometry_bring_their_figures() {
    let runs = [
        run("hf/a/pythia-70m", &[], 14, 0.5, true),
        run("hf/a/pythia-70m", &[], 50, 0.55, false),
        run("hf/a/pythia-70m", &[("mode", "cot")], 14, 0.6, false),
    ];
    let shown = exhibits(&runs);
    let ids: Vec<&str> = shown.figures.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "htest-figure-2",
            "htest-figure-3",
            "htest-figure-4",
            "htest-figure-5"
        ]
    );
    assert_eq!(shown.pictures.len(), PICTURES);
    let thinking = &shown.figures[2];
    let heights: Vec<f64> = thinking
        .series
        .iter()
        .map(|s| s.points[0].y.round())
        .collect();
    assert_eq!(
        heights,
        [50.0, 50.0, 60.0],
        "direct, CoT with unread as wrong, adjusted"
    );
}

fn tables(runs: &[RunSummary]) -> Vec<String> {
    let shown = exhibits(runs).tables.into_iter();
    shown.map(|t| t.id).collect()
}

#[test]
fn fifty_shots_bring_table_2_and_two_sizes_table_5() {
    let small = run("hf/a/pythia-70m", &[], 50, 0.5, false);
    let mut large = run("hf/a/pythia-160m", &[], 50, 0.6, false);
    large.manifest.models[0].parameters = Some(2_000_000);
    assert_eq!(
        tables(std::slice::from_ref(&small)),
        ["htest-table-6", "htest-table-2", "htest-table-7"]
    );
    let few = run("hf/a/pythia-70m", &[], 4, 0.5, false);
    assert_eq!(tables(&[few]), ["htest-table-6", "htest-table-7"]);
    let shown = exhibits(&[large, small]).tables;
    let ids: Vec<&str> = shown.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "htest-table-6",
            "htest-table-2",
            "htest-table-5",
            "htest-table-7"
        ]
    );
    for table in &shown {
        assert!(
            table.rows.iter().all(|r| r.len() == table.head.len()),
            "{}",
            table.id
        );
    }
    let (two, five) = (&shown[1], &shown[2]);
    assert_eq!(two.rows.len(), 12);
    assert_eq!(two.rows[10][1..4], ["60.0", "50.0", "51.1"]);
    // The paper's average as printed, and what its tasks give under a name of its own.
    let claude = two.head.iter().position(|h| h.starts_with("Claude V2"));
    let claude = claude.unwrap();
    assert_eq!(two.rows[10][claude], "60.4");
    assert_eq!(two.rows[11][0], "Mean of the printed tasks");
    assert_eq!(two.rows[11][claude], "61.9");
    assert_eq!(two.rows[11][1], "–");
    // The smaller first, then the larger; the paper's eight rows below.
    assert!(five.rows[0][1].contains("70m") && five.rows[1][1].contains("160m"));
    assert_eq!(five.published, (2..10).collect::<Vec<_>>());
}

#[test]
fn tuned_models_bring_table_8_and_figure_6() {
    let runs = [
        run("hf/a/b", &[], 50, 0.5, false),
        run("hf/out/htest-rhyme/merged", &[], 50, 0.7, false),
    ];
    let shown = exhibits(&runs);
    let ids: Vec<&str> = shown.tables.iter().map(|t| t.id.as_str()).collect();
    assert!(
        ids.ends_with(&["htest-table-8", "htest-table-8-published"]),
        "{ids:?}"
    );
    let figure = shown.figures.last().unwrap();
    assert_eq!(figure.id, "htest-figure-6");
    let heights: Vec<f64> = figure
        .series
        .iter()
        .map(|s| s.points[0].y.round())
        .collect();
    // Ours on rhyme; the paper's on uppercase, before and after.
    assert_eq!(heights, [50.0, 70.0, 50.0, 50.0]);
    assert_eq!(figure.series[3].points.len(), 10);
    let untuned = [run("hf/a/b", &[], 50, 0.5, false)];
    assert!(
        exhibits(&untuned)
            .figures
            .iter()
            .all(|f| f.id != "htest-figure-6")
    );
}

#[test]
fn two_matrices_are_two_tables_and_two_figures() {
    let at = |out: &str, k: usize, value: f64| {
        // As `mary matrix` runs them: the untuned model and the tuned one in one run.
        let mut both = run("hf/a/b", &[], k, value, false);
        let tuned = format!("hf/{out}/htest-rhyme/merged");
        let after = run(&tuned, &[], k, value + 0.1, false);
        both.manifest.models.extend(after.manifest.models);
        both.rows.extend(after.rows);
        both
    };
    let shown = exhibits(&[at("out", 2, 0.5), at("out", 4, 0.6)]);
    let title = |id: &str| shown.tables.iter().find(|t| t.id == id).map(|t| &*t.title);
    let both = ["htest-table-8-1", "htest-table-8-2"].map(title);
    assert!(both[0].unwrap().ends_with("(shots = 2)"), "{both:?}");
    assert!(both[1].unwrap().ends_with("(shots = 4)"), "{both:?}");
    let printed = shown.tables.last().unwrap();
    assert_eq!(printed.id, "htest-table-8-published");
    let average = printed.rows.last().unwrap();
    assert_eq!(average[..3], ["Average", "52.3", "52.9"]);
    let figures = shown
        .figures
        .iter()
        .filter(|f| f.id.starts_with("htest-figure-6"));
    let drawn: Vec<(&str, f64)> = figures
        .map(|f| (&*f.id, f.series[1].points[0].y.round()))
        .collect();
    assert_eq!(
        drawn,
        [("htest-figure-6-1", 60.0), ("htest-figure-6-2", 70.0)]
    );
    // Two folders of tuned models, asked alike.
    let shown = exhibits(&[at("first", 4, 0.5), at("second", 4, 0.5)]);
    let tables = shown
        .tables
        .iter()
        .filter(|t| t.id.starts_with("htest-table-8-"));
    let titles: Vec<&str> = tables
        .map(|t| t.title.rsplit('(').next().unwrap())
        .collect();
    assert_eq!(
        titles[..2],
        ["tuned models = first)", "tuned models = second)"]
    );
}

#[test]
fn two_judges_are_two_rows_and_two_bars() {
    let judged = |judge: &str, value: f64| {
        let mut run = run("hf/a/b", &[("mode", "cot")], 14, value, false);
        for task in &mut run.manifest.tasks {
            task.judging.insert("judge".into(), judge.into());
        }
        run
    };
    let shown = exhibits(&[judged("self", 0.48), judged("hf/c/d", 0.1)]);
    let rows = &shown.tables[0].rows;
    assert_eq!(rows[0][2], "cot, plain, fresh (judge = self)");
    assert_eq!(rows[1][2], "cot, plain, fresh (judge = hf/c/d)");
    assert_eq!((&*rows[0][13], &*rows[1][13]), ("38.0", "0.0"));
    let figure = shown.figures.iter().find(|f| f.id == "htest-figure-4");
    let bars = &figure.unwrap().series[0].points;
    let labels: Vec<&str> = bars.iter().map(|p| p.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "hf/a/b (k = 14, judge = self)",
            "hf/a/b (k = 14, judge = hf/c/d)"
        ]
    );
}

#[test]
fn the_published_matrix_stands_beside_ours_in_its_rows_and_columns() {
    let tuned = BTreeMap::from([("htest/rhyme".to_owned(), "hf/a/tuned".to_owned())]);
    let whole = [
        run("hf/a/base", &[], 50, 0.5, false),
        run("hf/a/tuned", &[], 50, 0.6, false),
    ];
    let mut part = whole.clone();
    for run in &mut part {
        run.rows.retain(|row| row.task == "htest/rhyme");
    }
    use mary_contract::Family as _;
    let tables = crate::HTEST.tuning_tables(&whole, "hf/a/base", &tuned);
    let [ours, printed] = tables.as_slice() else {
        panic!("{}", tables.len());
    };
    assert_eq!(printed.head, ["tested on", "original", "Words that rhyme"]);
    assert_eq!(printed.rows.len(), 11);
    assert_eq!(ours.head, printed.head);
    let tables = crate::HTEST.tuning_tables(&part, "hf/a/base", &tuned);
    let [ours, printed] = tables.as_slice() else {
        panic!("{}", tables.len());
    };
    assert_eq!((ours.rows.len(), printed.rows.len()), (1, 1));
    assert_eq!(printed.rows[0][0], "Words that rhyme");
    assert_eq!(printed.published, [0]);
    assert!(ours.rows[0][1].basis().is_some(), "with its interval");
}

#[test]
fn released_against_fresh_gives_the_gap() {
    let runs = [
        run(
            "hf/a/pythia-70m",
            &[("source", "published")],
            50,
            0.60,
            false,
        ),
        run("hf/a/pythia-70m", &[], 50, 0.52, false),
        run("hf/b/other", &[], 50, 0.52, false),
    ];
    let table = super::super::gap::gap_table(&runs).unwrap();
    assert_eq!(table.rows.len(), 11);
    assert_eq!(table.rows[0][4].full(), "+8.0 (n 400 · -2 to +18)");
    assert_eq!(table.rows[10][1], "mean of 10 tasks");
    assert!(super::super::gap::gap_table(&runs[1..]).is_none());
}

#[test]
fn sizes_are_taken_out_of_family_names() {
    for (model, family) in [
        ("hf/EleutherAI/pythia-70m@step1000", "pythia"),
        ("hf/EleutherAI/pythia-1.4b", "pythia"),
        ("gguf/SmolLM2-135M-Instruct", "SmolLM2-Instruct"),
        ("gguf/models/smollm2-135m.gguf", "smollm2"),
        ("openai/gpt-4o", "gpt-4o"),
        ("x/7b", "7b"),
    ] {
        assert_eq!(family_name(model), family);
    }
}

#[test]
fn the_matrix_never_mixes_shots_modes_and_sources() {
    let tuned = BTreeMap::from([("htest/rhyme".to_owned(), "hf/a/tuned".to_owned())]);
    let at = |k: usize, value: f64| {
        [
            run("hf/a/base", &[], k, value, false),
            run("hf/a/tuned", &[], k, value + 0.1, false),
        ]
    };
    let one = crate::tuning_matrix(&at(4, 0.5), "hf/a/base", &tuned);
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].id, "htest-table-8");
    let mut runs = at(4, 0.5).to_vec();
    runs.extend(at(50, 0.7));
    runs.push(run("hf/a/base", &[("source", "published")], 50, 0.9, false));
    for order in [runs.clone(), runs.into_iter().rev().collect()] {
        let tables = crate::tuning_matrix(&order, "hf/a/base", &tuned);
        assert_eq!(tables.len(), 3);
        let mut cells: Vec<(bool, bool, &str, &str)> = tables
            .iter()
            .map(|t| {
                let (fresh, few) = (
                    !t.title.contains("published"),
                    t.title.contains("shots = 4"),
                );
                (fresh, few, &*t.rows[0][1], &*t.rows[0][2])
            })
            .collect();
        cells.sort_unstable();
        // Whatever the order of the arguments, each table holds one way of asking.
        assert_eq!(
            cells,
            [
                (false, false, "90.0", "–"),
                (true, false, "70.0", "80.0"),
                (true, true, "50.0", "60.0"),
            ]
        );
    }
}

#[test]
fn the_same_settings_with_another_seed_are_another_row() {
    let mut other = run("hf/a/base", &[], 50, 0.7, false);
    for task in &mut other.manifest.tasks {
        task.settings.seed = 9;
    }
    let shown = exhibits(&[run("hf/a/base", &[], 50, 0.5, false), other]);
    let table = &shown.tables[0];
    assert_eq!(table.rows[0][2], "score, plain, fresh (seed = 0)");
    assert_eq!(table.rows[1][2], "score, plain, fresh (seed = 9)");
}

/// Models behind an API have no number of parameters: Table 5 used to leave them out, and the paper's own
/// pairs with them.
#[test]
fn table_5_has_pairs_that_were_named_and_the_papers_own() {
    let api = |model: &str, value: f64| {
        let mut run = run(model, &[("mode", "generate")], 14, value, false);
        run.manifest.models[0].parameters = None;
        run
    };
    let runs = [
        api("openrouter/nousresearch/nous-hermes-2-yi-34b", 0.5),
        api("openrouter/liuhaotian/llava-v1.6-34b", 0.52),
        api("own/text", 0.5),
        api("own/eyes", 0.6),
        api("openai/gpt-4o-mini", 0.6),
        api("openai/gpt-3.5-turbo", 0.6),
    ];
    let told = |table: &Table| -> Vec<(String, String)> {
        let rows = table.rows.iter().take_while(|r| &*r[1] != "LLaMA 2 13B");
        let name = |r: &Vec<Cell>| r[1].split(' ').next().unwrap_or_default().to_owned();
        rows.map(|r| (r[0].to_string(), name(r))).collect()
    };
    let shown = exhibits(&runs);
    let fifth = shown.tables.iter().find(|t| t.id == "htest-table-5");
    let papers = [
        (
            "multi-modal expansion",
            "openrouter/nousresearch/nous-hermes-2-yi-34b",
        ),
        (
            "multi-modal expansion",
            "openrouter/liuhaotian/llava-v1.6-34b",
        ),
    ]
    .map(|(a, m)| (a.to_owned(), m.to_owned()));
    // A smaller GPT-4o is another model.
    assert_eq!(told(fifth.unwrap()), papers);
    let pair = ("own/eyes".to_owned(), "own/text".to_owned());
    let fifth = &super::pair_tables(&runs, &[pair])[0];
    let named = [("named pair", "own/text"), ("named pair", "own/eyes")];
    let named = named.map(|(a, m)| (a.to_owned(), m.to_owned()));
    assert_eq!(told(fifth)[..2], named);
    assert!(super::pair_tables(&runs[2..3], &[]).is_empty());
    // What two judges read was not asked alike: a pair used to stand there with a judge each.
    let judged = |model: &str, judge: &str| {
        let mut run = run(model, &[("mode", "cot")], 14, 0.5, false);
        for task in &mut run.manifest.tasks {
            task.judging.insert("judge".into(), judge.into());
        }
        run
    };
    let pair = [("own/eyes".to_owned(), "own/text".to_owned())];
    let (text, other) = (judged("own/text", "a/one"), judged("own/eyes", "a/two"));
    assert!(super::pair_tables(&[text.clone(), other], &pair).is_empty());
    let same = [text, judged("own/eyes", "a/one")];
    assert_eq!(told(&super::pair_tables(&same, &pair)[0])[..2], named);
}

/// Whose words were asked belongs to a result, whether there is another to tell it from or not.
#[test]
fn a_released_wording_is_named_beside_its_result() {
    let settings = [("mode", "cot"), ("wording", "released")];
    let mut asked = run("openai/x", &settings, 14, 0.5, false);
    for task in &mut asked.manifest.tasks {
        let known = crate::tasks::ab_task(&task.id).unwrap();
        *task = TaskRun::of(known, task.settings.clone());
    }
    let table = &exhibits(&[asked]).tables[0];
    assert!(
        table.rows[0][2].contains("released wording"),
        "{:?}",
        table.rows[0][2]
    );
    let ours = exhibits(&[run("openai/x", &[("mode", "cot")], 14, 0.5, false)]);
    assert!(!ours.tables[0].rows[0][2].contains("wording"));
}
