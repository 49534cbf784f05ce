//! What each baseline is allowed to see, as short phrases a person can read.
//!
//! A feature is a sentence fragment ("ends in `y`", "longest option"), so that the most telling
//! ones can be shown as they are.

use std::collections::{BTreeSet, HashMap};

/// Words of a text: lower case, letters, digits and inner hyphens or apostrophes.
pub(crate) fn words(text: &str) -> Vec<String> {
    let words = text
        .split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '\''))
        .filter(|w| !w.is_empty());
    words.map(str::to_lowercase).collect()
}

pub(crate) fn bag_of_words(text: &str) -> Vec<String> {
    distinct(words(text).into_iter().map(|w| format!("word `{w}`")))
}

/// Runs of one to three characters, with the edges marked.
pub(crate) fn ngrams(text: &str) -> Vec<String> {
    let characters: Vec<char> = format!("^{text}$").chars().collect();
    distinct((1..=3).flat_map(|n| {
        characters
            .windows(n)
            .map(|w| format!("characters `{}`", w.iter().collect::<String>()))
            .collect::<Vec<_>>()
    }))
}

pub(crate) fn first_character(text: &str) -> Vec<String> {
    let first = text.chars().next();
    Vec::from_iter(first.map(|c| format!("begins with `{c}`")))
}

/// The last character, and the last one that is a letter or digit.
pub(crate) fn last_character(text: &str) -> Vec<String> {
    let last = text.chars().next_back().map(|c| format!("ends in `{c}`"));
    let letter = text.chars().rev().find(|c| c.is_alphanumeric());
    let letter = letter.map(|c| format!("last letter `{c}`"));
    last.into_iter().chain(letter).collect()
}

pub(crate) fn capitals(text: &str) -> Vec<String> {
    let count = text.chars().filter(|c| c.is_uppercase()).count();
    let first = text.chars().next().is_some_and(char::is_uppercase);
    vec![
        if first {
            "begins with a capital"
        } else {
            "does not begin with a capital"
        }
        .to_owned(),
        match count {
            0 => "no capital".to_owned(),
            1 | 2 => format!("{count} capital(s)"),
            _ => "three or more capitals".to_owned(),
        },
    ]
}

/// Which marks and which kinds of characters occur.
pub(crate) fn punctuation(text: &str) -> Vec<String> {
    let marks = text
        .chars()
        .filter(|c| !c.is_alphanumeric() && !c.is_whitespace())
        .map(|c| format!("holds `{c}`"));
    let kinds = [
        (text.chars().any(|c| c.is_numeric()), "holds a digit"),
        (
            text.chars()
                .all(|c| c.is_alphanumeric() || c.is_whitespace()),
            "holds no mark",
        ),
        (!text.is_ascii(), "holds a character beyond ASCII"),
    ];
    distinct(
        marks.chain(
            kinds
                .into_iter()
                .filter(|(holds, _)| *holds)
                .map(|(_, name)| name.to_owned()),
        ),
    )
}

/// Length in characters and words, each within one of up to eight equally filled bands.
pub(crate) struct Bands {
    characters: Vec<usize>,
    words: Vec<usize>,
}

impl Bands {
    /// Bands from the lengths of these texts (their labels are not seen).
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self {
            characters: edges(texts.clone().map(|t| t.chars().count()).collect()),
            words: edges(texts.map(|t| t.split_whitespace().count()).collect()),
        }
    }

    pub(crate) fn features(&self, text: &str) -> Vec<String> {
        vec![
            band("characters", &self.characters, text.chars().count()),
            band("words", &self.words, text.split_whitespace().count()),
        ]
    }
}

fn edges(mut lengths: Vec<usize>) -> Vec<usize> {
    lengths.sort_unstable();
    let edge = |i: usize| lengths.get(i * lengths.len() / 8).copied();
    let mut edges: Vec<usize> = (1..8).filter_map(edge).collect();
    edges.dedup();
    edges
}

fn band(unit: &str, edges: &[usize], length: usize) -> String {
    let place = edges.partition_point(|edge| *edge <= length);
    match (
        place.checked_sub(1).and_then(|i| edges.get(i)),
        edges.get(place),
    ) {
        (Some(from), Some(to)) => format!("{from} to {} {unit}", to - 1),
        (Some(from), None) => format!("{from} or more {unit}"),
        (None, Some(to)) => format!("fewer than {to} {unit}"),
        (None, None) => format!("any number of {unit}"),
    }
}

/// Standing of each option among its rivals by some measure: most, least, or the rank between.
pub(crate) fn standing(name: (&str, &str), values: &[f64]) -> Vec<Vec<String>> {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let said = |&value: &_| {
        if most == least {
            Vec::new()
        } else if value == most {
            vec![format!("the {} option", name.0)]
        } else if value == least {
            vec![format!("the {} option", name.1)]
        } else {
            vec![format!("neither the {} nor the {} option", name.0, name.1)]
        }
    };
    values.iter().map(said).collect()
}

