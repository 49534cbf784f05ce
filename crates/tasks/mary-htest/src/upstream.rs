//! The authors' released files: test items, shot pool, fine-tuning sets, letter geometry, read with
//! their quirks (`start_vowel_dev.jsonl` says `question` where the others say `centerpiece`; the
//! challenge folder is spelled "challange").

use mary_contract::{DataError, DataSource, TaskError};
use serde::Deserialize;

use super::dataset::{Example, Label};

pub const DATASET: &str = "htest";
/// Named by the seed that the paper used.
const ITEMS_FOLDER: &str = "htest_generated_with_seed_12062023";
const GEOMETRY_FILE: &str =
    "challange_task_generated_with_seed_12062023/letter_geometry_test.jsonl";

#[derive(Deserialize)]
struct Record {
    #[serde(alias = "question")]
    centerpiece: String,
    options: Vec<String>,
    correct_options: Vec<usize>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: String,
}

#[derive(Deserialize)]
struct Conversation {
    messages: Vec<Message>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeometryRecord {
    pub question: String,
    pub options: Vec<String>,
    pub correct: usize,
}

/// The 200 test items of a task (`rhyme`, `start_vowel`).
pub fn test_items(data: &dyn DataSource, task: &str) -> Result<Vec<Example>, TaskError> {
    ab_file(data, &format!("{task}_test.jsonl"))
}

/// The pool of 50 shots of a task, A and B by turns.
pub fn shot_pool(data: &dyn DataSource, task: &str) -> Result<Vec<Example>, TaskError> {
    let pool = ab_file(data, &format!("{task}_dev.jsonl"))?;
    // The first k/2 A and first k/2 B are asked for, so that the order by turns is made, not hoped.
    let of = |label| pool.iter().filter(move |e| e.label == label).cloned();
    let pairs = of(Label::A).zip(of(Label::B));
    Ok(pairs.flat_map(|(a, b)| [a, b]).collect())
}

pub fn train_items(data: &dyn DataSource, task: &str) -> Result<Vec<Example>, TaskError> {
    let file = format!("train/{task}_train.jsonl");
    lines(data, &file, |text| {
        let Conversation { messages } = read(text)?;
        match messages.as_slice() {
            [ask, reply] if ask.role == "user" && reply.role == "assistant" => {
                let label = match reply.content.as_str() {
                    "A" => Label::A,
                    "B" => Label::B,
                    other => return Err(format!("expected the answer A or B, found `{other}`")),
                };
                Ok(Example {
                    text: ask.content.clone(),
                    label,
                    pair: None,
                })
            }
            _ => Err("expected one user and one assistant message".into()),
        }
    })
}

pub fn geometry_items(data: &dyn DataSource) -> Result<Vec<GeometryRecord>, TaskError> {
    lines(data, GEOMETRY_FILE, |text| {
        let record: Record = read(text)?;
        let correct = only_correct(&record)?;
        Ok(GeometryRecord {
            question: record.centerpiece,
            options: record.options,
            correct,
        })
    })
}

fn ab_file(data: &dyn DataSource, name: &str) -> Result<Vec<Example>, TaskError> {
    lines(data, &format!("{ITEMS_FOLDER}/{name}"), |text| {
        let record: Record = read(text)?;
        if record.options != ["A", "B"] {
            let found = record.options;
            return Err(format!("expected options A and B, found {found:?}"));
        }
        let label = match only_correct(&record)? {
            0 => Label::A,
            _ => Label::B,
        };
        Ok(Example {
            text: record.centerpiece,
            label,
            pair: None,
        })
    })
}

fn only_correct(record: &Record) -> Result<usize, String> {
    match record.correct_options.as_slice() {
        &[index] if index < record.options.len() => Ok(index),
        other => Err(format!(
            "expected one correct option among {}, found {other:?}",
            record.options.len()
        )),
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|e| e.to_string())
}

/// What every line of a file of the release says.
fn lines<T>(
    data: &dyn DataSource,
    file: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, TaskError> {
    let path = &data.folder(DATASET)?.join(file);
    let text = mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA).map_err(|e| {
        DataError::damaged(path, format!("expected a file of the H-TEST release: {e}"))
    })?;
    let numbered = text.lines().enumerate();
    let lines = numbered.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            parse(line).map_err(|message| TaskError::record(path, index + 1, message))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    struct Folder(PathBuf);

    impl DataSource for Folder {
        fn folder(&self, _: &str) -> Result<PathBuf, DataError> {
            Ok(self.0.clone())
        }

        fn hash(&self, _: &str) -> Result<String, DataError> {
            Ok(String::new())
        }
    }

    fn with_file(name: &str, text: &str) -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        let source = Folder(dir.path().to_owned());
        (dir, source)
    }

    #[test]
    fn both_names_of_the_text_are_read_and_shots_are_put_by_turns() {
        let text = concat!(
            "{\"question\": \"one\", \"options\": [\"A\", \"B\"], \"correct_options\": [0]}\n",
            "{\"centerpiece\": \"two\", \"options\": [\"A\", \"B\"], \"correct_options\": [0]}\n",
            "{\"centerpiece\": \"three\", \"options\": [\"A\", \"B\"], \"correct_options\": [1]}\n",
            "{\"centerpiece\": \"four\", \"options\": [\"A\", \"B\"], \"correct_options\": [1]}\n",
        );
        let (_dir, data) = with_file(&format!("{ITEMS_FOLDER}/start_vowel_dev.jsonl"), text);
        let shots = shot_pool(&data, "start_vowel").unwrap();
        let texts: Vec<&str> = shots.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["one", "three", "two", "four"]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let text = "{\"centerpiece\": \"one\", \"options\": [\"A\", \"B\"], \"correct_options\": [0]}\n\
                    {\"centerpiece\": \"two\", \"options\": [\"A\", \"B\"], \"correct_options\": [2]}\n";
        let (_dir, data) = with_file(&format!("{ITEMS_FOLDER}/rhyme_test.jsonl"), text);
        let error = test_items(&data, "rhyme").unwrap_err().to_string();
        assert!(
            error.contains("rhyme_test.jsonl:2: expected one correct option"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_file_says_which() {
        let (_dir, data) = with_file("x", "");
        let error = test_items(&data, "rhyme").unwrap_err().to_string();
        assert!(error.contains("rhyme_test.jsonl"), "{error}");
    }
}
