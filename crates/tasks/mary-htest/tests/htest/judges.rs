//! Independent judges of the ten rules. They share no code and no word list with the generator: they
//! see only a text and say whether the rule holds. Rhyme is judged by real pronunciations.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;

/// What a judge finds: A, B, or that the text is malformed for its task.
pub type Verdict = Result<char, String>;

fn ab(holds: bool) -> Verdict {
    Ok(if holds { 'A' } else { 'B' })
}

pub fn uppercase(text: &str) -> Verdict {
    match text.chars().filter(|c| c.is_uppercase()).count() {
        0 => Ok('B'),
        1 => Ok('A'),
        more => Err(format!("{more} capitals")),
    }
}

pub fn start_vowel(text: &str) -> Verdict {
    match text.chars().next() {
        Some(c) if c.is_ascii_alphabetic() => ab("AEIOUaeiou".contains(c)),
        other => Err(format!("starts with {other:?}")),
    }
}

pub fn end_punctuation(text: &str) -> Verdict {
    if !text.contains(['.', '!', '?']) {
        return Err("no punctuation at all".into());
    }
    ab(text.ends_with(['.', '!', '?']))
}

pub fn palindrome(text: &str) -> Verdict {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_lowercase()) {
        return Err("not one lower-case word".into());
    }
    let bytes = text.as_bytes();
    ab((0..bytes.len() / 2).all(|i| bytes[i] == bytes[bytes.len() - 1 - i]))
}

pub fn end_ly(text: &str) -> Verdict {
    ab(text.trim_end_matches('.').ends_with("ly"))
}

const SPELLED_OPERATORS: &str = "plus|minus|times|over|mod|divided|equals|equal to|less than|greater than|\
                                 power of|modulo|exceeds|at most|at least|multiplied|added|subtracted";
const SYMBOLS: &str = "+-*/=<>^%!";

pub fn spelled_math(text: &str) -> Verdict {
    let padded = format!(" {text} ");
    let spelled = SPELLED_OPERATORS
        .split('|')
        .any(|o| padded.contains(&format!(" {o} ")));
    let symbol = text.contains(|c| SYMBOLS.contains(c));
    if spelled == symbol {
        return Err(format!("spelled: {spelled}, symbol: {symbol}"));
    }
    ab(spelled)
}

const UNITS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen \
                     fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty \
                     sixty seventy eighty ninety hundred thousand";

pub fn spelled_number(text: &str) -> Verdict {
    let lower = text.to_lowercase();
    let spelled = lower
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| UNITS.split_whitespace().any(|u| u == word));
    let digits = text.contains(|c: char| c.is_ascii_digit());
    if spelled == digits {
        return Err(format!("spelled: {spelled}, digits: {digits}"));
    }
    ab(spelled)
}

pub fn repeated_word(text: &str) -> Verdict {
    let words: Vec<String> = text
        .trim_end_matches('.')
        .split(' ')
        .map(str::to_lowercase)
        .collect();
    let adjacent = words.windows(2).filter(|w| w[0] == w[1]).count();
    let mut distinct = words.clone();
    distinct.sort();
    distinct.dedup();
    match (adjacent, words.len() - distinct.len()) {
        (1, 1) => Ok('A'),
        (0, 0) => Ok('B'),
        found => Err(format!("repeats {found:?}")),
    }
}

pub fn hyphenated_word(text: &str) -> Verdict {
    let bytes = text.as_bytes();
    let joined = |i: usize| {
        bytes[i] == b'-'
            && i > 0
            && bytes[i - 1].is_ascii_alphabetic()
            && bytes.get(i + 1).is_some_and(u8::is_ascii_alphabetic)
    };
    let hyphens = bytes.iter().filter(|b| **b == b'-').count();
    let good = (0..bytes.len()).filter(|&i| joined(i)).count();
    if hyphens == good {
        ab(hyphens > 0)
    } else {
        Err("a hyphen that joins nothing".into())
    }
}

/// Pronunciations of the CMU dictionary.
pub struct Pronunciations(HashMap<String, Vec<Vec<String>>>);

impl Pronunciations {
    /// From the datasets folder; `None`, and the test counts as skipped, where it is not there.
    pub fn open() -> Option<Self> {
        let root = mary_testkit::lacking::datasets("cmudict")?;
        let file = File::open(root.join("cmudict/cmudict.dict.gz")).unwrap();
        let mut words: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for line in BufReader::new(GzDecoder::new(file)).split(b'\n') {
            let line = line.unwrap();
            let line = String::from_utf8_lossy(&line);
            let line = line.split('#').next().unwrap();
            let mut parts = line.split_whitespace();
            let Some(head) = parts.next() else { continue };
            let word = head.split('(').next().unwrap().to_owned();
            let sounds = parts.map(str::to_owned).collect();
            words.entry(word).or_default().push(sounds);
        }
        Some(Self(words))
    }

    /// From the vowel with the main stress on, stress marks removed: "eyebrow" does not rhyme with "now".
    fn rime(sounds: &[String]) -> Vec<String> {
        let stressed = sounds.iter().rposition(|s| s.ends_with('1'));
        let start = stressed.unwrap_or(0);
        sounds[start..]
            .iter()
            .map(|s| s.trim_end_matches(['0', '1', '2']).to_owned())
            .collect()
    }

    /// A if every pronunciation of one rhymes with every one of the other, B if none does.
    pub fn rhyme(&self, text: &str) -> Verdict {
        let words: Vec<&str> = text.split(' ').collect();
        let [one, two] = words.as_slice() else {
            return Err("not two words".into());
        };
        let of = |w: &str| {
            self.0
                .get(w)
                .ok_or_else(|| format!("`{w}` is not in the dictionary"))
        };
        let (one, two) = (of(one)?, of(two)?);
        let mut found = Vec::new();
        for a in one {
            for b in two {
                if a == b {
                    return Err("the same sound twice".into());
                }
                found.push(Self::rime(a) == Self::rime(b));
            }
        }
        match (found.contains(&true), found.contains(&false)) {
            (true, false) => Ok('A'),
            (false, true) => Ok('B'),
            _ => Err("rhymes in one pronunciation and not in another".into()),
        }
    }
}
