//! A task that the paper does not have, as a contributor would add it: this file holds what its one
//! file under `src/tasks` would hold (the line in the list is `doubled_letter,`). It runs, is trained
//! for and is shown like the others, and the paper's averages do not change.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Capabilities, Citation, Estimate, Family as _, ModelCard, ModelSettings, NoData, RunManifest,
    RunSummary, SummaryRow, Target, Task as _, TaskRun, TaskSettings, Usage,
};
use mary_generators::{Stream, below, pick};
use mary_htest::{
    AB_TASKS, AbTask, HTEST, Rule, Twins, exhibits, own_card, tuning_matrix, tuning_set,
};

static TASK: AbTask = AbTask {
    card: LazyLock::new(|| {
        own_card(
            "htest/doubled-letter",
            5,
            (
                "Doubled Letter",
                "A items hold a letter twice in a row, B items do not.",
            ),
            Citation::new("A contributor. 2026. Letters twice.", "https://example.org"),
        )
    }),
    rule: Rule {
        name: "doubled-letter",
        draw,
        key: str::to_owned,
    },
    upstream: None,
    rule_baselines: &["character_ngrams", "words"],
};

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let words = ["the", "a", "this", "that"];
    let number = below(rng, 100_000);
    let Some(word) = pick(rng, &words) else {
        return vec![];
    };
    vec![Twins {
        a: format!("{word} pillow {number}"),
        b: format!("{word} pilots {number}"),
    }]
}

#[test]
fn a_task_beside_the_papers_makes_items_and_training_sets() {
    let mut settings = TaskSettings::default();
    HTEST.learned_settings(&TASK.card, &mut settings);
    let items: Vec<_> = TASK
        .items(&settings, &NoData)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(items.len(), 200);
    for item in &items {
        let Target::Choice {
            question, correct, ..
        } = &item.target
        else {
            panic!("a choice")
        };
        assert_eq!(*correct, usize::from(!question.contains("ll")));
    }
    assert_eq!(tuning_set(&TASK, 3).unwrap().lines().count(), 1000);
    let released = TaskSettings {
        params: [("source".to_owned(), "published".to_owned())].into(),
        ..settings
    };
    let error = TASK.items(&released, &NoData).err().unwrap().to_string();
    assert!(error.contains("expected source=fresh"), "{error}");
    assert!(error.contains("hint:"), "{error}");
}

#[test]
fn every_listed_task_is_in_the_family_and_has_its_own_version() {
    let tasks = HTEST.tasks();
    let listed: Vec<&str> = tasks.iter().map(|t| &*t.card().id).collect();
    // Letter geometry, naming rules, and Figure 1's two questions.
    assert_eq!(listed.len(), AB_TASKS.len() + 4);
    assert!(AB_TASKS.iter().all(|t| listed.contains(&&*t.card.id)));
    assert_eq!(TASK.card.version, 5);
}

/// A run of the paper's ten and of ours.
fn run(value: f64, own: f64) -> RunSummary {
    let settings = TaskSettings {
        shots: Some(50),
        ..TaskSettings::default()
    };
    let paper = AB_TASKS.iter().filter(|t| t.upstream.is_some());
    let tasks: Vec<(&str, f64)> = paper
        .map(|t| (&*t.card.id, value))
        .chain([(&*TASK.card.id, own)])
        .collect();
    let model = "hf/a/b";
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
            tasks: tasks
                .iter()
                .map(|(id, _)| TaskRun {
                    id: (*id).to_owned(),
                    version: 1,
                    settings: settings.clone(),
                    ..TaskRun::default()
                })
                .collect(),
            trials: 1,
            seed: 0,
        },
        rows: tasks
            .iter()
            .map(|(id, value)| row(model, id, *value))
            .collect(),
        complete: true,
    }
}

fn row(model: &str, task: &str, value: f64) -> SummaryRow {
    SummaryRow {
        model: model.into(),
        task: task.into(),
        score: Some(Estimate {
            value,
            low: value - 0.07,
            high: value + 0.07,
            n: 200,
            method: "wilson".into(),
        }),
        chance: Some(0.5),
        human: None,
        samples: 200,
        scored: 200,
        ties: 0,
        constant_answer: None,
        chance_test: None,
        unscored: BTreeMap::new(),
        failed: BTreeMap::new(),
        measures: vec![],
        breakdowns: vec![],
        usage: Usage::default(),
    }
}

#[test]
fn it_has_a_column_of_its_own_and_leaves_the_papers_average_alone() {
    let runs = [run(0.6, 0.9)];
    let table = exhibits(&runs).tables.remove(0);
    let place = |name: &str| table.head.iter().position(|h| h == name).unwrap();
    let own = place("htest/doubled-letter");
    assert_eq!(table.rows[0][place("Average")], "60.0");
    assert_eq!(table.rows[0][own], "90.0");
    for &row in &table.published {
        assert_eq!(table.rows[row][own], "–");
        assert_eq!(table.rows[row].len(), table.head.len());
    }
    let tuned = BTreeMap::from([(TASK.card.id.to_string(), "hf/a/b".to_owned())]);
    let matrix = tuning_matrix(&runs, "hf/a/b", &tuned).remove(0);
    assert_eq!(
        matrix.head,
        ["tested on", "original", "htest/doubled-letter"]
    );
    assert_eq!(matrix.rows[10], ["htest/doubled-letter", "90.0", "[90.0]"]);
    let basis = matrix.rows[10][1].basis();
    assert!(
        basis.is_some_and(|b| b.bounds.is_some()),
        "{:?}",
        matrix.rows[10]
    );
    assert_eq!(matrix.rows[11], ["Average", "60.0", "60.0"]);
}
