//! Where the items of a task come from, in one vocabulary for all families: tables, manifest, report and
//! exports say it with these words, and the setting `source` takes them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Param, TaskCard, TaskSettings};

/// The setting that chooses between fresh and published items.
pub const SOURCE: &str = "source";

/// Where items come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemSource {
    /// Made here: from the seed, or a set of our own that is no published benchmark.
    Fresh,
    /// A published dataset, as its authors released it.
    Published,
    /// A file of the user's.
    File,
}

impl ItemSource {
    /// The word in tables and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Published => "published",
            Self::File => "file",
        }
    }

    /// What a task says of itself unless it knows better: its setting `source`; a task of the user's is a
    /// file; one that reads a dataset takes published items; all others make their own.
    pub fn by_card(card: &TaskCard, settings: &TaskSettings) -> Self {
        if card.param(SOURCE).is_some() {
            return Self::by_word(settings.param(card, SOURCE));
        }
        match (&card.content, &card.dataset) {
            (Some(_), _) => Self::File,
            (None, Some(_)) => Self::Published,
            (None, None) => Self::Fresh,
        }
    }

    /// The source that a value of the setting stands for; whatever is neither fresh nor a file is the name
    /// of a published set (`concept-arc`).
    pub fn by_word(word: &str) -> Self {
        match source_word(word) {
            "fresh" => Self::Fresh,
            "file" => Self::File,
            _ => Self::Published,
        }
    }
}

impl fmt::Display for ItemSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Families once had words of their own for the same thing; stored runs and old commands still use them.
pub fn source_word(word: &str) -> &str {
    match word {
        "own" | "generated" => "fresh",
        "upstream" | "released" => "published",
        other => other,
    }
}

/// The value of the setting `source` in today's words, unless the task itself still knows the old one.
pub(crate) fn source_value<'a>(param: Option<&Param>, word: &'a str) -> &'a str {
    let known = param.is_some_and(|p| p.values.split(", ").any(|value| value == word));
    if known { word } else { source_word(word) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TaskRun, text};

    fn card(values: &'static str) -> TaskCard {
        let params = vec![Param::new(
            SOURCE,
            "fresh",
            values,
            "Where items come from.",
        )];
        TaskCard {
            params: params.into(),
            ..TaskCard::new(text("f/t"), text("T"), text("About."))
        }
    }

    fn settings(word: &str) -> TaskSettings {
        TaskSettings {
            params: [(SOURCE.to_owned(), word.to_owned())].into(),
            ..TaskSettings::default()
        }
    }

    #[test]
    fn old_words_mean_what_they_meant() {
        let card = card("fresh, published");
        for (word, today) in [
            ("own", "fresh"),
            ("upstream", "published"),
            ("released", "published"),
            ("published", "published"),
        ] {
            assert_eq!(settings(word).param(&card, SOURCE), today);
            assert_eq!(settings(word).asked(&card)[SOURCE], today);
        }
        // A task of somebody else's may use such a word for something of its own.
        assert_eq!(
            settings("own").param(&self::card("own, theirs"), SOURCE),
            "own"
        );
    }

    #[test]
    fn a_run_that_was_stored_with_old_words_is_of_the_same_question() {
        let run = |word: &str| TaskRun {
            id: "f/t".into(),
            asked: Some([(SOURCE.to_owned(), word.to_owned())].into()),
            settings: settings(word),
            ..TaskRun::default()
        };
        let (old, new) = (run("upstream"), run("published"));
        assert_eq!(old.question(), new.question());
        assert!(old.differences(&new).is_empty());
        assert_ne!(run("own").question(), new.question());
        assert_eq!(old.item_source(), Some(ItemSource::Published));
        assert_eq!(run("own").item_source(), Some(ItemSource::Fresh));
        assert_eq!(TaskRun::default().item_source(), None);
    }

    #[test]
    fn a_task_without_the_setting_is_known_by_what_it_reads() {
        let plain = TaskCard::new(text("f/t"), text("T"), text("About."));
        let none = TaskSettings::default();
        assert_eq!(ItemSource::by_card(&plain, &none), ItemSource::Fresh);
        let reads = TaskCard {
            dataset: Some(text("blimp")),
            ..plain.clone()
        };
        assert_eq!(ItemSource::by_card(&reads, &none), ItemSource::Published);
        let own = TaskCard {
            content: Some(text("abc")),
            ..reads
        };
        assert_eq!(ItemSource::by_card(&own, &none), ItemSource::File);
        assert_eq!(ItemSource::by_word("concept-arc"), ItemSource::Published);
    }
}
