//! Fresh questions under ten seeds, a thousand of each task: every answer is derived once more from
//! the words of the question by means that share nothing with the generator; no question comes twice;
//! the right option stands in each place equally often; and nothing but the question tells it.

mod chinese;
mod colour;
mod gallery;
mod geometry;
mod ladder;
mod life;
mod symbols;
mod twins;

use std::collections::{BTreeMap, HashSet};
use std::panic::catch_unwind;

use mary_audit::{AuditSettings, Example, audit};
use mary_embodied::fresh::{
    FRESH_COLOUR, FRESH_GEOMETRY, FRESH_SYMBOLS, FreshItem, FreshTask, Said,
};
use mary_stats::distributions::chi_squared_upper;

const SEEDS: std::ops::Range<u64> = 500..510;
const EACH: usize = 1000;

/// The option that is right, by the independent way.
type Solver = fn(kind: &str, words: &str, options: &[String]) -> usize;

/// The text between two marks.
pub fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text
        .find(from)
        .unwrap_or_else(|| panic!("no `{from}` in: {text}"))
        + from.len();
    let rest = &text[start..];
    &rest[..rest
        .find(to)
        .unwrap_or_else(|| panic!("no `{to}` after `{from}` in: {text}"))]
}

/// The names in `a, b, c and d`.
pub fn names(list: &str) -> Vec<&str> {
    list.split(", ")
        .flat_map(|part| part.split(" and "))
        .collect()
}

/// The only option for which something holds.
pub fn only(options: &[String], holds: impl Fn(&str) -> bool) -> usize {
    let found: Vec<usize> = (0..options.len()).filter(|&i| holds(&options[i])).collect();
    assert_eq!(found.len(), 1, "{found:?} of {options:?}");
    found[0]
}

/// The options in English.
pub fn english(options: &[Said]) -> Vec<String> {
    options.iter().map(|o| o.en.clone()).collect()
}

fn ten_seeds(task: &FreshTask, solve: Solver) {
    let mut all: HashSet<String> = HashSet::new();
    let mut wrong = Vec::new();
    let mut repeated: BTreeMap<&str, usize> = BTreeMap::new();
    let mut by_place = [0usize; 4];
    let mut by_kind: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in SEEDS {
        let items = task.questions(seed, EACH).unwrap();
        assert_eq!(items.len(), EACH);
        let mut in_seed: HashSet<&str> = HashSet::new();
        for item in &items {
            let words = &item.posed.words.en;
            let options = english(&item.options);
            let right = catch_unwind(|| solve(item.kind, words, &options)).ok();
            if right != Some(item.correct) {
                wrong.push(format!("{right:?} {words} {options:?}"));
            }
            assert!(in_seed.insert(words), "twice in seed {seed}: {words}");
            by_place[item.correct] += 1;
            *by_kind.entry(item.kind).or_default() += 1;
        }
        blocks_are_whole(&items);
        for item in items {
            if !all.insert(item.posed.words.en) {
                *repeated.entry(item.kind).or_default() += 1;
            }
        }
    }
    let n = SEEDS.count() * EACH;
    let expected = n as f64 / 4.0;
    let chi: f64 = by_place
        .iter()
        .map(|c| (*c as f64 - expected).powi(2) / expected)
        .sum();
    let p = chi_squared_upper(chi, 3.0);
    let name = task.kinds().next().unwrap().name;
    eprintln!(
        "{name} …: {n} questions, {} derived otherwise, places {by_place:?}, chi-square {chi:.2} (p {p:.3}), \
         {by_kind:?}, asked again under another seed: {repeated:?}",
        wrong.len()
    );
    let first: Vec<&String> = wrong.iter().take(12).collect();
    assert!(wrong.is_empty(), "{} wrong: {first:#?}", wrong.len());
    assert!(p > 0.01);
    // Small worlds (one letter, two turns) may come up again under another seed, never within one.
    assert!(repeated.values().sum::<usize>() < n / 10, "{repeated:?}");
    let by_default = task
        .kinds()
        .filter(|k| !k.name.starts_with("life-"))
        .count();
    assert_eq!(by_kind.len(), by_default);
}

/// Four questions share four options, each right once and in each place once.
fn blocks_are_whole(items: &[FreshItem]) {
    let mut blocks: BTreeMap<usize, Vec<&FreshItem>> = BTreeMap::new();
    for item in items {
        blocks.entry(item.block).or_default().push(item);
    }
    for block in blocks.values() {
        let sets: HashSet<Vec<&String>> = block
            .iter()
            .map(|i| {
                let mut options: Vec<&String> = i.options.iter().map(|o| &o.en).collect();
                options.sort();
                options
            })
            .collect();
        let answers: HashSet<&Said> = block.iter().map(|i| &i.options[i.correct]).collect();
        let seen: HashSet<&Said> = block.iter().map(|i| &i.seen_options[i.correct]).collect();
        let places: HashSet<usize> = block.iter().map(|i| i.correct).collect();
        assert_eq!(
            (
                block.len(),
                sets.len(),
                answers.len(),
                seen.len(),
                places.len()
            ),
            (4, 1, 4, 4, 4)
        );
    }
}

#[test]
fn colour_is_rederived_by_another_pipeline() {
    ten_seeds(&FRESH_COLOUR, colour::solve);
}

#[test]
fn geometry_is_rederived_by_brute_force() {
    ten_seeds(&FRESH_GEOMETRY, geometry::solve);
}

#[test]
fn symbols_are_rederived_from_another_drawing() {
    ten_seeds(&FRESH_SYMBOLS, symbols::solve);
}

fn no_shortcut(task: &FreshTask) {
    let items = task.questions(77, EACH).unwrap();
    let mut examples = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let mut example = Example::new(
            number.to_string(),
            item.posed.words.en.clone(),
            english(&item.options),
            item.correct,
        );
        example.cluster = Some(item.block.to_string());
        examples.push(example);
    }
    let settings = AuditSettings {
        folds: 5,
        permutations: 99,
        // The forest sees the question too, and the question decides the answer.
        trees: 0,
        ..AuditSettings::default()
    };
    let report = audit(&examples, &settings).unwrap();
    eprintln!("{}", report.to_text());
    for finding in &report.findings {
        assert!(
            finding.accuracy.value <= 0.30,
            "{} reaches {:.3}",
            finding.baseline,
            finding.accuracy.value
        );
    }
    assert_eq!(report.shortcuts().count(), 0);
}

#[test]
fn colour_has_no_shortcut() {
    no_shortcut(&FRESH_COLOUR);
}

#[test]
fn geometry_has_no_shortcut() {
    no_shortcut(&FRESH_GEOMETRY);
}

#[test]
fn symbols_have_no_shortcut() {
    no_shortcut(&FRESH_SYMBOLS);
}
