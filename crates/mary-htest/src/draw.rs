//! The moves that several rules share: taking words from a pool and building sentences.

use mary_items::{Stream, pick};

/// A word of a pool. Pools are never empty; an empty one would give an empty word, which every
/// judge refuses.
pub fn word(rng: &mut Stream, pool: &[&'static str]) -> &'static str {
    pick(rng, pool).unwrap_or_default()
}

/// A noun that begins with a vowel or one that does not, as likely as each other's pool is large.
pub fn noun(rng: &mut Stream) -> &'static str {
    use super::words::{CONSONANT_NOUNS, VOWEL_NOUNS};
    let place = mary_items::below(rng, VOWEL_NOUNS.len() + CONSONANT_NOUNS.len());
    match VOWEL_NOUNS.get(place) {
        Some(noun) => noun,
        None => CONSONANT_NOUNS
            .get(place - VOWEL_NOUNS.len())
            .copied()
            .unwrap_or_default(),
    }
}

/// With a capital first letter.
pub fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Length in characters and in words: what a matched text must share.
pub fn size(text: &str) -> (usize, usize) {
    (text.chars().count(), text.split_whitespace().count())
}

/// Draws B texts until one has the size of `a`.
pub fn of_same_size(a: &str, mut draw: impl FnMut() -> String) -> Option<String> {
    const ATTEMPTS: usize = 400;
    let wanted = size(a);
    (0..ATTEMPTS).map(|_| draw()).find(|b| size(b) == wanted)
}
