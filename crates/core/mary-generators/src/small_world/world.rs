//! The small world: its people, animals, things, qualities and numbers, from `world.json`.
//!
//! Everything there was written for this project; the order of a category's members is our own and sets
//! how often each is met (first is most frequent), so that a grown model has a graded category to show.

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Genders are for the paradigms of grammar, which read the file by themselves.
#[derive(Deserialize)]
pub(super) struct Name {
    pub(super) name: &'static str,
    _gender: IgnoredAny,
}

#[derive(Deserialize)]
pub(super) struct Noun {
    pub(super) one: &'static str,
    pub(super) many: &'static str,
    #[serde(default)]
    _gender: IgnoredAny,
}

#[derive(Deserialize)]
pub(super) struct Category {
    pub(super) name: &'static str,
    pub(super) plural: &'static str,
    pub(super) members: Vec<&'static str>,
}

/// A quality of the senses: two words for it, two for its opposite, things that have it and things that
/// lack it.
#[derive(Deserialize)]
pub(super) struct Quality {
    pub(super) sense: &'static str,
    pub(super) words: [&'static str; 2],
    pub(super) opposites: [&'static str; 2],
    pub(super) have: Vec<&'static str>,
    pub(super) lack: Vec<&'static str>,
}

/// Lists of words, none of them empty; `about` in the file says what each is for.
#[derive(Default, Deserialize)]
pub(super) struct World {
    pub(super) names: Vec<Name>,
    pub(super) people: Vec<Noun>,
    pub(super) beasts: Vec<Noun>,
    pub(super) things: Vec<Noun>,
    pub(super) foods: Vec<Noun>,
    #[serde(borrow)]
    pub(super) places: Vec<&'static str>,
    /// From zero to twenty.
    pub(super) numbers: Vec<&'static str>,
    pub(super) categories: Vec<Category>,
    pub(super) qualities: Vec<Quality>,
}

pub(super) static WORLD: LazyLock<World> = LazyLock::new(|| {
    // The file is part of the program and read by a test: it cannot fail here.
    serde_json::from_str(include_str!("world.json")).unwrap_or_default()
});
