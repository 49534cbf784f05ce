//! Our own sets: large enough, well formed, nothing shared with the authors' files, and nothing on the
//! surface that gives an answer away.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mary_audit::{AuditSettings, Example, audit};
use mary_embodied::own::{questions, triples};
use mary_embodied::{Language, Sense, Subtask, Triple};
use strsim::normalized_levenshtein;

#[test]
fn there_are_enough_triples_of_every_sense_with_three_sentences_each() {
    assert!(
        triples(Language::En).len() >= 120,
        "{}",
        triples(Language::En).len()
    );
    for sense in Sense::ALL {
        let of = triples(Language::En)
            .iter()
            .filter(|t| t.sense == sense)
            .count();
        assert!(of >= 20, "{sense}: {of}");
    }
    let mut sentences = HashSet::new();
    let mut words = HashSet::new();
    for t in triples(Language::En) {
        assert!(words.insert(&t.word), "{} twice", t.word);
        let three: BTreeSet<&str> = [&t.word, &t.synonym, &t.antonym].map(AsRef::as_ref).into();
        assert_eq!(three.len(), 3, "{t:?}");
        for sentence in &t.sentences {
            assert_eq!(sentence.matches("{}").count(), 1, "{sentence}");
            assert!(
                sentence.ends_with('.') && sentences.insert(sentence),
                "{sentence}"
            );
            fits_the_article(t, sentence);
        }
    }
}

/// After "a" no word begins with a vowel, and after "an" all do.
fn fits_the_article(t: &Triple, sentence: &str) {
    let before = sentence.split("{}").next().unwrap().to_lowercase();
    for word in [&t.word, &t.synonym, &t.antonym] {
        let vowel = word.starts_with(['a', 'e', 'i', 'o', 'u']);
        let fits = match before.rsplit(' ').nth(1) {
            Some("a") => !vowel,
            Some("an") => vowel,
            _ => true,
        };
        assert!(fits, "{sentence} {word}");
    }
}

/// The share of triples in which choosing by `alike` finds the synonym; ties are one half.
fn found_by(alike: impl Fn(&str, &str) -> f64) -> f64 {
    let points: f64 = triples(Language::En)
        .iter()
        .map(|t| {
            let (same, other) = (alike(&t.word, &t.synonym), alike(&t.word, &t.antonym));
            match same.total_cmp(&other) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            }
        })
        .sum();
    points / triples(Language::En).len() as f64
}

#[test]
fn shared_letters_do_not_find_the_synonym() {
    let n = triples(Language::En).len() as f64;
    let mean = |other: fn(&Triple) -> &str| -> f64 {
        let all = triples(Language::En).iter();
        all.map(|t| normalized_levenshtein(&t.word, other(t)))
            .sum::<f64>()
            / n
    };
    let (synonym, antonym) = (mean(|t| &t.synonym), mean(|t| &t.antonym));
    let distance = |a: &str, b: &str| -(strsim::levenshtein(a, b) as f64);
    let length = |a: &str, b: &str| -(a.len().abs_diff(b.len()) as f64);
    let reached = [
        ("normalised edit distance", found_by(normalized_levenshtein)),
        ("edit distance", found_by(distance)),
        ("shared pairs of letters", found_by(strsim::sorensen_dice)),
        ("length", found_by(length)),
    ];
    eprintln!("likeness of form: synonyms {synonym:.3}, antonyms {antonym:.3}; {reached:?}");
    assert!(synonym <= antonym, "{synonym} {antonym}");
    for (name, share) in reached {
        assert!((0.40..=0.56).contains(&share), "{name}: {share}");
    }
}

#[test]
fn there_are_enough_questions_of_every_subtask() {
    let mut texts = HashSet::new();
    for subtask in Subtask::ALL {
        let of: Vec<_> = questions(Language::En)
            .iter()
            .filter(|q| q.subtask == subtask)
            .collect();
        assert!(of.len() >= 20, "{}: {}", subtask.name(), of.len());
    }
    for q in questions(Language::En) {
        assert!(texts.insert(&q.question), "{} twice", q.question);
        assert!(q.question.ends_with('?'), "{}", q.question);
        let options: BTreeSet<String> = q.options.iter().map(|o| o.to_lowercase()).collect();
        assert_eq!(options.len(), 4, "{q:?}");
    }
}

/// Options as a task would show them, in an order drawn from the question's own letters.
fn examples() -> Vec<Example> {
    questions(Language::En)
        .iter()
        .enumerate()
        .map(|(number, q)| {
            let place = (number * 7 + q.question.len()) % 4;
            let mut options: Vec<String> = q.options.iter().map(|o| o.to_string()).collect();
            options.swap(0, place);
            Example::new(number.to_string(), q.question.to_string(), options, place)
        })
        .collect()
}

#[test]
fn the_right_option_is_not_told_by_its_looks() {
    let settings = AuditSettings {
        permutations: 199,
        // The forest sees the question too; these are the baselines of the page.
        trees: 0,
        ..AuditSettings::default()
    };
    let report = audit(&examples(), &settings).unwrap();
    eprintln!("{}", report.to_text());
    assert_eq!(report.shortcuts().count(), 0);
    let share = |longest: bool| -> f64 {
        let points = questions(Language::En).iter().map(|q| {
            let long = |o: &str| {
                let n = o.chars().count() as i64;
                if longest { n } else { -n }
            };
            let most = q.options.iter().map(|o| long(o)).max().unwrap();
            let ties = q.options.iter().filter(|o| long(o) == most).count() as f64;
            if long(&q.options[q.correct]) == most {
                1.0 / ties
            } else {
                0.0
            }
        });
        points.sum::<f64>() / questions(Language::En).len() as f64
    };
    eprintln!("longest {:.3}, shortest {:.3}", share(true), share(false));
    assert!(share(true) < 0.30 && share(false) < 0.30);
}

#[test]
fn nothing_is_shared_with_the_released_files() {
    let Some(root) = mary_testkit::lacking::datasets("embodied") else {
        return;
    };
    let folder = root.join("embodied");
    let file = folder.join("SensoryVec/SensoryVec_Dataset_with_Predictions.csv");
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(file)
        .unwrap();
    let mut theirs: BTreeMap<BTreeSet<String>, ()> = BTreeMap::new();
    let mut sentences = HashSet::new();
    for record in reader.records() {
        let record = record.unwrap();
        let field = |i: usize| record.get(i).unwrap_or_default().trim().to_lowercase();
        theirs.insert([field(2), field(3), field(4)].into(), ());
        sentences.extend([field(5), field(6), field(7)]);
    }
    assert!(theirs.len() > 300, "{}", theirs.len());
    for t in triples(Language::En) {
        let set: BTreeSet<String> = [&t.word, &t.synonym, &t.antonym]
            .map(|w| w.to_lowercase())
            .into();
        assert!(!theirs.contains_key(&set), "{set:?}");
        for sentence in &t.sentences {
            assert!(!sentences.contains(&sentence.to_lowercase()), "{sentence}");
        }
    }
    let mut asked = HashSet::new();
    for name in [
        "visual/questions_with_answer1_en.json",
        "non-visual/questions400_with_answer1_en.json",
    ] {
        let text = std::fs::read_to_string(folder.join("PerceptualQA/dataset").join(name)).unwrap();
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        for entry in list.as_array().unwrap() {
            asked.insert(entry["question"].as_str().unwrap().to_lowercase());
        }
    }
    assert!(asked.len() > 900, "{}", asked.len());
    for q in questions(Language::En) {
        assert!(
            !asked.contains(&q.question.to_lowercase()),
            "{}",
            q.question
        );
    }
}
