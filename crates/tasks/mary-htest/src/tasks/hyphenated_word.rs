//! Hyphenated word: an expression is joined by hyphens.

use crate::dataset::{Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, coin};

paper_task! {
    "hyphenated-word" as "hyphenated_word", same_letters,
    ["words", "punctuation", "character_ngrams", "letters", "relations"]
}

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
    Twins::pair(text(expression), text(adjective))
}
