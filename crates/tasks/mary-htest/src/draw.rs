//! The moves that several rules share: taking words from a pool and building sentences.

use mary_generators::{Stream, pick};

/// A word of a pool. Pools are never empty; an empty one would give an empty word, which every
/// judge refuses.
pub fn word(rng: &mut Stream, pool: &[&'static str]) -> &'static str {
    pick(rng, pool).unwrap_or_default()
}

/// A noun that begins with a vowel or one that does not, as likely as each other's pool is large.
pub fn noun(rng: &mut Stream) -> &'static str {
    use super::words::WORDS;
    let place = mary_generators::below(rng, WORDS.vowel_nouns.len() + WORDS.consonant_nouns.len());
    match WORDS.vowel_nouns.get(place) {
        Some(noun) => noun,
        None => WORDS
            .consonant_nouns
            .get(place - WORDS.vowel_nouns.len())
            .copied()
            .unwrap_or_default(),
    }
}

pub fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// How two words stand to each other to the eye: letters shared, different letters shared, edit distance,
/// letters alike at the beginning and at the end. What is exchanged between twins must stand alike to
/// its neighbours, or the neighbours tell the twins apart. Words of our lists are ASCII.
pub fn relation(one: &str, two: &str) -> [usize; 5] {
    let (a, b) = (one.as_bytes(), two.as_bytes());
    let (x, y) = (letters(a), letters(b));
    let both = || x.iter().zip(&y).map(|(m, n)| *m.min(n));
    [
        both().map(usize::from).sum(),
        both().filter(|n| *n > 0).count(),
        edit_distance(a, b),
        alike(a.iter().zip(b)),
        alike(a.iter().rev().zip(b.iter().rev())),
    ]
}

/// Whether [`relation`] is `wanted`; the distance, which takes longest, is computed where all else agrees.
fn stands_so(one: &str, two: &str, wanted: &[usize; 5]) -> bool {
    let (a, b) = (one.as_bytes(), two.as_bytes());
    alike(a.iter().zip(b)) == wanted[3]
        && alike(a.iter().rev().zip(b.iter().rev())) == wanted[4]
        && relation(one, two) == *wanted
}

/// How many pairs are alike before the first that is not.
fn alike<'t>(pairs: impl Iterator<Item = (&'t u8, &'t u8)>) -> usize {
    pairs.take_while(|(x, y)| x.eq_ignore_ascii_case(y)).count()
}

fn letters(word: &[u8]) -> [u8; 26] {
    let mut counts = [0; 26];
    for letter in word {
        let place = usize::from(letter.to_ascii_lowercase().wrapping_sub(b'a'));
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts
}

/// Levenshtein's distance in one row; millions of them are taken while a set is drawn.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    const LONG: usize = 64;
    let (mut short, mut long) = ([0; LONG], Vec::new());
    let row = match short.get_mut(..=b.len()) {
        Some(row) => row,
        None => {
            long.resize(b.len() + 1, 0);
            &mut long[..]
        }
    };
    for (at, cell) in row.iter_mut().enumerate() {
        *cell = at;
    }
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = *cell;
            left = replaced.min(*cell + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or(0)
}

pub fn vowels(word: &str) -> usize {
    word.bytes()
        .filter(|c| matches!(c | 32, b'a' | b'e' | b'i' | b'o' | b'u'))
        .count()
}

/// A word of `pool` that is as long as `word` and stands to each of its neighbours as `word` does;
/// `None` where there is none.
pub fn stand_in(
    rng: &mut Stream,
    word: &str,
    pool: &[&'static str],
    neighbours: &[&str],
) -> Option<&'static str> {
    let wanted: Vec<[usize; 5]> = neighbours.iter().map(|n| relation(word, n)).collect();
    let fitting: Vec<&'static str> = pool
        .iter()
        .copied()
        .filter(|w| {
            w.len() == word.len()
                && neighbours
                    .iter()
                    .zip(&wanted)
                    .all(|(n, wanted)| stands_so(w, n, wanted))
        })
        .collect();
    pick(rng, &fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_words_stand_to_each_other() {
        assert_eq!(relation("moon", "spoon"), [3, 2, 2, 0, 3]);
        assert_eq!(relation("Tune", "moon"), [1, 1, 4, 0, 0]);
        assert_eq!(relation("kitten", "sitting"), [4, 3, 3, 0, 0]);
        assert_eq!(relation("", "oak"), [0, 0, 3, 0, 0]);
    }
}
