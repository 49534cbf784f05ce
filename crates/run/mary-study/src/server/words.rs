//! The words of the pages that are not the study author's own, in English and Chinese.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::settings::Language;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Words {
    pub agree: &'static str,
    pub disagree: &'static str,
    pub consent: &'static str,
    pub begin: &'static str,
    pub instructions: &'static str,
    pub question: &'static str,
    pub sentence: &'static str,
    pub of: &'static str,
    pub none_fits: &'static str,
    pub flag: &'static str,
    pub unreadable: &'static str,
    pub check: &'static str,
    pub wrong_check: &'static str,
    pub thanks: &'static str,
    pub finished: &'static str,
    pub back: &'static str,
    pub screened_out: &'static str,
    pub declined: &'static str,
    pub timed_out: &'static str,
    pub full: &'static str,
    pub closed: &'static str,
    pub closed_early: &'static str,
    pub crowded: &'static str,
    pub again: &'static str,
    pub not_found: &'static str,
    pub busy: &'static str,
    pub conflict: &'static str,
    pub go_on: &'static str,
    pub withdraw: &'static str,
    pub withdraw_sure: &'static str,
    pub withdraw_after: &'static str,
    pub withdraw_do: &'static str,
    pub withdrawn: &'static str,
    pub withdrawn_later: &'static str,
    pub keep: &'static str,
    pub stay: &'static str,
    /// Those that only the pages name.
    #[serde(flatten)]
    pages: BTreeMap<&'static str, &'static str>,
}

pub(crate) fn words(language: Language) -> &'static Words {
    static EN: LazyLock<Words> = LazyLock::new(|| read(ENGLISH).unwrap_or_default());
    static ZH: LazyLock<Words> = LazyLock::new(|| read(CHINESE).unwrap_or_default());
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

const ENGLISH: &str = include_str!("words.en.json");
const CHINESE: &str = include_str!("words.zh.json");

fn read(text: &'static str) -> serde_json::Result<Words> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_there_in_both_languages() {
        let names = [ENGLISH, CHINESE].map(|text| {
            let words = serde_json::to_value(read(text).unwrap()).unwrap();
            let words = words.as_object().unwrap();
            let said = |word: &serde_json::Value| !word.as_str().unwrap().is_empty();
            assert!(words.values().all(said));
            words.keys().cloned().collect::<Vec<_>>()
        });
        assert_eq!(names[0], names[1]);
        // Every word that a page names is there, and none beside.
        let pages = ["frame", "message", "trial", "admin"];
        let page = |name: &str| {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/server/pages");
            std::fs::read_to_string(format!("{folder}/{name}.html")).unwrap()
        };
        let text = pages.map(page).concat();
        let own = read(ENGLISH).unwrap().pages;
        let unnamed = own
            .keys()
            .filter(|name| !text.contains(&format!("w.{name}")));
        assert_eq!(unnamed.collect::<Vec<_>>(), Vec::<&&str>::new());
        let named = text.split("w.").skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
            &rest[..end.unwrap_or(rest.len())]
        });
        for name in named.filter(|name| !name.is_empty()) {
            assert!(names[0].iter().any(|known| known == name), "{name}");
        }
    }
}
