//! Spelled number: the number is written in words, not in digits.

use std::sync::LazyLock;

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{capitalised, noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, below};

pub static TASK: AbTask = AbTask {
    card: LazyLock::new(|| card("htest/spelled-number")),
    rule: Rule {
        name: "spelled-number",
        draw,
        key: same_letters,
    },
    upstream: Some("spelled_number"),
    rule_baselines: &[
        "words",
        "punctuation",
        "character_ngrams",
        "letters",
        "relations",
    ],
};

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let Some(&(_, spelled)) = WORDS.numbers.get(below(rng, WORDS.numbers.len())) else {
        return vec![];
    };
    // The same number in digits would be shorter, and whatever made up for it would tell the twins
    // apart: as many digits as letters leave everything else as it is.
    let digits: String = (0..spelled.len())
        .map(|place| match place {
            0 => 1 + below(rng, 9),
            _ => below(rng, 10),
        })
        .map(|digit| digit.to_string())
        .collect();
    let (subject, adverb) = (capitalised(noun(rng)), word(rng, &WORDS.ly_adverbs));
    let (verb, things) = (word(rng, &WORDS.transitive), word(rng, &WORDS.plurals));
    let sentence = |number: &str| format!("{subject} {verb} {number} {things} {adverb}.");
    vec![Twins {
        a: sentence(spelled),
        b: sentence(&digits),
    }]
}
