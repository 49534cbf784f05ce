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
use super::world::{
    ALONE, BEASTS, FOODS, HANDLE, MEET, NAMES, Name, Noun, PEOPLE, PLACES, PLAIN, SELF, THINGS,
};

type Maker = fn(&mut Dice) -> (String, String);

/// Every paradigm: phenomenon, paradigm, maker of (good, bad).
const PARADIGMS: &[(&str, &str, Maker)] = &[
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

/// A pair of one random paradigm.
pub(super) fn pair(dice: &mut Dice) -> MinimalPair {
    let (phenomenon, paradigm, maker) = dice.pick(PARADIGMS);
    make(phenomenon, paradigm, *maker, dice)
}

/// `per_paradigm` pairs of each paradigm that `keep` accepts.
pub(super) fn pairs(
    dice: &mut Dice,
    per_paradigm: usize,
    keep: &mut dyn FnMut(&MinimalPair) -> bool,
) -> Vec<MinimalPair> {
    let mut out = Vec::new();
    for (phenomenon, paradigm, maker) in PARADIGMS {
        let mut found = 0;
        for _ in 0..per_paradigm * 2000 {
            if found == per_paradigm {
                break;
            }
            let pair = make(phenomenon, paradigm, *maker, dice);
            if keep(&pair) {
                out.push(pair);
                found += 1;
            }
        }
    }
    out
}

fn make(
    phenomenon: &'static str,
    paradigm: &'static str,
    maker: Maker,
    dice: &mut Dice,
) -> MinimalPair {
    let (good, bad) = maker(dice);
    MinimalPair {
        phenomenon,
        paradigm,
        good: capital(&good),
        bad: capital(&bad),
    }
}

/// The text with its first letter made a capital.
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
        dice.pick(BEASTS)
    } else {
        dice.pick(PEOPLE)
    }
}

pub(super) fn object(dice: &mut Dice) -> &'static Noun {
    if dice.one_in(4) {
        dice.pick(FOODS)
    } else {
        dice.pick(THINGS)
    }
}

pub(super) fn gendered(dice: &mut Dice) -> (String, bool) {
    if dice.one_in(2) {
        let name = dice.pick(NAMES);
        return (name.name.to_owned(), name.female);
    }
    loop {
        let noun = dice.pick(PEOPLE);
        if let Some(female) = noun.female {
            return (format!("the {}", noun.one), female);
        }
    }
}

fn opposite_names(dice: &mut Dice) -> (&'static Name, &'static Name) {
    loop {
        let (one, other) = dice.two(NAMES);
        if one.female != other.female {
            return (one, other);
        }
    }
}

pub(super) fn maybe_place(dice: &mut Dice) -> String {
    if dice.one_in(2) {
        format!(" {}", dice.pick(PLACES))
    } else {
        String::new()
    }
}

fn transitive(dice: &mut Dice) -> (String, String) {
    let (who, thing) = (animate(dice), object(dice));
    let (good, bad) = (dice.pick(HANDLE), dice.pick(ALONE));
    let adjective = dice.pick(PLAIN);
    (
        format!(
            "the {} {} the {adjective} {}.",
            who.one, good.past, thing.one
        ),
        format!(
            "the {} {} the {adjective} {}.",
            who.one, bad.past, thing.one
        ),
    )
}

fn passive(dice: &mut Dice) -> (String, String) {
    let (who, thing) = (animate(dice), object(dice));
    let (good, bad) = (dice.pick(HANDLE), dice.pick(ALONE));
    (
        format!(
            "the {} was {} by the {}.",
            thing.one, good.participle, who.one
        ),
        format!(
            "the {} was {} by the {}.",
            thing.one, bad.participle, who.one
        ),
    )
}

fn animate_subject(dice: &mut Dice) -> (String, String) {
    let (who, other) = (animate(dice), dice.pick(PEOPLE));
    let thing = dice.pick(THINGS);
    let verb = dice.pick(MEET);
    let place = maybe_place(dice);
    (
        format!("the {} {} the {}{place}.", who.one, verb.past, other.one),
        format!("the {} {} the {}{place}.", thing.one, verb.past, other.one),
    )
}

