//! The texts that a new study begins with, in the languages of its pages (`texts.toml`).

use anyhow::Context as _;
use mary_study::settings::Language;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Texts {
    pub title: String,
    pub consent: String,
    pub instructions: String,
    /// For sentences that are read word by word.
    pub reading: String,
    /// For judges of whole texts.
    pub judging: String,
    /// For judges of single points that a text may make.
    pub judging_points: String,
    pub choose_third: String,
    pub choose_second: String,
    pub answers: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Languages {
    en: Texts,
    zh: Texts,
}

impl Texts {
    pub fn in_language(language: Language) -> anyhow::Result<Self> {
        let all: Languages = toml::from_str(include_str!("texts.toml")).context("texts.toml")?;
        Ok(match language {
            Language::En => all.en,
            Language::Zh => all.zh,
        })
    }
}

pub fn with_number(text: &str, n: usize) -> String {
    text.replace("{n}", &n.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_texts_and_a_place_for_the_number() {
        for language in [Language::En, Language::Zh] {
            let texts = Texts::in_language(language).unwrap();
            for text in [
                &texts.instructions,
                &texts.reading,
                &texts.judging,
                &texts.judging_points,
            ] {
                assert!(with_number(text, 7).contains(" 7 "), "{text}");
            }
            assert_eq!(texts.answers.len(), 4);
            assert!(texts.consent.contains("\n\n["));
        }
    }
}
