//! The wide lexicon: everyday words with the features that the paradigms ask for. Plurals, pasts and
//! participles are written out in `lexicon.json`, so that no rule can misspell one.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// Grammatical gender of a person, where the word fixes it (`uncle`, `aunt`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Gender {
    Male,
    Female,
    #[default]
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Noun {
    pub one: &'static str,
    pub many: &'static str,
    /// `Open` for animals and things.
    #[serde(default)]
    pub gender: Gender,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Verb {
    pub base: &'static str,
    pub third: &'static str,
    pub past: &'static str,
    pub participle: &'static str,
}

/// An irregular verb whose past and participle differ, with objects that suit it.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Irregular {
    pub verb: Verb,
    /// What the past would be if it were regular.
    pub regular: &'static str,
    /// Things this is done to (singular, plural).
    pub objects: Vec<(&'static str, &'static str)>,
    /// The participle stands well before those nouns (`a broken cup`).
    pub attributive: bool,
}

/// Lists of words by name; no list is empty.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Lexicon {
    #[serde(borrow)]
    pub nouns: BTreeMap<&'static str, Vec<Noun>>,
    pub verbs: BTreeMap<&'static str, Vec<Verb>>,
    pub irregular: Vec<Irregular>,
    pub names: Vec<(&'static str, Gender)>,
    pub words: BTreeMap<&'static str, Vec<&'static str>>,
}

pub(crate) static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    // The file is part of the program and read by a test: it cannot fail here.
    serde_json::from_str(include_str!("lexicon.json")).unwrap_or_default()
});
