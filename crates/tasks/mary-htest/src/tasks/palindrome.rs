//! Palindrome: a made-up word that reads the same from both sides.

use crate::dataset::{Twins, same_letters};
use mary_generators::{Stream, below, coin};

paper_task! {
    "palindrome" as "palindrome", same_letters,
    ["relations", "first_character", "last_character", "character_ngrams"]
}

const VOWELS: &[u8] = b"aeiou";
const CONSONANTS: &[u8] = b"bdklmnprstvz";
/// Strings that would read as rude words are not drawn.
const AVOIDED: &[&str] = &[
    "anus", "tit", "dik", "kok", "nazi", "pis", "puta", "nud", "rape", "sod",
];

fn draw(rng: &mut Stream) -> Vec<Twins> {
    // 5, 7 or 9 letters, vowels and consonants by turns; longer words are more numerous, so that
    // lengths follow what can be drawn without repeats.
    let (length, vowel_first) = match below(rng, 10) {
        0 => (5, true),
        1..=5 => (7, coin(rng)),
        _ => (9, coin(rng)),
    };
    let half = length / 2 + 1;
    let mut left: Vec<u8> = Vec::with_capacity(half);
    for place in 0..half {
        let vowel = (place % 2 == 0) == vowel_first;
        let pool = if vowel { VOWELS } else { CONSONANTS };
        left.extend(pool.get(below(rng, pool.len())));
    }
    let mut letters = left.clone();
    letters.extend(left.iter().rev().skip(1));
    let Some(other) = rearranged(rng, &letters) else {
        return vec![];
    };
    let (a, b) = (text(&letters), text(&other));
    if AVOIDED.iter().any(|bad| a.contains(bad) || b.contains(bad)) {
        return vec![];
    }
    vec![Twins { a, b }]
}

/// The same word with two of its letters exchanged, both vowels or both consonants, so that it is no
/// palindrome; `None` where no exchange does that. One exchange and no more: a word that is wrong all
/// over would be told by any one pair of letters, its first and last for example.
fn rearranged(rng: &mut Stream, letters: &[u8]) -> Option<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for one in 0..letters.len() {
        for two in (one + 2..letters.len()).step_by(2) {
            let mut word = letters.to_vec();
            word.swap(one, two);
            if word.iter().ne(word.iter().rev()) {
                found.push(word);
            }
        }
    }
    let chosen = below(rng, found.len());
    found.into_iter().nth(chosen)
}

fn text(letters: &[u8]) -> String {
    letters.iter().map(|&b| char::from(b)).collect()
}
