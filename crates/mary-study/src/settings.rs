//! `study.toml`: texts, rules and limits of a study, written by `mary study new` and edited by its author
//! before the first person comes. Unknown keys are refused, so that a misspelt one is not ignored.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::error::io_at;
use crate::lists::Lists;

/// The file.
pub const FILE: &str = "study.toml";

/// Bytes of it, at most.
const LARGEST: u64 = 16 << 20;

/// Everything its author decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names the study: letters, digits, `-`. Results stand under `people/NAME`.
    pub name: String,
    /// The heading of every page.
    pub title: String,
    /// Language of the pages: `en` or `zh`.
    pub language: Language,
    /// Places: how many people answer.
    pub people: usize,
    /// Items that each of them answers.
    pub per_person: usize,
    /// How items are given to people.
    pub lists: Lists,
    /// Seed of draws, lists and orders.
    pub seed: u64,
    /// Minutes without a sign of life after which a place is given to another person.
    pub minutes: u32,
    /// What people agree to.
    pub consent: Consent,
    /// What people are told before they begin.
    pub instructions: String,
    /// What they are told about their pay; empty where there is none.
    #[serde(default)]
    pub pay: String,
    /// Where people come from.
    #[serde(default)]
    pub platform: Platform,
    /// Rules and limits.
    #[serde(default)]
    pub rules: Rules,
    /// Attention and comprehension checks.
    #[serde(default, rename = "check", skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

/// Language of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// As HTML names it.
    pub fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }
}

/// What people agree to. Raise `version` whenever the text changes: it is kept with every person, with a
/// hash of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consent {
    /// From 1.
    pub version: u32,
    /// Paragraphs, parted by empty lines.
    pub text: String,
}

/// Where people come from, and how they go back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Platform {
    /// `none`, `prolific` or `mturk`.
    pub kind: PlatformKind,
    /// Shown to who has finished.
    pub finished: String,
    /// Shown to who did not understand the instructions.
    pub screened_out: String,
    /// Shown to who does not agree.
    pub no_consent: String,
    /// Address to which people go back, `{code}` standing for the code; empty where they type it in.
    pub return_to: String,
}

/// A platform that sends people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlatformKind {
    /// A plain link.
    #[default]
    None,
    /// Prolific: `PROLIFIC_PID`, `STUDY_ID`, `SESSION_ID`.
    Prolific,
    /// Mechanical Turk: `workerId`, `hitId`, `assignmentId`.
    Mturk,
}

impl PlatformKind {
    /// The parameters of its link: person, study, session.
    pub fn parameters(self) -> Option<[&'static str; 3]> {
        match self {
            Self::None => None,
            Self::Prolific => Some(["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"]),
            Self::Mturk => Some(["workerId", "hitId", "assignmentId"]),
        }
    }
}

/// Rules that hold for everybody, stated beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// A person who fails this many attention checks is left out of the results (and paid).
    pub attention_failures: u32,
    /// Tries at the comprehension checks before a person is asked to return the study.
    pub comprehension_tries: u32,
    /// Seconds for one question; 0 is no limit.
    pub seconds: u32,
    /// Characters of a written answer, at most.
    pub characters: usize,
    /// People who may begin within a minute, at most.
    pub joins_per_minute: u32,
    /// Requests of one person within a minute, at most.
    pub requests_per_minute: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            attention_failures: 2,
            comprehension_tries: 2,
            seconds: 0,
            characters: 2_000,
            joins_per_minute: 600,
            requests_per_minute: 600,
        }
    }
}

/// What a check is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// Asked before the first item until it is right; failing leads to a return, never to a rejection.
    Comprehension,
    /// Asked once among the items.
    Attention,
}

/// A question whose answer is in the instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What it is for.
    pub kind: CheckKind,
    /// The question.
    pub question: String,
    /// The options, in this order.
    pub options: Vec<String>,
    /// The right one, from 1. It never leaves the server.
    pub answer: usize,
    /// For attention: after how many items it is asked.
    #[serde(default)]
    pub after: usize,
}

impl Settings {
    /// Reads and checks the file of a study's folder.
    pub fn read(folder: &Path) -> Result<Self, StudyError> {
        let path = folder.join(FILE);
        let text = mary_contract::read_plain_text(&path, LARGEST).map_err(io_at(&path))?;
        let wrong = |message: String| StudyError::File {
            path: path.clone(),
            message,
            hint: "docs/people.md lists what may stand in it".into(),
        };
        let settings: Self = toml::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        settings.check().map_err(wrong)?;
        Ok(settings)
    }

    /// Whether it makes sense; what does not, in words.
    pub fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err(format!(
                "`name` is `{}`; expected letters, digits and `-`",
                self.name
            ));
        }
        if self.people == 0 || self.per_person == 0 || self.minutes == 0 {
            return Err("`people`, `per_person` and `minutes` must be 1 or more".into());
        }
        if self.consent.text.trim().is_empty() {
            return Err("`consent.text` is empty; expected what people agree to".into());
        }
        for check in &self.checks {
            if check.options.len() < 2 || check.answer == 0 || check.answer > check.options.len() {
                return Err(format!(
                    "the check `{}` has {} options and answer {}; expected two or more, and one of them (from 1)",
                    check.question,
                    check.options.len(),
                    check.answer
                ));
            }
        }
        let Platform { return_to, .. } = &self.platform;
        if !(return_to.is_empty() || return_to.starts_with("https://")) {
            return Err(format!(
                "`platform.return_to` is `{return_to}`; expected an https:// address"
            ));
        }
        Ok(())
    }

    /// As the file is written.
    pub fn to_toml(&self) -> Result<String, StudyError> {
        toml::to_string_pretty(self).map_err(|e| StudyError::refused(e.to_string()))
    }

    /// The hash by which the text of a consent is known.
    pub fn consent_hash(&self) -> String {
        let hash = blake3::hash(self.consent.text.as_bytes()).to_hex();
        hash.as_str().chars().take(16).collect()
    }
}
