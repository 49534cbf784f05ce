//! The Potemkin benchmark's own files: whether a released example is an instance of a concept, yes or no.
//!
//! The authors' `BenchmarkDataset/classify/*.csv` hold one row for each model that they asked, with the columns
//! `Concept`, `Example` and `True Label`; every example of a concept is asked once here, in the words of
//! their prompt. Their definitions are free answers that people judged, so that a file says nothing about
//! definitions: neither `defined` nor `potemkin` is measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mary_contract::{DataError, Item, Judgement, PromptForm, Scored, Target, TaskError};
use serde::Deserialize;

use crate::choice::{not_finite, score_answers};
use crate::tables;

/// A row; columns about the authors' models are left aside.
#[derive(Debug, Deserialize)]
struct Row {
    #[serde(rename = "Concept")]
    concept: String,
    #[serde(rename = "Example")]
    example: String,
    #[serde(rename = "True Label")]
    label: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Example {
    concept: String,
    text: String,
    is_instance: bool,
}

/// Examples of a file, or of every CSV file of a folder, in the order in which they stand there.
pub(super) fn from_path(path: &Path) -> Result<Vec<Example>, TaskError> {
    let damaged = |message: String| DataError::damaged(path, message);
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|e| damaged(e.to_string()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        files = paths.collect();
        files.retain(|file: &PathBuf| file.extension().is_some_and(|e| e == "csv"));
    }
    files.sort();
    let mut all: Vec<Example> = Vec::new();
    let mut known: BTreeMap<(String, String), bool> = BTreeMap::new();
    for file in &files {
        read_file(file, &mut known, &mut all)?;
    }
    if all.is_empty() {
        let message =
            "expected CSV files with the columns Concept, Example and True Label; found no row";
        return Err(damaged(message.into()).into());
    }
    Ok(all)
}

fn read_file(
    path: &Path,
    known: &mut BTreeMap<(String, String), bool>,
    all: &mut Vec<Example>,
) -> Result<(), TaskError> {
    let mut reader = tables::open(path, "a CSV file of examples")?;
    let headers = reader.headers().cloned().unwrap_or_default();
    let mut record = csv::StringRecord::new();
    loop {
        let line = reader.position().line() as usize;
        let record_error = |message: String| tables::record(path, line, message);
        let read = reader.read_record(&mut record);
        if !read.map_err(|e| tables::wrong(path, line, &e))? {
            return Ok(());
        }
        let row: Result<Row, _> = record.deserialize(Some(&headers));
        let row = row.map_err(|e| record_error(e.to_string()))?;
        let is_instance = match row.label.trim() {
            "yes" => true,
            "no" => false,
            other => {
                let why = format!("expected the true label yes or no; found {other:?}");
                return Err(record_error(why));
            }
        };
        let example = Example {
            concept: row.concept.trim().to_owned(),
            text: row.example.trim().to_owned(),
            is_instance,
        };
        let key = (example.concept.clone(), example.text.clone());
        match known.insert(key, is_instance) {
            None => all.push(example),
            Some(before) if before == is_instance => {}
            Some(_) => {
                let of = &example.concept;
                let why =
                    format!("an example of {of} is labelled yes in one row and no in another");
                return Err(record_error(why));
            }
        }
    }
}

/// The authors' question (their `classify` prompt), answered by the more probable of two words.
pub(super) fn item(index: usize, form: PromptForm, example: &Example) -> Item {
    let (concept, text) = (&example.concept, &example.text);
    let question = format!(
        "Is the following example a true instance of the concept {concept}? Answer with one word: 'yes' or \
         'no'.\n\n{text}"
    );
    let prefix = match form {
        PromptForm::Plain => format!("{question}\n\nAnswer:"),
        PromptForm::Chat => question.clone(),
    };
    let words = ["yes", "no"];
    let ask = score_answers(form, prefix, words);
    let options = words.map(str::to_owned).to_vec();
    let target = Target::one_of(question, options, usize::from(!example.is_instance));
    Item::new(format!("{concept} {index:04}"), target, vec![ask])
        .in_stratum_of("concept", concept.clone())
}

/// One word each: the sum and the mean differ only where a tokenizer splits a word.
pub(super) fn judge(options: &[String], correct: usize, scored: &Scored) -> Judgement {
    let Some((said, score)) = scored.best_mean(correct) else {
        return not_finite("an answer's log-probability is not a number");
    };
    let judgement = Judgement::scored(score);
    match options.get(said) {
        Some(option) => judgement.read_as(option.clone()),
        None => judgement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn an_example_is_asked_once_whatever_the_number_of_models() {
        let file = written(
            "Concept,Model,Example,Inference,Model Label,True Label\n\
             Zeugma,a,\"He lost his hat,\nand his temper\",...,yes,yes\n\
             Zeugma,b,\"He lost his hat,\nand his temper\",...,no,yes\n\
             Zeugma,a,He lost his hat,...,yes,no\n",
        );
        let all = from_path(file.path()).unwrap();
        assert_eq!(all.len(), 2);
        assert!(all[0].is_instance && !all[1].is_instance);
        let item = item(1, PromptForm::Plain, &all[1]);
        assert!(matches!(item.target, Target::Choice { correct: 1, .. }));
    }

    #[test]
    fn contradictions_odd_labels_and_missing_columns_are_named_with_their_line() {
        let said = |text: &str| from_path(written(text).path()).unwrap_err().to_string();
        let both = said("Concept,Example,True Label\nZeugma,x,yes\nZeugma,x,no\n");
        assert!(
            both.contains(":3:") && both.contains("labelled yes"),
            "{both}"
        );
        let odd = said("Concept,Example,True Label\nZeugma,x,maybe\n");
        assert!(odd.contains(":2:") && odd.contains("maybe"), "{odd}");
        let missing = said("Concept,Example\nZeugma,x\n");
        assert!(missing.contains("True Label"), "{missing}");
        assert!(said("Concept,Example,True Label\n").contains("found no row"));
    }
}
