//! Word norms: how frequent a word is and how early it is learned.

use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use mary_contract::{DataError, DataSource, TaskError};
use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Norms {
    frequency: HashMap<String, f64>,
    acquisition: HashMap<String, f64>,
}

const FREQUENCY_FILE: &str = "large_en.msgpack.gz";
const ACQUISITION_FILE: &str = "AoA_ratings_Kuperman_et_al_BRM.tsv";

impl Norms {
    pub fn load(data: &dyn DataSource) -> Result<Self, TaskError> {
        Ok(Self {
            frequency: frequencies(&data.folder("wordfreq")?.join(FREQUENCY_FILE))?,
            acquisition: ages(&data.folder("norms")?.join(ACQUISITION_FILE))?,
        })
    }

    /// Frequencies alone: of English, or of Chinese (`zh`).
    pub fn frequencies(data: &dyn DataSource, language: &str) -> Result<Self, TaskError> {
        let file = match language {
            "zh" => FREQUENCY_FILE.replace("_en", "_zh"),
            _ => FREQUENCY_FILE.to_owned(),
        };
        Ok(Self {
            frequency: frequencies(&data.folder("wordfreq")?.join(file))?,
            acquisition: HashMap::new(),
        })
    }

    pub fn new(frequency: HashMap<String, f64>, acquisition: HashMap<String, f64>) -> Self {
        Self {
            frequency,
            acquisition,
        }
    }

    /// Zipf frequency (log10 of occurrences in a billion words), for a lower-case word that is listed.
    pub fn frequency(&self, word: &str) -> Option<f64> {
        self.frequency.get(word).copied()
    }

    /// Age of acquisition in years, for a lower-case word that was rated.
    pub fn acquisition(&self, word: &str) -> Option<f64> {
        self.acquisition.get(word).copied()
    }
}

fn damaged(path: &Path, message: impl std::fmt::Display) -> TaskError {
    TaskError::Data(DataError::damaged(path, message.to_string()))
}

/// The list's own form: a header, then for every hundredth of a power of ten the words of that
/// frequency.
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Words(Vec<String>),
    #[expect(
        dead_code,
        reason = "there to be told from words; what it holds is not needed"
    )]
    Header(HashMap<String, serde::de::IgnoredAny>),
}

fn frequencies(path: &Path) -> Result<HashMap<String, f64>, TaskError> {
    let file = mary_platform::open_plain(path)
        .map_err(|e| damaged(path, format!("cannot be read: {e}")))?;
    let reader = MultiGzDecoder::new(BufReader::new(file));
    let entries: Vec<Entry> = rmp_serde::from_read(BufReader::new(reader))
        .map_err(|e| damaged(path, format!("expected a list of frequencies, found: {e}")))?;
    let mut words = HashMap::new();
    let mut hundredths = 0.0;
    for entry in entries {
        if let Entry::Words(same) = entry {
            let zipf = 9.0 - hundredths / 100.0;
            words.extend(same.into_iter().map(|word| (word, zipf)));
            hundredths += 1.0;
        }
    }
    if words.is_empty() {
        return Err(damaged(path, "expected words, found none"));
    }
    Ok(words)
}

fn ages(path: &Path) -> Result<HashMap<String, f64>, TaskError> {
    let bytes = mary_platform::read_plain(path, mary_platform::LARGEST_DATA)
        .map_err(|e| damaged(path, format!("cannot be read: {e}")))?;
    // A few words of the list are not in UTF-8; they are none of ours.
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| {
        let place = head.iter().position(|h| *h == name);
        place.ok_or_else(|| damaged(path, format!("expected a column `{name}`, found {head:?}")))
    };
    let (word, mean) = (column("Word")?, column("Rating.Mean")?);
    let mut ages = HashMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        // Words that nobody knew have `NA`.
        if let (Some(word), Some(Ok(age))) = (cells.get(word), cells.get(mean).map(|c| c.parse())) {
            ages.insert(word.to_lowercase(), age);
        }
    }
    Ok(ages)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn both_files_are_read_in_their_form() {
        let dir = tempfile::tempdir().unwrap();
        let ages_file = dir.path().join("ages.tsv");
        std::fs::write(
            &ages_file,
            "Word\tFreq\tRating.Mean\nBell\t1\t4.5\nzyx\t0\tNA\n",
        )
        .unwrap();
        let ages = ages(&ages_file).unwrap();
        assert_eq!(ages, HashMap::from([("bell".to_owned(), 4.5)]));
        // header {"format": "cB"}, then [], ["the"], ["bell", "drum"]
        let packed: &[u8] = b"\x94\x81\xa6format\xa2cB\x90\x91\xa3the\x92\xa4bell\xa4drum";
        let frequency_file = dir.path().join("f.msgpack.gz");
        let mut gz = flate2::write::GzEncoder::new(
            std::fs::File::create(&frequency_file).unwrap(),
            flate2::Compression::fast(),
        );
        gz.write_all(packed).unwrap();
        gz.finish().unwrap();
        let frequencies = frequencies(&frequency_file).unwrap();
        assert_eq!(frequencies["the"], 8.99);
        assert_eq!(frequencies["drum"], 8.98);
    }

    #[test]
    fn a_file_of_another_form_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ages.tsv");
        std::fs::write(&path, "nothing\n").unwrap();
        let error = ages(&path).unwrap_err().to_string();
        assert!(error.contains("expected a column `Word`"), "{error}");
    }
}
