//! What a summary makes of items that were asked with several draws of the shots, and of two judges.

use std::collections::BTreeMap;

use mary_contract::*;
use mary_lab::engine::summarise::{Summariser, Verdict};

const TASK: &str = "htest/rhyme";

fn manifest(params: &[(&str, &str)], judge: JudgeChoice) -> RunManifest {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings = TaskSettings {
        params: params.iter().map(own).collect(),
        ..TaskSettings::default()
    };
    let registry = mary_lab::families::registry();
    RunManifest {
        schema: 1,
        id: String::new(),
        created: String::new(),
        version: String::new(),
        command: vec![],
        models: vec![ModelCard::new(
            "hf/a/b".parse().unwrap(),
            Capabilities::default(),
        )],
        model_settings: ModelSettings::default(),
        judge: None,
        judge_choice: judge,
        tasks: vec![TaskRun::of(registry.task(TASK).unwrap().as_ref(), settings)],
        trials: 1,
        seed: 1,
        execution: ExecutionSettings::default(),
    }
}

/// The row of scores: (item, pair, draw where there is one, score).
fn row(scores: &[(String, usize, Option<usize>, f64)]) -> SummaryRow {
    let mut summariser = Summariser::default();
    for (item, pair, draw, score) in scores {
        let id = SampleId::new("hf/a/b", TASK, item.clone(), 0);
        let draw = draw.map(|draw| (SHOT_SET.to_owned(), draw.to_string()));
        summariser.add(Verdict {
            id: &id,
            cluster: Some(&format!("pair-{pair}")),
            tags: &draw.into_iter().collect::<BTreeMap<_, _>>(),
            judgement: &Judgement::scored(*score),
            usage: Usage::default(),
        });
    }
    let registry = mary_lab::families::registry();
    let task = registry.task(TASK).unwrap().clone();
    let manifest = manifest(&[], JudgeChoice::None);
    let summary = summariser.finish(manifest, scores.len(), &[task], |_, _| vec![]);
    summary.rows.into_iter().next().unwrap()
}

/// Right on 14 of 20 items with eight draws of the shots, on 6 of 20 with two: with these shots 62 %.
fn uneven() -> impl Iterator<Item = (String, usize, usize, f64)> {
    (0..200).map(|i| {
        let (draw, place) = (i % 10, i / 10);
        let right = if draw < 8 { place < 14 } else { place < 6 };
        (format!("i-{i}"), i, draw, f64::from(u8::from(right)))
    })
}

#[test]
fn the_interval_is_over_draws_of_the_shots() {
    let over = row(&uneven()
        .map(|(i, p, d, s)| (i, p, Some(d), s))
        .collect::<Vec<_>>());
    let score = over.score.as_ref().unwrap();
    assert_eq!(score.method, "clustered-wilson");
    assert!((score.value - 0.62).abs() < 1e-12);
    let (draws, scores): (Vec<usize>, Vec<f64>) = uneven().map(|(_, _, d, s)| (d, s)).unzip();
    let wanted = mary_stats::score_interval(&scores, Some(&draws)).unwrap();
    assert!((score.low - wanted.low).abs() < 1e-12 && (score.high - wanted.high).abs() < 1e-12);
    // Nothing is claimed of other shots; with these taken as they are, the score is above one half.
    assert!(
        score.low < 0.5 && over.chance_test.unwrap().p > 0.05,
        "{score:?}"
    );
    let fixed = over.measure(FAMILIES_FIXED).unwrap();
    assert!(fixed.low > 0.5, "{fixed:?}");
    // A run from before, whose items name no draw, is read as it was.
    let before = row(&uneven()
        .map(|(i, p, _, s)| (i, p, None, s))
        .collect::<Vec<_>>());
    let score = before.score.unwrap();
    assert_eq!((score.low, score.high), (fixed.low, fixed.high));
}

#[test]
fn items_asked_with_every_draw_are_crossed_with_them() {
    // Twenty items with each of ten draws; an item is right or wrong whatever the draw.
    let all: Vec<(String, usize, Option<usize>, f64)> = (0..200)
        .map(|i| {
            let (draw, pair) = (i % 10, i / 10);
            let right = f64::from(u8::from(pair < 13));
            (format!("{pair}-{draw}"), pair, Some(draw), right)
        })
        .collect();
    let found = row(&all);
    let score = found.score.as_ref().unwrap();
    assert_eq!(score.method, "crossed");
    // Over draws alone nothing varies; over items 13 of 20 says little.
    assert!(score.low < 0.5 && score.high > 0.8, "{score:?}");
    let p = found.chance_test.unwrap().p;
    assert!(p > 0.05, "{p}");
}

#[test]
fn the_judge_is_part_of_what_a_score_rests_on() {
    let registry = mary_lab::families::registry();
    let conditions = |mode: &str, judge: JudgeChoice| {
        let manifest = manifest(&[("mode", mode)], judge);
        let manifest = mary_lab::completed(&registry, &manifest);
        manifest.conditions(TASK).unwrap()
    };
    let other = || JudgeChoice::Model("openai/gpt-4o".parse().unwrap());
    let (own, others) = (
        conditions("cot", JudgeChoice::Subject),
        conditions("cot", other()),
    );
    assert_eq!(own.question, others.question);
    let said: Vec<String> = own
        .differences(&others)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(said, ["judge self against openai/gpt-4o"]);
    // Where no judge reads, none is named.
    assert_eq!(
        conditions("score", JudgeChoice::Subject),
        conditions("score", JudgeChoice::None)
    );
}
