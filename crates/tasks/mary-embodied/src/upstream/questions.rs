//! PerceptualQA's questions, in the order in which each of the two trials showed the options.

use std::borrow::Cow;

use mary_contract::{DataSource, TaskError};
use serde::Deserialize;

use super::{damaged, file, read};
use crate::choice::LETTERS;
use crate::{Language, Question, Subtask};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedQuestion {
    /// The subtask times 1,000, plus a running number.
    pub index: u32,
    pub question: Question,
}

#[derive(Deserialize)]
struct Record {
    index: u32,
    question: String,
    options: Options,
    correct_option: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Options {
    a: String,
    b: String,
    c: String,
    d: String,
}

/// All 1,400 questions in one of the two released orders (1 or 2), visual ones first.
pub fn questions(
    data: &dyn DataSource,
    language: Language,
    order: u32,
) -> Result<Vec<NumberedQuestion>, TaskError> {
    let code = language.code();
    let files = [
        format!("PerceptualQA/dataset/visual/questions_with_answer{order}_{code}.json"),
        format!("PerceptualQA/dataset/non-visual/questions400_with_answer{order}_{code}.json"),
    ];
    let mut all = Vec::new();
    for name in files {
        let path = file(data, &name)?;
        let records: Vec<Record> = serde_json::from_slice(&read(&path)?)
            .map_err(|e| damaged(&path, format!("expected a list of questions, found: {e}")))?;
        for record in records {
            let index = record.index;
            let asked = asked(record, language)
                .map_err(|message| damaged(&path, format!("question {index}: {message}")))?;
            all.push(asked);
        }
    }
    Ok(all)
}

fn asked(record: Record, language: Language) -> Result<NumberedQuestion, String> {
    let number = record.index / 1000;
    let subtask = Subtask::numbered(number)
        .ok_or_else(|| format!("expected a subtask from 1 to 9, found {number}"))?;
    let said = &record.correct_option;
    let correct = LETTERS.iter().position(|letter| letter == said);
    let correct = correct.ok_or_else(|| format!("expected A to D as right, found `{said}`"))?;
    let Options { a, b, c, d } = record.options;
    Ok(NumberedQuestion {
        index: record.index,
        question: Question {
            subtask,
            question: Cow::Owned(record.question),
            options: [a, b, c, d].map(Cow::Owned),
            correct,
            language,
        },
    })
}
