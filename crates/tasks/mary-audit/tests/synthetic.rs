//! Sets made here: clean ones, on which nothing may be found, and ones with a planted shortcut.

use mary_audit::{AuditError, AuditSettings, Example, Form, audit, audit_beside, shared};
use mary_contract::{Item, Target};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SEEDS: u64 = 100;

fn words(count: usize) -> Vec<String> {
    let (heads, tails) = (
        ["ba", "ko", "mi", "tu", "re", "sa", "lo"],
        ["n", "ra", "p", "lit", "ve"],
    );
    let middles = ["", "la", "ne", "go"];
    let mut all = Vec::new();
    for head in heads {
        for middle in middles {
            for tail in tails {
                all.push(format!("{head}{middle}{tail}"));
            }
        }
    }
    all.truncate(count);
    all
}

/// Two labels, balanced, in random order; the question says nothing about them.
fn clean_labels(seed: u64, n: usize) -> Vec<Example> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let vocabulary = words(140);
    let mut labels: Vec<usize> = (0..n).map(|i| i % 2).collect();
    labels.shuffle(&mut rng);
    labels
        .into_iter()
        .enumerate()
        .map(|(i, label)| {
            let length = rng.random_range(3..7);
            let text: Vec<&str> = (0..length)
                .map(|_| vocabulary.choose(&mut rng).unwrap().as_str())
                .collect();
            let options = vec!["A".to_owned(), "B".to_owned()];
            Example::new(
                i.to_string(),
                format!("{}.", text.join(" ")),
                options,
                label,
            )
        })
        .collect()
}

/// Four options from a small pool, the right one chosen by nothing.
fn clean_options(seed: u64, n: usize) -> Vec<Example> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let vocabulary = words(24);
    (0..n)
        .map(|i| {
            let mut pool = vocabulary.clone();
            pool.shuffle(&mut rng);
            pool.truncate(4);
            Example::new(
                i.to_string(),
                format!("question {i}"),
                pool,
                rng.random_range(0..4),
            )
        })
        .collect()
}

fn seeds_with_findings(make: impl Fn(u64) -> Vec<Example>) -> u64 {
    (0..SEEDS)
        .filter(|&seed| {
            let settings = AuditSettings {
                seed,
                permutations: 399,
                trees: 0,
                ..AuditSettings::default()
            };
            let report = audit(&make(seed), &settings).unwrap();
            report.shortcuts().next().is_some()
        })
        .count() as u64
}

#[test]
fn nothing_is_found_in_clean_sets() {
    for (what, found) in [
        (
            "labels",
            seeds_with_findings(|seed| clean_labels(seed, 200)),
        ),
        (
            "options",
            seeds_with_findings(|seed| clean_options(seed, 120)),
        ),
    ] {
        eprintln!("clean {what}: something found in {found} of {SEEDS} seeds");
        assert!(found * 20 <= SEEDS, "{what}: {found}");
    }
}

#[test]
fn the_forest_finds_nothing_in_clean_sets() {
    const SEEDS: u64 = 20;
    let found = |make: &dyn Fn(u64) -> Vec<Example>| {
        let beats = |seed: &u64| {
            // Without permutations only the forest can be significant.
            let settings = AuditSettings {
                seed: *seed,
                permutations: 0,
                trees: 15,
                ..AuditSettings::default()
            };
            let report = audit(&make(*seed), &settings).unwrap();
            report.shortcuts().next().is_some()
        };
        (0..SEEDS).filter(beats).count()
    };
    // At the level of 5 %, more than three of twenty come up in fewer than two of a hundred such tests.
    let (labels, options) = (
        found(&|seed| clean_labels(seed, 120)),
        found(&|seed| clean_options(seed, 80)),
    );
    eprintln!(
        "of {SEEDS} clean sets the forest finds something in {labels} (labels), {options} (options)"
    );
    assert!(labels <= 3 && options <= 3, "{labels} and {options}");
}

