//! Places in training, and what is doubted.

use mary_contract::training::TOKENS_SEEN;

use super::*;
use crate::windows::simulated;

#[test]
fn names_say_where_in_training_a_model_stands() {
    let of = |name: &str| stage(name, None).map(|s| (s.size, s.step, s.tokens));
    assert_eq!(
        of("hf/EleutherAI/pythia-70m@step1000"),
        Some((
            "hf/EleutherAI/pythia-70m".into(),
            1000,
            Some(2_097_152_000.0)
        ))
    );
    assert_eq!(
        of("builtin/nano@step16"),
        Some(("builtin/nano".into(), 16, Some(131_072.0)))
    );
    assert_eq!(
        of("hf//data/nano/step16"),
        Some(("hf//data/nano".into(), 16, None))
    );
    assert_eq!(
        of("hf/./out/checkpoint-500"),
        Some(("hf/./out".into(), 500, None))
    );
    for without in [
        "openai/gpt-4o",
        "hf/EleutherAI/pythia-70m@main",
        "hf/x/steps",
    ] {
        assert_eq!(of(without), None, "{without}");
    }
}

#[test]
fn tokens_on_the_card_win_over_the_family() {
    let mut runs = [simulated::run(
        "hf//data/nano/step2",
        "psychometric/grammar",
        0.5,
        100,
    )];
    let card = &mut runs[0].manifest.models[0];
    // In words, as earlier programs said it, and as a number.
    card.conventions.insert(TOKENS_SEEN.into(), "777".into());
    let tokens = |card: &ModelCard| stage("hf//data/nano/step2", Some(card)).unwrap().tokens;
    assert_eq!(tokens(card), Some(777.0));
    card.tokens_seen = Some(778);
    assert_eq!(tokens(card), Some(778.0));
}

#[test]
fn smooth_growth_is_never_a_spike_and_a_stranger_is() {
    let steep: Vec<(f64, f64)> = [0.5, 0.5, 0.5, 0.9, 1.0, 1.0, 1.0]
        .iter()
        .map(|y| (*y, 0.01))
        .collect();
    for place in 0..steep.len() {
        assert_eq!(spike(&steep, place), None, "{place}");
    }
    let mut strange = steep.clone();
    strange[5].0 = 0.5;
    let spikes: Vec<usize> = (0..7).filter(|&i| spike(&strange, i).is_some()).collect();
    assert_eq!(spikes, [5]);
    let mut late_weights_early = steep.clone();
    late_weights_early[1].0 = 1.0;
    assert!(spike(&late_weights_early, 1).is_some());
    let mut broken_end = steep;
    broken_end[6].0 = 0.4;
    assert!(spike(&broken_end, 6).is_some());
}

#[test]
fn identical_weights_are_shown_apart_and_used_for_no_window() {
    let mut runs: Vec<_> = [1u64, 2, 4, 8, 16]
        .iter()
        .map(|step| {
            let value = 0.5 + 0.02 * *step as f64;
            simulated::run(
                &format!("builtin/nano@step{step}"),
                "psychometric/grammar",
                value,
                400,
            )
        })
        .collect();
    runs[3].manifest.models[0].fingerprint = runs[2].manifest.models[0].fingerprint.clone();
    let all = trajectories(&runs);
    let score = all.iter().find(|t| t.ability.part == Part::Score).unwrap();
    let doubts: Vec<(u64, bool)> = score
        .milestones
        .iter()
        .map(|m| (m.step, m.doubt.is_some()))
        .collect();
    assert_eq!(
        doubts,
        [(1, false), (2, false), (4, true), (8, true), (16, false)]
    );
    assert_eq!(score.sound().count(), 3);
}

/// The run of a checkpoint that was asked with this layout.
fn asked(step: u64, layout: &str, value: f64) -> RunSummary {
    let model = format!("builtin/nano@step{step}");
    let mut run = simulated::run(&model, "psychometric/matrices", value, 400);
    run.manifest.tasks.push(TaskRun {
        id: "psychometric/matrices".into(),
        version: 1,
        asked: Some([("layout".to_owned(), layout.to_owned())].into()),
        ..TaskRun::default()
    });
    run
}

#[test]
fn checkpoints_asked_in_two_ways_are_two_curves() {
    // Half with one layout, half with the other: together they look like growth.
    let runs: Vec<RunSummary> = (0..8)
        .map(|i| match i < 4 {
            true => asked(1 << i, "paper", 0.2),
            false => asked(1 << i, "choices", 0.6),
        })
        .collect();
    let all = trajectories(&runs);
    let curves: Vec<(&str, usize)> = all
        .iter()
        .map(|t| (t.label.as_str(), t.milestones.len()))
        .collect();
    assert_eq!(
        curves,
        [("nano (layout = choices)", 4), ("nano (layout = paper)", 4)]
    );
    assert!(left_out(&runs).is_empty());
    let shown = crate::windows::exhibits(&runs);
    let onsets = shown
        .tables
        .iter()
        .find(|t| t.id == "psychometric-onsets")
        .unwrap();
    for row in &onsets.rows[..2] {
        assert!(
            row[3].starts_with("fewer than 8"),
            "no window is claimed: {row:?}"
        );
    }
}

#[test]
fn checkpoints_asked_otherwise_and_too_few_for_a_curve_are_named() {
    let mut runs: Vec<RunSummary> = (0..4).map(|i| asked(1 << i, "paper", 0.2)).collect();
    runs.push(asked(64, "choices", 0.9));
    let all = trajectories(&runs);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].milestones.len(), 4, "step 64 is not among them");
    let left = left_out(&runs);
    assert_eq!(left.len(), 1);
    assert_eq!(
        (left[0].variant.as_str(), left[0].steps.as_slice()),
        ("layout = choices", &[64][..])
    );
    let shown = crate::windows::exhibits(&runs);
    let table = shown
        .tables
        .iter()
        .find(|t| t.id == "psychometric-left-out")
        .unwrap();
    assert_eq!(
        table.rows,
        [["nano", "psychometric/matrices", "layout = choices", "64"]]
    );
    // Where no group is large enough, nothing is drawn and that is said.
    let few = [
        asked(1, "paper", 0.2),
        asked(2, "paper", 0.2),
        asked(4, "choices", 0.9),
    ];
    assert!(trajectories(&few).is_empty());
    assert_eq!(crate::windows::exhibits(&few).tables.len(), 1);
}
