//! Sentences with one grammatical point each, and the sentence that misses it.
//!
//! Twelve phenomena, the ones the field's minimal-pair benchmarks test, in simple words of the
//! small world. The corpus uses the good sentence only; held-out pairs are used for evaluation.

use super::MinimalPair;
use super::agreement::{
    agreement, agreement_auxiliary, agreement_distractor, anaphor_gender, anaphor_number,
    determiner, determiner_adjective,
};
use super::dice::Dice;
use super::phrases::{
    GoodBad, animate, article, capital, maybe_place, object, opposite_names, reflexive, slot,
    two_names,
};
use super::world::{Noun, Verb, WORLD};

/// Phenomenon, paradigm, and what makes a pair of it.
type Paradigm = (&'static str, &'static str, fn(&mut Dice) -> GoodBad);

const PARADIGMS: &[Paradigm] = &[
    ("anaphor agreement", "gender", anaphor_gender),
    ("anaphor agreement", "number", anaphor_number),
    ("argument structure", "transitive", transitive),
    ("argument structure", "passive", passive),
    ("argument structure", "animate subject", animate_subject),
    ("binding", "closest subject", binding_domain),
    ("binding", "relative clause", binding_relative),
    ("control and raising", "there", raising_there),
    ("control and raising", "it", raising_it),
    ("determiner-noun agreement", "plain", determiner),
    (
        "determiner-noun agreement",
        "with adjective",
        determiner_adjective,
    ),
    ("ellipsis", "noun", ellipsis),
    ("filler-gap", "what or that", filler_gap),
    ("filler-gap", "who or that, no gap", filler_no_gap),
    ("irregular forms", "past", irregular_past),
    ("irregular forms", "participle", irregular_participle),
    ("island effects", "coordination", island_coordination),
    ("island effects", "left branch", island_branch),
    ("npi licensing", "no and some", npi_no),
    ("npi licensing", "only", npi_only),
    ("quantifiers", "there is", quantifier_there),
    ("quantifiers", "more than", quantifier_more),
    ("subject-verb agreement", "plain", agreement),
    ("subject-verb agreement", "distractor", agreement_distractor),
    ("subject-verb agreement", "auxiliary", agreement_auxiliary),
];

pub(super) fn pair(dice: &mut Dice) -> MinimalPair {
    let paradigm = dice.pick(PARADIGMS);
    make(paradigm, dice)
}

/// `per_paradigm` pairs of each paradigm that `keep` accepts.
pub(super) fn pairs(
    dice: &mut Dice,
    per_paradigm: usize,
    keep: &mut dyn FnMut(&MinimalPair) -> bool,
) -> Vec<MinimalPair> {
    let mut out = Vec::new();
    for paradigm in PARADIGMS {
        let tries = (0..per_paradigm * 2000).map(|_| make(paradigm, dice));
        out.extend(tries.filter(|pair| keep(pair)).take(per_paradigm));
    }
    out
}

fn make(&(phenomenon, paradigm, maker): &Paradigm, dice: &mut Dice) -> MinimalPair {
    let (good, bad) = maker(dice);
    MinimalPair {
        phenomenon,
        paradigm,
        good: capital(&good),
        bad: capital(&bad),
    }
}

fn name(dice: &mut Dice) -> &'static str {
    dice.pick(&WORLD.names).name
}

/// Something done to a thing.
fn deed(dice: &mut Dice) -> &'static Verb {
    dice.pick(&WORLD.handle)
}

fn anything(dice: &mut Dice) -> &'static Noun {
    if dice.one_in(2) {
        animate(dice)
    } else {
        object(dice)
    }
}

fn transitive(dice: &mut Dice) -> GoodBad {
    let (who, thing) = (animate(dice).one, object(dice).one);
    let (good, bad) = (deed(dice).past, dice.pick(&WORLD.alone).past);
    let adjective = dice.pick(&WORLD.plain);
    slot(
        &format!("the {who} {{}} the {adjective} {thing}."),
        good,
        bad,
    )
}

