//! What a user can set for PerceptualQA, read once and checked.

use mary_contract::{TaskCard, TaskError, TaskSettings};

use crate::choice::{Asking, LANGUAGES};
use crate::{Language, MaterialSource};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    All,
    /// What a tuning set of the same seed holds.
    Train,
    Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerceptualQaSettings {
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
            language: settings.choose(card, "language", &LANGUAGES)?,
            orders: settings.choose(card, "orders", &orders)?,
            part: settings.choose(card, "split", &parts)?,
        })
    }
}
