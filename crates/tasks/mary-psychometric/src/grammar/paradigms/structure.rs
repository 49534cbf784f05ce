//! How a sentence is built: arguments of verbs, binding, control and raising, ellipsis.

use super::super::lexicon::Gender;
use super::{Draft, Pen, indefinite, reflexives};

pub(super) fn object(pen: &mut Pen<'_>) -> Draft {
    let (who, thing, look) = (pen.animate(), pen.thing(), pen.word("plain_looks"));
    let (good, bad) = (pen.verb("transitive").past, pen.verb("intransitive").past);
    let template = format!("the {} {{}} the {look} {}", who.one, thing.one);
    Draft::slot(&template, good, bad)
}

pub(super) fn passive(pen: &mut Pen<'_>) -> Draft {
    let (who, thing) = (pen.person(), pen.thing());
    let (good, bad) = (pen.verb("strict"), pen.verb("intransitive"));
    let (good, bad) = (good.participle, bad.participle);
    let (noun, be) = pen.either((thing.one, "was"), (thing.many, "were"));
    let template = format!("the {noun} {be} {{}} by the {}", who.one);
    Draft::slot(&template, good, bad)
}

pub(super) fn missing_object(pen: &mut Pen<'_>) -> Draft {
    let (who, when) = (pen.person(), pen.word("past_times"));
    let (good, bad) = (pen.verb("intransitive").past, pen.verb("strict").past);
    Draft::slot(&format!("the {} {{}} {when}", who.one), good, bad)
}

pub(super) fn animate_subject(pen: &mut Pen<'_>) -> Draft {
    let ((who, whom), what) = (pen.people(), pen.word("inert"));
    let (verb, when) = (pen.verb("social").past, pen.word("past_times"));
    let template = format!("the {{}} {verb} the {} {when}", whom.one);
    Draft::slot(&template, who.one, what)
}

pub(super) fn closest_subject(pen: &mut Pen<'_>) -> Draft {
    let ((outer, _), (inner, gender)) = pen.opposite_names();
    let (says, verb) = (pen.word("saying"), pen.verb("reflexive").past);
    let (good, bad) = reflexives(gender);
    let template = format!("{outer} {says} that {inner} {verb} {{}}");
    Draft::slot(&template, good, bad)
}

pub(super) fn across_relative(pen: &mut Pen<'_>) -> Draft {
    let subject = pen.gendered();
    let inner = loop {
        let ((name, gender), _) = pen.opposite_names();
        if gender != subject.gender {
            break name;
        }
    };
    let (met, verb) = (pen.verb("social").past, pen.verb("reflexive").past);
    let template = format!("the {} who {met} {inner} {verb} {{}}", subject.one);
    let (good, bad) = reflexives(subject.gender);
    Draft::slot(&template, good, bad)
}

pub(super) fn case(pen: &mut Pen<'_>) -> Draft {
    let ((who, gender), _) = pen.opposite_names();
    let (says, clause) = (pen.word("saying"), pen.word("clauses"));
    let (reflexive, _) = reflexives(gender);
    let she = gender == Gender::Female;
    let pronoun = if she { "she" } else { "he" };
    let template = format!("{who} {says} that {{}} {clause}");
    Draft::slot(&template, pronoun, reflexive)
}

pub(super) fn there_adjective(pen: &mut Pen<'_>) -> Draft {
    let (thing, place) = (indefinite(pen.thing().one), pen.word("places"));
    let be = pen.either("is", "was");
    let [good, bad] = ["raising_adjectives", "control_adjectives"].map(|list| pen.word(list));
    Draft::slot(&format!("there {be} {{}} to be {thing} {place}"), good, bad)
}

pub(super) fn there_verb(pen: &mut Pen<'_>) -> Draft {
    let (thing, place) = (indefinite(pen.thing().one), pen.word("places"));
    let (good, bad) = (pen.word("raising_verbs"), pen.word("control_verbs"));
    Draft::slot(&format!("there {{}} to be {thing} {place}"), good, bad)
}

pub(super) fn there_object(pen: &mut Pen<'_>) -> Draft {
    let (who, thing, place) = (pen.name(), indefinite(pen.thing().one), pen.word("places"));
    let (good, bad) = (pen.word("raising_to_object"), pen.word("object_control"));
    let template = format!("{who} {{}} there to be {thing} {place}");
    Draft::slot(&template, good, bad)
}

pub(super) fn tough(pen: &mut Pen<'_>) -> Draft {
    let (who, verb) = (pen.person(), pen.word("stranded"));
    let (noun, be) = pen.either((who.one, "is"), (who.many, "are"));
    let (good, bad) = (pen.word("tough"), pen.word("not_tough"));
    Draft::slot(&format!("the {noun} {be} {{}} to {verb}"), good, bad)
}

pub(super) fn ellipsis_number(pen: &mut Pen<'_>) -> Draft {
    let ((one, other), verb) = (pen.names(), pen.word("getting"));
    let thing = pen.thing().one;
    let [look, count] = ["plain_looks", "several"].map(|list| pen.word(list));
    Draft::statement(
        format!("{one} {verb} one {look} {thing} and {other} {verb} {count}"),
        format!("{one} {verb} one {thing} and {other} {verb} {count} {look}"),
    )
}

pub(super) fn ellipsis_adjective(pen: &mut Pen<'_>) -> Draft {
    let ((one, other), verb, thing) = (pen.names(), pen.word("getting"), pen.thing().many);
    let (few, more) = pen.two_words("counts");
    let (first, second) = pen.two_words("plain_looks");
    Draft::statement(
        format!("{one} {verb} {few} {thing} and {other} {verb} {more} {second} {thing}"),
        format!("{one} {verb} {few} {first} {thing} and {other} {verb} {more} {second}"),
    )
}

pub(super) fn ellipsis_verb(pen: &mut Pen<'_>) -> Draft {
    let (one, other) = pen.names();
    if pen.coin() {
        let verb = pen.verb("intransitive").past;
        let when = pen.word("past_times");
        let template = format!("{one} {verb} {when}, and {other} {{}} too");
        Draft::slot(&template, "did", "was")
    } else {
        let (state, when) = (pen.word("states"), pen.word("past_times"));
        let template = format!("{one} was {state} {when}, and {other} {{}} too");
        Draft::slot(&template, "was", "did")
    }
}
