//! Spelled math: the operator is written in words, not as a symbol.

use crate::dataset::{Twins, same_letters};
use crate::draw::word;
use crate::words::WORDS;
use mary_generators::{Stream, below};

paper_task! {
    "spelled-math" as "spelled_math", same_letters,
    ["words", "punctuation", "character_ngrams", "letters", "relations"]
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let Some(&(spelled, symbol)) = WORDS.operators.get(below(rng, WORDS.operators.len())) else {
        return vec![];
    };
    let (quantity, remark) = (word(rng, &WORDS.quantities), word(rng, &WORDS.remarks));
    // One to six digits, each count as likely.
    let digits = 1 + below(rng, 6) as u32;
    let number = below(rng, 9 * 10_usize.pow(digits - 1)) + 10_usize.pow(digits - 1);
    let text = |operator: &str| format!("The {quantity} {operator} {number} {remark}.");
    // One symbol would be shorter than the word, and whatever made up for it would tell the twins apart.
    Twins::pair(text(spelled), text(&symbol.repeat(spelled.len())))
}
