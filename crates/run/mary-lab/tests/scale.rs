//! Scales of real answers (the built-in model's checkpoints) and of tables; adaptive runs that are stopped and go on.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use mary_contract::{Event, RunSummary, StoreError};
use mary_lab::builtin::{self, Builtin};
use mary_lab::scale::{Answers, ScaleOptions, build, lineage, of_built};
use mary_lab::{AdaptiveChoice, Laboratory, RunOptions, Silent, UsersWord, families};
use mary_stats::irt::scale::Wanted;
use mary_store::RunFolder;

fn laboratory(home: &Path) -> Laboratory {
    Laboratory::new(home)
        .tasks(families::registry())
        .providers([Box::new(Builtin) as _])
}

fn options(own: bool) -> ScaleOptions {
    let names = builtin::revisions().map(|r| format!("builtin/nano@{r}"));
    ScaleOptions {
        wanted: Wanted {
            fewest_answers: 10,
            ..Wanted::default()
        },
        // For the sake of the test every checkpoint is a model of its own.
        lineages: if own {
            names.map(|n| (n.clone(), n)).collect()
        } else {
            Vec::new()
        },
        ..ScaleOptions::default()
    }
}

/// A scale of the built-in model's checkpoints on minimal pairs.
fn scale_of_checkpoints(home: &Path) -> Answers {
    let lab = laboratory(home);
    let asked = RunOptions {
        models: builtin::revisions()
            .map(|r| format!("builtin/nano@{r}"))
            .collect(),
        tasks: vec!["psychometric/grammar-small".into()],
        limit: Some("90".parse().unwrap()),
        ..RunOptions::default()
    };
    let (spec, _) = asked.specify(&lab).unwrap();
    let mut run = lab.prepare(&spec).unwrap().open().unwrap();
    run.go(&mut Silent, &AtomicBool::new(false)).unwrap();
    let mut answers = Answers::default();
    answers
        .add_run(&RunFolder::open(run.path()).unwrap())
        .unwrap();
    answers
}

fn adaptive(home: &Path, scale: &Path, stop_after: usize) -> (RunSummary, std::path::PathBuf) {
    let lab = laboratory(home);
    let asked = RunOptions {
        models: vec!["builtin/nano".into()],
        adaptive: Some(AdaptiveChoice {
            scale: scale.to_owned(),
            error: 0.05,
            most: Some(40),
        }),
        ..RunOptions::default()
    };
    let (spec, _) = asked.specify(&lab).unwrap();
    let mut run = lab.prepare(&spec).unwrap().open().unwrap();
    let path = run.path().to_owned();
    let stop = AtomicBool::new(false);
    let mut seen = 0;
    let mut watch = |event: &Event<'_>| -> Result<(), StoreError> {
        if let Event::SampleFinished(_) = event {
            seen += 1;
            stop.store(seen >= stop_after, Ordering::Relaxed);
        }
        Ok(())
    };
    let first = run.go(&mut watch, &stop);
    drop(run);
    if stop_after > 1000 {
        return (first.unwrap(), path);
    }
    assert!(first.is_err());
    let mut again = lab.continue_run(&path, None, UsersWord::default()).unwrap();
    (
        again.go(&mut Silent, &AtomicBool::new(false)).unwrap(),
        path,
    )
}

