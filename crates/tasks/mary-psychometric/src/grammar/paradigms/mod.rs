//! Every paradigm of our own: which phenomenon it tests and how a pair of it is written.
//!
//! A maker writes two sentences that differ in one point, the good one first. All pairs have equally
//! many words; that is checked. The contrasts are facts of English; words and templates are ours.

mod agreement;
mod dependency;
mod structure;

use mary_generators::{Stream, below, coin};

use super::Phenomenon as P;
use super::lexicon::{Gender, LEXICON, Noun, Verb};
use crate::typicality::article;

pub(crate) struct Draft {
    pub good: String,
    pub bad: String,
    pub mark: char,
}

impl Draft {
    fn statement(good: String, bad: String) -> Self {
        let mark = '.';
        Self { good, bad, mark }
    }

    fn question(good: String, bad: String) -> Self {
        let mark = '?';
        Self { good, bad, mark }
    }

    /// One template, two fillers of its `{}`.
    fn slot(template: &str, good: &str, bad: &str) -> Self {
        Self::statement(
            template.replacen("{}", good, 1),
            template.replacen("{}", bad, 1),
        )
    }
}

/// A paradigm: its phenomenon, its name within that, and how a pair of it is written.
pub(crate) type Paradigm = (P, &'static str, fn(&mut Pen<'_>) -> Draft);

pub(crate) const PARADIGMS: &[Paradigm] = &[
    (P::AnaphorAgreement, "gender", agreement::anaphor_gender),
    (P::AnaphorAgreement, "number", agreement::anaphor_number),
    (P::ArgumentStructure, "object", structure::object),
    (P::ArgumentStructure, "passive", structure::passive),
    (
        P::ArgumentStructure,
        "missing object",
        structure::missing_object,
    ),
    (
        P::ArgumentStructure,
        "animate subject",
        structure::animate_subject,
    ),
    (P::Binding, "closest subject", structure::closest_subject),
    (P::Binding, "relative clause", structure::across_relative),
    (P::Binding, "case", structure::case),
    (
        P::ControlRaising,
        "there with adjective",
        structure::there_adjective,
    ),
    (P::ControlRaising, "there with verb", structure::there_verb),
    (
        P::ControlRaising,
        "there as object",
        structure::there_object,
    ),
    (P::ControlRaising, "tough", structure::tough),
    (P::DeterminerNoun, "noun", agreement::determiner_noun),
    (P::DeterminerNoun, "determiner", agreement::determiner),
    (
        P::DeterminerNoun,
        "with adjective",
        agreement::determiner_adjective,
    ),
    (
        P::DeterminerNoun,
        "irregular noun",
        agreement::determiner_irregular,
    ),
    (P::Ellipsis, "noun after number", structure::ellipsis_number),
    (
        P::Ellipsis,
        "noun after adjective",
        structure::ellipsis_adjective,
    ),
    (P::Ellipsis, "verb phrase", structure::ellipsis_verb),
    (P::FillerGap, "what or that, gap", dependency::with_gap),
    (
        P::FillerGap,
        "that or what, no gap",
        dependency::without_gap,
    ),
    (P::FillerGap, "object gap", dependency::object_gap),
    (P::IrregularForms, "past", agreement::irregular_past),
    (
        P::IrregularForms,
        "participle",
        agreement::irregular_participle,
    ),
    (
        P::IrregularForms,
        "regularised past",
        agreement::regularised,
    ),
    (
        P::IrregularForms,
        "participle before noun",
        agreement::participle_adjective,
    ),
    (P::IslandEffects, "left branch", dependency::left_branch),
    (P::IslandEffects, "coordination", dependency::coordination),
    (P::IslandEffects, "adjunct", dependency::adjunct),
    (P::NpiLicensing, "no or some", dependency::npi_no),
    (P::NpiLicensing, "only or even", dependency::npi_only),
    (P::NpiLicensing, "negation", dependency::npi_not),
    (P::Quantifiers, "there was", dependency::there_was),
    (P::Quantifiers, "there were", dependency::there_were),
    (P::Quantifiers, "superlative", dependency::superlative),
    (P::Quantifiers, "much or many", dependency::much_many),
    (P::SubjectVerb, "plain", agreement::verb),
    (
        P::SubjectVerb,
        "distractor in a phrase",
        agreement::verb_across_phrase,
    ),
    (
        P::SubjectVerb,
        "distractor in a clause",
        agreement::verb_across_clause,
    ),
    (
        P::SubjectVerb,
        "irregular plural",
        agreement::verb_irregular,
    ),
];

/// Chooses words. Every list of the lexicon has at least one word.
pub(crate) struct Pen<'a> {
    rng: &'a mut Stream,
}

impl<'a> Pen<'a> {
    pub(crate) fn new(rng: &'a mut Stream) -> Self {
        Self { rng }
    }

    fn any<T>(&mut self, list: &'static [T]) -> &'static T {
        &list[below(self.rng, list.len())]
    }

    fn one_of(&mut self, list: &'static [&'static str]) -> &'static str {
        self.any::<&str>(list)
    }

    fn word(&mut self, list: &str) -> &'static str {
        self.any::<&str>(&LEXICON.words[list])
    }

    fn verb(&mut self, list: &str) -> &'static Verb {
        self.any(&LEXICON.verbs[list])
    }

    fn noun(&mut self, list: &str) -> &'static Noun {
        self.any(&LEXICON.nouns[list])
    }

    fn two<T: PartialEq>(&mut self, list: &'static [T]) -> (&'static T, &'static T) {
        let first = self.any(list);
        loop {
            let second = self.any(list);
            if second != first {
                return (first, second);
            }
        }
    }

    fn two_words(&mut self, list: &str) -> (&'static str, &'static str) {
        let (one, other) = self.two(&LEXICON.words[list]);
        (one, other)
    }

    /// One of two, by a coin that is thrown after both were drawn.
    fn either<T>(&mut self, one: T, other: T) -> T {
        if self.coin() { one } else { other }
    }

    fn coin(&mut self) -> bool {
        coin(self.rng)
    }

    fn name(&mut self) -> &'static str {
        self.any(&LEXICON.names).0
    }

    fn names(&mut self) -> (&'static str, &'static str) {
        let (a, b) = self.two(&LEXICON.names);
        (a.0, b.0)
    }

    fn opposite_names(&mut self) -> ((&'static str, Gender), (&'static str, Gender)) {
        loop {
            let (a, b) = self.two(&LEXICON.names);
            if a.1 != b.1 {
                return (*a, *b);
            }
        }
    }

    fn person(&mut self) -> &'static Noun {
        self.noun("people")
    }

    fn people(&mut self) -> (&'static Noun, &'static Noun) {
        self.two(&LEXICON.nouns["people"])
    }

    fn gendered(&mut self) -> &'static Noun {
        loop {
            let person = self.person();
            if person.gender != Gender::Open {
                return person;
            }
        }
    }

    /// A person, or now and then an animal.
    fn animate(&mut self) -> &'static Noun {
        if below(self.rng, 4) == 0 {
            self.noun("animals")
        } else {
            self.person()
        }
    }

    fn thing(&mut self) -> &'static Noun {
        self.noun("things")
    }
}

/// The reflexive that suits and the one that does not.
fn reflexives(gender: Gender) -> (&'static str, &'static str) {
    match gender {
        Gender::Female => ("herself", "himself"),
        _ => ("himself", "herself"),
    }
}

/// `a lamp`, `an umbrella`: the first letter decides for every noun of the lexicon (a test says so).
fn indefinite(noun: &str) -> String {
    format!("{} {noun}", article(noun))
}
