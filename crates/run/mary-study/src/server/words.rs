//! The words of the pages that are not the study author's own, in English and Chinese.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::settings::Language;

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    pub agree: &'static str,
    pub disagree: &'static str,
    pub consent: &'static str,
    pub begin: &'static str,
    pub instructions: &'static str,
    pub next: &'static str,
    pub question: &'static str,
    pub sentence: &'static str,
    pub of: &'static str,
    pub examples: &'static str,
    pub label: &'static str,
    pub none_fits: &'static str,
    pub flag: &'static str,
    pub keys_choice: &'static str,
    pub keys_several: &'static str,
    pub keys_reading: &'static str,
    pub your_answer: &'static str,
    pub your_number: &'static str,
    pub your_text: &'static str,
    pub picture: &'static str,
    pub unreadable: &'static str,
    pub check: &'static str,
    pub wrong_check: &'static str,
    pub thanks: &'static str,
    pub finished: &'static str,
    pub code: &'static str,
    pub back: &'static str,
    pub number: &'static str,
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
    pub keep_link: &'static str,
    pub seconds_left: &'static str,
    pub lowest: &'static str,
    pub highest: &'static str,
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
        for text in [ENGLISH, CHINESE] {
            let words = serde_json::to_value(read(text).unwrap()).unwrap();
            let mut words = words.as_object().unwrap().values();
            assert!(words.all(|word| !word.as_str().unwrap().is_empty()));
        }
    }
}