fn binding_domain(dice: &mut Dice) -> (String, String) {
    let (outer, inner) = opposite_names(dice);
    let says = *dice.pick(&["says", "thinks", "knows", "believes", "said", "thought"]);
    let verb = dice.pick(SELF);
    let form = if dice.one_in(2) {
        verb.past
    } else {
        verb.third
    };
    (
        format!(
            "{} {says} that {} {form} {}.",
            outer.name,
            inner.name,
            reflexive(inner.female)
        ),
        format!(
            "{} {says} that {} {form} {}.",
            outer.name,
            inner.name,
            reflexive(outer.female)
        ),
    )
}

fn binding_relative(dice: &mut Dice) -> (String, String) {
    loop {
        let noun = dice.pick(PEOPLE);
        let name = dice.pick(NAMES);
        let Some(female) = noun.female else { continue };
        if female == name.female {
            continue;
        }
        let (inner, verb) = (dice.pick(MEET), dice.pick(SELF));
        return (
            format!(
                "the {} who {} {} {} {}.",
                noun.one,
                inner.third,
                name.name,
                verb.past,
                reflexive(female)
            ),
            format!(
                "the {} who {} {} {} {}.",
                noun.one,
                inner.third,
                name.name,
                verb.past,
                reflexive(!female)
            ),
        );
    }
}

fn raising_there(dice: &mut Dice) -> (String, String) {
    let noun = if dice.one_in(2) {
        animate(dice)
    } else {
        object(dice)
    };
    let (good, bad) = (
        *dice.pick(&["seemed", "happened", "appeared", "had"]),
        *dice.pick(&["tried", "wanted", "hoped", "chose"]),
    );
    let place = dice.pick(PLACES);
    let lead = *dice.pick(&["there", "yesterday there", "at night there"]);
    (
        format!(
            "{lead} {good} to be {} {} {place}.",
            article(noun.one),
            noun.one
        ),
        format!(
            "{lead} {bad} to be {} {} {place}.",
            article(noun.one),
            noun.one
        ),
    )
}

fn raising_it(dice: &mut Dice) -> (String, String) {
    let (good, bad) = (
        *dice.pick(&["likely", "certain", "clear", "possible"]),
        *dice.pick(&["eager", "happy", "ready", "willing"]),
    );
    let name = dice.pick(NAMES);
    let (verb, thing) = (dice.pick(HANDLE), object(dice));
    (
        format!(
            "it is {good} that {} {} the {}.",
            name.name, verb.past, thing.one
        ),
        format!(
            "it is {bad} that {} {} the {}.",
            name.name, verb.past, thing.one
        ),
    )
}

fn ellipsis(dice: &mut Dice) -> (String, String) {
    let (one, other) = dice.two(NAMES);
    let (verb, noun, adjective) = (dice.pick(HANDLE), object(dice), dice.pick(PLAIN));
    let count = *dice.pick(&["two", "three", "four", "many", "some", "several"]);
    (
        format!(
            "{} {} one {adjective} {} and {} {} {count}.",
            one.name, verb.past, noun.one, other.name, verb.past
        ),
        format!(
            "{} {} one {} and {} {} {count} {adjective}.",
            one.name, verb.past, noun.one, other.name, verb.past
        ),
    )
}

fn filler_gap(dice: &mut Dice) -> (String, String) {
    let (one, other) = dice.two(NAMES);
    let knows = *dice.pick(&["knows", "saw", "heard", "forgot", "remembers"]);
    let verb = dice.pick(HANDLE);
    let place = maybe_place(dice);
    (
        format!(
            "{} {knows} what {} {}{place}.",
            one.name, other.name, verb.past
        ),
        format!(
            "{} {knows} that {} {}{place}.",
            one.name, other.name, verb.past
        ),
    )
}

fn filler_no_gap(dice: &mut Dice) -> (String, String) {
    let (one, other) = dice.two(NAMES);
    let knows = *dice.pick(&["knows", "saw", "heard", "forgot", "remembers"]);
    let (verb, thing) = (dice.pick(HANDLE), object(dice));
    (
        format!(
            "{} {knows} that {} {} the {}.",
            one.name, other.name, verb.past, thing.one
        ),
        format!(
            "{} {knows} what {} {} the {}.",
            one.name, other.name, verb.past, thing.one
        ),
    )
}

