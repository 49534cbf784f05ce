//! Verdicts against chance: that a score's p-value and its interval never contradict each other, and how
//! often a model that knows nothing is told from chance somewhere in a battery of tasks, before and after
//! Holm's correction.

use mary_stats::{Moments, multiple, p_of_interval, score_interval};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::coverage_families::beta;

/// Scores of one task: yes and no, ties, numbers, single or in families.
fn scores(rng: &mut ChaCha8Rng) -> (Vec<f64>, Option<Vec<usize>>) {
    let n = rng.random_range(2..80);
    let share = match rng.random_range(0..4) {
        0 => 0.02,
        1 => 0.98,
        _ => rng.random::<f64>(),
    };
    let kind = rng.random_range(0..4);
    let families = rng.random::<f64>() < 0.5;
    let mut ids = Vec::new();
    let own: Vec<f64> = (0..12).map(|_| beta(rng, share)).collect();
    let mut score = |rng: &mut ChaCha8Rng| {
        let family = rng.random_range(0..12);
        ids.push(family);
        let p = if families { own[family] } else { share };
        let right = f64::from(u8::from(rng.random::<f64>() < p));
        match kind {
            0 | 1 => right,
            2 if rng.random::<f64>() < 0.2 => 0.5,
            2 => right,
            _ => 3.0 * right - 1.0,
        }
    };
    let scores = (0..n).map(|_| score(rng)).collect();
    (scores, families.then_some(ids))
}

#[test]
fn a_score_leaves_chance_out_exactly_where_p_is_below_five_percent() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut claims, mut none) = (0, 0);
    let mut methods = std::collections::BTreeSet::new();
    for _ in 0..8_000 {
        let (scores, ids) = scores(&mut rng);
        let mut moments = Moments::new();
        for (place, score) in scores.iter().enumerate() {
            match &ids {
                None => moments.push(*score).unwrap(),
                Some(ids) => moments.push_clustered(*score, ids[place]).unwrap(),
            }
        }
        let Ok(found) = score_interval(&scores, ids.as_deref()) else {
            continue;
        };
        for null in [0.0, 0.25, 0.5, rng.random()] {
            // A bound that is chance itself holds it, up to rounding.
            if (found.low - null).abs() < 1e-9 || (found.high - null).abs() < 1e-9 {
                continue;
            }
            let outside = !found.contains(null);
            let p = moments.p_value(null).unwrap();
            assert!((0.0..=1.0).contains(&p), "{p}");
            assert_eq!(outside, p < 0.05, "{null} {p} {found:?} {scores:?} {ids:?}");
            // What a stored interval tells agrees as well, though it knows less.
            let bounds = (found.value, found.low, found.high);
            let stored = p_of_interval(bounds, found.n, found.method, null).unwrap();
            assert_eq!(outside, stored < 0.05, "{null} {stored} {found:?}");
            claims += usize::from(outside);
            none += usize::from(!outside);
        }
        methods.insert(found.method);
    }
    assert!(claims > 3_000 && none > 3_000, "{claims} {none}");
    assert_eq!(methods.len(), 6, "{methods:?}");
}

#[test]
fn p_values_of_shares_are_those_of_textbooks() {
    let account = |right: usize, n: usize| {
        let mut moments = Moments::new();
        for item in 0..n {
            moments.push(f64::from(u8::from(item < right))).unwrap();
        }
        moments.p_value(0.5).unwrap()
    };
    // 60 of 100 against a coin: z = 2, and the exact test of nine of nine: 2 / 512.
    assert!((account(60, 100) - 0.045_500_263_896).abs() < 1e-9);
    assert!((account(9, 9) - 2.0 / 512.0).abs() < 1e-12);
    assert_eq!(account(50, 100), 1.0);
}

/// Tasks of a battery, as in the first run.
const TASKS: usize = 21;

/// The p-value of one task on which a model guesses: 100 yes/no verdicts, 60 choices of four, or 20
/// families of 10 whose difficulty varies.
fn guessing(rng: &mut ChaCha8Rng, task: usize) -> f64 {
    let mut moments = Moments::new();
    let toss = |rng: &mut ChaCha8Rng, p: f64| f64::from(u8::from(rng.random::<f64>() < p));
    let chance = if task % 3 == 1 { 0.25 } else { 0.5 };
    match task % 3 {
        2 => {
            for family in 0..20 {
                let own = beta(rng, chance);
                for _ in 0..10 {
                    moments.push_clustered(toss(rng, own), family).unwrap();
                }
            }
        }
        kind => {
            for _ in 0..if kind == 0 { 100 } else { 60 } {
                moments.push(toss(rng, chance)).unwrap();
            }
        }
    }
    moments.p_value(chance).unwrap()
}

/// Shares of runs in which at least one task is told from chance: by its own interval, and after Holm.
fn battery(runs: usize, tasks: usize) -> (f64, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (mut alone, mut corrected) = (0, 0);
    for _ in 0..runs {
        let p: Vec<f64> = (0..tasks).map(|t| guessing(&mut rng, t)).collect();
        let holm = multiple::holm(&p).unwrap();
        alone += usize::from(p.iter().any(|p| *p < 0.05));
        corrected += usize::from(holm.iter().any(|p| *p < 0.05));
    }
    let share = |n: usize| n as f64 / runs as f64;
    (share(alone), share(corrected))
}

#[test]
fn a_battery_of_guesses_is_rarely_told_from_chance_after_the_correction() {
    let (alone, corrected) = battery(1_000, TASKS);
    assert!(alone > 0.5, "{alone}");
    // Three standard errors of 1,000 runs are 2 points.
    assert!(corrected < 0.07, "{corrected}");
}

#[test]
#[ignore = "the table of docs/history/statistics.md: 20,000 runs each"]
fn the_table_of_verdicts() {
    for tasks in [5, 10, TASKS] {
        let (alone, corrected) = battery(20_000, tasks);
        eprintln!(
            "| {tasks} | {:.1} | {:.1} |",
            100.0 * alone,
            100.0 * corrected
        );
        // Three standard errors of 20,000 runs are half a point.
        assert!(corrected <= 0.055, "{tasks}: {corrected}");
    }
}
