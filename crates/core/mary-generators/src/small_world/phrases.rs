//! Parts of sentences that the generators share.

use super::dice::Dice;
use super::world::{Name, Noun, WORLD};

/// A good sentence and the bad one beside it, without a capital.
pub(super) type GoodBad = (String, String);

/// One template, two fillers of its `{}`.
pub(super) fn slot(template: &str, good: &str, bad: &str) -> GoodBad {
    (
        template.replacen("{}", good, 1),
        template.replacen("{}", bad, 1),
    )
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// "a" or "an", by the first letter, which is enough for the small world's words.
pub(super) fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

pub(super) fn reflexive(female: bool) -> &'static str {
    if female { "herself" } else { "himself" }
}

pub(super) fn animate(dice: &mut Dice) -> &'static Noun {
    if dice.one_in(3) {
        dice.pick(&WORLD.beasts)
    } else {
        dice.pick(&WORLD.people)
    }
}

pub(super) fn object(dice: &mut Dice) -> &'static Noun {
    if dice.one_in(4) {
        dice.pick(&WORLD.foods)
    } else {
        dice.pick(&WORLD.things)
    }
}

/// Somebody whose gender the word fixes, and whether it is female.
pub(super) fn gendered(dice: &mut Dice) -> (String, bool) {
    if dice.one_in(2) {
        let name = dice.pick(&WORLD.names);
        return (name.name.to_owned(), name.female);
    }
    loop {
        let noun = dice.pick(&WORLD.people);
        if let Some(female) = noun.female {
            return (format!("the {}", noun.one), female);
        }
    }
}

pub(super) fn two_names(dice: &mut Dice) -> (&'static str, &'static str) {
    let (one, other) = dice.two(&WORLD.names);
    (one.name, other.name)
}

/// Two names of different gender.
pub(super) fn opposite_names(dice: &mut Dice) -> (&'static Name, &'static Name) {
    loop {
        let (one, other) = dice.two(&WORLD.names);
        if one.female != other.female {
            return (one, other);
        }
    }
}

pub(super) fn maybe_place(dice: &mut Dice) -> String {
    if dice.one_in(2) {
        format!(" {}", dice.pick(&WORLD.places))
    } else {
        String::new()
    }
}
