//! Grammar: which of two sentences does a model find more probable, the good one or the bad one?
//!
//! `psychometric/blimp` reads the published benchmark, `psychometric/grammar` writes pairs of our own
//! that nobody has seen, and `psychometric/grammar-small` takes the held-out pairs of the small world
//! on which the built-in model was grown. All three share one request and one judge ([`pair`]).

mod blimp;
mod exhibits;
mod fresh;
#[rustfmt::skip]
mod lexicon;
pub mod pair;
mod paradigms;
pub mod reference;
pub mod upstream;
mod writer;

pub use blimp::BLIMP;
pub use exhibits::exhibits;
pub use fresh::{GRAMMAR, GRAMMAR_SMALL};
pub use writer::{FreshPair, fresh_pairs, small_pairs};

/// One of the twelve phenomena of Warstadt et al. 2020.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phenomenon {
    /// A reflexive agrees with its antecedent.
    AnaphorAgreement,
    /// Verbs take the arguments they take.
    ArgumentStructure,
    /// A reflexive is bound where it stands.
    Binding,
    /// Who the silent subject of an infinitive is.
    ControlRaising,
    /// A determiner agrees with its noun.
    DeterminerNoun,
    /// What may be left out.
    Ellipsis,
    /// A moved phrase belongs to a gap.
    FillerGap,
    /// Forms that must be known by heart.
    IrregularForms,
    /// Places a phrase cannot move out of.
    IslandEffects,
    /// Where `ever` may stand.
    NpiLicensing,
    /// Where quantifiers may stand.
    Quantifiers,
    /// A verb agrees with its subject.
    SubjectVerb,
}

impl Phenomenon {
    /// All twelve, in the order of Warstadt et al.'s tables.
    pub const ALL: [Self; 12] = [
        Self::AnaphorAgreement,
        Self::ArgumentStructure,
        Self::Binding,
        Self::ControlRaising,
        Self::DeterminerNoun,
        Self::Ellipsis,
        Self::FillerGap,
        Self::IrregularForms,
        Self::IslandEffects,
        Self::NpiLicensing,
        Self::Quantifiers,
        Self::SubjectVerb,
    ];

    /// As it stands in tags and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::AnaphorAgreement => "anaphor agreement",
            Self::ArgumentStructure => "argument structure",
            Self::Binding => "binding",
            Self::ControlRaising => "control/raising",
            Self::DeterminerNoun => "determiner-noun agreement",
            Self::Ellipsis => "ellipsis",
            Self::FillerGap => "filler-gap",
            Self::IrregularForms => "irregular forms",
            Self::IslandEffects => "island effects",
            Self::NpiLicensing => "NPI licensing",
            Self::Quantifiers => "quantifiers",
            Self::SubjectVerb => "subject-verb agreement",
        }
    }

    pub fn short(self) -> &'static str {
        match self {
            Self::AnaphorAgreement => "ana. agr",
            Self::ArgumentStructure => "arg. str",
            Self::Binding => "binding",
            Self::ControlRaising => "ctrl. rais.",
            Self::DeterminerNoun => "d-n agr",
            Self::Ellipsis => "ellipsis",
            Self::FillerGap => "filler gap",
            Self::IrregularForms => "irregular",
            Self::IslandEffects => "island",
            Self::NpiLicensing => "npi",
            Self::Quantifiers => "quantifiers",
            Self::SubjectVerb => "s-v agr",
        }
    }

    /// Upstream's `linguistics_term`, of which there are thirteen: two files of the twelve say
    /// `s-selection` and are filed under argument structure, as in the paper.
    pub fn upstream(term: &str) -> Option<Self> {
        Some(match term {
            "anaphor_agreement" => Self::AnaphorAgreement,
            "argument_structure" | "s-selection" => Self::ArgumentStructure,
            "binding" => Self::Binding,
            "control_raising" => Self::ControlRaising,
            "determiner_noun_agreement" => Self::DeterminerNoun,
            "ellipsis" => Self::Ellipsis,
            "filler_gap_dependency" => Self::FillerGap,
            "irregular_forms" => Self::IrregularForms,
            "island_effects" => Self::IslandEffects,
            "npi_licensing" => Self::NpiLicensing,
            "quantifiers" => Self::Quantifiers,
            "subject_verb_agreement" => Self::SubjectVerb,
            _ => return None,
        })
    }

    /// The small world's name of it.
    fn of_small_world(name: &str) -> Option<Self> {
        match name {
            "control and raising" => Some(Self::ControlRaising),
            "npi licensing" => Some(Self::NpiLicensing),
            name => Self::ALL.into_iter().find(|p| p.name() == name),
        }
    }

    /// The field a pair of ours belongs to. Upstream files binding and control/raising under both
    /// syntax and semantics; so do we.
    pub fn field(self) -> &'static str {
        match self {
            Self::AnaphorAgreement
            | Self::DeterminerNoun
            | Self::IrregularForms
            | Self::SubjectVerb => "morphology",
            Self::ArgumentStructure | Self::Ellipsis | Self::FillerGap | Self::IslandEffects => {
                "syntax"
            }
            Self::Binding | Self::ControlRaising => "syntax_semantics",
            Self::NpiLicensing | Self::Quantifiers => "semantics",
        }
    }
}
