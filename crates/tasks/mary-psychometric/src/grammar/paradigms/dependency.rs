//! What depends on what: fillers and gaps, islands, negative polarity, quantifiers.

use super::super::lexicon::{COUNTS, GREETING, KNOWING, MASS, PLACES, SOCIAL, STRICT, TRANSITIVE};
use super::{Draft, Pen, indefinite};

pub(super) fn with_gap(pen: &mut Pen<'_>) -> Draft {
    let (who, knew) = (pen.name(), pen.word(KNOWING));
    let (other, verb) = (pen.person(), pen.any(STRICT).past);
    Draft::slot(
        &format!("{who} {knew} {{}} the {} {verb}", other.one),
        "what",
        "that",
    )
}

pub(super) fn without_gap(pen: &mut Pen<'_>) -> Draft {
    let (who, knew) = (pen.name(), pen.word(KNOWING));
    let (other, verb, thing) = (pen.person(), pen.any(STRICT).past, pen.thing());
    let template = format!(
        "{who} {knew} {{}} the {} {verb} the {}",
        other.one, thing.one
    );
    Draft::slot(&template, "that", "what")
}

pub(super) fn object_gap(pen: &mut Pen<'_>) -> Draft {
    const FOUND: &[&str] = &["found", "noticed", "remembered", "saw", "discovered"];
    let (who, found) = (pen.name(), pen.word(FOUND));
    let (other, verb, thing) = (pen.person().one, pen.any(STRICT).past, pen.thing().one);
    Draft::statement(
        format!("{who} {found} the {thing} that the {other} {verb}"),
        format!("{who} {found} what the {other} {verb} the {thing}"),
    )
}

pub(super) fn left_branch(pen: &mut Pen<'_>) -> Draft {
    const WHICH: &[&str] = &["whose", "which"];
    let (which, thing) = (pen.word(WHICH), pen.thing().one);
    let (who, verb) = (pen.person().one, pen.any(TRANSITIVE).base);
    Draft::question(
        format!("{which} {thing} did the {who} {verb}"),
        format!("{which} did the {who} {verb} {thing}"),
    )
}

pub(super) fn coordination(pen: &mut Pen<'_>) -> Draft {
    let ((one, other), verb) = (pen.names(), pen.any(SOCIAL).base);
    Draft::question(
        format!("who did {one} and {other} {verb}"),
        format!("who did {one} {verb} and {other}"),
    )
}

pub(super) fn adjunct(pen: &mut Pen<'_>) -> Draft {
    const WHEN: &[&str] = &["before", "after", "without"];
    let ((one, other), when) = (pen.names(), pen.word(WHEN));
    let (verb, gerund) = loop {
        let (verb, gerund) = (pen.any(SOCIAL).base, pen.word(GREETING));
        // The two deeds differ: nobody greets somebody before greeting somebody.
        if !gerund.starts_with(verb.trim_end_matches('e')) {
            break (verb, gerund);
        }
    };
    Draft::question(
        format!("who did {one} {verb} {when} {gerund} {other}"),
        format!("who did {one} {verb} {other} {when} {gerund}"),
    )
}

pub(super) fn npi_no(pen: &mut Pen<'_>) -> Draft {
    const OTHERS: &[&str] = &["some", "most", "many"];
    let (who, verb, thing) = (
        pen.person().many,
        pen.any(TRANSITIVE).participle,
        pen.thing().one,
    );
    let bad = pen.word(OTHERS);
    Draft::slot(
        &format!("{{}} {who} have ever {verb} the {thing}"),
        "no",
        bad,
    )
}

pub(super) fn npi_only(pen: &mut Pen<'_>) -> Draft {
    let (who, verb, thing) = (pen.name(), pen.any(TRANSITIVE).participle, pen.thing().one);
    Draft::slot(
        &format!("{{}} {who} has ever {verb} the {thing}"),
        "only",
        "even",
    )
}

pub(super) fn npi_not(pen: &mut Pen<'_>) -> Draft {
    const ADVERBS: &[&str] = &["really", "certainly", "probably", "clearly", "definitely"];
    let (who, verb, thing) = (
        pen.person(),
        pen.any(TRANSITIVE).participle,
        pen.thing().one,
    );
    let (noun, have) = if pen.coin() {
        (who.one, "has")
    } else {
        (who.many, "have")
    };
    let bad = pen.word(ADVERBS);
    Draft::slot(
        &format!("the {noun} {have} {{}} ever {verb} the {thing}"),
        "not",
        bad,
    )
}

pub(super) fn there_was(pen: &mut Pen<'_>) -> Draft {
    const STRONG: &[&str] = &["every", "each"];
    let (thing, place) = (pen.thing().one, pen.word(PLACES));
    let (weak, strong) = (indefinite(thing), format!("{} {thing}", pen.word(STRONG)));
    Draft::slot(&format!("there was {{}} {place}"), &weak, &strong)
}

pub(super) fn there_were(pen: &mut Pen<'_>) -> Draft {
    const WEAK: &[&str] = &["many", "some", "several", "three", "no", "few"];
    const STRONG: &[&str] = &["most", "all", "both"];
    let (thing, place) = (pen.thing().many, pen.word(PLACES));
    let (weak, strong) = (pen.word(WEAK), pen.word(STRONG));
    Draft::slot(&format!("there were {{}} {thing} {place}"), weak, strong)
}

pub(super) fn superlative(pen: &mut Pen<'_>) -> Draft {
    const PAIRS: &[(&str, &str)] = &[("more than", "at least"), ("fewer than", "at most")];
    let (who, verb, thing) = (pen.person().one, pen.any(TRANSITIVE).past, pen.thing().many);
    let (&(good, bad), count) = (pen.any(PAIRS), pen.word(COUNTS));
    Draft::slot(&format!("no {who} {verb} {{}} {count} {thing}"), good, bad)
}

pub(super) fn much_many(pen: &mut Pen<'_>) -> Draft {
    const HOW: &[&str] = &["too", "so"];
    let (how, place) = (pen.word(HOW), pen.word(PLACES));
    if pen.coin() {
        let stuff = pen.word(MASS);
        Draft::slot(
            &format!("there was {how} {{}} {stuff} {place}"),
            "much",
            "many",
        )
    } else {
        let thing = pen.thing().many;
        Draft::slot(
            &format!("there were {how} {{}} {thing} {place}"),
            "many",
            "much",
        )
    }
}
