//! The state file of batches: what was submitted under which name. It holds no keys, no prompts and no
//! answers.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use mary_contract::{ErrorKind, ModelError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounds;
use crate::options::Result;

/// Largest state file that is read; a million requests have a tenth of it.
const LARGEST_STATE: u64 = 1 << 30;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchState {
    pub schema: u32,
    /// The model's fingerprint; another model's batches are not mistaken for this one's.
    pub fingerprint: String,
    pub parts: Vec<BatchPart>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchPart {
    /// Our name for it, told to the provider where it keeps one.
    pub name: String,
    /// The provider's name for it; absent while it is not known whether it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Seconds since 1970 when it was submitted.
    pub submitted: u64,
    /// The provider's names for the batches it had before, where it keeps no name of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    pub requests: Vec<String>,
    /// Dollars it may cost, at most; they stay set aside until its answers are fetched.
    #[serde(default)]
    pub estimate: f64,
    /// Its answers have been fetched, and count as what they really cost.
    #[serde(default)]
    pub fetched: bool,
}

impl BatchState {
    pub fn outstanding(&self) -> f64 {
        let open = self.parts.iter().filter(|p| !p.fetched);
        open.map(|p| p.estimate).sum()
    }

    /// Reads a state file; an absent one is an empty state.
    pub fn load(path: &Path, fingerprint: &str) -> Result<Self> {
        let state: Self = match mary_platform::read_plain(path, LARGEST_STATE) {
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|e| file_error(path, &e.to_string()))?
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Self {
                schema: 1,
                fingerprint: fingerprint.to_owned(),
                parts: Vec::new(),
            },
            Err(e) => return Err(file_error(path, &e.to_string())),
        };
        if state.fingerprint != fingerprint {
            let what = "it belongs to another model or other settings";
            return Err(file_error(path, what));
        }
        Ok(state)
    }

    /// Whole whenever the process dies.
    pub fn save(&self, path: &Path) -> Result<()> {
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_string_pretty(self)?;
            if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)?;
            }
            mary_platform::replace_file(path, text.as_bytes())
        };
        write().map_err(|e| file_error(path, &e.to_string()))
    }
}

pub(crate) fn file_error(path: &Path, what: &str) -> ModelError {
    let message = format!("the state {} cannot be used: {what}", path.display());
    ModelError::new(ErrorKind::Internal, message)
    .hint("if it is no longer needed, move it away; what was already paid for is then not found again")
}

/// No honest line is longer.
const LONGEST_LINE: u64 = 64 << 20;

#[derive(Debug, Default)]
pub(crate) struct Results {
    files: Vec<PathBuf>,
    places: HashMap<String, Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    file: usize,
    offset: u64,
    length: u64,
}

#[derive(Deserialize)]
struct Named {
    custom_id: String,
}

impl Results {
    /// Takes a file of JSON lines in. A line that cannot be read (the last one of a file that was cut
    /// off, say) is no answer; the first of two with the same name stands.
    pub(crate) fn add(&mut self, path: &Path) -> Result<()> {
        let failed = |e: std::io::Error| file_error(path, &e.to_string());
        let mut reader = BufReader::new(mary_platform::open_plain(path).map_err(failed)?);
        let file = self.files.len();
        self.files.push(path.to_owned());
        let mut line = Vec::new();
        let mut offset = 0;
        loop {
            line.clear();
            let read = (&mut reader)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)
                .map_err(failed)?;
            if read == 0 {
                return Ok(());
            }
            let length = read as u64;
            if let Ok(named) = serde_json::from_slice::<Named>(&line) {
                self.places.entry(named.custom_id).or_insert(Place {
                    file,
                    offset,
                    length,
                });
            }
            offset += length;
        }
    }

    pub(crate) fn count(&self, names: &[String]) -> u64 {
        let answered = names.iter().filter(|n| self.places.contains_key(*n));
        answered.count() as u64
    }

    pub(crate) fn line(&self, name: &str) -> Result<Option<Value>> {
        let Some(place) = self.places.get(name) else {
            return Ok(None);
        };
        let path = &self.files[place.file];
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = mary_platform::open_plain(path)?;
            file.seek(SeekFrom::Start(place.offset))?;
            let mut line = Vec::new();
            file.take(place.length).read_to_end(&mut line)?;
            Ok(line)
        };
        let line = read().map_err(|e| file_error(path, &e.to_string()))?;
        bounds::parse(&line)
            .map(Some)
            .map_err(|e| file_error(path, &e))
    }

    pub(crate) fn delete(self) {
        for file in self.files {
            // A file that stays is only room lost.
            let _ = std::fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_name_and_torn_ones_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let text = "{\"custom_id\":\"a\",\"x\":1}\nnonsense\n{\"custom_id\":\"b\",\"x\":2}\n\
                    {\"custom_id\":\"a\",\"x\":3}\n{\"custom_id\":\"c\",\"x\":";
        std::fs::write(&path, text).unwrap();
        let mut results = Results::default();
        results.add(&path).unwrap();
        let names: Vec<String> = ["a", "b", "c"].map(String::from).into();
        assert_eq!(results.count(&names), 2);
        assert_eq!(results.line("a").unwrap().unwrap()["x"], 1);
        assert_eq!(results.line("b").unwrap().unwrap()["x"], 2);
        assert_eq!(results.line("c").unwrap(), None);
        results.delete();
        assert!(!path.exists());
    }
}
