//! One instance of any source, and the sets that instances belong to.

use crate::grid::Pair;
use crate::worlds::{self, Concept, Mode, Set};

/// The paper's three sets of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Split {
    /// Core, the 25 concepts of Table 6.
    CoreDev,
    /// Core, the 27 concepts of Table 7.
    CoreTest,
    Associative,
}

impl Split {
    pub fn name(self) -> &'static str {
        match self {
            Self::CoreDev => "core-dev",
            Self::CoreTest => "core-test",
            Self::Associative => "associative",
        }
    }

    /// The core split of a concept, named by the paper's tables because the public release swapped
    /// the two; `None` for concepts that core does not have.
    pub fn of_core(concept: &str) -> Option<Self> {
        match worlds::concept(concept)?.set {
            Set::CoreDev => Some(Self::CoreDev),
            Set::CoreTest => Some(Self::CoreTest),
            Set::Associative => None,
        }
    }
}

/// Which of the two kinds of instances a task asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// One aspect, clearly.
    Core,
    Associative,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Associative => "associative",
        }
    }

    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Core => Mode::Clear,
            Self::Associative => Mode::Analogy,
        }
    }

    pub fn concepts(self) -> Vec<&'static Concept> {
        let wanted = |c: &&'static Concept| match self {
            Self::Core => c.set != Set::Associative,
            Self::Associative => c.associative,
        };
        worlds::concepts().iter().copied().filter(wanted).collect()
    }

    pub(crate) fn split(self, concept: &Concept) -> Split {
        match (self, concept.set) {
            (Self::Core, Set::CoreDev) => Split::CoreDev,
            (Self::Core, Set::CoreTest) => Split::CoreTest,
            _ => Split::Associative,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The same in text, in pictures and at the low level.
    pub id: String,
    /// The concept's name, as it stands among the options.
    pub concept: String,
    pub split: Split,
    pub aspect: Option<String>,
    pub pairs: Vec<Pair>,
    /// Four labels in the order shown.
    pub options: Vec<String>,
    pub correct: usize,
    /// The block that shares the option set.
    pub block: Option<String>,
    /// How often the concept came before, from 0.
    pub turn: usize,
}
