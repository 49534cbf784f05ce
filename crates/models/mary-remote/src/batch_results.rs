//! The answers of a batch: streamed to a file beside the state file, and read from there one by one.
//!
//! A batch's answers may be larger than the memory. The file is indexed by the requests' names when
//! it is complete; complete means that it holds as many answers as the provider counted.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use mary_contract::ModelError;
use serde::Deserialize;
use serde_json::Value;

use crate::batch_state::file_error;
use crate::bounds;

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
    pub(crate) fn add(&mut self, path: &Path) -> Result<(), ModelError> {
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

    pub(crate) fn line(&self, name: &str) -> Result<Option<Value>, ModelError> {
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
