//! A study as a folder: `study.toml` (texts and rules), `items.json` (what is shown), `keys.json` (what is
//! right, read by nobody but the judge), `study.sqlite` (people and answers), `secrets.json` (the link's
//! code and the token of the admin pages).

use std::path::{Path, PathBuf};

use mary_platform::{read_plain, replace_file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::adaptive::AdaptiveTest;
use crate::error::io_at;
use crate::keys::{Frozen, Keys};
use crate::lists::Design;
use crate::question::Question;
use crate::settings::{self, Settings};
use crate::{Result, StudyError};

const ITEMS: &str = "items.json";
const KEYS: &str = "keys.json";
const SECRETS: &str = "secrets.json";
pub const DATABASE: &str = "study.sqlite";

/// Bytes of a file of a study, pictures in it included, at most.
const LARGEST: u64 = 1 << 30;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    pub entry: String,
    pub admin: String,
    /// Keys of single steps are made with it.
    pub steps: String,
}

#[derive(Debug, Clone)]
pub struct Study {
    pub path: PathBuf,
    pub settings: Settings,
    pub questions: Vec<Question>,
    pub secrets: Secrets,
    /// How the next item is chosen, where the answers decide that.
    pub adaptive: Option<AdaptiveTest>,
}

/// A random word of 128 bits: 26 letters and digits.
pub fn random_token() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let bytes: [u8; 17] = rand::random();
    let mut bits = 0u32;
    let mut held = 0;
    let mut token = String::new();
    for byte in bytes {
        bits = bits << 8 | u32::from(byte);
        held += 8;
        while held >= 5 && token.len() < 26 {
            held -= 5;
            let place = (bits >> held & 31) as usize;
            token.push(char::from(LETTERS.get(place).copied().unwrap_or(b'a')));
        }
    }
    token
}

impl Study {
    /// Makes the folder; one that is there already is left alone.
    pub fn create(path: &Path, settings: &Settings, frozen: &Frozen) -> Result<Self> {
        settings.check().map_err(StudyError::Refused)?;
        if frozen.questions.len() < settings.per_person {
            return Err(StudyError::refused(format!(
                "{} items were drawn, fewer than the {} that each person answers\n\
                 hint: draw more with --items, or ask less with --per-person",
                frozen.questions.len(),
                settings.per_person
            )));
        }
        if path.join(settings::FILE).exists() {
            return Err(StudyError::refused(format!(
                "{}: there is a study already\nhint: name another folder with --out",
                path.display()
            )));
        }
        std::fs::create_dir_all(path).map_err(io_at(path))?;
        let frozen = frozen.clone().mixed(settings.per_person, settings.seed);
        let secrets = Secrets {
            entry: random_token(),
            admin: random_token(),
            steps: random_token(),
        };
        crate::private::folder(path).map_err(io_at(path))?;
        write(path, ITEMS, &frozen.questions)?;
        write(path, KEYS, &frozen.keys)?;
        write(path, SECRETS, &secrets)?;
        let file = path.join(settings::FILE);
        replace_file(&file, settings.to_toml()?.as_bytes()).map_err(io_at(&file))?;
        Self::open(path)
    }

    /// Opens a study; its keys stay on disk.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.join(settings::FILE).exists() {
            return Err(StudyError::refused(format!(
                "{} is no study: it has no {}\nhint: `mary study new` makes one",
                path.display(),
                settings::FILE
            )));
        }
        // Studies of earlier versions could be read by everybody.
        if let Err(error) = crate::private::folder(path) {
            mary_platform::notice(&format!(
                "note: {} holds people's answers and may be readable by others ({error})\n\
                 hint: its owner changes that with chmod -R go= {}",
                path.display(),
                path.display()
            ));
        }
        let settings = Settings::read(path)?;
        let questions: Vec<Question> = read(path, ITEMS)?;
        if settings.per_person > questions.len() {
            return Err(StudyError::File {
                path: path.join(settings::FILE),
                message: format!(
                    "`per_person` is {}, but there are {} items",
                    settings.per_person,
                    questions.len()
                ),
                hint: "items are frozen; lower `per_person` or make another study".into(),
            });
        }
        if let Some(why) = questions.iter().find_map(Question::unaskable) {
            return Err(StudyError::changed(path.join(ITEMS), why));
        }
        Ok(Self {
            path: path.to_owned(),
            adaptive: AdaptiveTest::read(path, questions.len())?,
            questions,
            secrets: read(path, SECRETS)?,
            settings,
        })
    }

    /// What is right: for judging, never for serving.
    pub fn keys(&self) -> Result<Keys> {
        read(&self.path, KEYS)
    }

    pub fn design(&self) -> Design {
        Design {
            items: self.questions.len(),
            per_person: self.settings.per_person,
            lists: self.settings.lists,
            seed: self.settings.seed,
        }
    }

    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The order in which a place sees the options of an item.
    pub fn order(&self, place: usize, item: usize) -> Vec<usize> {
        let Some(question) = self.questions.get(item) else {
            return Vec::new();
        };
        let options = question.answer.options().len();
        let drawn = self.design().order(place, item, options);
        question.answer.shown_order(drawn)
    }
}

fn write<T: Serialize>(folder: &Path, name: &str, value: &T) -> Result<()> {
    let path = folder.join(name);
    let bytes = serde_json::to_vec(value).map_err(|e| StudyError::refused(e.to_string()))?;
    replace_file(&path, &bytes).map_err(io_at(&path))
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T> {
    let path = folder.join(name);
    let bytes = read_plain(&path, LARGEST).map_err(io_at(&path))?;
    serde_json::from_slice(&bytes).map_err(|e| StudyError::changed(path, e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_and_differ() {
        let (a, b) = (random_token(), random_token());
        assert_eq!(a.len(), 26);
        assert_ne!(a, b);
        assert!(
            a.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        );
    }
}
