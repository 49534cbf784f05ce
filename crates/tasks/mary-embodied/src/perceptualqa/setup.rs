//! What a user can set for PerceptualQA, read once and checked.

use mary_contract::{Param, TaskCard, TaskError, TaskSettings};

use crate::choice::{self, Asking, LANGUAGES, choose};
use crate::{Language, MaterialSource};

pub(super) static PARAMS: [Param; 7] = [
    choice::MODE,
    crate::SOURCE,
    Param::new("language", "en", "en, zh", "English or Chinese questions."),
    Param::new(
        "orders",
        "both",
        "both, 1, 2",
        "Ask every question in two orders of its options (the paper's two trials), or in one.",
    ),
    Param::new(
        "split",
        "all",
        "all, train, test",
        "All questions, or the four fifths that a tuning set of the same seed holds, or the fifth \
                that it leaves out.",
    ),
    choice::TEMPLATE,
    choice::MAX_TOKENS,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// What a tuning set of the same seed holds.
    Train,
    Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerceptualQaSettings {
    /// Seed of shuffles and of the split.
    pub seed: u64,
    pub asking: Asking,
    pub source: MaterialSource,
    pub language: Language,
    /// 1, 2 or both.
    pub orders: &'static [u32],
    pub part: Part,
}

impl PerceptualQaSettings {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        let asking = Asking::read(card, settings)?;
        let orders: [(&str, &'static [u32]); 3] = [("both", &[1, 2]), ("1", &[1]), ("2", &[2])];
        let parts = [
            ("all", Part::All),
            ("train", Part::Train),
            ("test", Part::Test),
        ];
        Ok(Self {
            seed: settings.seed,
            asking,
            source: MaterialSource::read(card, settings)?,
            language: choose(card, settings, "language", &LANGUAGES)?,
            orders: choose(card, settings, "orders", &orders)?,
            part: choose(card, settings, "split", &parts)?,
        })
    }
}
