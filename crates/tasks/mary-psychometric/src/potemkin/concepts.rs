//! Twelve concepts of strings and numbers: name and definition are in `concepts.txt`, and here stands what
//! makes an instance of each and something near it that is none.

use mary_generators::{Stream, below, shuffle};

/// An instance of a concept and something near it that is none; nothing where the draw does not give
/// both.
type Pair = fn(&mut Stream) -> Option<(String, String)>;

pub(super) struct Concept {
    pub(super) name: &'static str,
    pub(super) definition: &'static str,
    pub(super) pair: Pair,
}

/// In the order of the file.
const PAIRS: [Pair; 12] = [
    palindrome,
    isogram,
    anagrams,
    abecedarian,
    tautogram,
    tautonym,
    prime_number,
    square_number,
    triangular_number,
    |rng| progression(rng, (1, 40), (2, 9), |from, by, i| from + u64::from(i) * by),
    |rng| progression(rng, (1, 9), (2, 4), |from, by, i| from * by.pow(i)),
    leap_year,
];

pub(super) fn concepts() -> Vec<Concept> {
    let lines = include_str!("concepts.txt").lines();
    let named = lines.filter_map(|line| line.split_once(": "));
    let concept = |((name, definition), pair)| Concept {
        name,
        definition,
        pair,
    };
    named.zip(PAIRS).map(concept).collect()
}

fn letters(rng: &mut Stream, n: usize) -> Vec<char> {
    let mut all: Vec<char> = ('a'..='z').collect();
    shuffle(rng, &mut all);
    all.truncate(n);
    all
}

fn joined(parts: &[u64]) -> String {
    let parts: Vec<String> = parts.iter().map(u64::to_string).collect();
    parts.join(", ")
}

fn prime(n: u64) -> bool {
    let mut divisors = (2..n).take_while(|d| d * d <= n);
    n > 1 && divisors.all(|d| !n.is_multiple_of(d))
}

fn root(n: u64) -> u64 {
    (0..).take_while(|r| r * r <= n).last().unwrap_or(0)
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn text(letters: &[char]) -> String {
    letters.iter().collect()
}

fn number(rng: &mut Stream, (from, to): (usize, usize)) -> u64 {
    (from + below(rng, to - from)) as u64
}

fn palindrome(rng: &mut Stream) -> Option<(String, String)> {
    let half = letters(rng, 3);
    let back = half.iter().rev().skip(1);
    let whole: Vec<char> = half.iter().chain(back).copied().collect();
    let mut other = whole.clone();
    other.swap(0, 1);
    Some((text(&whole), text(&other)))
}

fn isogram(rng: &mut Stream) -> Option<(String, String)> {
    let whole = letters(rng, 6);
    let mut other = whole.clone();
    let (from, to) = (below(rng, 3), 3 + below(rng, 3));
    other[to] = whole[from];
    Some((text(&whole), text(&other)))
}

fn anagrams(rng: &mut Stream) -> Option<(String, String)> {
    let mut first = letters(rng, 7);
    let extra = first.pop()?;
    let mut second = first.clone();
    second.rotate_left(2);
    second.swap(0, 1);
    let mut other = second.clone();
    other[below(rng, 6)] = extra;
    let beside = |other: &[char]| format!("{} {}", text(&first), text(other));
    Some((beside(&second), beside(&other)))
}

fn abecedarian(rng: &mut Stream) -> Option<(String, String)> {
    let mut whole = letters(rng, 6);
    whole.sort_unstable();
    let mut other = whole.clone();
    let at = below(rng, 5);
    other.swap(at, at + 1);
    Some((text(&whole), text(&other)))
}

fn tautogram(rng: &mut Stream) -> Option<(String, String)> {
    let categories = mary_generators::small_world::categories();
    let members = categories.flat_map(|c| c.members.iter().copied());
    let plain = members.filter(|m| m.bytes().all(|b| b.is_ascii_lowercase()));
    let members: Vec<&str> = plain.collect();
    let first = members.get(below(rng, members.len()))?.chars().next()?;
    let (mut same, mut others): (Vec<&str>, Vec<&str>) =
        members.into_iter().partition(|m| m.starts_with(first));
    same.sort_unstable();
    same.dedup();
    shuffle(rng, &mut same);
    shuffle(rng, &mut others);
    let [a, b, c, ..] = same.as_slice() else {
        return None;
    };
    let other = others.first()?;
    Some((format!("{a} {b} {c}"), format!("{a} {b} {other}")))
}

fn tautonym(rng: &mut Stream) -> Option<(String, String)> {
    let mut part = letters(rng, 4);
    let extra = part.pop()?;
    let mut other = part.clone();
    other[below(rng, 3)] = extra;
    let part = text(&part);
    Some((format!("{part}{part}"), format!("{part}{}", text(&other))))
}

fn prime_number(rng: &mut Stream) -> Option<(String, String)> {
    let n = number(rng, (11, 199));
    // Neither even nor a multiple of five: the last digit tells nothing.
    let near = [n + 2, n + 4, n + 6, n + 8, n + 10];
    let composite = |m: &u64| !prime(*m) && !m.is_multiple_of(5) && !m.is_multiple_of(2);
    let other = near.into_iter().find(composite)?;
    prime(n).then(|| (n.to_string(), other.to_string()))
}

fn square_number(rng: &mut Stream) -> Option<(String, String)> {
    let side = number(rng, (4, 31));
    let other = side * side + 2 * number(rng, (1, 4));
    (root(other).pow(2) != other).then(|| ((side * side).to_string(), other.to_string()))
}

fn triangular_number(rng: &mut Stream) -> Option<(String, String)> {
    let (k, more) = (number(rng, (4, 30)), number(rng, (1, 4)));
    let whole = k * (k + 1) / 2;
    let other = whole + more;
    let triangular = root(8 * other + 1).pow(2) == 8 * other + 1;
    (!triangular).then(|| (whole.to_string(), other.to_string()))
}

/// Five numbers from a first one on, each by `next` from it, its step and the place.
fn progression(
    rng: &mut Stream,
    first: (usize, usize),
    step: (usize, usize),
    next: fn(u64, u64, u32) -> u64,
) -> Option<(String, String)> {
    let (from, step) = (number(rng, first), number(rng, step));
    let whole: Vec<u64> = (0..5).map(|i| next(from, step, i)).collect();
    let mut other = whole.clone();
    other[1 + below(rng, 4)] += 1;
    Some((joined(&whole), joined(&other)))
}

fn leap_year(rng: &mut Stream) -> Option<(String, String)> {
    let year = number(rng, (1600, 2400));
    let other = year + 2 * number(rng, (1, 3));
    (leap(year) && !leap(other)).then(|| (year.to_string(), other.to_string()))
}