#[test]
fn checkpoints_are_one_subject_and_an_adaptive_run_goes_on_as_it_was_begun() {
    let home = tempfile::tempdir().unwrap();
    let answers = scale_of_checkpoints(home.path());
    let refused = build(answers.clone(), &options(false), &mut |_| {}).unwrap_err();
    assert!(refused.to_string().contains("1 lineage"), "{refused}");
    let built = build(answers, &options(true), &mut |_| {}).unwrap();
    let scale = &built.scale;
    assert!(scale.items.len() + scale.unscaled.len() == 90 && scale.items.len() > 30);
    let of = |name: &str| {
        let found = scale
            .subjects
            .iter()
            .find(|s| s.name.ends_with(name))
            .unwrap();
        found.ability.clone().unwrap()
    };
    // The untrained one stands below the trained ones, and not above chance.
    assert!(of("step10000").value > of("step0").high);
    assert!(
        !scale
            .subjects
            .iter()
            .any(|s| s.name.ends_with("@step0") && s.above_chance)
    );
    let shown = of_built(&built);
    assert!(shown.pictures[0].svg.contains("step10000") && shown.tables[0].rows.len() > 2);
    let folder = home.path().join("scale");
    scale.write(&folder).unwrap();

    let whole = adaptive(&home.path().join("whole"), &folder, usize::MAX);
    let row = &whole.0.rows[0];
    assert!(whole.0.complete && row.samples == 40, "{}", row.samples);
    let score = row.score.as_ref().unwrap();
    assert_eq!(score.method, "irt-predictive");
    let ability = row.measure("ability").unwrap();
    assert!(ability.low < ability.high && row.chance_test.is_none());
    // Nothing stands beside it that was averaged over items chosen for this model.
    assert!(row.breakdowns.is_empty() && row.measures.len() == 2);
    let halves = adaptive(&home.path().join("halves"), &folder, 21);
    assert_eq!(halves.0.rows, whole.0.rows);
    let turns = |path: &Path| std::fs::read_to_string(path.join("turns.jsonl")).unwrap();
    assert_eq!(turns(&halves.1), turns(&whole.1));
    // The full bank's score lies within what the fewer items predict.
    let all = scale
        .subjects
        .iter()
        .find(|s| s.name.ends_with("step10000"))
        .unwrap();
    assert!((all.ability.as_ref().unwrap().value - ability.value).abs() < 1.0);
}

#[test]
fn tables_say_who_is_who_and_what_cannot_be_told() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("answers.csv");
    let mut text = String::from("subject,item,score,group\n");
    for person in 0..30 {
        for item in 0..20 {
            // People find later items harder, models earlier ones.
            let people = person % 2 == 0;
            let hard = if people { item } else { 19 - item };
            let right = u8::from((person * 7 + item * 3) % 20 >= hard);
            let group = if people { "people" } else { "models" };
            text += &format!("{group} {person},i{item},{right},{group}\n");
        }
    }
    std::fs::write(&file, text).unwrap();
    let mut answers = Answers::default();
    answers.add_table(&file).unwrap();
    let built = build(answers.clone(), &options(false), &mut |_| {}).unwrap();
    assert!(
        built.scale.findings[0].starts_with("there is no common scale of people and models"),
        "{:?}",
        built.scale.findings
    );
    assert!(
        built
            .scale
            .subjects
            .iter()
            .filter(|s| s.ability.is_some())
            .count()
            <= 15
    );
    let alone = ScaleOptions {
        only: Some("models".into()),
        ..options(false)
    };
    let built = build(answers, &alone, &mut |_| {}).unwrap();
    assert!(built.scale.findings[0].starts_with("one group"));
    std::fs::write(&file, "subject,item\na,b\n").unwrap();
    let wrong = Answers::default().add_table(&file).unwrap_err();
    assert!(wrong.to_string().contains("score"), "{wrong}");
}

#[test]
fn lineages_are_read_from_names() {
    for (a, b) in [
        (
            "hf/EleutherAI/pythia-70m@step512",
            "hf/EleutherAI/pythia-1.4b-deduped",
        ),
        (
            "gguf/models/SmolLM2-135M-Instruct.Q4_K_M.gguf",
            "hf/HuggingFaceTB/SmolLM2-1.7B",
        ),
        ("openai/gpt-4o-mini-2024-07-18", "openai/gpt-4o"),
    ] {
        assert_eq!(lineage(a), lineage(b));
    }
    for (a, b) in [
        ("x/Llama-2-7b", "x/Llama-3-8b"),
        ("x/gpt-3.5-turbo", "x/gpt-4o"),
        ("a/1", "a/2"),
    ] {
        assert_ne!(lineage(a), lineage(b));
    }
}
