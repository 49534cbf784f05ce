//! How a sentence is built: arguments of verbs, binding, control and raising, ellipsis.

use super::super::lexicon::{
    CLAUSES, COUNTS, Gender, INERT, INTRANSITIVE, PAST_TIMES, PLACES, PLAIN_LOOKS, REFLEXIVE,
    SAYING, SOCIAL, STATES, STRICT, TRANSITIVE,
};
use super::{Draft, Pen, indefinite, other_reflexive, reflexive};

pub(super) fn object(pen: &mut Pen<'_>) -> Draft {
    let (who, thing, look) = (pen.animate(), pen.thing(), pen.word(PLAIN_LOOKS));
    let (good, bad) = (pen.any(TRANSITIVE).past, pen.any(INTRANSITIVE).past);
    Draft::slot(
        &format!("the {} {{}} the {look} {}", who.one, thing.one),
        good,
        bad,
    )
}

pub(super) fn passive(pen: &mut Pen<'_>) -> Draft {
    let (who, thing) = (pen.person(), pen.thing());
    let (good, bad) = (pen.any(STRICT).participle, pen.any(INTRANSITIVE).participle);
    let (noun, be) = if pen.coin() {
        (thing.one, "was")
    } else {
        (thing.many, "were")
    };
    Draft::slot(
        &format!("the {noun} {be} {{}} by the {}", who.one),
        good,
        bad,
    )
}

pub(super) fn missing_object(pen: &mut Pen<'_>) -> Draft {
    let (who, when) = (pen.person(), pen.word(PAST_TIMES));
    let (good, bad) = (pen.any(INTRANSITIVE).past, pen.any(STRICT).past);
    Draft::slot(&format!("the {} {{}} {when}", who.one), good, bad)
}

pub(super) fn animate_subject(pen: &mut Pen<'_>) -> Draft {
    let ((who, whom), what) = (pen.people(), pen.word(INERT));
    let (verb, when) = (pen.any(SOCIAL).past, pen.word(PAST_TIMES));
    Draft::slot(
        &format!("the {{}} {verb} the {} {when}", whom.one),
        who.one,
        what,
    )
}

pub(super) fn closest_subject(pen: &mut Pen<'_>) -> Draft {
    let ((outer, _), (inner, gender)) = pen.opposite_names();
    let (says, verb) = (pen.word(SAYING), pen.any(REFLEXIVE).past);
    let template = format!("{outer} {says} that {inner} {verb} {{}}");
    Draft::slot(&template, reflexive(gender), other_reflexive(gender))
}

pub(super) fn across_relative(pen: &mut Pen<'_>) -> Draft {
    let subject = pen.gendered();
    let inner = loop {
        let ((name, gender), _) = pen.opposite_names();
        if gender != subject.gender {
            break name;
        }
    };
    let (met, verb) = (pen.any(SOCIAL).past, pen.any(REFLEXIVE).past);
    let template = format!("the {} who {met} {inner} {verb} {{}}", subject.one);
    Draft::slot(
        &template,
        reflexive(subject.gender),
        other_reflexive(subject.gender),
    )
}

pub(super) fn case(pen: &mut Pen<'_>) -> Draft {
    let ((who, gender), _) = pen.opposite_names();
    let (says, clause) = (pen.word(SAYING), pen.word(CLAUSES));
    let pronoun = if gender == Gender::Female {
        "she"
    } else {
        "he"
    };
    Draft::slot(
        &format!("{who} {says} that {{}} {clause}"),
        pronoun,
        reflexive(gender),
    )
}

pub(super) fn there_adjective(pen: &mut Pen<'_>) -> Draft {
    const RAISING: &[&str] = &["likely", "certain", "bound", "sure", "unlikely", "supposed"];
    const CONTROL: &[&str] = &[
        "eager",
        "willing",
        "reluctant",
        "keen",
        "anxious",
        "hesitant",
        "happy",
    ];
    let (thing, place) = (indefinite(pen.thing().one), pen.word(PLACES));
    let be = if pen.coin() { "is" } else { "was" };
    let (good, bad) = (pen.word(RAISING), pen.word(CONTROL));
    Draft::slot(&format!("there {be} {{}} to be {thing} {place}"), good, bad)
}

