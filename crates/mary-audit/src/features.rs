//! What each baseline is allowed to see, as short phrases a person can read.
//!
//! A feature is a sentence fragment ("ends in `y`", "longest option"), so that the most telling
//! ones can be shown as they are.

use std::collections::{BTreeSet, HashMap};

/// Words of a text: lower case, letters, digits and inner hyphens or apostrophes.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '\''))
        .filter(|w| !w.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The words a text holds.
pub(crate) fn bag_of_words(text: &str) -> Vec<String> {
    distinct(words(text).into_iter().map(|w| format!("word `{w}`")))
}

/// Runs of one to three characters, with the edges marked.
pub(crate) fn ngrams(text: &str) -> Vec<String> {
    let characters: Vec<char> = std::iter::once('^')
        .chain(text.chars())
        .chain(std::iter::once('$'))
        .collect();
    distinct((1..=3).flat_map(|n| {
        characters
            .windows(n)
            .map(|w| format!("characters `{}`", w.iter().collect::<String>()))
            .collect::<Vec<_>>()
    }))
}

/// The first and the last character.
pub(crate) fn first_character(text: &str) -> Vec<String> {
    text.chars()
        .next()
        .map(|c| format!("begins with `{c}`"))
        .into_iter()
        .collect()
}

/// The last character, and the last one that is a letter or digit.
pub(crate) fn last_character(text: &str) -> Vec<String> {
    let last = text.chars().next_back().map(|c| format!("ends in `{c}`"));
    let letter = text
        .chars()
        .rev()
        .find(|c| c.is_alphanumeric())
        .map(|c| format!("last letter `{c}`"));
    last.into_iter().chain(letter).collect()
}

/// Where capitals stand and how many.
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
        (
            text.chars().any(|c| !c.is_ascii()),
            "holds a character beyond ASCII",
        ),
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
    let mut edges: Vec<usize> = (1..8)
        .filter_map(|i| lengths.get(i * lengths.len() / 8).copied())
        .collect();
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
    values
        .iter()
        .map(|&value| {
            if most == least {
                Vec::new()
            } else if value == most {
                vec![format!("the {} option", name.0)]
            } else if value == least {
                vec![format!("the {} option", name.1)]
            } else {
                vec![format!("neither the {} nor the {} option", name.0, name.1)]
            }
        })
        .collect()
}

/// How many characters each option shares with the average other one: the odd one out has least.
pub(crate) fn similarity_to_rivals(options: &[String]) -> Vec<f64> {
    let sets: Vec<BTreeSet<char>> = options
        .iter()
        .map(|o| o.to_lowercase().chars().collect())
        .collect();
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

/// Which words occur in a training set, and at which end of a text with which class.
#[derive(Default)]
pub(crate) struct Memory {
    anywhere: HashMap<String, u32>,
    ends: HashMap<(bool, String), Vec<u32>>,
    classes: usize,
}

impl Memory {
    pub(crate) fn new(classes: usize) -> Self {
        Self {
            classes,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, text: &str, class: usize) {
        let words = words(text);
        for (last, word) in ends_of(&words) {
            let counts = self
                .ends
                .entry((last, word.clone()))
                .or_insert_with(|| vec![0; self.classes]);
            if let Some(count) = counts.get_mut(class) {
                *count += 1;
            }
        }
        for word in words {
            *self.anywhere.entry(word).or_default() += 1;
        }
    }

    /// What is remembered of a text's first and last word; with `own` class given, the text itself
    /// is one of those remembered and does not count.
    pub(crate) fn recall(&self, text: &str, own: Option<usize>, labels: &[String]) -> Vec<String> {
        let words = words(text);
        let mut features = Vec::new();
        for (last, word) in ends_of(&words) {
            let end = if last { "last" } else { "first" };
            let mut counts = self
                .ends
                .get(&(last, word.clone()))
                .cloned()
                .unwrap_or_else(|| vec![0; self.classes]);
            if let Some(count) = own.and_then(|class| counts.get_mut(class)) {
                *count = count.saturating_sub(1);
            }
            let with: Vec<&str> = labels
                .iter()
                .zip(&counts)
                .filter(|(_, count)| **count > 0)
                .map(|(label, _)| label.as_str())
                .collect();
            features.push(match with.as_slice() {
                [] => format!("{end} word never seen there"),
                [one] => format!("{end} word seen there only with {one}"),
                _ => format!("{end} word seen there with several labels"),
            });
            let here = words.iter().filter(|w| *w == word).count() as u32;
            let seen = self.anywhere.get(word).copied().unwrap_or(0);
            let elsewhere = seen.saturating_sub(if own.is_some() { here } else { 0 });
            features.push(if elsewhere > 0 {
                format!("{end} word occurs in other items")
            } else {
                format!("{end} word occurs in no other item")
            });
        }
        features
    }
}

fn ends_of(words: &[String]) -> impl Iterator<Item = (bool, &String)> {
    let first = words.first().map(|w| (false, w));
    let last = words.last().map(|w| (true, w));
    first.into_iter().chain(last)
}

pub(crate) fn distinct(features: impl Iterator<Item = String>) -> Vec<String> {
    let set: BTreeSet<String> = features.collect();
    set.into_iter().collect()
}