fn passive(dice: &mut Dice) -> GoodBad {
    let (who, thing) = (animate(dice).one, object(dice).one);
    let (good, bad) = (deed(dice).participle, dice.pick(&WORLD.alone).participle);
    slot(&format!("the {thing} was {{}} by the {who}."), good, bad)
}

fn animate_subject(dice: &mut Dice) -> GoodBad {
    let (who, other) = (animate(dice).one, dice.pick(&WORLD.people).one);
    let thing = dice.pick(&WORLD.things).one;
    let (verb, place) = (dice.pick(&WORLD.meet).past, maybe_place(dice));
    slot(&format!("the {{}} {verb} the {other}{place}."), who, thing)
}

fn binding_domain(dice: &mut Dice) -> GoodBad {
    let (outer, inner) = opposite_names(dice);
    let says = *dice.pick(&["says", "thinks", "knows", "believes", "said", "thought"]);
    let verb = dice.pick(&WORLD.to_self);
    let form = if dice.one_in(2) {
        verb.past
    } else {
        verb.third
    };
    let template = format!("{} {says} that {} {form} {{}}.", outer.name, inner.name);
    slot(&template, reflexive(inner.female), reflexive(outer.female))
}

fn binding_relative(dice: &mut Dice) -> GoodBad {
    loop {
        let (noun, name) = (dice.pick(&WORLD.people), dice.pick(&WORLD.names));
        let Some(female) = noun.female.filter(|female| *female != name.female) else {
            continue;
        };
        let (met, verb) = (dice.pick(&WORLD.meet).third, dice.pick(&WORLD.to_self).past);
        let template = format!("the {} who {met} {} {verb} {{}}.", noun.one, name.name);
        return slot(&template, reflexive(female), reflexive(!female));
    }
}

fn raising_there(dice: &mut Dice) -> GoodBad {
    let noun = anything(dice).one;
    let good = *dice.pick(&["seemed", "happened", "appeared", "had"]);
    let bad = *dice.pick(&["tried", "wanted", "hoped", "chose"]);
    let place = dice.pick(&WORLD.places);
    let lead = *dice.pick(&["there", "yesterday there", "at night there"]);
    let template = format!("{lead} {{}} to be {} {noun} {place}.", article(noun));
    slot(&template, good, bad)
}

fn raising_it(dice: &mut Dice) -> GoodBad {
    let good = *dice.pick(&["likely", "certain", "clear", "possible"]);
    let bad = *dice.pick(&["eager", "happy", "ready", "willing"]);
    let (name, verb, thing) = (name(dice), deed(dice).past, object(dice).one);
    slot(
        &format!("it is {{}} that {name} {verb} the {thing}."),
        good,
        bad,
    )
}

fn ellipsis(dice: &mut Dice) -> GoodBad {
    let (one, other) = two_names(dice);
    let (verb, noun) = (deed(dice).past, object(dice).one);
    let adjective = dice.pick(&WORLD.plain);
    let count = *dice.pick(&["two", "three", "four", "many", "some", "several"]);
    (
        format!("{one} {verb} one {adjective} {noun} and {other} {verb} {count}."),
        format!("{one} {verb} one {noun} and {other} {verb} {count} {adjective}."),
    )
}

const KNOWS: [&str; 5] = ["knows", "saw", "heard", "forgot", "remembers"];

fn filler_gap(dice: &mut Dice) -> GoodBad {
    let (one, other) = two_names(dice);
    let (knows, verb) = (*dice.pick(&KNOWS), deed(dice).past);
    let place = maybe_place(dice);
    slot(
        &format!("{one} {knows} {{}} {other} {verb}{place}."),
        "what",
        "that",
    )
}

fn filler_no_gap(dice: &mut Dice) -> GoodBad {
    let (one, other) = two_names(dice);
    let (knows, verb) = (*dice.pick(&KNOWS), deed(dice).past);
    let thing = object(dice).one;
    slot(
        &format!("{one} {knows} {{}} {other} {verb} the {thing}."),
        "that",
        "what",
    )
}

