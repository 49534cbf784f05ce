//! Forms that agree: anaphors, determiners, irregular forms, subjects and verbs.

use super::super::lexicon::{
    IRREGULAR_ANIMATE, IRREGULAR_THINGS, IRREGULAR_VERBS, Irregular, LOOKS, Noun, OUTSIDE,
    PAST_TIMES, PLACES, REFLEXIVE, SOCIAL, STATES, TRANSITIVE,
};
use super::{Draft, Pen, other_reflexive, reflexive};

pub(super) fn anaphor_gender(pen: &mut Pen<'_>) -> Draft {
    let (subject, gender) = if pen.coin() {
        let ((name, gender), _) = pen.opposite_names();
        (name.to_owned(), gender)
    } else {
        let noun = pen.gendered();
        (format!("the {}", noun.one), noun.gender)
    };
    let (verb, when) = (pen.any(REFLEXIVE).past, pen.word(PAST_TIMES));
    let template = format!("{subject} {verb} {{}} {when}");
    Draft::slot(&template, reflexive(gender), other_reflexive(gender))
}

pub(super) fn anaphor_number(pen: &mut Pen<'_>) -> Draft {
    let noun = pen.gendered();
    let (verb, when) = (pen.any(REFLEXIVE).past, pen.word(PAST_TIMES));
    let alone = reflexive(noun.gender);
    let (subject, good, bad) = if pen.coin() {
        (noun.one, alone, "themselves")
    } else {
        (noun.many, "themselves", alone)
    };
    Draft::slot(&format!("the {subject} {verb} {{}} {when}"), good, bad)
}

/// A determiner with the noun's form that suits it and the one that does not.
fn pointing(pen: &mut Pen<'_>, noun: &'static Noun) -> (&'static str, &'static str, &'static str) {
    const ONE: &[&str] = &["this", "that"];
    const MANY: &[&str] = &["these", "those"];
    if pen.coin() {
        (pen.word(ONE), noun.one, noun.many)
    } else {
        (pen.word(MANY), noun.many, noun.one)
    }
}

pub(super) fn determiner_noun(pen: &mut Pen<'_>) -> Draft {
    let (who, verb, thing) = (pen.name(), pen.any(TRANSITIVE).past, pen.thing());
    let (determiner, good, bad) = pointing(pen, thing);
    let place = pen.word(PLACES);
    Draft::slot(
        &format!("{who} {verb} {determiner} {{}} {place}"),
        good,
        bad,
    )
}

pub(super) fn determiner(pen: &mut Pen<'_>) -> Draft {
    const PAIRS: &[(&str, &str)] = &[("this", "these"), ("that", "those")];
    let (who, verb, thing) = (pen.person(), pen.any(TRANSITIVE).past, pen.thing());
    let &(one, many) = pen.any(PAIRS);
    let when = pen.word(PAST_TIMES);
    let (noun, good, bad) = if pen.coin() {
        (thing.one, one, many)
    } else {
        (thing.many, many, one)
    };
    Draft::slot(
        &format!("the {} {verb} {{}} {noun} {when}", who.one),
        good,
        bad,
    )
}

pub(super) fn determiner_adjective(pen: &mut Pen<'_>) -> Draft {
    let (who, verb, thing) = (pen.name(), pen.any(TRANSITIVE).past, pen.thing());
    let (determiner, good, bad) = pointing(pen, thing);
    let look = pen.word(LOOKS);
    Draft::slot(&format!("{who} {verb} {determiner} {look} {{}}"), good, bad)
}

pub(super) fn determiner_irregular(pen: &mut Pen<'_>) -> Draft {
    const NEUTRAL: &[&str] = &[
        "noticed",
        "remembered",
        "mentioned",
        "described",
        "ignored",
        "drew",
    ];
    let list = if pen.coin() {
        IRREGULAR_ANIMATE
    } else {
        IRREGULAR_THINGS
    };
    let noun = pen.any(list);
    let (who, verb, when) = (pen.name(), pen.word(NEUTRAL), pen.word(PAST_TIMES));
    let (determiner, good, bad) = pointing(pen, noun);
    Draft::slot(&format!("{who} {verb} {determiner} {{}} {when}"), good, bad)
}

