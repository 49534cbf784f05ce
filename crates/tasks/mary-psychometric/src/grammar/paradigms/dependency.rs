//! What depends on what: fillers and gaps, islands, negative polarity, quantifiers.

use super::{Draft, Pen, indefinite};

pub(super) fn with_gap(pen: &mut Pen<'_>) -> Draft {
    let (who, knew) = (pen.name(), pen.word("knowing"));
    let (other, verb) = (pen.person(), pen.verb("strict").past);
    let template = format!("{who} {knew} {{}} the {} {verb}", other.one);
    Draft::slot(&template, "what", "that")
}

pub(super) fn without_gap(pen: &mut Pen<'_>) -> Draft {
    let (who, knew) = (pen.name(), pen.word("knowing"));
    let (other, verb, thing) = (pen.person(), pen.verb("strict").past, pen.thing());
    let (other, thing) = (other.one, thing.one);
    let template = format!("{who} {knew} {{}} the {other} {verb} the {thing}");
    Draft::slot(&template, "that", "what")
}

pub(super) fn object_gap(pen: &mut Pen<'_>) -> Draft {
    let (who, found) = (pen.name(), pen.word("found"));
    let (other, verb, thing) = (pen.person().one, pen.verb("strict").past, pen.thing().one);
    Draft::statement(
        format!("{who} {found} the {thing} that the {other} {verb}"),
        format!("{who} {found} what the {other} {verb} the {thing}"),
    )
}

pub(super) fn left_branch(pen: &mut Pen<'_>) -> Draft {
    let (which, thing) = (pen.one_of(&["whose", "which"]), pen.thing().one);
    let (who, verb) = (pen.person().one, pen.verb("transitive").base);
    Draft::question(
        format!("{which} {thing} did the {who} {verb}"),
        format!("{which} did the {who} {verb} {thing}"),
    )
}

pub(super) fn coordination(pen: &mut Pen<'_>) -> Draft {
    let ((one, other), verb) = (pen.names(), pen.verb("social").base);
    Draft::question(
        format!("who did {one} and {other} {verb}"),
        format!("who did {one} {verb} and {other}"),
    )
}

pub(super) fn adjunct(pen: &mut Pen<'_>) -> Draft {
    let ((one, other), when) = (pen.names(), pen.one_of(&["before", "after", "without"]));
    let (verb, gerund) = loop {
        let (verb, gerund) = (pen.verb("social").base, pen.word("greeting"));
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
    let (who, verb) = (pen.person().many, pen.verb("transitive").participle);
    let thing = pen.thing().one;
    let bad = pen.one_of(&["some", "most", "many"]);
    let template = format!("{{}} {who} have ever {verb} the {thing}");
    Draft::slot(&template, "no", bad)
}

pub(super) fn npi_only(pen: &mut Pen<'_>) -> Draft {
    let (who, verb) = (pen.name(), pen.verb("transitive").participle);
    let thing = pen.thing().one;
    let template = format!("{{}} {who} has ever {verb} the {thing}");
    Draft::slot(&template, "only", "even")
}

pub(super) fn npi_not(pen: &mut Pen<'_>) -> Draft {
    let (who, verb) = (pen.person(), pen.verb("transitive").participle);
    let thing = pen.thing().one;
    let (noun, have) = pen.either((who.one, "has"), (who.many, "have"));
    let bad = pen.word("adverbs");
    let template = format!("the {noun} {have} {{}} ever {verb} the {thing}");
    Draft::slot(&template, "not", bad)
}

pub(super) fn there_was(pen: &mut Pen<'_>) -> Draft {
    let (thing, place) = (pen.thing().one, pen.word("places"));
    let weak = indefinite(thing);
    let strong = format!("{} {thing}", pen.one_of(&["every", "each"]));
    Draft::slot(&format!("there was {{}} {place}"), &weak, &strong)
}

pub(super) fn there_were(pen: &mut Pen<'_>) -> Draft {
    let (thing, place) = (pen.thing().many, pen.word("places"));
    let weak = pen.word("weak_quantifiers");
    let strong = pen.one_of(&["most", "all", "both"]);
    Draft::slot(&format!("there were {{}} {thing} {place}"), weak, strong)
}

pub(super) fn superlative(pen: &mut Pen<'_>) -> Draft {
    const PAIRS: &[(&str, &str)] = &[("more than", "at least"), ("fewer than", "at most")];
    let (who, verb) = (pen.person().one, pen.verb("transitive").past);
    let thing = pen.thing().many;
    let (&(good, bad), count) = (pen.any(PAIRS), pen.word("counts"));
    Draft::slot(&format!("no {who} {verb} {{}} {count} {thing}"), good, bad)
}

pub(super) fn much_many(pen: &mut Pen<'_>) -> Draft {
    let (how, place) = (pen.one_of(&["too", "so"]), pen.word("places"));
    if pen.coin() {
        let stuff = pen.word("mass");
        let template = format!("there was {how} {{}} {stuff} {place}");
        Draft::slot(&template, "much", "many")
    } else {
        let thing = pen.thing().many;
        let template = format!("there were {how} {{}} {thing} {place}");
        Draft::slot(&template, "many", "much")
    }
}
