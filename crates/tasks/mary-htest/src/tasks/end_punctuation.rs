//! End punctuation: the mark stands at the end and not somewhere before.

use crate::dataset::{Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, capital, coin};

paper_task! { "end-punctuation" as "end_punctuation", key, ["last_character", "character_ngrams"] }

const MARKS: &[&str] = &[".", "!", "?", "..."];

/// Two texts with the same words are the same item, wherever the mark stands.
fn key(text: &str) -> String {
    let bare: String = text.chars().filter(|c| !".!?".contains(*c)).collect();
    same_letters(&bare)
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let nouns = [noun(rng), noun(rng), noun(rng)].map(capital);
    let [one, two, three] = &nouns;
    if one == two || two == three || one == three {
        return vec![];
    }
    let (here, there) = (word(rng, &WORDS.places), word(rng, &WORDS.places));
    let mark = word(rng, MARKS);
    let a = format!("{one} {here} {two} {there} {three}{mark}");
    let b = if coin(rng) {
        format!("{one}{mark} {here} {two} {there} {three}")
    } else {
        format!("{one} {here} {two}{mark} {there} {three}")
    };
    vec![Twins { a, b }]
}
