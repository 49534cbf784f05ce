//! Paradigms of agreement: reflexives with their subject, determiners with their noun, verbs with
//! theirs.

use super::dice::Dice;
use super::phrases::{GoodBad, animate, gendered, maybe_place, object, reflexive, slot};
use super::world::{Noun, WORLD};

pub(super) fn anaphor_gender(dice: &mut Dice) -> GoodBad {
    let (who, female) = gendered(dice);
    let verb = dice.pick(&WORLD.to_self);
    let form = if dice.one_in(2) {
        verb.past
    } else {
        verb.third
    };
    let template = format!("{who} {form} {{}}{}.", maybe_place(dice));
    slot(&template, reflexive(female), reflexive(!female))
}

pub(super) fn anaphor_number(dice: &mut Dice) -> GoodBad {
    let (noun, verb) = (dice.pick(&WORLD.people), dice.pick(&WORLD.to_self).past);
    let place = maybe_place(dice);
    let lead = *dice.pick(&["the", "some", "these", "two", "three", "many"]);
    let template = format!("{lead} {} {verb} {{}}{place}.", noun.many);
    let wrong = reflexive(noun.female.unwrap_or(false));
    slot(&template, "themselves", wrong)
}

/// A noun whose plural differs, from where `draw` takes nouns.
fn countable(dice: &mut Dice, draw: fn(&mut Dice) -> &'static Noun) -> &'static Noun {
    loop {
        let noun = draw(dice);
        if noun.one != noun.many {
            return noun;
        }
    }
}

fn determiner_frame(dice: &mut Dice, adjective: &str) -> GoodBad {
    let (name, verb) = (dice.pick(&WORLD.names).name, dice.pick(&WORLD.handle).past);
    let plural = dice.one_in(2);
    let noun = countable(dice, object);
    let word = match (plural, dice.one_in(2)) {
        (true, true) => "these",
        (true, false) => "those",
        (false, true) => "this",
        (false, false) => "that",
    };
    let (good, bad) = noun.forms(plural);
    slot(&format!("{name} {verb} {word} {adjective}{{}}."), good, bad)
}

pub(super) fn determiner(dice: &mut Dice) -> GoodBad {
    determiner_frame(dice, "")
}

pub(super) fn determiner_adjective(dice: &mut Dice) -> GoodBad {
    let adjective = format!("{} ", dice.pick(&WORLD.plain));
    determiner_frame(dice, &adjective)
}

/// A subject and a verb without object that may agree: the noun, the number, the form that agrees and the
/// one that does not.
fn agreeing(dice: &mut Dice) -> (&'static str, bool, &'static str, &'static str) {
    let (noun, verb) = (countable(dice, animate), dice.pick(&WORLD.alone));
    let plural = dice.one_in(2);
    let (good, bad) = if plural {
        (verb.base, verb.third)
    } else {
        (verb.third, verb.base)
    };
    (noun.forms(plural).0, plural, good, bad)
}

pub(super) fn agreement(dice: &mut Dice) -> GoodBad {
    let (subject, _, good, bad) = agreeing(dice);
    let tail = if dice.one_in(2) {
        maybe_place(dice)
    } else {
        let when = dice.pick(&["every day", "at night", "all day", "a lot"]);
        format!(" {when}")
    };
    slot(&format!("the {subject} {{}}{tail}."), good, bad)
}

pub(super) fn agreement_distractor(dice: &mut Dice) -> GoodBad {
    let (subject, plural, good, bad) = agreeing(dice);
    let distractor = countable(dice, animate).forms(!plural).0;
    let link = *dice.pick(&["near", "behind", "with", "beside"]);
    let place = maybe_place(dice);
    let template = format!("the {subject} {link} the {distractor} {{}}{place}.");
    slot(&template, good, bad)
}

pub(super) fn agreement_auxiliary(dice: &mut Dice) -> GoodBad {
    let (noun, verb) = (countable(dice, animate), dice.pick(&WORLD.alone).ing);
    let plural = dice.one_in(2);
    let subject = noun.forms(plural).0;
    let (one, many) = *dice.pick(&[("is", "are"), ("was", "were")]);
    let (good, bad) = if plural { (many, one) } else { (one, many) };
    let place = maybe_place(dice);
    slot(&format!("the {subject} {{}} {verb}{place}."), good, bad)
}
