//! Windows on simulated sweeps of known shape, from summaries to tables.

use mary_generators::{Stream, stream};
use rand::RngExt as _;

use super::*;
use crate::trajectories::trajectories;

/// Pythia's schedule, thinned after step 1000: 25 checkpoints.
const STEPS: [u64; 25] = [
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2000, 3000, 4000, 6000, 8000, 11000, 16000, 23000,
    32000, 45000, 64000, 90000, 120_000, 143_000,
];
const ITEMS: usize = 1_000;
const SIMULATIONS: u64 = 200;

/// Answers of a checkpoint that is right with probability `share`: binomial noise, as in a real run.
fn answered(rng: &mut Stream, share: f64) -> f64 {
    (0..ITEMS).filter(|_| rng.random::<f64>() < share).count() as f64 / ITEMS as f64
}

fn sweep(rng: &mut Stream, task: &str, share: impl Fn(f64) -> f64) -> Vec<RunSummary> {
    STEPS
        .iter()
        .map(|step| {
            let model = format!("hf/EleutherAI/pythia-70m@step{step}");
            let tokens = *step as f64 * 2_097_152.0;
            let value = answered(rng, share(tokens.log10()));
            simulated::run(&model, task, value, ITEMS)
        })
        .collect()
}

fn quick(seed: u64) -> Search {
    Search {
        resamples: 200,
        permutations: 199,
        seed,
        ..search(1)
    }
}

#[test]
fn known_onsets_lie_within_their_intervals() {
    let (mut recovered, mut claimed) = (0, 0);
    for seed in 0..SIMULATIONS {
        let mut rng = stream(seed, "windows/known");
        let onset = 7.4 + 1.4 * rng.random::<f64>();
        let end = onset + 0.9 + 0.9 * rng.random::<f64>();
        let height = 0.15 + 0.2 * rng.random::<f64>();
        let share = |t: f64| 0.5 + height * (t.clamp(onset, end) - onset) / (end - onset);
        let runs = sweep(&mut rng, "psychometric/grammar", share);
        let trajectory = trajectories(&runs).remove(0);
        assert!(trajectory.in_tokens);
        if let Some(window) = find(&trajectory, &quick(seed)).unwrap().window {
            claimed += 1;
            recovered += u64::from(window.onset.contains(10f64.powf(onset)));
        }
    }
    eprintln!(
        "known windows: claimed {claimed}, onset within its interval {recovered} of {SIMULATIONS}"
    );
    // A window that is not claimed counts as not recovered.
    assert!(recovered * 10 >= SIMULATIONS * 9, "{recovered}");
}

/// A network that drifts from one random place to another gives a smooth curve, and has learned nothing.
#[test]
fn networks_that_only_drift_are_not_said_to_grow() {
    const FEW: usize = 46;
    let (mut claimed, mut smooth) = (0, 0);
    for seed in 0..SIMULATIONS {
        let mut rng = stream(seed, "windows/drift");
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let items: Vec<(f64, f64)> = (0..FEW).map(|_| (normal(), normal())).collect();
        let right = |done: f64| {
            let on_it = |(a, b): &&(f64, f64)| (1.0 - done) * a + done * b > 0.0;
            items.iter().filter(on_it).count() as f64 / FEW as f64
        };
        let last = (STEPS[24] as f64).ln();
        let runs: Vec<RunSummary> = STEPS
            .iter()
            .map(|step| {
                let model = format!("hf/EleutherAI/pythia-70m@step{step}");
                let value = right((*step as f64).ln() / last);
                simulated::run(&model, "psychometric/grammar", value, FEW)
            })
            .collect();
        let trajectory = trajectories(&runs).remove(0);
        smooth += u64::from(find(&trajectory, &quick(seed)).is_some_and(|g| g.p < ALPHA));
        let found = decide(vec![trajectory], &quick(seed)).remove(0);
        claimed += u64::from(found.window().is_some());
    }
    eprintln!("drifting: {smooth} smooth, {claimed} claimed of {SIMULATIONS}");
    assert!(smooth * 10 > SIMULATIONS * 3, "{smooth}");
    // One in twenty, and what two hundred draws leave open.
    assert!(claimed <= 16, "{claimed}");
}

#[test]
fn no_window_is_claimed_where_nothing_grows() {
    let mut claimed = 0;
    for seed in 0..SIMULATIONS {
        let mut rng = stream(seed, "windows/flat");
        let runs = sweep(&mut rng, "psychometric/grammar", |_| 0.55);
        let trajectory = trajectories(&runs).remove(0);
        let search = Search {
            resamples: 10,
            permutations: 199,
            seed,
            ..search(1)
        };
        claimed += u64::from(find(&trajectory, &search).unwrap().window.is_some());
    }
    eprintln!("flat trajectories: claimed {claimed} of {SIMULATIONS}");
    assert!(claimed * 20 <= SIMULATIONS, "{claimed}");
}