pub(super) fn there_verb(pen: &mut Pen<'_>) -> Draft {
    const RAISING: &[&str] = &["seemed", "appeared", "happened", "used"];
    const CONTROL: &[&str] = &[
        "tried",
        "hoped",
        "decided",
        "refused",
        "agreed",
        "planned",
        "attempted",
        "wanted",
    ];
    let (thing, place) = (indefinite(pen.thing().one), pen.word(PLACES));
    let (good, bad) = (pen.word(RAISING), pen.word(CONTROL));
    Draft::slot(&format!("there {{}} to be {thing} {place}"), good, bad)
}

pub(super) fn there_object(pen: &mut Pen<'_>) -> Draft {
    const RAISING: &[&str] = &[
        "expected", "believed", "wanted", "assumed", "imagined", "needed",
    ];
    const CONTROL: &[&str] = &[
        "persuaded",
        "convinced",
        "told",
        "encouraged",
        "reminded",
        "invited",
        "warned",
        "tempted",
    ];
    let (who, thing, place) = (pen.name(), indefinite(pen.thing().one), pen.word(PLACES));
    let (good, bad) = (pen.word(RAISING), pen.word(CONTROL));
    Draft::slot(
        &format!("{who} {{}} there to be {thing} {place}"),
        good,
        bad,
    )
}

pub(super) fn tough(pen: &mut Pen<'_>) -> Draft {
    const TOUGH: &[&str] = &["easy", "hard", "difficult", "impossible", "pleasant", "fun"];
    const RAISING: &[&str] = &["likely", "certain", "bound", "sure", "unlikely", "about"];
    const STRANDED: &[&str] = &[
        "talk to",
        "work with",
        "live with",
        "argue with",
        "reason with",
        "deal with",
        "rely on",
        "look after",
        "listen to",
        "wait for",
        "compete with",
    ];
    let (who, verb) = (pen.person(), pen.word(STRANDED));
    let (noun, be) = if pen.coin() {
        (who.one, "is")
    } else {
        (who.many, "are")
    };
    let (good, bad) = (pen.word(TOUGH), pen.word(RAISING));
    Draft::slot(&format!("the {noun} {be} {{}} to {verb}"), good, bad)
}

const GETTING: &[&str] = &[
    "bought", "found", "sold", "painted", "cleaned", "owned", "carried", "needed",
];

pub(super) fn ellipsis_number(pen: &mut Pen<'_>) -> Draft {
    const SEVERAL: &[&str] = &["two", "three", "four", "five", "several", "many"];
    let ((one, other), verb) = (pen.names(), pen.word(GETTING));
    let (thing, look, count) = (pen.thing().one, pen.word(PLAIN_LOOKS), pen.word(SEVERAL));
    Draft::statement(
        format!("{one} {verb} one {look} {thing} and {other} {verb} {count}"),
        format!("{one} {verb} one {thing} and {other} {verb} {count} {look}"),
    )
}

pub(super) fn ellipsis_adjective(pen: &mut Pen<'_>) -> Draft {
    let ((one, other), verb, thing) = (pen.names(), pen.word(GETTING), pen.thing().many);
    let (few, more) = pen.two(COUNTS);
    let (first, second) = pen.two(PLAIN_LOOKS);
    Draft::statement(
        format!("{one} {verb} {few} {thing} and {other} {verb} {more} {second} {thing}"),
        format!("{one} {verb} {few} {first} {thing} and {other} {verb} {more} {second}"),
    )
}

pub(super) fn ellipsis_verb(pen: &mut Pen<'_>) -> Draft {
    let (one, other) = pen.names();
    if pen.coin() {
        let verb = pen.any(INTRANSITIVE).past;
        let when = pen.word(PAST_TIMES);
        Draft::slot(
            &format!("{one} {verb} {when}, and {other} {{}} too"),
            "did",
            "was",
        )
    } else {
        let (state, when) = (pen.word(STATES), pen.word(PAST_TIMES));
        Draft::slot(
            &format!("{one} was {state} {when}, and {other} {{}} too"),
            "was",
            "did",
        )
    }
}
