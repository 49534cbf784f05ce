//! Sentences about categories and their members, and about what things are like to the senses.

use super::dice::Dice;
use super::world::{Category, WORLD};
use crate::sentences::{article, capital};

/// The member as a noun phrase: colours and sports take no article.
fn phrase(category: &Category, member: &str) -> String {
    if matches!(category.name, "colour" | "sport") {
        member.to_owned()
    } else {
        format!("{} {member}", article(member))
    }
}

pub(super) fn category(dice: &mut Dice) -> String {
    let category = dice.pick(&WORLD.categories);
    let member = *dice.graded(&category.members);
    let other = *dice.graded(&category.members);
    let name = dice.pick(&WORLD.names).name;
    let noun = phrase(category, member);
    match dice.between(0, 8) {
        0..=2 => is_a(category, member, dice),
        3 => {
            let mut three = dice.shuffled(&category.members);
            three.truncate(3);
            format!("Some {} are: {}.", category.plural, three.join(", "))
        }
        4 if member != other => format!(
            "{} and {other} are both {}.",
            capital(member),
            category.plural
        ),
        5 => format!(
            "{name} saw many {}: {noun}, and also {}.",
            category.plural,
            phrase(category, other)
        ),
        6 => {
            let wrong = other_category(category, dice);
            format!(
                "Is {noun} {} {}? No, it is {} {}.",
                article(wrong.name),
                wrong.name,
                article(category.name),
                category.name
            )
        }
        7 => format!(
            "Is {noun} {} {}? Yes, it is.",
            article(category.name),
            category.name
        ),
        _ => format!("{name} likes {}, like {noun}.", category.plural),
    }
}

fn is_a(category: &Category, member: &str, dice: &mut Dice) -> String {
    let lead = format!(
        "{} is {} {}",
        phrase(category, member),
        article(category.name),
        category.name
    );
    if dice.one_in(2) {
        format!("{}.", capital(&lead))
    } else {
        lead
    }
}

fn other_category(category: &Category, dice: &mut Dice) -> &'static Category {
    loop {
        let other = dice.pick(&WORLD.categories);
        if other.name != category.name && !shares_member(other, category) {
            return other;
        }
    }
}

fn shares_member(one: &Category, other: &Category) -> bool {
    one.members.iter().any(|m| other.members.contains(m))
}

pub(super) fn quality(dice: &mut Dice) -> String {
    let quality = dice.pick(&WORLD.qualities);
    let has = dice.one_in(2);
    let mut sides = [
        (&quality.words, &quality.have),
        (&quality.opposites, &quality.lack),
    ];
    if !has {
        sides.reverse();
    }
    let [(words, things), (against, others)] = sides;
    let (thing, other) = (*dice.pick(things), *dice.pick(others));
    let (word, opposite) = (*dice.pick(words), *dice.pick(against));
    let (first, second) = (words[0], words[1]);
    let name = dice.pick(&WORLD.names).name;
    match dice.between(0, 9) {
        0 => format!("The {thing} is {word}."),
        1 => format!("The {thing} is {word}, but the {other} is {opposite}."),
        2 => format!("The {thing} is {first} and {second}, not {opposite}."),
        3 => format!("The opposite of {word} is {opposite}."),
        4 => format!("Something {first} is also {second}."),
        5 => format!(
            "{name} touched the {thing} {}. It was {first}, so {second}.",
            dice.pick(&WORLD.places)
        ),
        6 => format!("The {thing} is not {opposite}. It is {word}."),
        7 => format!("Which is {word}, the {thing} or the {other}? The {thing}."),
        8 => format!("How does the {thing} {}? {}.", quality.sense, capital(word)),
        _ => format!("A very {word} {thing} and a very {opposite} {other}."),
    }
}
