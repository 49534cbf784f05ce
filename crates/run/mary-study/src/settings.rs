//! `study.toml`: texts, rules and limits of a study, written by `mary study new` and edited by its author
//! before the first person comes. Unknown keys are refused, so that a misspelt one is not ignored.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::io_at;
use crate::lists::Lists;
use crate::{Result, StudyError};

pub const FILE: &str = "study.toml";

/// What stands where a text is to be written: ours, and those of earlier versions.
const PLACEHOLDERS: [&str; 4] = [
    "[TO FILL IN",
    "[请填写",
    "(Say here who runs",
    "（请在此说明",
];

const LARGEST: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Names the study: letters, digits, `-`. Results stand under `people/NAME`.
    pub name: String,
    pub title: String,
    /// Language of the pages: `en` or `zh`.
    pub language: Language,
    pub people: usize,
    pub per_person: usize,
    pub lists: Lists,
    pub seed: u64,
    /// Minutes without a sign of life after which a place is given to another person.
    pub minutes: u32,
    pub consent: Consent,
    pub instructions: String,
    /// What they are told about their pay; empty where there is none.
    #[serde(default)]
    pub pay: String,
    #[serde(default)]
    pub platform: Platform,
    #[serde(default)]
    pub rules: Rules,
    #[serde(default, rename = "check", skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

mary_generators::named! {
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Language {
        #[default]
        En = "en",
        Zh = "zh",
    }
}

impl Language {
    /// What stands between words.
    pub fn joint(self) -> &'static str {
        match self {
            Self::En => " ",
            Self::Zh => "",
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Platform {
    /// `none`, `prolific` or `mturk`.
    pub kind: PlatformKind,
    pub finished: String,
    /// Shown to who did not understand the instructions.
    pub screened_out: String,
    /// Shown to who does not agree.
    pub no_consent: String,
    /// Address to which people go back, `{code}` standing for the code; empty where they type it in.
    pub return_to: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlatformKind {
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
    /// Unfinished places that one address may hold at once; 0 is a quarter of all places. A class or a
    /// laboratory behind one address needs as many as there are people in it.
    #[serde(skip_serializing_if = "mary_contract::is_default")]
    pub places_per_address: usize,
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
            places_per_address: 0,
        }
    }
}

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
    pub kind: CheckKind,
    pub question: String,
    pub options: Vec<String>,
    /// The right one, from 1. It never leaves the server.
    pub answer: usize,
    /// For attention: after how many items it is asked.
    #[serde(default)]
    pub after: usize,
}

impl Settings {
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let text = mary_platform::read_plain_text(&path, LARGEST).map_err(io_at(&path))?;
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

    /// Whether people may be asked: every text is written, and every rule can hold. What is in the way, in
    /// words.
    pub fn ready(&self) -> Result<(), String> {
        let unwritten = self.unwritten();
        if !unwritten.is_empty() {
            return Err(format!(
                "{FILE} still holds text to be filled in: {}\n\
                 hint: write it in place of what stands in brackets; `--test` serves the pages as they are, on \
                 this machine only",
                unwritten.join(", ")
            ));
        }
        self.reachable()
    }

    /// The fields with a text that only the author of the study can write.
    fn unwritten(&self) -> Vec<&'static str> {
        let texts = [
            ("`title`", &self.title),
            ("`consent.text`", &self.consent.text),
            ("`instructions`", &self.instructions),
            ("`pay`", &self.pay),
        ];
        let open = |text: &str| PLACEHOLDERS.iter().any(|mark| text.contains(mark));
        let fields = texts.into_iter().filter(|(_, text)| open(text));
        fields.map(|(field, _)| field).collect()
    }

    /// Whether the attention rule can exclude anybody, and every attention check is asked.
    pub fn reachable(&self) -> Result<(), String> {
        let attention = self
            .checks
            .iter()
            .filter(|c| c.kind == CheckKind::Attention);
        let (mut asked, needed) = (0u32, self.rules.attention_failures);
        for check in attention {
            if check.after > self.per_person {
                return Err(format!(
                    "the attention check `{}` comes after {} items, but each person answers {}\n\
                     hint: lower its `after` in {FILE}",
                    check.question, check.after, self.per_person
                ));
            }
            asked += 1;
        }
        if needed > asked {
            return Err(format!(
                "the attention rule can exclude nobody: `attention_failures` is {needed}, and there {}\n\
                 hint: in {FILE}, set it to {}, or add attention checks; 0 excludes nobody",
                match asked {
                    0 => "is no attention check".to_owned(),
                    1 => "is 1 attention check".to_owned(),
                    n => format!("are {n} attention checks"),
                },
                asked
            ));
        }
        Ok(())
    }

    /// Unfinished places that one address may hold at once: never all of several.
    pub fn places_per_address(&self) -> usize {
        match self.rules.places_per_address {
            0 => (self.people / 4).max(self.people.div_ceil(2).min(5)),
            set => set,
        }
    }

    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(|e| StudyError::refused(e.to_string()))
    }

    pub fn consent_hash(&self) -> String {
        let hash = blake3::hash(self.consent.text.as_bytes()).to_hex();
        hash.as_str().chars().take(16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(checks: &[usize], failures: u32) -> Settings {
        let check = |after: &usize| Check {
            kind: CheckKind::Attention,
            question: "Choose the second.".into(),
            options: vec!["first".into(), "second".into()],
            answer: 2,
            after: *after,
        };
        Settings {
            name: "s".into(),
            title: "t".into(),
            language: Language::En,
            people: 30,
            per_person: 10,
            lists: Lists::Latin,
            seed: 0,
            minutes: 60,
            consent: Consent {
                version: 1,
                text: "You agree.".into(),
            },
            instructions: "Answer.".into(),
            pay: String::new(),
            platform: Platform::default(),
            rules: Rules {
                attention_failures: failures,
                ..Rules::default()
            },
            checks: checks.iter().map(check).collect(),
        }
    }

    #[test]
    fn an_attention_rule_that_cannot_hold_is_refused() {
        for (checks, failures) in [(&[5][..], 2), (&[], 1), (&[5, 11], 1), (&[0, 5], 3)] {
            let refused = with(checks, failures).ready().unwrap_err();
            assert!(refused.contains("hint:"), "{refused}");
        }
        for (checks, failures) in [(&[5][..], 1), (&[3, 10], 2), (&[], 0), (&[0], 0)] {
            assert_eq!(with(checks, failures).ready(), Ok(()));
        }
    }

    #[test]
    fn a_text_to_be_filled_in_is_refused_by_the_name_of_its_field() {
        let old = "Taking part is voluntary.\n\n(Say here who runs the study, who approved it.)";
        for text in [
            "We are [TO FILL IN: who runs it].",
            "（请在此说明研究负责人。）",
            old,
        ] {
            let mut settings = with(&[5], 1);
            settings.consent.text = text.into();
            let refused = settings.ready().unwrap_err();
            assert!(
                refused.contains("`consent.text`") && !refused.contains("`title`"),
                "{refused}"
            );
        }
    }

    #[test]
    fn one_address_never_gets_all_places_unless_the_author_says_so() {
        for people in 2..200 {
            let mut settings = with(&[5], 1);
            settings.people = people;
            let most = settings.places_per_address();
            assert!((1..people).contains(&most), "{most} of {people}");
            settings.rules.places_per_address = people;
            assert_eq!(settings.places_per_address(), people);
        }
    }
}
