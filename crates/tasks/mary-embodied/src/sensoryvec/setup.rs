//! What a user can set for SensoryVec, read once and checked.

use mary_contract::{Layers, TaskCard, TaskError, TaskSettings};

use crate::choice::LANGUAGES;
use crate::{Language, MaterialSource};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    Target,
    Sentence,
}

impl Pooling {
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Sentence => "sentence",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SensoryVecSettings {
    pub source: MaterialSource,
    pub language: Language,
    pub pooling: Pooling,
    /// The layer that is scored; negative from the end.
    pub layer: i32,
    pub all_layers: bool,
}

impl SensoryVecSettings {
    pub fn read(card: &TaskCard, settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(card)?;
        let pools = [("target", Pooling::Target), ("sentence", Pooling::Sentence)];
        let source = MaterialSource::read(card, settings)?;
        let [en, zh] = LANGUAGES;
        let language = settings.choose(card, "language", &[("", Language::En), en, zh])?;
        if language == Language::Zh && source != MaterialSource::Fresh {
            return Err(TaskError::Setting(format!(
                "{}: the released triples are English\nhint: --set source=own has them in Chinese",
                card.id
            )));
        }
        Ok(Self {
            source,
            language,
            pooling: settings.choose(card, "pool", &pools)?,
            layer: settings.number(card, "layer", |_| true)?,
            all_layers: settings.choose(card, "layers", &[("scored", false), ("all", true)])?,
        })
    }

    pub fn layers(&self) -> Layers {
        match (self.all_layers, self.layer) {
            (true, _) => Layers::All,
            (false, -1) => Layers::Last,
            (false, layer) => Layers::These(vec![layer]),
        }
    }
}
