//! Spelled number: the number is written in words, not in digits.

use crate::dataset::{Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, below, capital};

paper_task! {
    "spelled-number" as "spelled_number", same_letters,
    ["words", "punctuation", "character_ngrams", "letters", "relations"]
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let Some(&(_, spelled)) = WORDS.numbers.get(below(rng, WORDS.numbers.len())) else {
        return vec![];
    };
    // The same number in digits would be shorter, and whatever made up for it would tell the twins
    // apart: as many digits as letters leave everything else as it is.
    let mut digit = |place: usize| match place {
        0 => 1 + below(rng, 9),
        _ => below(rng, 10),
    };
    let digits = (0..spelled.len()).map(|place| digit(place).to_string());
    let digits: String = digits.collect();
    let (subject, adverb) = (capital(noun(rng)), word(rng, &WORDS.ly_adverbs));
    let (verb, things) = (word(rng, &WORDS.transitive), word(rng, &WORDS.plurals));
    let sentence = |number: &str| format!("{subject} {verb} {number} {things} {adverb}.");
    Twins::pair(sentence(spelled), sentence(&digits))
}
