//! The material of the family: triples of words with their sentences, and questions with four
//! options, whoever wrote them. Our own set (`fresh`) and the authors' released files (`published`) are
//! both made of these, and the tasks see nothing else.
//!
//! Text is `Cow<'static, str>` so that a set compiled in costs nothing and a file that is read needs
//! no second type.

use std::borrow::Cow;
use std::fmt;

mary_generators::named! {
    /// A sense. SensoryVec has six; PerceptualQA asks about the first five.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Sense {
        Visual = "visual",
        Auditory = "auditory",
        /// Touching; the released file says `Haptic`.
        Tactile = "tactile",
        Gustatory = "gustatory",
        Olfactory = "olfactory",
        /// Feeling one's own body: hunger, pain, fatigue.
        Interoceptive = "interoceptive",
    }
}

impl Sense {
    /// The sense of a name, as we or the released file write it.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        if name == "haptic" {
            return Some(Self::Tactile);
        }
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The paper's coarse split: `visual` or `non-visual`.
    pub fn modality(self) -> &'static str {
        if self == Self::Visual {
            "visual"
        } else {
            "non-visual"
        }
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mary_generators::named! {
    /// All nine, in the paper's order (the place is the number less one), by the paper's abbreviations, as in tags
    /// and tables.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Subtask {
        ColorAttributes = "V-CA",
        ColorsInNature = "V-CN",
        Geometry = "V-GT",
        Symbols = "V-S",
        Body = "V-B",
        Auditory = "A",
        Tactile = "T",
        Gustatory = "G",
        Olfactory = "O",
    }
}

impl Subtask {
    /// From 1 to 9, as in the released indices (`index / 1000`).
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    pub fn numbered(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.number() == number)
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::ColorAttributes => "colour attributes",
            Self::ColorsInNature => "colours in nature",
            Self::Geometry => "geometry and transformations",
            Self::Symbols => "symbols",
            Self::Body => "body",
            _ => self.sense().name(),
        }
    }

    pub fn sense(self) -> Sense {
        match self {
            Self::Auditory => Sense::Auditory,
            Self::Tactile => Sense::Tactile,
            Self::Gustatory => Sense::Gustatory,
            Self::Olfactory => Sense::Olfactory,
            _ => Sense::Visual,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    #[default]
    En,
    Zh,
}

impl Language {
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }
}

/// A word of a sense, one that means the same, one that means the opposite, and three sentences in
/// which each of the three can stand at `{}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triple {
    pub sense: Sense,
    pub word: Cow<'static, str>,
    pub synonym: Cow<'static, str>,
    /// Means the opposite, or something far away where there is no opposite (colours).
    pub antonym: Cow<'static, str>,
    /// Three sentences, each with one `{}` where the word stands.
    pub sentences: [Cow<'static, str>; 3],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub subtask: Subtask,
    pub question: Cow<'static, str>,
    pub options: [Cow<'static, str>; 4],
    pub correct: usize,
    pub language: Language,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtasks_are_numbered_as_in_the_released_indices() {
        for (place, subtask) in Subtask::ALL.into_iter().enumerate() {
            assert_eq!(subtask.number() as usize, place + 1);
            assert_eq!(Subtask::numbered(subtask.number()), Some(subtask));
        }
        assert_eq!(Subtask::numbered(0), None);
        assert_eq!(Subtask::numbered(10), None);
        assert_eq!(Subtask::Body.sense(), Sense::Visual);
    }

    #[test]
    fn the_released_files_name_of_touch_is_known() {
        assert_eq!(Sense::named("Haptic"), Some(Sense::Tactile));
        assert_eq!(Sense::named("Visual"), Some(Sense::Visual));
        assert_eq!(Sense::named("sixth"), None);
    }
}
