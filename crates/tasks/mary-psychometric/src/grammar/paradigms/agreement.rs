//! Forms that agree: anaphors, determiners, irregular forms, subjects and verbs.

use super::super::lexicon::{Irregular, LEXICON, Noun};
use super::{Draft, Pen, reflexives};

pub(super) fn anaphor_gender(pen: &mut Pen<'_>) -> Draft {
    let (subject, gender) = if pen.coin() {
        let ((name, gender), _) = pen.opposite_names();
        (name.to_owned(), gender)
    } else {
        let noun = pen.gendered();
        (format!("the {}", noun.one), noun.gender)
    };
    let (verb, when) = (pen.verb("reflexive").past, pen.word("past_times"));
    let template = format!("{subject} {verb} {{}} {when}");
    let (good, bad) = reflexives(gender);
    Draft::slot(&template, good, bad)
}

pub(super) fn anaphor_number(pen: &mut Pen<'_>) -> Draft {
    let noun = pen.gendered();
    let (verb, when) = (pen.verb("reflexive").past, pen.word("past_times"));
    let (alone, _) = reflexives(noun.gender);
    let (subject, good, bad) = pen.either(
        (noun.one, alone, "themselves"),
        (noun.many, "themselves", alone),
    );
    Draft::slot(&format!("the {subject} {verb} {{}} {when}"), good, bad)
}

/// A determiner with the noun's form that suits it and the one that does not.
fn pointing(pen: &mut Pen<'_>, noun: &'static Noun) -> (&'static str, &'static str, &'static str) {
    if pen.coin() {
        (pen.one_of(&["this", "that"]), noun.one, noun.many)
    } else {
        (pen.one_of(&["these", "those"]), noun.many, noun.one)
    }
}

pub(super) fn determiner_noun(pen: &mut Pen<'_>) -> Draft {
    let (who, verb, thing) = (pen.name(), pen.verb("transitive").past, pen.thing());
    let (determiner, good, bad) = pointing(pen, thing);
    let place = pen.word("places");
    let template = format!("{who} {verb} {determiner} {{}} {place}");
    Draft::slot(&template, good, bad)
}

pub(super) fn determiner(pen: &mut Pen<'_>) -> Draft {
    const PAIRS: &[(&str, &str)] = &[("this", "these"), ("that", "those")];
    let (who, verb, thing) = (pen.person(), pen.verb("transitive").past, pen.thing());
    let &(one, many) = pen.any(PAIRS);
    let when = pen.word("past_times");
    let (noun, good, bad) = pen.either((thing.one, one, many), (thing.many, many, one));
    let template = format!("the {} {verb} {{}} {noun} {when}", who.one);
    Draft::slot(&template, good, bad)
}

pub(super) fn determiner_adjective(pen: &mut Pen<'_>) -> Draft {
    let (who, verb, thing) = (pen.name(), pen.verb("transitive").past, pen.thing());
    let (determiner, good, bad) = pointing(pen, thing);
    let look = pen.word("looks");
    Draft::slot(&format!("{who} {verb} {determiner} {look} {{}}"), good, bad)
}

pub(super) fn determiner_irregular(pen: &mut Pen<'_>) -> Draft {
    let list = pen.either("irregular_animate", "irregular_things");
    let noun = pen.noun(list);
    let (who, verb, when) = (pen.name(), pen.word("neutral"), pen.word("past_times"));
    let (determiner, good, bad) = pointing(pen, noun);
    Draft::slot(&format!("{who} {verb} {determiner} {{}} {when}"), good, bad)
}

fn deed(pen: &mut Pen<'_>) -> (&'static Irregular, &'static str) {
    let deed = pen.any(&LEXICON.irregular);
    let object = pen.any(&deed.objects).0;
    (deed, object)
}

pub(super) fn irregular_past(pen: &mut Pen<'_>) -> Draft {
    let ((deed, object), who) = (deed(pen), pen.person());
    let when = pen.word("past_times");
    let template = format!("the {} {{}} the {object} {when}", who.one);
    Draft::slot(&template, deed.verb.past, deed.verb.participle)
}

pub(super) fn irregular_participle(pen: &mut Pen<'_>) -> Draft {
    let ((deed, object), who) = (deed(pen), pen.person());
    let have = pen.either("has", "had");
    let template = format!("the {} {have} {{}} the {object}", who.one);
    Draft::slot(&template, deed.verb.participle, deed.verb.past)
}

pub(super) fn regularised(pen: &mut Pen<'_>) -> Draft {
    let ((deed, object), who) = (deed(pen), pen.name());
    let when = pen.word("past_times");
    let template = format!("{who} {{}} the {object} {when}");
    Draft::slot(&template, deed.verb.past, deed.regular)
}

pub(super) fn participle_adjective(pen: &mut Pen<'_>) -> Draft {
    let (deed, object) = loop {
        let (deed, object) = deed(pen);
        if deed.attributive {
            break (deed, object);
        }
    };
    let (who, verb, place) = (pen.name(), pen.word("seeing"), pen.word("outside"));
    let template = format!("{who} {verb} the {{}} {object} {place}");
    Draft::slot(&template, deed.verb.participle, deed.verb.past)
}

pub(super) fn verb(pen: &mut Pen<'_>) -> Draft {
    let (who, verb, thing) = (pen.animate(), pen.verb("transitive"), pen.thing());
    let (subject, good, bad) = pen.either(
        (who.one, verb.third, verb.base),
        (who.many, verb.base, verb.third),
    );
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
    let [subject, distractor, good, bad] = crossed(pen);
    let (where_, state) = (pen.word("between"), pen.word("states"));
    let template = format!("the {subject} {where_} the {distractor} {{}} {state}");
    Draft::slot(&template, good, bad)
}

pub(super) fn verb_across_clause(pen: &mut Pen<'_>) -> Draft {
    let [subject, distractor, good, bad] = crossed(pen);
    let (verb, state) = (pen.verb("social").past, pen.word("states"));
    let template = format!("the {subject} who {verb} the {distractor} {{}} {state}");
    Draft::slot(&template, good, bad)
}

pub(super) fn verb_irregular(pen: &mut Pen<'_>) -> Draft {
    let who = pen.noun("irregular_animate");
    let [state, place] = ["states", "places"].map(|list| pen.word(list));
    let past = pen.coin();
    let (one, many) = if past { ("was", "were") } else { ("is", "are") };
    let (subject, good, bad) = pen.either((who.one, one, many), (who.many, many, one));
    Draft::slot(&format!("the {subject} {place} {{}} {state}"), good, bad)
}
