//! Hyphenated word: an expression is joined by hyphens.

use std::sync::LazyLock;

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, coin};

pub static TASK: AbTask = AbTask {
    card: LazyLock::new(|| card("htest/hyphenated-word")),
    rule: Rule {
        name: "hyphenated-word",
        draw,
        key: same_letters,
    },
    upstream: Some("hyphenated_word"),
    rule_baselines: &[
        "words",
        "punctuation",
        "character_ngrams",
        "letters",
        "relations",
    ],
};

const BETWEEN: &[&str] = &[
    "above", "after", "behind", "below", "beside", "near", "past", "toward", "under", "with",
];

fn as_long_as(rng: &mut Stream, expression: &str) -> &'static str {
    let adjectives = WORDS.adjectives.iter().copied();
    let fitting: Vec<&'static str> = adjectives.filter(|a| a.len() == expression.len()).collect();
    word(rng, &fitting)
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let expression = word(rng, &WORDS.hyphenated);
    let adjective = as_long_as(rng, expression);
    // Drawn the same way, so that long adjectives are no sign of B.
    let model = word(rng, &WORDS.hyphenated);
    let other = as_long_as(rng, model);
    let (subject, object) = (noun(rng), noun(rng));
    if other == adjective || subject == object {
        return vec![];
    }
    let (verb, between) = (word(rng, &WORDS.verbs), word(rng, BETWEEN));
    let first = coin(rng);
    let text = |this: &str| {
        let (one, two) = if first { (this, other) } else { (other, this) };
        format!("The {one} {subject} {verb} {between} the {two} {object}.")
    };
    vec![Twins {
        a: text(expression),
        b: text(adjective),
    }]
}
