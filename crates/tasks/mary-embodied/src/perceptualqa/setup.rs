//! What a user can set for PerceptualQA, read once and checked.

use mary_contract::{Param, TaskCard, TaskError, TaskSettings};

use crate::choice::{self, Asking, not_one_of};
use crate::{Language, Source};

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

/// Which part of the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// What a tuning set of the same seed holds.
    Train,
    Test,
}

/// Everything set, with defaults filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerceptualQaSettings {
    /// Seed of shuffles and of the split.
    pub seed: u64,
    /// How a question is asked.
    pub asking: Asking,
    /// Our questions or the released ones.
    pub source: Source,
    /// English or Chinese.
    pub language: Language,
    /// 1, 2 or both.
    pub orders: &'static [u32],
    /// Which part of the questions.
    pub part: Part,
}

impl PerceptualQaSettings {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        let asking = Asking::read(card, settings)?;
        let language = match settings.param(card, "language") {
            "en" => Language::En,
            "zh" => Language::Zh,
            other => return Err(not_one_of(card, "language", other)),
        };
        let orders: &[u32] = match settings.param(card, "orders") {
            "both" => &[1, 2],
            "1" => &[1],
            "2" => &[2],
            other => return Err(not_one_of(card, "orders", other)),
        };
        let part = match settings.param(card, "split") {
            "all" => Part::All,
            "train" => Part::Train,
            "test" => Part::Test,
            other => return Err(not_one_of(card, "split", other)),
        };
        Ok(Self {
            seed: settings.seed,
            asking,
            source: Source::read(card, settings)?,
            language,
            orders,
            part,
        })
    }
}
