//! Where triples and questions come from.

use mary_contract::{TaskCard, TaskError, TaskSettings};

/// The setting `source`, whose old words `own` and `upstream` are read as these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MaterialSource {
    Fresh,
    Published,
}

impl MaterialSource {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        let words = [("fresh", Self::Fresh), ("published", Self::Published)];
        settings.choose(card, mary_contract::SOURCE, &words)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Published => "published",
        }
    }

    /// As in ids of items and in imported runs, which keep the words they were first stored with, so that
    /// old and new samples pair and an import finds its folder again.
    pub fn stored(self) -> &'static str {
        match self {
            Self::Fresh => "own",
            Self::Published => "upstream",
        }
    }
}
