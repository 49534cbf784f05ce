//! Every paradigm of our own: which phenomenon it tests and how a pair of it is written.
//!
//! A maker writes two sentences that differ in one point, the good one first. All pairs have equally
//! many words; that is checked. The contrasts are facts of English; words and templates are ours.

mod agreement;
mod dependency;
mod structure;

use mary_generators::{Stream, below, coin};

use super::Phenomenon;
use super::lexicon::{ANIMALS, Gender, NAMES, Noun, PEOPLE, THINGS};

/// The good sentence and the bad one, without capital and full stop.
pub(crate) struct Draft {
    pub good: String,
    pub bad: String,
    /// `.` or `?`.
    pub mark: char,
}

impl Draft {
    fn statement(good: String, bad: String) -> Self {
        Self {
            good,
            bad,
            mark: '.',
        }
    }

    fn question(good: String, bad: String) -> Self {
        Self {
            good,
            bad,
            mark: '?',
        }
    }

    /// One template, two fillers of its `{}`.
    fn slot(template: &str, good: &str, bad: &str) -> Self {
        Self::statement(
            template.replacen("{}", good, 1),
            template.replacen("{}", bad, 1),
        )
    }
}

/// One paradigm.
pub(crate) struct Paradigm {
    pub phenomenon: Phenomenon,
    /// Its name within the phenomenon.
    pub name: &'static str,
    pub write: fn(&mut Pen<'_>) -> Draft,
}

const fn of(
    phenomenon: Phenomenon,
    name: &'static str,
    write: fn(&mut Pen<'_>) -> Draft,
) -> Paradigm {
    Paradigm {
        phenomenon,
        name,
        write,
    }
}

/// All of them, phenomenon by phenomenon.
pub(crate) const PARADIGMS: &[Paradigm] = &[
    of(
        Phenomenon::AnaphorAgreement,
        "gender",
        agreement::anaphor_gender,
    ),
    of(
        Phenomenon::AnaphorAgreement,
        "number",
        agreement::anaphor_number,
    ),
    of(Phenomenon::ArgumentStructure, "object", structure::object),
    of(Phenomenon::ArgumentStructure, "passive", structure::passive),
    of(
        Phenomenon::ArgumentStructure,
        "missing object",
        structure::missing_object,
    ),
    of(
        Phenomenon::ArgumentStructure,
        "animate subject",
        structure::animate_subject,
    ),
    of(
        Phenomenon::Binding,
        "closest subject",
        structure::closest_subject,
    ),
    of(
        Phenomenon::Binding,
        "relative clause",
        structure::across_relative,
    ),
    of(Phenomenon::Binding, "case", structure::case),
    of(
        Phenomenon::ControlRaising,
        "there with adjective",
        structure::there_adjective,
    ),
    of(
        Phenomenon::ControlRaising,
        "there with verb",
        structure::there_verb,
    ),
    of(
        Phenomenon::ControlRaising,
        "there as object",
        structure::there_object,
    ),
    of(Phenomenon::ControlRaising, "tough", structure::tough),
    of(
        Phenomenon::DeterminerNoun,
        "noun",
        agreement::determiner_noun,
    ),
    of(
        Phenomenon::DeterminerNoun,
        "determiner",
        agreement::determiner,
    ),
    of(
        Phenomenon::DeterminerNoun,
        "with adjective",
        agreement::determiner_adjective,
    ),
    of(
        Phenomenon::DeterminerNoun,
        "irregular noun",
        agreement::determiner_irregular,
    ),
    of(
        Phenomenon::Ellipsis,
        "noun after number",
        structure::ellipsis_number,
    ),
    of(
        Phenomenon::Ellipsis,
        "noun after adjective",
        structure::ellipsis_adjective,
    ),
    of(
        Phenomenon::Ellipsis,
        "verb phrase",
        structure::ellipsis_verb,
    ),
    of(
        Phenomenon::FillerGap,
        "what or that, gap",
        dependency::with_gap,
    ),
    of(
        Phenomenon::FillerGap,
        "that or what, no gap",
        dependency::without_gap,
    ),
    of(Phenomenon::FillerGap, "object gap", dependency::object_gap),
    of(
        Phenomenon::IrregularForms,
        "past",
        agreement::irregular_past,
    ),
    of(
        Phenomenon::IrregularForms,
        "participle",
        agreement::irregular_participle,
    ),
    of(
        Phenomenon::IrregularForms,
        "regularised past",
        agreement::regularised,
    ),
    of(
        Phenomenon::IrregularForms,
        "participle before noun",
        agreement::participle_adjective,
    ),
    of(
        Phenomenon::IslandEffects,
        "left branch",
        dependency::left_branch,
    ),
    of(
        Phenomenon::IslandEffects,
        "coordination",
        dependency::coordination,
    ),
    of(Phenomenon::IslandEffects, "adjunct", dependency::adjunct),
    of(Phenomenon::NpiLicensing, "no or some", dependency::npi_no),
    of(
        Phenomenon::NpiLicensing,
        "only or even",
        dependency::npi_only,
    ),
    of(Phenomenon::NpiLicensing, "negation", dependency::npi_not),
    of(Phenomenon::Quantifiers, "there was", dependency::there_was),
    of(
        Phenomenon::Quantifiers,
        "there were",
        dependency::there_were,
    ),
    of(
        Phenomenon::Quantifiers,
        "superlative",
        dependency::superlative,
    ),
    of(
        Phenomenon::Quantifiers,
        "much or many",
        dependency::much_many,
    ),
    of(Phenomenon::SubjectVerb, "plain", agreement::verb),
    of(
        Phenomenon::SubjectVerb,
        "distractor in a phrase",
        agreement::verb_across_phrase,
    ),
    of(
        Phenomenon::SubjectVerb,
        "distractor in a clause",
        agreement::verb_across_clause,
    ),
    of(
        Phenomenon::SubjectVerb,
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

    fn word(&mut self, list: &'static [&'static str]) -> &'static str {
        self.any::<&'static str>(list)
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

    fn coin(&mut self) -> bool {
        coin(self.rng)
    }

    fn name(&mut self) -> &'static str {
        self.any(NAMES).0
    }

    fn names(&mut self) -> (&'static str, &'static str) {
        let (a, b) = self.two(NAMES);
        (a.0, b.0)
    }

    /// Two names of different gender.
    fn opposite_names(&mut self) -> ((&'static str, Gender), (&'static str, Gender)) {
        loop {
            let (a, b) = self.two(NAMES);
            if a.1 != b.1 {
                return (*a, *b);
            }
        }
    }

    fn person(&mut self) -> &'static Noun {
        self.any(PEOPLE)
    }

    fn people(&mut self) -> (&'static Noun, &'static Noun) {
        self.two(PEOPLE)
    }

    /// A person whose gender the word fixes.
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
            self.any(ANIMALS)
        } else {
            self.person()
        }
    }

    fn thing(&mut self) -> &'static Noun {
        self.any(THINGS)
    }
}

/// `himself` or `herself`.
fn reflexive(gender: Gender) -> &'static str {
    if gender == Gender::Female {
        "herself"
    } else {
        "himself"
    }
}

/// The same for the other gender.
fn other_reflexive(gender: Gender) -> &'static str {
    if gender == Gender::Female {
        "himself"
    } else {
        "herself"
    }
}

/// `a lamp`, `an umbrella`: the first letter decides for every noun of the lexicon (a test says so).
fn indefinite(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}
