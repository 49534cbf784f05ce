//! A text in the two languages in which questions are asked, and the rung of the ladder they stand on.
//! Both languages are written at once from the same facts, so that a draw does not depend on the language
//! and an item is the same item in both. The wordings stand side by side in `phrases.json`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::LazyLock;

use crate::Language;

/// A wording of `phrases.json`; places in braces are still to be filled.
pub(super) fn phrase(key: &str) -> Said {
    static PHRASES: LazyLock<BTreeMap<String, [String; 2]>> = LazyLock::new(|| {
        // The file is part of the program and read by a test: it cannot fail here.
        serde_json::from_str(include_str!("phrases.json")).unwrap_or_default()
    });
    // A name that is not in the file would be seen in the question, and by the test that looks for it.
    let known = PHRASES.get(key);
    known.map_or_else(|| Said::same(key), |[en, zh]| Said::new(en, zh))
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Said {
    pub en: String,
    pub zh: String,
}

impl Said {
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self {
            en: en.into(),
            zh: zh.into(),
        }
    }

    /// A text that reads the same in both: a number, a letter.
    pub fn same(text: impl ToString) -> Self {
        Self::new(text.to_string(), text.to_string())
    }

    /// Fills the place `{name}` with something that reads the same in both.
    pub(super) fn with(self, name: &str, value: impl Display) -> Self {
        let value = value.to_string();
        self.both(name, &value, &value)
    }

    pub(super) fn fill(self, name: &str, text: &Self) -> Self {
        self.both(name, &text.en, &text.zh)
    }

    fn both(self, name: &str, en: &str, zh: &str) -> Self {
        let place = format!("{{{name}}}");
        Self::new(self.en.replace(&place, en), self.zh.replace(&place, zh))
    }

    pub fn in_language(&self, language: Language) -> &str {
        match language {
            Language::En => &self.en,
            Language::Zh => &self.zh,
        }
    }

    pub fn then(&self, next: &Self) -> Self {
        let zh = format!("{}{}", self.zh, next.zh);
        Self::new(format!("{} {}", self.en, next.en), zh)
    }
}

/// How hard questions are: as they come, or one rung of a ladder of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    #[default]
    Any,
    /// A rung from 0 (easiest) to 3.
    Rung(usize),
}

const LEVELS: [(&str, Level); 5] = [
    ("any", Level::Any),
    ("1", Level::Rung(0)),
    ("2", Level::Rung(1)),
    ("3", Level::Rung(2)),
    ("4", Level::Rung(3)),
];

impl Level {
    pub fn named(name: &str) -> Option<Self> {
        let found = LEVELS.iter().find(|(known, _)| *known == name)?;
        Some(found.1)
    }

    pub fn name(self) -> &'static str {
        let found = LEVELS.iter().find(|(_, level)| *level == self);
        found.map_or("any", |(name, _)| name)
    }

    /// What holds at this level: as they come, or on each of the rungs.
    pub fn pick<T>(self, any: T, rungs: [T; 4]) -> T {
        match self {
            Self::Any => any,
            Self::Rung(rung) => rungs.into_iter().nth(rung).unwrap_or(any),
        }
    }

    /// How clear the least clear comparison of a question is, in units of its margin: from the margin on,
    /// or on the rungs between these bounds, the first rung above all of them.
    pub fn clearness(self, [first, second, third]: [f64; 3]) -> std::ops::Range<f64> {
        let all = f64::INFINITY;
        let rungs = [first..all, second..first, third..second, 1.0..third];
        self.pick(1.0..all, rungs)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_phrase_has_the_same_places_in_both_languages() {
        let all: BTreeMap<String, [String; 2]> =
            serde_json::from_str(include_str!("phrases.json")).unwrap();
        let places = |text: &str| -> BTreeSet<String> {
            let opened = text.split('{').skip(1);
            opened
                .map(|rest| rest.split('}').next().unwrap().to_owned())
                .collect()
        };
        for (key, [en, zh]) in &all {
            assert_eq!(places(en), places(zh), "{key}");
        }
    }
}