/// Forty reports of six curves that do not grow: with every curve judged by its own p-value, a quarter
/// of the reports claim growth somewhere; corrected for the number of curves, one in twenty.
#[test]
fn many_curves_at_once_need_the_correction() {
    const REPORTS: u64 = 40;
    const CURVES: usize = 6;
    let (mut corrected, mut alone) = (0, 0);
    for seed in 0..REPORTS {
        let mut rng = stream(seed, "windows/many");
        let curves: Vec<Trajectory> = (0..CURVES)
            .map(|_| {
                let runs = sweep(&mut rng, "psychometric/grammar", |_| 0.55);
                trajectories(&runs).remove(0)
            })
            .collect();
        let search = Search {
            resamples: 10,
            permutations: 239,
            seed,
            ..search(CURVES)
        };
        let own = |c: &Trajectory| find(c, &search).unwrap().window.is_some();
        alone += u64::from(curves.iter().any(own));
        let found = decide(curves, &search);
        for f in &found {
            let growth = f.growth.as_ref().unwrap();
            assert_eq!(
                growth.window.is_some(),
                growth.p < ALPHA,
                "the printed p is the one decided by"
            );
        }
        corrected += u64::from(found.iter().any(|f| f.window().is_some()));
    }
    eprintln!(
        "flat reports of {CURVES} curves: {alone} of {REPORTS} claim growth uncorrected, {corrected} corrected"
    );
    assert!(
        alone * 20 > 2 * REPORTS,
        "{alone}: no correction would be needed"
    );
    assert!(corrected * 20 <= 2 * REPORTS, "{corrected}");
}

#[test]
fn the_report_shades_the_window_and_orders_abilities() {
    let mut rng = stream(1, "windows/report");
    let rise = |from: f64| move |t: f64| 0.5 + 0.35 * (t.clamp(from, from + 1.2) - from) / 1.2;
    let mut runs = sweep(&mut rng, "psychometric/blimp", rise(7.6));
    runs.extend(sweep(&mut rng, "psychometric/matrices", rise(9.2)));
    let exhibits = exhibits(&runs);
    let figure = exhibits
        .figures
        .iter()
        .find(|f| f.id == "psychometric-development-psychometric-blimp")
        .unwrap();
    let windows = &figure.ranges;
    assert_eq!(windows.len(), 2, "ours and the paper's");
    assert!(windows[0].name.contains("pythia-70m") && !windows[0].published);
    assert!(windows[1].published);
    let from = windows[0].from.log10();
    assert!((from - 7.6).abs() < 0.4, "{from}");
    assert!(
        figure
            .series
            .iter()
            .any(|s| s.published && s.name == "pythia-70m v0")
    );
    let order = exhibits
        .tables
        .iter()
        .find(|t| t.id == "psychometric-order")
        .unwrap();
    assert_eq!(order.rows[0][5], "BLiMP first");
    let onsets = exhibits
        .tables
        .iter()
        .find(|t| t.id == "psychometric-onsets")
        .unwrap();
    assert_eq!(onsets.published, [2, 3]);
    assert!(onsets.rows.iter().all(|row| row.len() == onsets.head.len()));
    assert!(
        exhibits
            .tables
            .iter()
            .all(|t| t.id != "psychometric-doubts")
    );
}

#[test]
fn a_single_run_has_no_development() {
    let runs = [simulated::run(
        "builtin/nano",
        "psychometric/grammar",
        0.9,
        100,
    )];
    assert_eq!(exhibits(&runs), Exhibits::default());
}

#[test]
fn amounts_read_as_people_say_them() {
    let said: Vec<String> = [250e6, 7e9, 131_072.0, 20e9, 999.0, 81.9e6]
        .map(amount)
        .to_vec();
    assert_eq!(
        said,
        ["250 M", "7.00 B", "131 k", "20.0 B", "999", "81.9 M"]
    );
}

#[test]
fn growth_from_the_first_checkpoint_on_has_finite_bounds() {
    let mut rng = stream(3, "windows/from the first");
    let runs = sweep(&mut rng, "psychometric/grammar", |t| 0.5 + 0.05 * (t - 6.3));
    let mut trajectory = trajectories(&runs).remove(0);
    for tokens in [8_192.0, 4_096.0, 1_000.0, 7_777.0, 2_097_152.0] {
        for (milestone, step) in trajectory.milestones.iter_mut().zip(STEPS) {
            milestone.x = tokens * step as f64;
        }
        let window = find(&trajectory, &quick(1)).unwrap().window.unwrap();
        assert!(
            window.onset.low > 0.0 && window.end.high.is_finite(),
            "{window:?}"
        );
    }
}

#[test]
fn a_surprisal_is_no_ability() {
    let mut rng = stream(4, "windows/surprisal");
    let runs = sweep(&mut rng, "psychometric/word-age", |_| 0.5);
    assert!(trajectories(&runs).is_empty());
}
