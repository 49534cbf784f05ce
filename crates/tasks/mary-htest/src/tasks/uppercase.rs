//! Uppercase: one letter somewhere in a lower-case sentence is a capital.

use crate::dataset::{Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, below};

paper_task! { "uppercase" as "uppercase", same_letters, ["capitals", "character_ngrams"] }

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let b = format!(
        "{} {} {} {}.",
        noun(rng),
        word(rng, &WORDS.verbs),
        word(rng, &WORDS.places),
        word(rng, &WORDS.ly_adverbs)
    );
    let rest = b.char_indices().skip(1);
    let small = rest.filter(|c| c.1.is_ascii_lowercase());
    let letters: Vec<usize> = small.map(|(place, _)| place).collect();
    let Some(&chosen) = letters.get(below(rng, letters.len())) else {
        return vec![];
    };
    let raised = |(place, c): (usize, char)| {
        if place == chosen {
            c.to_ascii_uppercase()
        } else {
            c
        }
    };
    Twins::pair(b.char_indices().map(raised).collect(), b)
}
