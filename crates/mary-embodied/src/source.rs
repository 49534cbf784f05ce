//! Where triples and questions come from.

use mary_contract::{Param, TaskCard, TaskError, TaskSettings};

use crate::choice::not_one_of;

/// The parameter `source`.
pub const SOURCE: Param = Param::new(
    "source",
    "own",
    "own, upstream",
    "Our own set, which needs no download, or the authors' released files.",
);

/// Where triples and questions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Written here.
    Own,
    /// The authors' files.
    Upstream,
}

impl Source {
    /// Reads [`SOURCE`].
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        match settings.param(card, &SOURCE.name) {
            "own" => Ok(Self::Own),
            "upstream" => Ok(Self::Upstream),
            other => Err(not_one_of(card, &SOURCE.name, other)),
        }
    }

    /// As in settings and ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Upstream => "upstream",
        }
    }

    /// As among the conventions.
    pub fn convention(self) -> &'static str {
        match self {
            Self::Own => "Mary's own set (not the paper's)",
            Self::Upstream => "the released files of Yang et al. 2025",
        }
    }
}
