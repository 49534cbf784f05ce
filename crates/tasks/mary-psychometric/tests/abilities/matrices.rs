//! Fresh matrices under many seeds: one answer each, none twice, every place equally often right, and
//! nothing to be had from the candidates alone.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mary_contract::{Item, NoData, Request, Target, Task, TaskSettings};
use mary_psychometric::matrices::{
    DIGIT_MATRICES, LETTER_STRINGS, Matrices, Matrix, context_blind, fresh, fresh_digits,
    fresh_letters,
};

use super::solver;

const SEEDS: u64 = 10;
const EACH: usize = 1000;

/// Type is shown as level + 2, size as level + 1 (in tenths), colour as its level (in tens).
fn shown(attribute: usize, level: i32) -> i32 {
    level + [2, 1, 0][attribute]
}

#[test]
fn ten_thousand_matrices_have_one_answer_and_no_twin() {
    let mut all: HashSet<Vec<[i32; 3]>> = HashSet::new();
    let mut across = 0;
    for seed in 0..SEEDS {
        let set = fresh(seed, EACH).unwrap();
        assert_eq!(set.len(), EACH);
        let mut own = HashSet::new();
        let mut places = [0usize; 8];
        for m in &set {
            let found = solver::answers(&m.context, &m.candidates, shown);
            assert_eq!(found, [m.correct], "{m:?}");
            let different: BTreeSet<_> = m.candidates.iter().collect();
            assert_eq!(different.len(), 8, "{m:?}");
            assert!(own.insert(m.context.clone()), "{m:?}");
            across += usize::from(!all.insert(m.context.clone()));
            places[m.correct] += 1;
        }
        assert_eq!(places, [EACH / 8; 8], "seed {seed}");
    }
    eprintln!(
        "{across} of {} matrices stand in the sets of two seeds",
        all.len()
    );
    assert!(across < 50, "{across}");
}

/// What someone reaches who learns from other items which candidate is right, by the values alone.
fn learned_from_values(train: &[Matrix], test: &[Matrix]) -> f64 {
    let mut right: BTreeMap<(usize, i32), [f64; 2]> = BTreeMap::new();
    for m in train {
        for (i, candidate) in m.candidates.iter().enumerate() {
            for (attribute, value) in candidate.iter().enumerate() {
                let count = right.entry((attribute, *value)).or_insert([0.5, 4.0]);
                count[0] += f64::from(u8::from(i == m.correct));
                count[1] += 1.0;
            }
        }
    }
    let score = |candidate: &[i32; 3]| -> f64 {
        candidate
            .iter()
            .enumerate()
            .map(|(a, v)| right.get(&(a, *v)).map_or(0.125, |c| c[0] / c[1]).ln())
            .sum()
    };
    let hits = test.iter().filter(|m| {
        let values: Vec<f64> = m.candidates.iter().map(score).collect();
        let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        values[m.correct] == best
    });
    hits.count() as f64 / test.len() as f64
}

#[test]
fn the_candidates_alone_say_nothing() {
    let mut learned = 0.0;
    for seed in 0..SEEDS {
        let set = fresh(seed, EACH).unwrap();
        let blind = set.iter().map(context_blind).sum::<f64>() / EACH as f64;
        assert_eq!(blind, 0.125, "seed {seed}");
        let (train, test) = set.split_at(EACH / 2);
        learned += learned_from_values(train, test);
    }
    let learned = learned / SEEDS as f64;
    eprintln!("fresh matrices: context-blind majority 0.125, learned from values {learned:.3}");
    // 5,000 test items: four standard errors around chance.
    assert!(
        (learned - 0.125).abs() < 4.0 * (0.125 * 0.875 / 5000.0_f64).sqrt(),
        "{learned}"
    );
}

#[test]
fn every_rule_is_as_frequent_as_the_others() {
    let set = fresh(4, 2000).unwrap();
    for attribute in 0..3 {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for m in &set {
            *counts.entry(&m.rules[attribute]).or_default() += 1;
        }
        assert_eq!(counts.len(), 4, "{counts:?}");
        assert!(
            counts.values().all(|n| (380..620).contains(n)),
            "{counts:?}"
        );
    }
}

#[test]
fn a_seed_gives_the_same_set_and_a_longer_one_begins_with_it() {
    assert_eq!(fresh(3, 50).unwrap(), fresh(3, 50).unwrap());
    assert_eq!(fresh(3, 50).unwrap(), fresh(3, 80).unwrap()[..50]);
    assert_ne!(fresh(3, 50).unwrap(), fresh(4, 50).unwrap());
}