fn irregular_past(dice: &mut Dice) -> (String, String) {
    let verb = loop {
        let verb = if dice.one_in(2) {
            dice.pick(HANDLE)
        } else {
            dice.pick(MEET)
        };
        if verb.past != verb.participle {
            break verb;
        }
    };
    let who = animate(dice);
    let whom = if MEET.iter().any(|v| v.base == verb.base) {
        animate(dice)
    } else {
        object(dice)
    };
    let place = maybe_place(dice);
    (
        format!("the {} {} the {}{place}.", who.one, verb.past, whom.one),
        format!(
            "the {} {} the {}{place}.",
            who.one, verb.participle, whom.one
        ),
    )
}

fn irregular_participle(dice: &mut Dice) -> (String, String) {
    let verb = loop {
        let verb = dice.pick(HANDLE);
        if verb.past != verb.participle {
            break verb;
        }
    };
    let (name, thing) = (dice.pick(NAMES), object(dice));
    let lead = *dice.pick(&["has", "had"]);
    (
        format!(
            "{} {lead} {} the {}.",
            name.name, verb.participle, thing.one
        ),
        format!("{} {lead} {} the {}.", name.name, verb.past, thing.one),
    )
}

fn island_coordination(dice: &mut Dice) -> (String, String) {
    let (one, other) = dice.two(NAMES);
    let verb = dice.pick(MEET);
    let lead = *dice.pick(&["who did", "who should", "who could", "who will"]);
    let place = maybe_place(dice);
    (
        format!(
            "{lead} {} and {} {}{place}?",
            one.name, other.name, verb.base
        ),
        format!(
            "{lead} {} {} and {}{place}?",
            one.name, verb.base, other.name
        ),
    )
}

fn island_branch(dice: &mut Dice) -> (String, String) {
    let (name, verb, thing) = (dice.pick(NAMES), dice.pick(HANDLE), dice.pick(THINGS));
    let lead = *dice.pick(&["did", "should", "will", "could"]);
    let place = maybe_place(dice);
    (
        format!(
            "whose {} {lead} {} {}{place}?",
            thing.one, name.name, verb.base
        ),
        format!(
            "whose {lead} {} {} {}{place}?",
            name.name, verb.base, thing.one
        ),
    )
}

fn npi_no(dice: &mut Dice) -> (String, String) {
    let (who, verb) = (animate(dice), dice.pick(ALONE));
    let place = maybe_place(dice);
    let (good, bad) = (
        *dice.pick(&["no", "not one"]),
        *dice.pick(&["some", "this", "that"]),
    );
    (
        format!("{good} {} has ever {}{place}.", who.one, verb.participle),
        format!("{bad} {} has ever {}{place}.", who.one, verb.participle),
    )
}

fn npi_only(dice: &mut Dice) -> (String, String) {
    let (name, verb, noun) = (dice.pick(NAMES), dice.pick(HANDLE), object(dice));
    let (good, bad) = ("only", *dice.pick(&["even", "also"]));
    (
        format!(
            "{good} {} has ever {} any {}.",
            name.name, verb.participle, noun.many
        ),
        format!(
            "{bad} {} has ever {} any {}.",
            name.name, verb.participle, noun.many
        ),
    )
}

fn quantifier_there(dice: &mut Dice) -> (String, String) {
    let noun = if dice.one_in(2) {
        animate(dice)
    } else {
        object(dice)
    };
    let place = dice.pick(PLACES);
    if dice.one_in(2) {
        let bad = *dice.pick(&["all", "most"]);
        let good = *dice.pick(&["many", "some", "few", "no", "two", "three"]);
        (
            format!("there were {good} {} {place}.", noun.many),
            format!("there were {bad} {} {place}.", noun.many),
        )
    } else {
        let bad = *dice.pick(&["every", "each"]);
        let good = *dice.pick(&["one", "no"]);
        (
            format!("there was {good} {} {place}.", noun.one),
            format!("there was {bad} {} {place}.", noun.one),
        )
    }
}

fn quantifier_more(dice: &mut Dice) -> (String, String) {
    let (who, verb, thing) = (dice.pick(PEOPLE), dice.pick(HANDLE), object(dice));
    let count = *dice.pick(&["two", "three", "four", "five", "six", "seven", "ten"]);
    let good = *dice.pick(&["more than", "fewer than"]);
    let bad = *dice.pick(&["at least", "at most"]);
    (
        format!(
            "no {} {} {good} {count} {}.",
            who.one, verb.past, thing.many
        ),
        format!("no {} {} {bad} {count} {}.", who.one, verb.past, thing.many),
    )
}
