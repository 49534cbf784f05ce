//! Uppercase: one letter somewhere in a lower-case sentence is a capital.

use std::sync::LazyLock;

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, below};

pub static TASK: AbTask = AbTask {
    card: LazyLock::new(|| card("htest/uppercase")),
    rule: Rule {
        name: "uppercase",
        draw,
        key: same_letters,
    },
    upstream: Some("uppercase"),
    rule_baselines: &["capitals", "character_ngrams"],
};

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let b = format!(
        "{} {} {} {}.",
        noun(rng),
        word(rng, &WORDS.verbs),
        word(rng, &WORDS.places),
        word(rng, &WORDS.ly_adverbs)
    );
    let letters: Vec<usize> = b
        .char_indices()
        .skip(1)
        .filter(|(_, c)| c.is_ascii_lowercase())
        .map(|(place, _)| place)
        .collect();
    let Some(&chosen) = letters.get(below(rng, letters.len())) else {
        return vec![];
    };
    let a = b
        .char_indices()
        .map(|(place, c)| {
            if place == chosen {
                c.to_ascii_uppercase()
            } else {
                c
            }
        })
        .collect();
    vec![Twins { a, b }]
}