/// How many characters each option shares with the average other one: the odd one out has least.
pub(crate) fn similarity_to_rivals(options: &[String]) -> Vec<f64> {
    let letters = |o: &String| o.to_lowercase().chars().collect();
    let sets: Vec<BTreeSet<char>> = options.iter().map(letters).collect();
    let lengths: Vec<f64> = options.iter().map(|o| o.chars().count() as f64).collect();
    (0..options.len())
        .map(|i| {
            let mut total = 0.0;
            for j in (0..options.len()).filter(|j| *j != i) {
                let (Some(a), Some(b)) = (sets.get(i), sets.get(j)) else {
                    continue;
                };
                let shared = a.intersection(b).count() as f64;
                let either = a.union(b).count().max(1) as f64;
                let (la, lb) = (lengths[i], lengths[j]);
                let length = 1.0 - (la - lb).abs() / la.max(lb).max(1.0);
                total += shared / either + 0.5 * length;
            }
            total
        })
        .collect()
}

/// Share of an option's words that the question holds too.
pub(crate) fn overlap(question: &str, option: &str) -> f64 {
    let asked: BTreeSet<String> = words(question).into_iter().collect();
    let own = words(option);
    if own.is_empty() {
        return 0.0;
    }
    own.iter().filter(|w| asked.contains(*w)).count() as f64 / own.len() as f64
}

pub(crate) struct Text {
    first: Option<u32>,
    last: Option<u32>,
    all: Vec<u32>,
}

pub(crate) fn number_words<'a>(texts: impl Iterator<Item = &'a str>) -> (Vec<Text>, usize) {
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut numbered = Vec::new();
    for text in texts {
        let mut all = Vec::new();
        for word in words(text) {
            let next = known.len() as u32;
            all.push(*known.entry(word).or_insert(next));
        }
        numbered.push(Text {
            first: all.first().copied(),
            last: all.last().copied(),
            all,
        });
    }
    (numbered, known.len())
}

/// Which words occur in a training set, and at which end of a text with which class.
pub(crate) struct Memory {
    anywhere: Vec<u32>,
    ends: Vec<u32>,
    vocabulary: usize,
    classes: usize,
}

impl Memory {
    pub(crate) fn new(vocabulary: usize, classes: usize) -> Self {
        Self {
            anywhere: vec![0; vocabulary],
            ends: vec![0; 2 * vocabulary * classes],
            vocabulary,
            classes,
        }
    }

    fn slot(&self, end: usize, word: u32, class: usize) -> usize {
        (end * self.vocabulary + word as usize) * self.classes + class
    }

    pub(crate) fn add(&mut self, text: &Text, class: usize) {
        for (end, word) in [text.first, text.last].into_iter().enumerate() {
            let slot = word.map(|w| self.slot(end, w, class));
            if let Some(count) = slot.and_then(|s| self.ends.get_mut(s)) {
                *count += 1;
            }
        }
        for word in &text.all {
            if let Some(count) = self.anywhere.get_mut(*word as usize) {
                *count += 1;
            }
        }
    }

    /// What is remembered of a text's first and last word; with its `own` class given, the text
    /// is one of those remembered and does not count. Numbers as in [`Memory::names`].
    pub(crate) fn recall(&self, text: &Text, own: Option<usize>) -> Vec<u32> {
        let mut features = Vec::with_capacity(4);
        for (end, word) in [text.first, text.last].into_iter().enumerate() {
            let Some(word) = word else { continue };
            let mut state = 0;
            for class in 0..self.classes {
                let seen = self.ends.get(self.slot(end, word, class)).copied();
                let itself = u32::from(own == Some(class));
                if seen.unwrap_or(0).saturating_sub(itself) > 0 {
                    state = if state == 0 {
                        class + 1
                    } else {
                        self.classes + 1
                    };
                }
            }
            let here = text.all.iter().filter(|w| **w == word).count() as u32;
            let seen = self.anywhere.get(word as usize).copied().unwrap_or(0);
            let elsewhere = seen.saturating_sub(if own.is_some() { here } else { 0 }) > 0;
            let base = end * (self.classes + 4);
            features.push((base + state) as u32);
            features.push((base + self.classes + 2 + usize::from(elsewhere)) as u32);
        }
        features
    }

    pub(crate) fn names(labels: &[String]) -> Vec<String> {
        let mut names = Vec::new();
        for end in ["first", "last"] {
            names.push(format!("{end} word never seen there"));
            for label in labels {
                names.push(format!("{end} word seen there only with {label}"));
            }
            names.push(format!("{end} word seen there with several labels"));
            names.push(format!("{end} word occurs in no other item"));
            names.push(format!("{end} word occurs in other items"));
        }
        names
    }
}

pub(crate) fn distinct(features: impl Iterator<Item = String>) -> Vec<String> {
    let set: BTreeSet<String> = features.collect();
    set.into_iter().collect()
}