#[test]
fn a_planted_length_is_found_and_may_be_the_rule() {
    let mut set = clean_labels(1, 120);
    for example in &mut set {
        if example.correct == 1 {
            example.question.push_str(" and so on and on and on");
        }
    }
    let report = audit(&set, &AuditSettings::default()).unwrap();
    let length = report.finding("length").unwrap();
    assert!(
        length.beats_chance && length.accuracy.value > 0.9,
        "{length:?}"
    );
    assert!(report.shortcuts().any(|f| f.baseline == "length"));
    let settings = AuditSettings {
        expected: vec!["length".to_owned()],
        ..AuditSettings::default()
    };
    let again = audit(&set, &settings).unwrap();
    assert!(again.shortcuts().all(|f| f.baseline != "length"));
    assert!(again.to_text().contains("the rule"));
}

#[test]
fn a_frequent_distractor_is_named() {
    let mut set = clean_options(2, 80);
    for (i, example) in set.iter_mut().enumerate() {
        let wrong = example.correct + 1 + i % 3;
        example.options[wrong % 4] = "ZZZ".to_owned();
        let other = if i % 3 == 2 { wrong - 1 } else { wrong + 1 };
        example.options[other % 4] = "YYY".to_owned();
    }
    let report = audit(&set, &AuditSettings::default()).unwrap();
    insta::assert_snapshot!(report.to_text());
    let text = report.finding("option_text").unwrap();
    assert!(text.beats_chance);
    let sentence = &text.telling[0];
    assert!(
        sentence.contains("ZZZ") && sentence.contains("YYY"),
        "{sentence}"
    );
}

#[test]
fn a_position_is_found() {
    let mut set = clean_options(3, 80);
    for example in set.iter_mut().take(60) {
        let right = example.correct;
        example.options.swap(right, 2);
        example.correct = 2;
    }
    let report = audit(&set, &AuditSettings::default()).unwrap();
    assert!(report.finding("position").unwrap().beats_chance);
    assert!(report.hygiene.balance_p < 0.01);
}

#[test]
fn a_question_asked_twice_never_trains_for_itself() {
    // Every question twice with the same random label: memory of the item would score 100 %.
    let mut set = clean_labels(4, 100);
    set.extend(set.clone());
    let report = audit(&set, &AuditSettings::default()).unwrap();
    assert_eq!((report.n, report.distinct, report.groups), (200, 100, 100));
    assert!(report.shortcuts().next().is_none(), "{}", report.to_text());
    assert_eq!(report.hygiene.repeats, 100);
}

#[test]
fn pairs_are_audited_without_a_position() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let vocabulary = words(100);
    let items: Vec<Item> = (0..100)
        .map(|i| {
            let mut word = || vocabulary.choose(&mut rng).unwrap().clone();
            let (a, b) = (word(), word());
            let target = Target::Pair {
                good: format!("the {a} sees {b}"),
                bad: format!("the {a} see {b}"),
            };
            Item::new(format!("{i}"), target, vec![])
        })
        .collect();
    let set: Vec<Example> = items.iter().filter_map(Example::from_item).collect();
    let report = audit(&set, &AuditSettings::default()).unwrap();
    assert_eq!(report.form, Form::Options);
    assert!(report.finding("position").is_none() && report.finding("file_order").is_none());
    assert!(report.finding("words").unwrap().accuracy.value > 0.99);
    assert!(
        report.hygiene.remarks().is_empty(),
        "{:?}",
        report.hygiene.remarks()
    );
    let other = Item::new("t", Target::Text("x".into()), vec![]);
    assert!(Example::from_item(&other).is_none());
}

#[test]
fn contradictions_and_leaks_are_counted() {
    let mut set = clean_labels(6, 40);
    let mut twin = set[0].clone();
    twin.correct = 1 - twin.correct;
    set.push(twin);
    let report = audit(&set, &AuditSettings::default()).unwrap();
    assert_eq!(report.hygiene.contradictions, [set[0].question.clone()]);
    let mut shouted = set[3].clone();
    shouted.question = shouted.question.to_uppercase();
    assert_eq!(shared(&set, &[shouted]).len(), 1);
}

