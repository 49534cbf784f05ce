//! The authors' raw outputs (`predictions.tar.gz`, or the folder it unpacks to) and the answers of
//! people (`combined1.json`, `combined2.json`), as answers to our items.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use mary_contract::TaskError;
use serde_json::Value;

use super::{damaged, read};
use crate::Language;

#[derive(Debug, Clone, PartialEq)]
pub struct Released {
    /// As the folder names it; `people` for people.
    pub model: String,
    pub language: Language,
    pub answers: Vec<ReleasedAnswer>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedAnswer {
    pub order: u32,
    /// From 0: the first or the second person.
    pub trial: u32,
    pub index: u32,
    /// The released record, as JSON.
    pub text: String,
}

/// No released file is larger; a hostile archive must not fill the memory.
const LARGEST: u64 = 64 << 20;

/// Reads an archive or a folder of outputs, or the folder of people's answers. Nothing when the path
/// is none of these.
pub fn released_outputs(path: &Path) -> Result<Option<Vec<Released>>, TaskError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let files = if path.is_dir() {
        files_below(path)?
    } else if name.ends_with(".tar.gz") || name.ends_with(".tgz") {
        unpacked(path)?
    } else {
        return Ok(None);
    };
    let mut models: BTreeMap<(String, Language), Vec<ReleasedAnswer>> = BTreeMap::new();
    for (inner, bytes) in files {
        let Some(part) = Part::from_path(&inner) else {
            continue;
        };
        let inner = path.join(&inner);
        let answers = models.entry((part.model.clone(), part.language));
        let answers = answers.or_default();
        answers.extend(records(&inner, &bytes, &part)?);
    }
    let models = models
        .into_iter()
        .map(|((model, language), answers)| Released {
            model,
            language,
            answers,
        });
    Ok(Some(models.collect()).filter(|all: &Vec<Released>| !all.is_empty()))
}

struct Part {
    model: String,
    language: Language,
    order: u32,
    trial: u32,
}

impl Part {
    /// `MODEL/output400_2_zh.json`: order 2, Chinese; `combined2.json`: the second person, order 1.
    fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
        if let Some(person) = name.strip_prefix("combined") {
            let person: u32 = person.parse().ok()?;
            return Some(Self {
                model: "people".into(),
                language: Language::En,
                order: 1,
                trial: person.checked_sub(1)?,
            });
        }
        let (rest, code) = name.strip_prefix("output")?.rsplit_once('_')?;
        let mut languages = [Language::En, Language::Zh].into_iter();
        let language = languages.find(|l| l.code() == code)?;
        let order = rest.strip_prefix("400_").unwrap_or(rest).parse().ok()?;
        Some(Self {
            model: path.parent()?.file_name()?.to_str()?.to_owned(),
            language,
            order,
            trial: 0,
        })
    }
}

fn records(path: &Path, bytes: &[u8], part: &Part) -> Result<Vec<ReleasedAnswer>, TaskError> {
    let records: Vec<Value> = serde_json::from_slice(bytes)
        .map_err(|e| damaged(path, format!("expected a list of answers, found: {e}")))?;
    let answer = |(place, record): (usize, Value)| {
        // Some of one model's indices are text; which is kept in `text`, since the paper's reading
        // did not match those.
        let index = match record.get("index") {
            Some(Value::Number(n)) => n.as_u64().and_then(|n| u32::try_from(n).ok()),
            Some(Value::String(text)) => text.trim().parse().ok(),
            _ => None,
        };
        let index = index.ok_or_else(|| {
            let why = format!("record {}: expected an index, found none", place + 1);
            TaskError::record(path, place + 1, why)
        })?;
        Ok(ReleasedAnswer {
            order: part.order,
            trial: part.trial,
            index,
            text: record.to_string(),
        })
    };
    records.into_iter().enumerate().map(answer).collect()
}

type Files = Vec<(PathBuf, Vec<u8>)>;

fn unpacked(path: &Path) -> Result<Files, TaskError> {
    let broken = |e: std::io::Error| {
        let why = format!("the archive is damaged or incomplete: {e}\nhint: fetch it again");
        damaged(path, why)
    };
    let file = mary_platform::open_plain(path).map_err(broken)?;
    let mut archive = tar::Archive::new(MultiGzDecoder::new(std::io::BufReader::new(file)));
    let mut files = Files::new();
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let inner = entry.path().map_err(broken)?.into_owned();
        if Part::from_path(&inner).is_none() {
            continue;
        }
        let mut bytes = Vec::new();
        let mut held = entry.by_ref().take(LARGEST);
        held.read_to_end(&mut bytes).map_err(broken)?;
        files.push((inner, bytes));
    }
    files.sort();
    Ok(files)
}

fn files_below(folder: &Path) -> Result<Files, TaskError> {
    let mut files = Files::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((here, depth)) = open.pop() {
        let entries =
            std::fs::read_dir(&here).map_err(|e| damaged(&here, format!("cannot be read: {e}")))?;
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() && depth < 3 {
                open.push((path, depth + 1));
            } else if path.is_file() && Part::from_path(&path).is_some() {
                let bytes = read(&path)?;
                files.push((path, bytes));
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_say_order_language_and_person() {
        let part = Part::from_path(Path::new("predictions/m-7b/output400_2_zh.json")).unwrap();
        assert_eq!((part.model.as_str(), part.order), ("m-7b", 2));
        assert_eq!((part.language, part.trial), (Language::Zh, 0));
        let part = Part::from_path(Path::new("m-7b/output1_en.json")).unwrap();
        assert_eq!((part.language, part.order), (Language::En, 1));
        let part = Part::from_path(Path::new("human/combined2.json")).unwrap();
        assert_eq!(
            (part.model.as_str(), part.order, part.trial),
            ("people", 1, 1)
        );
        for other in [
            "m/output1.json",
            "m/notes.json",
            "m/output1_fr.json",
            "combined.json",
        ] {
            assert!(Part::from_path(Path::new(other)).is_none(), "{other}");
        }
    }

    #[test]
    fn a_folder_of_outputs_is_read_and_an_index_in_words_is_kept_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let model = dir.path().join("some-model");
        std::fs::create_dir(&model).unwrap();
        std::fs::write(
            model.join("output1_en.json"),
            r#"[{"index": 1001, "answer": "A"}, {"index": "1002", "answer": "B"}]"#,
        )
        .unwrap();
        let all = released_outputs(dir.path()).unwrap().unwrap();
        assert_eq!(all.len(), 1);
        let texts: Vec<&str> = all[0].answers.iter().map(|a| a.text.as_str()).collect();
        assert_eq!(texts[1], r#"{"index":"1002","answer":"B"}"#);
        assert_eq!(all[0].answers[1].index, 1002);
        assert_eq!(
            released_outputs(&model.join("output1_en.json")).unwrap(),
            None
        );
    }
}
