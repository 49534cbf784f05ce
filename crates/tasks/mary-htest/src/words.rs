//! Our own word lists. Every list is a plain pool: which word lands in an item never depends on the
//! item's label, except where the word *is* the rule.
//!
//! Nouns that begin with a vowel letter also begin with a vowel sound, and the others with neither
//! (no "hour", no "unicorn"), so that the start-vowel rule is the same to the eye and to the ear.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WordLists {
    /// Nouns that begin with a vowel, lower case.
    #[serde(borrow)]
    pub(crate) vowel_nouns: Vec<&'static str>,
    /// Nouns that begin with a consonant, lower case.
    pub(crate) consonant_nouns: Vec<&'static str>,
    /// Verbs, third person, all taking no object.
    pub(crate) verbs: Vec<&'static str>,
    pub(crate) places: Vec<&'static str>,
    /// Adverbs in -ly.
    pub(crate) ly_adverbs: Vec<&'static str>,
    /// Other words that end in "ly": the end-ly rule is about letters, not about adverbs.
    pub(crate) ly_others: Vec<&'static str>,
    /// Words that can close a sentence as well and do not end in "ly"; some hold an "ly" elsewhere,
    /// some end in "y", some in "l".
    pub(crate) not_ly: Vec<&'static str>,
    /// Hyphenated expressions that say what something is like.
    pub(crate) hyphenated: Vec<&'static str>,
    /// Words that say what something is like, of every length that the hyphenated expressions have.
    pub(crate) adjectives: Vec<&'static str>,
    /// Things of which there can be many.
    pub(crate) plurals: Vec<&'static str>,
    /// Numbers with their spelling, all without a hyphen.
    pub(crate) numbers: Vec<(u32, &'static str)>,
    /// Verbs that take an object, third person.
    pub(crate) transitive: Vec<&'static str>,
    /// Quantities a calculation can begin with.
    pub(crate) quantities: Vec<&'static str>,
    /// Operators: spelled out in one word and as a symbol of one character.
    pub(crate) operators: Vec<(&'static str, &'static str)>,
    /// Ways to end a calculation.
    pub(crate) remarks: Vec<&'static str>,
}

/// The lists. A test reads the file, so that a slip is found there and not here.
pub(crate) static WORDS: LazyLock<WordLists> =
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

const FILE: &str = include_str!("words.json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_can_be_read() {
        let read: WordLists = serde_json::from_str(FILE).unwrap();
        assert_eq!(read.vowel_nouns.len(), 72);
        assert_eq!(read.numbers.len(), 26);
    }
}
