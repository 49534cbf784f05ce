//! End ly: the last word ends in "ly".

use crate::dataset::{Twins, same_letters};
use crate::draw::{noun, stand_in, word};
use crate::words::WORDS;
use mary_generators::{Stream, below, capital};

paper_task! {
    "end-ly" as "end_ly", same_letters,
    ["last_character", "word_memory", "character_ngrams"]
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let with = if below(rng, 3) == 0 {
        word(rng, &WORDS.ly_others)
    } else {
        word(rng, &WORDS.ly_adverbs)
    };
    let (one, two) = (noun(rng), noun(rng));
    let (does, then) = (word(rng, &WORDS.verbs), word(rng, &WORDS.verbs));
    let Some(without) = stand_in(rng, with, &WORDS.not_ly, &[does, then, two, one]) else {
        return vec![];
    };
    let (one, two) = (capital(one), capital(two));
    let text = |first: &str, last: &str| format!("{one} {does} {first}. {two} {then} {last}.");
    Twins::pair(text(without, with), text(with, without))
}
