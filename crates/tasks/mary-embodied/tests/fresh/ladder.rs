//! The ladder of difficulty: every rung has questions of every kind that has one, they are right, no rung's
//! question is another's, and a reader who makes small errors makes more of them from rung to rung.

use std::collections::{BTreeMap, HashSet};

use mary_contract::Task as _;
use mary_embodied::fresh::{Colours, FRESH_TASKS, FreshTask, Level};
use mary_generators::{Stream, stream};
use rand::RngExt as _;

use super::{colour, english, geometry, life, symbols};

const RUNGS: [&str; 4] = ["1", "2", "3", "4"];

fn rung(name: &str) -> Level {
    Level::named(name).unwrap()
}

fn solve(task: &FreshTask, kind: &str, words: &str, options: &[String]) -> usize {
    match (task.card().id.as_ref(), kind.strip_prefix("life-")) {
        (_, Some(kind)) => life::solve(kind, words, options),
        ("embodied/fresh-colour", _) => colour::solve(kind, words, options),
        ("embodied/fresh-geometry", _) => geometry::solve(kind, words, options),
        _ => symbols::solve(kind, words, options),
    }
}

#[test]
fn every_rung_is_right_and_its_own() {
    for task in FRESH_TASKS {
        let kinds = task.kinds().filter(|k| k.grows.is_some()).count();
        let mut asked: HashSet<String> = HashSet::new();
        for name in RUNGS {
            let n = 8 * kinds;
            let items = task.drawn(3, n, rung(name), Colours::Both).unwrap();
            let mut seen: HashSet<&str> = HashSet::new();
            for item in &items {
                seen.insert(item.kind);
                let (words, options) = (&item.posed.words.en, english(&item.options));
                let right = solve(task, item.kind, words, &options);
                assert_eq!(right, item.correct, "rung {name}: {words} {options:?}");
                assert!(asked.insert(words.clone()), "on two rungs: {words}");
            }
            assert_eq!(
                seen.len(),
                kinds,
                "{} rung {name}: {seen:?}",
                task.card().id
            );
        }
    }
}

/// Steps that are told in a question: folds, cuts, moves, symbols, towers, corners cut off.
fn steps(kind: &str, words: &str) -> usize {
    let times = |mark: &str| words.matches(mark).count();
    match kind {
        "fold-count" | "fold-where" => times("is folded over"),
        "pieces" => times("from ") - 1,
        "board" | "heading" | "opening" => times(" is rotated by") + times(" is flipped"),
        "regions" | "covered" | "cut" | "crossed" => {
            words.split('"').nth(1).unwrap().split(' ').count()
        }
        "pile" => words
            .lines()
            .filter(|l| l.len() == 5)
            .flat_map(str::chars)
            .filter(|c| ('1'..='9').contains(c))
            .count(),
        _ => 0,
    }
}

/// A reader who gets each told step wrong with probability 5 % and then guesses.
fn careless(rng: &mut Stream, steps: usize) -> bool {
    let slipped = (0..steps).any(|_| rng.random::<f64>() < 0.05);
    !slipped || rng.random::<f64>() < 0.25
}

/// The figures of docs/history/embodied.md: told steps from rung to rung, and what a careless reader scores.
#[test]
fn there_is_more_to_keep_in_mind_from_rung_to_rung() {
    let mut rng = stream(1, "careless");
    for task in FRESH_TASKS {
        let mut before: BTreeMap<&str, f64> = BTreeMap::new();
        for name in RUNGS {
            let mut all: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            for item in task.drawn(5, 240, rung(name), Colours::Names).unwrap() {
                let told = steps(item.kind, &item.posed.words.en);
                if told > 0 {
                    all.entry(item.kind).or_default().push(told);
                }
            }
            for (kind, told) in all {
                let mean = told.iter().sum::<usize>() as f64 / told.len() as f64;
                let right = told.iter().filter(|t| careless(&mut rng, **t)).count();
                let share = right as f64 / told.len() as f64;
                eprintln!("{kind} rung {name}: {mean:.1} steps, careless reader {share:.2}");
                if let Some(less) = before.insert(kind, mean) {
                    assert!(mean > less, "{kind} rung {name}: {mean} after {less}");
                }
            }
        }
    }
}

/// An eye that sees every colour with an error of its own: answers get worse from rung to rung. Printed
/// for docs/history/embodied.md.
#[test]
fn a_blurred_eye_falls_from_rung_to_rung() {
    let mut rng = stream(2, "blurred");
    for kind in ["extreme", "order", "compared"] {
        let mut shares = Vec::new();
        for name in RUNGS {
            let task = FRESH_TASKS[0];
            let items = task.drawn(6, 240, rung(name), Colours::Names).unwrap();
            let items: Vec<_> = items.into_iter().filter(|i| i.kind == kind).collect();
            let right = items
                .iter()
                .filter(|item| {
                    let options = english(&item.options);
                    let mut error = || {
                        // The sum of twelve is near enough to normal.
                        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
                    };
                    let words = &item.posed.words.en;
                    colour::blurred(kind, words, &options, 0.03, &mut error) == item.correct
                })
                .count();
            shares.push(right as f64 / items.len() as f64);
        }
        eprintln!("{kind}: a blurred eye scores {shares:.2?}");
        assert!(shares[0] > shares[3] + 0.05, "{kind}: {shares:?}");
    }
}
