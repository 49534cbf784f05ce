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
    let mut nouns = WORDS.vowel_nouns.iter().chain(&WORDS.consonant_nouns);
    nouns.nth(place).copied().unwrap_or_default()
}

/// How two words stand to each other to the eye: letters shared, different letters shared, edit distance,
/// letters alike at the beginning and at the end. What is exchanged between twins must stand alike to
/// its neighbours, or the neighbours tell the twins apart. Words of our lists are ASCII.
pub fn relation(one: &str, two: &str) -> [usize; 5] {
    let (a, b) = (one.as_bytes(), two.as_bytes());
    let (letters, different) = shared(a, b);
    [
        letters,
        different,
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

/// How many letters two words share, and how many different ones.
fn shared(a: &[u8], b: &[u8]) -> (usize, usize) {
    let place = |letter: &u8| usize::from(letter.to_ascii_lowercase().wrapping_sub(b'a'));
    let (mut left, mut all, mut different) = ([0u8; 26], 0, 0u32);
    for letter in a {
        if let Some(count) = left.get_mut(place(letter)) {
            *count += 1;
        }
    }
    for letter in b {
        if let Some(count) = left.get_mut(place(letter)).filter(|n| **n > 0) {
            *count -= 1;
            all += 1;
            different |= 1 << place(letter);
        }
    }
    (all, different.count_ones() as usize)
}

/// Levenshtein's distance of ASCII words of at most 64 letters, a column of the table in the bits of two
/// numbers (Myers 1999, as Hyyrö 2003 has it): hundreds of thousands are taken while a set is drawn.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut places = [0u64; 128];
    for (at, letter) in a.iter().enumerate() {
        if let Some(of) = places.get_mut(usize::from(letter.to_ascii_lowercase())) {
            *of |= 1 << at;
        }
    }
    let Some(last) = a.len().checked_sub(1) else {
        return b.len();
    };
    // Where the table rises and falls from one letter of `a` to the next.
    let (mut up, mut down, mut distance) = (u64::MAX, 0, a.len());
    for letter in b {
        let letter = usize::from(letter.to_ascii_lowercase());
        let same = places.get(letter).copied().unwrap_or(0);
        let level = ((same & up).wrapping_add(up) ^ up) | same | down;
        let (rise, fall) = (down | !(level | up), up & level);
        distance = distance + (rise >> last & 1) as usize - (fall >> last & 1) as usize;
        let rise = rise << 1 | 1;
        (up, down) = (fall << 1 | !(level | rise), level & rise);
    }
    distance
}

pub fn vowels(word: &str) -> usize {
    let vowel = |c: &u8| matches!(c | 32, b'a' | b'e' | b'i' | b'o' | b'u');
    word.bytes().filter(vowel).count()
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
    let fits = |w: &&'static str| {
        let mut stands = neighbours.iter().zip(&wanted);
        w.len() == word.len() && stands.all(|(n, wanted)| stands_so(w, n, wanted))
    };
    let fitting: Vec<&'static str> = pool.iter().copied().filter(fits).collect();
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
        assert_eq!(relation("oak", ""), [0, 0, 3, 0, 0]);
    }

    #[test]
    fn distances_are_those_of_the_whole_table() {
        let table = |a: &[u8], b: &[u8]| {
            let mut row: Vec<usize> = (0..=b.len()).collect();
            for (i, x) in a.iter().enumerate() {
                let mut above = std::mem::replace(&mut row[0], i + 1);
                for (j, y) in b.iter().enumerate() {
                    let replaced = above + usize::from(!x.eq_ignore_ascii_case(y));
                    above = row[j + 1];
                    row[j + 1] = replaced.min(above + 1).min(row[j] + 1);
                }
            }
            row[b.len()]
        };
        let mut rng = mary_generators::stream(0, "distances");
        for round in 0..3000 {
            let mut word = |longest: usize| -> Vec<u8> {
                let letters = mary_generators::below(&mut rng, longest + 1);
                let letter = |_| b"abcDE"[mary_generators::below(&mut rng, 5)];
                (0..letters).map(letter).collect()
            };
            let longest = if round % 10 == 0 { 64 } else { 9 };
            let (a, b) = (word(longest), word(longest));
            assert_eq!(edit_distance(&a, &b), table(&a, &b), "{a:?} {b:?}");
        }
    }
}
