//! Hyphenated word: an expression is joined by hyphens.

use crate::htest::ab_task::{AbTask, card};
use crate::htest::dataset::{Rule, Twins, same_letters};
use crate::htest::draw::{noun, word};
use crate::htest::words::{HYPHENATED, LY_ADVERBS, PLACES, VERBS};
use crate::randomness::Stream;

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/hyphenated-word",
        "Hyphenated Word",
        "A items hold an expression joined by hyphens (worn-out); the B twin is the same sentence with \
         spaces instead (worn out).",
    ),
    rule: Rule {
        name: "hyphenated-word",
        draw,
        key,
    },
    upstream: "hyphenated_word",
};

fn key(text: &str) -> String {
    same_letters(&text.replace('-', " "))
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let expression = word(rng, HYPHENATED);
    let (subject, verb) = (noun(rng), word(rng, VERBS));
    let (place, adverb) = (word(rng, PLACES), word(rng, LY_ADVERBS));
    let text = |joined: &str| format!("The {joined} {subject} {verb} {place} {adverb}.");
    vec![Twins {
        a: text(expression),
        b: text(&expression.replace('-', " ")),
    }]
}
