//! How the parts of an item stand to each other: the letters two of them share, their edit distance,
//! what they begin and end with alike, how much longer one is.
//!
//! A rule about one word leaves its neighbours alone; where a generator makes up for the rule's length
//! or spelling somewhere else, it shows here and in no single word.

use std::collections::BTreeMap;

/// What is measured between two parts.
pub(crate) const MEASURES: [&str; 6] = [
    "letters shared",
    "different letters shared",
    "edit distance",
    "letters alike at the beginning",
    "letters alike at the end",
    "letters of difference in length",
];

/// The measures between two texts, in the order of [`MEASURES`]; case does not count.
pub(crate) fn between(one: &str, two: &str) -> [usize; 6] {
    let (one, two) = (one.to_lowercase(), two.to_lowercase());
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let (counts, others) = (counted(&a), counted(&b));
    let shared = |both: fn(usize, usize) -> usize| -> usize {
        let each = |(letter, n): (&char, &usize)| Some(both(*n, *others.get(letter)?));
        counts.iter().filter_map(each).sum()
    };
    [
        shared(usize::min),
        shared(|_, _| 1),
        strsim::levenshtein(&one, &two),
        alike(a.iter().zip(&b)),
        alike(a.iter().rev().zip(b.iter().rev())),
        a.len().abs_diff(b.len()),
    ]
}

/// How many pairs are alike before the first that is not.
fn alike<'t>(pairs: impl Iterator<Item = (&'t char, &'t char)>) -> usize {
    pairs.take_while(|(x, y)| x == y).count()
}

fn counted(letters: &[char]) -> BTreeMap<char, usize> {
    let mut counts = BTreeMap::new();
    for letter in letters {
        *counts.entry(*letter).or_default() += 1;
    }
    counts
}

/// Everything between the words of a text: the first two, the last two, the first and the last, and
/// the most, least and sum over all neighbours. A text of one word is read against itself: its first
/// half against its second from the end. Always as many numbers as [`names`] gives.
pub(crate) fn within(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| c.is_whitespace());
    let words = words.map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
    let words: Vec<&str> = words.filter(|w| !w.is_empty()).collect();
    if let [only] = words.as_slice() {
        let letters: Vec<char> = only.chars().collect();
        let half: String = letters.iter().take(letters.len() / 2).collect();
        let mirrored: String = letters.iter().rev().take(letters.len() / 2).collect();
        return repeated(&between(&half, &mirrored));
    }
    let pairs: Vec<[usize; 6]> = words.windows(2).map(|w| between(w[0], w[1])).collect();
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else {
        return repeated(&[0; 6]);
    };
    let ends = match words.as_slice() {
        [first, .., last] => between(first, last),
        _ => [0; 6],
    };
    let mut numbers = Vec::with_capacity(36);
    for (place, ((first, last), ends)) in first.iter().zip(last).zip(&ends).enumerate() {
        let column = || pairs.iter().filter_map(|p| p.get(place).copied());
        let most = column().max().unwrap_or(0);
        let least = column().min().unwrap_or(0);
        let sum: usize = column().sum();
        numbers.extend([*first, *last, *ends, most, least, sum].map(|n| n as f64));
    }
    numbers
}

fn repeated(one: &[usize; 6]) -> Vec<f64> {
    one.iter().flat_map(|n| [*n as f64; 6]).collect()
}

/// What each number of [`within`] is.
pub(crate) fn names() -> Vec<String> {
    const PLACES: [&str; 6] = [
        "first two words",
        "last two words",
        "first and last word",
        "most between neighbours",
        "least between neighbours",
        "sum over neighbours",
    ];
    let named = |m: &&str| PLACES.map(|p| format!("{p}: {m}"));
    MEASURES.iter().flat_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_words_are_measured() {
        assert_eq!(between("Moon", "spoon"), [3, 2, 2, 0, 3, 1]);
        assert_eq!(between("tune", "moon"), [1, 1, 4, 0, 0, 0]);
        assert_eq!(between("same", "same"), [4, 4, 0, 4, 4, 0]);
    }

    #[test]
    fn every_text_has_every_number() {
        let names = names().len();
        for text in ["", "one", "one two", "A badger rests, under the oak."] {
            assert_eq!(within(text).len(), names, "{text}");
        }
    }

    #[test]
    fn a_word_is_read_against_itself() {
        // Halves of a palindrome agree letter for letter.
        assert_eq!(within("tadedat")[0..1], [3.0]);
        let edits = 2 * 6;
        assert_eq!(within("tadedat")[edits], 0.0);
        assert!(within("tadetad")[edits] > 0.0);
    }
}
