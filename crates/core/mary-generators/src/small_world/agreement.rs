//! Paradigms of agreement: reflexives with their subject, determiners with their noun, verbs with
//! theirs.

use super::dice::Dice;
use super::grammar::{animate, gendered, maybe_place, object, reflexive};
use super::world::{ALONE, HANDLE, NAMES, Noun, PEOPLE, PLAIN, SELF};

pub(super) fn anaphor_gender(dice: &mut Dice) -> (String, String) {
    let (who, female) = gendered(dice);
    let verb = dice.pick(SELF);
    let form = if dice.one_in(2) {
        verb.past
    } else {
        verb.third
    };
    let place = maybe_place(dice);
    (
        format!("{who} {form} {}{place}.", reflexive(female)),
        format!("{who} {form} {}{place}.", reflexive(!female)),
    )
}

pub(super) fn anaphor_number(dice: &mut Dice) -> (String, String) {
    let noun = dice.pick(PEOPLE);
    let verb = dice.pick(SELF);
    let place = maybe_place(dice);
    let lead = *dice.pick(&["the", "some", "these", "two", "three", "many"]);
    let wrong = reflexive(noun.female.unwrap_or(false));
    (
        format!("{lead} {} {} themselves{place}.", noun.many, verb.past),
        format!("{lead} {} {} {wrong}{place}.", noun.many, verb.past),
    )
}

fn determiner_frame(dice: &mut Dice, adjective: &str) -> (String, String) {
    let name = dice.pick(NAMES);
    let verb = dice.pick(HANDLE);
    let plural = dice.one_in(2);
    let noun = loop {
        let noun = object(dice);
        if noun.one != noun.many {
            break noun;
        }
    };
    let word = match (plural, dice.one_in(2)) {
        (true, true) => "these",
        (true, false) => "those",
        (false, true) => "this",
        (false, false) => "that",
    };
    let (good, bad) = if plural {
        (noun.many, noun.one)
    } else {
        (noun.one, noun.many)
    };
    (
        format!("{} {} {word} {adjective}{good}.", name.name, verb.past),
        format!("{} {} {word} {adjective}{bad}.", name.name, verb.past),
    )
}

pub(super) fn determiner(dice: &mut Dice) -> (String, String) {
    determiner_frame(dice, "")
}

pub(super) fn determiner_adjective(dice: &mut Dice) -> (String, String) {
    let adjective = format!("{} ", dice.pick(PLAIN));
    determiner_frame(dice, &adjective)
}

fn countable(dice: &mut Dice) -> &'static Noun {
    loop {
        let noun = animate(dice);
        if noun.one != noun.many {
            return noun;
        }
    }
}

pub(super) fn agreement(dice: &mut Dice) -> (String, String) {
    let (noun, verb, plural) = (countable(dice), dice.pick(ALONE), dice.one_in(2));
    let subject = if plural { noun.many } else { noun.one };
    let (good, bad) = if plural {
        (verb.base, verb.third)
    } else {
        (verb.third, verb.base)
    };
    let tail = if dice.one_in(2) {
        maybe_place(dice)
    } else {
        format!(
            " {}",
            dice.pick(&["every day", "at night", "all day", "a lot"])
        )
    };
    (
        format!("the {subject} {good}{tail}."),
        format!("the {subject} {bad}{tail}."),
    )
}

pub(super) fn agreement_distractor(dice: &mut Dice) -> (String, String) {
    let (noun, verb, plural) = (countable(dice), dice.pick(ALONE), dice.one_in(2));
    let other = countable(dice);
    let subject = if plural { noun.many } else { noun.one };
    let distractor = if plural { other.one } else { other.many };
    let link = *dice.pick(&["near", "behind", "with", "beside"]);
    let (good, bad) = if plural {
        (verb.base, verb.third)
    } else {
        (verb.third, verb.base)
    };
    let place = maybe_place(dice);
    (
        format!("the {subject} {link} the {distractor} {good}{place}."),
        format!("the {subject} {link} the {distractor} {bad}{place}."),
    )
}

pub(super) fn agreement_auxiliary(dice: &mut Dice) -> (String, String) {
    let (noun, verb, plural) = (countable(dice), dice.pick(ALONE), dice.one_in(2));
    let subject = if plural { noun.many } else { noun.one };
    let (one, many) = *dice.pick(&[("is", "are"), ("was", "were")]);
    let (good, bad) = if plural { (many, one) } else { (one, many) };
    let place = maybe_place(dice);
    (
        format!("the {subject} {good} {}{place}.", verb.ing),
        format!("the {subject} {bad} {}{place}.", verb.ing),
    )
}