fn irregular_past(dice: &mut Dice) -> GoodBad {
    let verb = loop {
        let verb = if dice.one_in(2) {
            deed(dice)
        } else {
            dice.pick(&WORLD.meet)
        };
        if verb.past != verb.participle {
            break verb;
        }
    };
    let who = animate(dice).one;
    let whom = if WORLD.meet.iter().any(|v| v.base == verb.base) {
        animate(dice).one
    } else {
        object(dice).one
    };
    let place = maybe_place(dice);
    let template = format!("the {who} {{}} the {whom}{place}.");
    slot(&template, verb.past, verb.participle)
}

fn irregular_participle(dice: &mut Dice) -> GoodBad {
    let verb = loop {
        let verb = deed(dice);
        if verb.past != verb.participle {
            break verb;
        }
    };
    let (name, thing) = (name(dice), object(dice).one);
    let lead = *dice.pick(&["has", "had"]);
    let template = format!("{name} {lead} {{}} the {thing}.");
    slot(&template, verb.participle, verb.past)
}

fn island_coordination(dice: &mut Dice) -> GoodBad {
    let ((one, other), verb) = (two_names(dice), dice.pick(&WORLD.meet).base);
    let lead = *dice.pick(&["who did", "who should", "who could", "who will"]);
    let place = maybe_place(dice);
    (
        format!("{lead} {one} and {other} {verb}{place}?"),
        format!("{lead} {one} {verb} and {other}{place}?"),
    )
}

fn island_branch(dice: &mut Dice) -> GoodBad {
    let (name, verb) = (name(dice), deed(dice).base);
    let thing = dice.pick(&WORLD.things).one;
    let lead = *dice.pick(&["did", "should", "will", "could"]);
    let place = maybe_place(dice);
    (
        format!("whose {thing} {lead} {name} {verb}{place}?"),
        format!("whose {lead} {name} {verb} {thing}{place}?"),
    )
}

fn npi_no(dice: &mut Dice) -> GoodBad {
    let (who, verb) = (animate(dice).one, dice.pick(&WORLD.alone).participle);
    let place = maybe_place(dice);
    let good = *dice.pick(&["no", "not one"]);
    let bad = *dice.pick(&["some", "this", "that"]);
    slot(&format!("{{}} {who} has ever {verb}{place}."), good, bad)
}

fn npi_only(dice: &mut Dice) -> GoodBad {
    let (name, verb, noun) = (name(dice), deed(dice).participle, object(dice).many);
    let bad = *dice.pick(&["even", "also"]);
    slot(
        &format!("{{}} {name} has ever {verb} any {noun}."),
        "only",
        bad,
    )
}

fn quantifier_there(dice: &mut Dice) -> GoodBad {
    let (noun, place) = (anything(dice), dice.pick(&WORLD.places));
    if dice.one_in(2) {
        let bad = *dice.pick(&["all", "most"]);
        let good = *dice.pick(&["many", "some", "few", "no", "two", "three"]);
        slot(
            &format!("there were {{}} {} {place}.", noun.many),
            good,
            bad,
        )
    } else {
        let bad = *dice.pick(&["every", "each"]);
        let good = *dice.pick(&["one", "no"]);
        slot(&format!("there was {{}} {} {place}.", noun.one), good, bad)
    }
}

fn quantifier_more(dice: &mut Dice) -> GoodBad {
    let (who, verb) = (dice.pick(&WORLD.people).one, deed(dice).past);
    let thing = object(dice).many;
    let count = *dice.pick(&["two", "three", "four", "five", "six", "seven", "ten"]);
    let good = *dice.pick(&["more than", "fewer than"]);
    let bad = *dice.pick(&["at least", "at most"]);
    slot(&format!("no {who} {verb} {{}} {count} {thing}."), good, bad)
}