fn deed(pen: &mut Pen<'_>) -> (&'static Irregular, &'static str) {
    let deed = pen.any(IRREGULAR_VERBS);
    let object = pen.any(deed.objects).0;
    (deed, object)
}

pub(super) fn irregular_past(pen: &mut Pen<'_>) -> Draft {
    let ((deed, object), who) = (deed(pen), pen.person());
    let when = pen.word(PAST_TIMES);
    let template = format!("the {} {{}} the {object} {when}", who.one);
    Draft::slot(&template, deed.verb.past, deed.verb.participle)
}

pub(super) fn irregular_participle(pen: &mut Pen<'_>) -> Draft {
    let ((deed, object), who) = (deed(pen), pen.person());
    let have = if pen.coin() { "has" } else { "had" };
    let template = format!("the {} {have} {{}} the {object}", who.one);
    Draft::slot(&template, deed.verb.participle, deed.verb.past)
}

pub(super) fn regularised(pen: &mut Pen<'_>) -> Draft {
    let ((deed, object), who) = (deed(pen), pen.name());
    let when = pen.word(PAST_TIMES);
    let template = format!("{who} {{}} the {object} {when}");
    Draft::slot(&template, deed.verb.past, deed.regular)
}

pub(super) fn participle_adjective(pen: &mut Pen<'_>) -> Draft {
    const SEEING: &[&str] = &["found", "noticed", "left", "saw", "discovered", "dropped"];
    let (deed, object) = loop {
        let (deed, object) = deed(pen);
        if deed.attributive {
            break (deed, object);
        }
    };
    let (who, verb, place) = (pen.name(), pen.word(SEEING), pen.word(OUTSIDE));
    let template = format!("{who} {verb} the {{}} {object} {place}");
    Draft::slot(&template, deed.verb.participle, deed.verb.past)
}

pub(super) fn verb(pen: &mut Pen<'_>) -> Draft {
    let (who, verb, thing) = (pen.animate(), pen.any(TRANSITIVE), pen.thing());
    let (subject, good, bad) = if pen.coin() {
        (who.one, verb.third, verb.base)
    } else {
        (who.many, verb.base, verb.third)
    };
    Draft::slot(&format!("the {subject} {{}} the {}", thing.one), good, bad)
}

/// Subject and distractor of different number, and the verb that suits the subject.
fn crossed(pen: &mut Pen<'_>) -> [&'static str; 4] {
    let (subject, distractor) = pen.people();
    if pen.coin() {
        [subject.one, distractor.many, "is", "are"]
    } else {
        [subject.many, distractor.one, "are", "is"]
    }
}

pub(super) fn verb_across_phrase(pen: &mut Pen<'_>) -> Draft {
    const BETWEEN: &[&str] = &["near", "behind", "next to", "in front of", "beside"];
    let [subject, distractor, good, bad] = crossed(pen);
    let (where_, state) = (pen.word(BETWEEN), pen.word(STATES));
    Draft::slot(
        &format!("the {subject} {where_} the {distractor} {{}} {state}"),
        good,
        bad,
    )
}

pub(super) fn verb_across_clause(pen: &mut Pen<'_>) -> Draft {
    let [subject, distractor, good, bad] = crossed(pen);
    let (verb, state) = (pen.any(SOCIAL).past, pen.word(STATES));
    Draft::slot(
        &format!("the {subject} who {verb} the {distractor} {{}} {state}"),
        good,
        bad,
    )
}

pub(super) fn verb_irregular(pen: &mut Pen<'_>) -> Draft {
    let (who, state, place) = (
        pen.any(IRREGULAR_ANIMATE),
        pen.word(STATES),
        pen.word(PLACES),
    );
    let past = pen.coin();
    let (one, many) = if past { ("was", "were") } else { ("is", "are") };
    let (subject, good, bad) = if pen.coin() {
        (who.one, one, many)
    } else {
        (who.many, many, one)
    };
    Draft::slot(&format!("the {subject} {place} {{}} {state}"), good, bad)
}
