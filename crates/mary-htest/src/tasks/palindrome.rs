//! Palindrome: a made-up word that reads the same from both sides.

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use mary_items::{Stream, below, coin, shuffle};

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/palindrome",
        "Palindrome",
        "A items read the same from both sides; B items are rearrangements of the same letters, with \
         vowels and consonants in the same places, that do not. The words are made up and can be \
         spoken, so that nobody has seen them in a list of palindromes.",
    ),
    rule: Rule {
        name: "palindrome",
        draw,
        key: same_letters,
    },
    upstream: "palindrome",
};

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
        let pool = if (place % 2 == 0) == vowel_first {
            VOWELS
        } else {
            CONSONANTS
        };
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

/// The same letters with vowels and consonants in their places, but no palindrome; `None` where a
/// few tries find none.
fn rearranged(rng: &mut Stream, letters: &[u8]) -> Option<Vec<u8>> {
    for _ in 0..20 {
        let mut even: Vec<u8> = letters.iter().copied().step_by(2).collect();
        let mut odd: Vec<u8> = letters.iter().copied().skip(1).step_by(2).collect();
        shuffle(rng, &mut even);
        shuffle(rng, &mut odd);
        let (mut even, mut odd) = (even.into_iter(), odd.into_iter());
        let word: Vec<u8> = (0..letters.len())
            .filter_map(|place| {
                if place % 2 == 0 {
                    even.next()
                } else {
                    odd.next()
                }
            })
            .collect();
        if word.iter().ne(word.iter().rev()) {
            return Some(word);
        }
    }
    None
}

fn text(letters: &[u8]) -> String {
    letters.iter().map(|&b| char::from(b)).collect()
}