#[test]
fn what_cannot_be_audited_is_refused_in_words() {
    let set = clean_labels(7, 40);
    let few = audit(&set[..5], &AuditSettings::default()).unwrap_err();
    assert!(matches!(few, AuditError::TooFew { found: 5, .. }));
    assert!(matches!(
        audit(&[], &AuditSettings::default()),
        Err(AuditError::TooFew { .. })
    ));
    let mut wrong = set.clone();
    wrong[4].correct = 7;
    let message = audit(&wrong, &AuditSettings::default())
        .unwrap_err()
        .to_string();
    assert!(message.contains("example 4"), "{message}");
    let settings = AuditSettings {
        expected: vec!["colour".to_owned()],
        ..AuditSettings::default()
    };
    let message = audit(&set, &settings).unwrap_err().to_string();
    assert!(message.contains("capitals"), "{message}");
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let set = clean_labels(8, 60);
    let settings = AuditSettings::default();
    assert_eq!(
        audit(&set, &settings).unwrap(),
        audit(&set, &settings).unwrap()
    );
}

/// Two words and a label that follows from both together: from neither alone.
fn combined(seed: u64, n: usize) -> Vec<Example> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let vocabulary = words(140);
    (0..n)
        .map(|i| {
            let mut word = || vocabulary.choose(&mut rng).unwrap().clone();
            let (one, two) = (word(), word());
            let alike = one.chars().next() == two.chars().next();
            let question = format!("{i} {one} {two}");
            let options = vec!["A".to_owned(), "B".to_owned()];
            let long = one.len() > 4;
            Example::new(i.to_string(), question, options, usize::from(alike ^ long))
        })
        .collect()
}

#[test]
fn the_forest_finds_what_only_two_features_together_give_away() {
    let others: Vec<Vec<Example>> = (1..5).map(|seed| combined(seed, 200)).collect();
    let settings = AuditSettings {
        permutations: 99,
        ..AuditSettings::default()
    };
    let report = audit_beside(&combined(0, 200), &others, &settings).unwrap();
    let forest = report.finding("forest").unwrap();
    assert!(
        forest.beats_chance && forest.accuracy.value > 0.8,
        "{forest:?}"
    );
    assert!(!forest.telling.is_empty());
    assert_eq!(report.other_seeds, 4);
    assert!(report.verdict().contains("learned on 4 other seeds"));
    // Named as the rule, it is dropped from what is held against the set.
    let named = AuditSettings {
        expected: vec!["relations".to_owned(), "word_lengths".to_owned()],
        ..settings
    };
    let again = audit_beside(&combined(0, 200), &others, &named).unwrap();
    assert!(again.finding("forest").unwrap().expected);
    let without = again.finding("forest_without_rule").unwrap();
    assert!(
        without.accuracy.value < forest.accuracy.value,
        "{without:?}"
    );
}

/// Twins that differ in the last word alone.
fn twins(n: usize) -> Vec<Example> {
    let vocabulary = words(140);
    (0..n)
        .map(|i| {
            let ends = if i % 2 == 0 { "left" } else { "home" };
            let word = &vocabulary[(i / 2) % vocabulary.len()];
            let options = vec!["A".to_owned(), "B".to_owned()];
            let question = format!("Item {} {word} goes {ends}", i / 2);
            let mut example = Example::new(i.to_string(), question, options, i % 2);
            example.cluster = Some((i / 2).to_string());
            example
        })
        .collect()
}

#[test]
fn what_cannot_tell_twins_apart_is_right_in_one_half_and_significant_in_none() {
    let report = audit(&twins(200), &AuditSettings::default()).unwrap();
    for blind in ["capitals", "length", "first_character"] {
        let found = report.finding(blind).unwrap();
        assert_eq!(found.accuracy.value, 0.5, "{found:?}");
        assert_eq!(found.p, 1.0, "{found:?}");
    }
    assert!(report.to_text().starts_with(
        "200 items, 200 distinct questions in 100 groups kept together, labels A, B\n"
    ));
    assert!(report.finding("last_character").unwrap().accuracy.value > 0.99);
    assert!(report.verdict().contains("baselines found a shortcut"));
}

#[test]
fn nothing_found_is_said_of_what_was_tried() {
    let settings = AuditSettings {
        permutations: 99,
        trees: 10,
        ..AuditSettings::default()
    };
    let report = audit(&clean_labels(11, 100), &settings).unwrap();
    let tried = report.findings.len();
    let verdict = report.verdict();
    assert!(
        verdict
            == format!(
                "no shortcut found by the {tried} baselines tried, a random forest among them"
            ),
        "{verdict}"
    );
}
