//! What the generators promise.

use std::collections::{BTreeMap, HashSet};

use mary_generators::Word;

use super::*;
use crate::grammar::lexicon::LEXICON;

fn by_phenomenon(pairs: &[FreshPair]) -> BTreeMap<Phenomenon, Vec<&FreshPair>> {
    let mut sorted: BTreeMap<Phenomenon, Vec<&FreshPair>> = BTreeMap::new();
    for pair in pairs {
        sorted.entry(pair.phenomenon).or_default().push(pair);
    }
    sorted
}

#[test]
fn every_phenomenon_has_two_hundred_distinct_pairs_per_seed() {
    for seed in [0, 1, 77] {
        let pairs = fresh_pairs(seed, 200).unwrap();
        let sorted = by_phenomenon(&pairs);
        assert_eq!(sorted.len(), 12);
        for (phenomenon, own) in sorted {
            assert_eq!(own.len(), 200, "{phenomenon:?}");
            let paradigms: HashSet<_> = own.iter().map(|p| p.paradigm).collect();
            assert!(paradigms.len() >= 2, "{phenomenon:?}: {paradigms:?}");
        }
        let good: HashSet<_> = pairs.iter().map(|p| &p.good).collect();
        let bad: HashSet<_> = pairs.iter().map(|p| &p.bad).collect();
        assert_eq!((good.len(), bad.len()), (2400, 2400));
        assert!(good.is_disjoint(&bad));
    }
}

#[test]
fn two_thousand_of_each_can_be_had() {
    assert_eq!(fresh_pairs(5, 2_000).unwrap().len(), 24_000);
}

#[test]
fn seeds_give_other_pairs_and_the_same_seed_the_same() {
    let (a, b) = (fresh_pairs(1, 50).unwrap(), fresh_pairs(2, 50).unwrap());
    assert_eq!(a, fresh_pairs(1, 50).unwrap());
    let of_a: HashSet<_> = a.iter().map(|p| &p.good).collect();
    let shared = b.iter().filter(|p| of_a.contains(&p.good)).count();
    assert!(shared < 30, "{shared} of 600");
}

#[test]
fn the_two_sentences_have_equally_many_words_and_share_nearly_all() {
    for pair in fresh_pairs(3, 300).unwrap() {
        let words = |s: &str| {
            s.trim_end_matches(['.', '?'])
                .split(' ')
                .map(str::to_lowercase)
                .collect::<Vec<_>>()
        };
        let (good, bad) = (words(&pair.good), words(&pair.bad));
        assert_eq!(good.len(), bad.len(), "{pair:?}");
        // As a bag, the sentences differ in at most two words (`more than` for `at least`, or a moved
        // word with the one that replaces it).
        let mut rest = bad.clone();
        for word in &good {
            if let Some(at) = rest.iter().position(|w| w == word) {
                rest.remove(at);
            }
        }
        assert!(rest.len() <= 2, "{pair:?}");
        assert!(good.iter().all(|w| !w.is_empty()), "{pair:?}");
    }
}

#[test]
fn the_lexicon_is_wide_and_sound() {
    let lists = |names: &[&str]| -> Vec<&Word> {
        let all = names.iter().flat_map(|name| LEXICON.words(name));
        all.collect()
    };
    let nouns = lists(&[
        "people",
        "irregular_animate",
        "irregular_things",
        "animals",
        "things",
    ]);
    let verbs = lists(&[
        "transitive",
        "strict",
        "intransitive",
        "social",
        "reflexive",
    ]);
    let listed = lists(&["mass", "looks", "states", "names", "irregular"]);
    let all = listed.iter().chain(&nouns).chain(&verbs);
    let mut words: HashSet<&str> = all.map(|word| word.text()).collect();
    for deed in lists(&["irregular"]) {
        let Some(Word::Forms(objects)) = deed.part("objects") else {
            panic!("objects of {deed:?}");
        };
        words.extend(objects.iter().map(Word::text));
        assert_ne!(deed.part("past"), deed.part("participle"));
        assert_ne!(deed.part("past"), deed.part("regular"));
    }
    assert!(words.len() >= 400, "{}", words.len());
    for noun in nouns {
        assert_ne!(noun.part("one"), noun.part("many"));
    }
    for noun in lists(&["things"]) {
        // The article is chosen by the letter: no thing may sound otherwise than it is written.
        for exception in ["uni", "use", "eu", "hour", "hon", "heir", "one"] {
            assert!(!noun.text().starts_with(exception), "{noun:?}");
        }
    }
    for verb in lists(&["strict"]) {
        let intransitive = lists(&["intransitive"]);
        assert!(intransitive.iter().all(|v| v.text() != verb.text()));
    }
}

#[test]
fn the_small_world_gives_pairs_of_all_phenomena_that_training_never_showed() {
    let pairs = small_pairs(0, 40).unwrap();
    let sorted = by_phenomenon(&pairs);
    assert_eq!(sorted.len(), 12);
    for pair in &pairs {
        assert!(
            mary_generators::small_world::is_held_out(&pair.good),
            "{}",
            pair.good
        );
    }
    assert!(sorted.values().all(|own| own.len() <= 40 && own.len() >= 8));
}

#[test]
fn a_sample_to_be_read() {
    // Two of each paradigm, as they stand in docs/history/psychometric.md's sample.
    let pairs = fresh_pairs(0, 40).unwrap();
    let mut shown: BTreeMap<(Phenomenon, &str), usize> = BTreeMap::new();
    let mut text = String::new();
    for pair in &pairs {
        let count = shown.entry((pair.phenomenon, pair.paradigm)).or_default();
        *count += 1;
        if *count <= 2 {
            text.push_str(&format!(
                "{} / {}\n  {}\n * {}\n",
                pair.phenomenon.name(),
                pair.paradigm,
                pair.good,
                pair.bad
            ));
        }
    }
    insta::assert_snapshot!("sample_of_fresh_pairs", text);
}
