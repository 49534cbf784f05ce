//! Grammar: which of two sentences does a model find more probable, the good one or the bad one?
//!
//! `psychometric/blimp` reads the published benchmark, `psychometric/grammar` writes pairs of our own
//! that nobody has seen, and `psychometric/grammar-small` takes the held-out pairs of the small world
//! on which the built-in model was grown. All three share one request and one judge ([`pair`]).

mod exhibits;
mod lexicon;
pub mod pair;
pub mod reference;
mod tasks;
pub mod upstream;
mod writer;

pub use exhibits::exhibits;
pub use tasks::{BLIMP, GRAMMAR, GRAMMAR_SMALL};

/// The tasks of grammar.
pub(crate) const TASKS: [&str; 3] = [
    "psychometric/blimp",
    "psychometric/grammar",
    "psychometric/grammar-small",
];

mary_generators::named! {
    /// One of the twelve phenomena of Warstadt et al. 2020.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Phenomenon {
        AnaphorAgreement = "anaphor agreement",
        /// Verbs take the arguments they take.
        ArgumentStructure = "argument structure",
        /// A reflexive is bound where it stands.
        Binding = "binding",
        /// Who the silent subject of an infinitive is.
        ControlRaising = "control/raising",
        DeterminerNoun = "determiner-noun agreement",
        /// What may be left out.
        Ellipsis = "ellipsis",
        /// A moved phrase belongs to a gap.
        FillerGap = "filler-gap",
        /// Forms that must be known by heart.
        IrregularForms = "irregular forms",
        /// Places a phrase cannot move out of.
        IslandEffects = "island effects",
        /// Where `ever` may stand.
        NpiLicensing = "NPI licensing",
        /// Where quantifiers may stand.
        Quantifiers = "quantifiers",
        SubjectVerb = "subject-verb agreement",
    }
}

impl Phenomenon {
    /// Its short name, and the field a pair of ours belongs to. Upstream files binding and control/raising under both syntax and semantics; so do we.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::AnaphorAgreement => ["ana. agr", "morphology"],
            Self::ArgumentStructure => ["arg. str", "syntax"],
            Self::Binding => ["binding", "syntax_semantics"],
            Self::ControlRaising => ["ctrl. rais.", "syntax_semantics"],
            Self::DeterminerNoun => ["d-n agr", "morphology"],
            Self::Ellipsis => ["ellipsis", "syntax"],
            Self::FillerGap => ["filler gap", "syntax"],
            Self::IrregularForms => ["irregular", "morphology"],
            Self::IslandEffects => ["island", "syntax"],
            Self::NpiLicensing => ["npi", "semantics"],
            Self::Quantifiers => ["quantifiers", "semantics"],
            Self::SubjectVerb => ["s-v agr", "morphology"],
        }
    }

    pub(crate) fn short(self) -> &'static str {
        self.words()[0]
    }

    pub(crate) fn field(self) -> &'static str {
        self.words()[1]
    }

    /// Upstream's `linguistics_term`, of which there are thirteen: two files of the twelve say `s-selection` and
    /// are filed under argument structure, as in the paper.
    pub(crate) fn upstream(term: &str) -> Option<Self> {
        match term {
            "s-selection" => Some(Self::ArgumentStructure),
            "filler_gap_dependency" => Some(Self::FillerGap),
            term => Self::ALL.into_iter().find(|p| {
                let words = p.name().to_lowercase();
                words.replace([' ', '-', '/'], "_") == term
            }),
        }
    }

    fn of_small_world(name: &str) -> Option<Self> {
        match name {
            "control and raising" => Some(Self::ControlRaising),
            "npi licensing" => Some(Self::NpiLicensing),
            name => Self::ALL.into_iter().find(|p| p.name() == name),
        }
    }
}