#[test]
fn digit_matrices_have_one_answer_and_balanced_candidates() {
    for seed in 0..4 {
        let set = fresh_digits(seed, 450).unwrap();
        let mut seen = HashSet::new();
        let mut places = [0usize; 8];
        let mut answers = [0usize; 10];
        for p in &set {
            assert_eq!(p.context.len(), 8);
            assert!(seen.insert(p.context.clone()), "{p:?}");
            let different: BTreeSet<_> = p.candidates.iter().collect();
            assert_eq!(different.len(), 8, "{p:?}");
            places[p.correct] += 1;
            let right: Vec<usize> = (0..8)
                .filter(|&i| digit_lawful(&p.context, &p.candidates[i], p.unordered))
                .collect();
            assert_eq!(right, [p.correct], "{p:?}");
            if p.candidates[0].len() == 1 && !p.unordered {
                answers[usize::from(p.candidates[p.correct][0])] += 1;
            }
        }
        assert!(
            places.iter().all(|n| n.abs_diff(450 / 8) <= 1),
            "{places:?}"
        );
        // 200 problems of one rule, 20 of each digit expected.
        assert!(answers.iter().all(|n| (5..=40).contains(n)), "{answers:?}");
    }
}

type Digits = BTreeSet<u8>;

/// Whether a cell completes a digit matrix by some rule on each place, or by logic on sets.
fn digit_lawful(context: &[Vec<u8>], last: &[u8], sets: bool) -> bool {
    let cells: Vec<&[u8]> = context.iter().map(Vec::as_slice).chain([last]).collect();
    if sets {
        let set = |i: usize| cells[i].iter().copied().collect::<Digits>();
        let law = |f: &dyn Fn(&Digits, &Digits) -> Digits| {
            (0..3).all(|r| f(&set(3 * r), &set(3 * r + 1)) == set(3 * r + 2))
        };
        return law(&|a, b| a | b) || law(&|a, b| a & b) || law(&|a, b| a ^ b);
    }
    (0..last.len()).all(|place| {
        let at = |i: usize| i32::from(cells[i][place]);
        let rows = [0, 1, 2].map(|r| [at(3 * r), at(3 * r + 1), at(3 * r + 2)]);
        let columns_constant = rows[0] == rows[1] && rows[1] == rows[2];
        columns_constant || solver::lawful(&rows)
    })
}

#[test]
fn letter_strings_have_six_different_candidates() {
    for generalisations in 0..=3 {
        let set = fresh_letters(1, 240, generalisations).unwrap();
        let mut places = [0usize; 6];
        let mut seen = HashSet::new();
        for p in &set {
            assert_eq!(p.generalisations.len(), generalisations);
            let different: BTreeSet<_> = p.candidates.iter().collect();
            assert_eq!(different.len(), 6, "{p:?}");
            assert!(seen.insert((p.source.clone(), p.target.clone())), "{p:?}");
            places[p.correct] += 1;
        }
        assert_eq!(places, [40; 6]);
    }
}

fn first(task: &dyn Task, params: &[(&str, &str)]) -> Item {
    let settings = TaskSettings {
        params: params
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect(),
        ..TaskSettings::default()
    };
    let items = task.items(&settings, &NoData).unwrap();
    items.map(Result::unwrap).next().unwrap()
}

fn asked(item: &Item) -> String {
    match &item.asks[0].request {
        Request::Score(s) => format!("{}|{}|", s.prefix.text(), s.continuations.join("|")),
        Request::Generate(g) => g.prompt.text(),
        Request::Observe(_) => panic!("no hidden states here"),
    }
}

#[test]
fn what_is_asked_in_full() {
    type Settings = &'static [(&'static str, &'static str)];
    let mut text = String::new();
    for (name, task, params) in [
        ("paper", &Matrices as &dyn Task, &[] as Settings),
        ("lm-raven", &Matrices, &[("layout", "lm-raven")]),
        (
            "choices",
            &Matrices,
            &[("layout", "choices"), ("instruction", "8")],
        ),
        ("digits", &DIGIT_MATRICES, &[]),
        ("digits written", &DIGIT_MATRICES, &[("mode", "generate")]),
        ("letters", &LETTER_STRINGS, &[("generalisations", "2")]),
        ("letters written", &LETTER_STRINGS, &[("mode", "generate")]),
    ] {
        text += &format!("== {name}\n{}\n\n", asked(&first(task, params)));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn all_eight_instructions_ask_every_matrix_eight_times() {
    let settings = TaskSettings {
        params: [("instruction", "all"), ("n", "3")]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .into(),
        ..TaskSettings::default()
    };
    let items: Vec<Item> = Matrices
        .items(&settings, &NoData)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(items.len(), 24);
    let clusters: BTreeSet<_> = items.iter().map(|i| i.cluster.clone().unwrap()).collect();
    assert_eq!(clusters.len(), 3);
    let Target::Choice { options, .. } = &items[0].target else {
        panic!("a choice")
    };
    assert_eq!(options.len(), 8);
}
