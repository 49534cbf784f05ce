//! What others read: rows as jsPsych writes them (CSV and JSON), and a Psych-DS dataset. One row for each
//! answer, and where sentences were read word by word one for each of them, as jsPsych's plugin has it, and a
//! table with a row for each word. All under pseudonyms; ids of platforms are in none of them.

use std::collections::BTreeSet;
use std::path::Path;

use mary_contract::{Sample, Target};
use mary_platform::for_spreadsheet;
use serde_json::{Map, Value, json};

use crate::deletion;
use crate::error::io_at;
use crate::keys::Keys;
use crate::private;
use crate::question::{Answer, AnswerForm};
use crate::results::Results;
use crate::session::{Participation, Session};
use crate::store::{self, CopyKind};
use crate::{Result, StudyError};

/// Columns that every answer has; those behind them are of sentences that were read.
const ANSWERED: usize = 19;

fn columns(session: &Session) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("columns.tsv").lines();
    let read = session
        .study
        .questions
        .iter()
        .any(|q| !q.reading.is_empty());
    let all = if read { usize::MAX } else { ANSWERED };
    lines.filter_map(|line| line.split_once('\t')).take(all)
}

/// The jsPsych plugin whose trials these are, by its name.
const READING: &str = "self-paced-reading";
const WORDS: &str = "reading.csv";

pub fn rows(
    session: &Session,
    results: &Results,
    people: &[Participation],
) -> Vec<Map<String, Value>> {
    let limit = session.study.settings.rules.attention_failures;
    results
        .with_excluded
        .iter()
        .flat_map(|sample| {
            let found = one_row(session, people, sample, limit);
            found.into_iter().flatten()
        })
        .collect()
}

/// The row of an answer, after that of the sentence that was read before it.
fn one_row(
    session: &Session,
    people: &[Participation],
    sample: &Sample,
    limit: u32,
) -> Option<Vec<Map<String, Value>>> {
    let study = &sample.judgement.notes["study"];
    let name = study["person"].as_str()?;
    let one = people.iter().find(|p| p.person.pseudonym == name)?;
    let trial = usize::try_from(study["trial_index"].as_u64()?).ok()?;
    let given = one.answers.iter().find(|a| a.trial == trial)?;
    let order: Vec<String> = given.shown.iter().map(usize::to_string).collect();
    let values = [
        json!(name),
        json!(trial),
        json!(kind(session, given.item)),
        json!(given.elapsed),
        json!(given.rt),
        json!(response(session, given)),
        json!(stimulus(sample)),
        json!(sample.id.task),
        json!(sample.id.item),
        json!(right(sample)),
        json!(sample.judgement.score()),
        json!(limit > 0 && one.failures >= limit),
        json!(sample.judgement.measures.get("none_fits")),
        json!(order.join(" ")),
        json!(given.blurs),
        json!(given.window.map(|w| w.0)),
        json!(given.window.map(|w| w.1)),
        json!(given.input),
        json!(one.person.consent_version),
    ];
    let names = columns(session).map(|(name, _)| name.to_owned());
    let asked: Map<String, Value> = names.zip(values).collect();
    let question = session.study.questions.get(given.item)?;
    if question.reading.is_empty() {
        return Some(vec![asked]);
    }
    let mut read = asked.clone();
    let totals: Vec<f64> = given
        .times
        .iter()
        .scan(0.0, |sum, t| {
            *sum += t;
            Some(*sum)
        })
        .collect();
    for (name, value) in [
        ("trial_type", json!(READING)),
        ("rt", json!(given.times)),
        ("response", Value::Null),
        ("score", Value::Null),
        ("correct_response", Value::Null),
        ("stimulus", Value::Null),
        ("word", json!(question.reading)),
        ("rt_total", json!(totals)),
        (
            "sentence",
            json!(
                question
                    .reading
                    .join(session.study.settings.language.joint())
            ),
        ),
    ] {
        read.insert(name.to_owned(), value);
    }
    let alone = question.answer == AnswerForm::Read;
    Some(if alone { vec![read] } else { vec![read, asked] })
}

/// What stands before a sentence's conditions in the table of words, and what behind them.
const OF_TRIAL: &str = "participant trial_index trial_type item";
const OF_WORD: &str = "word_number from_critical word rt rt_total sentence score excluded";

/// A table with a row for each word that was read; nothing where none was.
fn words(rows: &[Map<String, Value>], keys: &Keys) -> Result<Option<Vec<u8>>> {
    let ours = || OF_TRIAL.split(' ').chain(OF_WORD.split(' '));
    let taken = |name: &&str| ours().any(|own| own == *name);
    let tags = keys.items.iter().flat_map(|key| key.item.tags.keys());
    let tags: BTreeSet<&str> = tags.map(String::as_str).filter(|t| !taken(t)).collect();
    let mut out: Vec<Map<String, Value>> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let lists = ["word", "rt", "rt_total"].map(|name| row.get(name)?.as_array());
        let [Some(words), Some(times), Some(totals)] = lists else {
            continue;
        };
        let key = keys.items.iter().find(|k| row["item"] == k.item.id);
        let same = |next: &&Map<String, Value>| next["trial_index"] == row["trial_index"];
        let asked = rows.get(at + 1).filter(same);
        for (number, word) in words.iter().enumerate().take(times.len()) {
            let mut cells = row.clone();
            let mut put = |name: &str, value: Value| cells.insert(name.to_owned(), value);
            let item = key.map(|k| &k.item);
            put("item", json!(item.and_then(|item| item.cluster.as_ref())));
            for (name, value) in item.iter().flat_map(|item| &item.tags) {
                put(name, json!(value));
            }
            let from = key.and_then(|k| Some(number as i64 - i64::try_from(k.critical?).ok()?));
            put("word_number", json!(number + 1));
            put("from_critical", json!(from));
            put("word", word.clone());
            put("rt", times[number].clone());
            put("rt_total", json!(totals.get(number)));
            put("score", json!(asked.map(|asked| &asked["score"])));
            out.push(cells);
        }
    }
    let names: Vec<&str> = OF_TRIAL
        .split(' ')
        .chain(tags)
        .chain(OF_WORD.split(' '))
        .collect();
    let full = !out.is_empty();
    full.then(|| table(&names, &out)).transpose()
}

fn kind(session: &Session, item: usize) -> &'static str {
    match session.study.questions.get(item).map(|q| &q.answer) {
        Some(AnswerForm::Choice { .. } | AnswerForm::Rating { .. }) => "html-keyboard-response",
        Some(AnswerForm::Several { .. }) => "survey-multi-select",
        _ => "survey-text",
    }
}

fn response(session: &Session, given: &crate::store::StoredAnswer) -> String {
    let question = session.study.questions.get(given.item);
    let options = question.map(|q| q.answer.options()).unwrap_or_default();
    let text = |at: &usize| options.get(*at).cloned().unwrap_or_default();
    match &given.answer {
        Answer::Choice(at) | Answer::Flagged(at) => text(at),
        Answer::NoneFits => "none fits".into(),
        Answer::Several(all) => all.iter().map(text).collect::<Vec<_>>().join(" | "),
        Answer::Text(said) | Answer::Number(said) => said.clone(),
        Answer::Rating(mark) => mark.to_string(),
        Answer::TimeOut => "time out".into(),
        Answer::Read => String::new(),
    }
}

fn stimulus(sample: &Sample) -> String {
    match &sample.item.target {
        Target::Choice { question, .. } => question.clone(),
        Target::Pair { good, bad } => format!("{good} | {bad}"),
        Target::Text(_) | Target::Data(_) => {
            let first = sample.exchanges.first();
            first.map_or_else(String::new, |exchange| exchange.ask.request.text())
        }
    }
}

fn right(sample: &Sample) -> Option<String> {
    sample.item.target.right().map(str::to_owned)
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => for_spreadsheet(text).into_owned(),
        other => other.to_string(),
    }
}

fn table(names: &[&str], rows: &[Map<String, Value>]) -> Result<Vec<u8>> {
    let wrong = |e: csv::Error| StudyError::refused(e.to_string());
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(names).map_err(wrong)?;
    for row in rows {
        let cells = names
            .iter()
            .map(|name| row.get(*name).map(cell).unwrap_or_default());
        out.write_record(cells).map_err(wrong)?;
    }
    out.into_inner()
        .map_err(|e| StudyError::refused(e.to_string()))
}

/// Writes the rows into a folder: `jspsych.csv` and `jspsych.json`, and below `psych-ds/` a dataset with its
/// description (the meaning of its columns in it), one file of data, README and CHANGES.
pub fn write(
    session: &Session,
    results: &Results,
    people: &[Participation],
    folder: &Path,
) -> Result<Vec<std::path::PathBuf>> {
    // Noted first: whoever withdraws from now on is taken out of it.
    let place = std::path::absolute(folder).map_err(io_at(folder))?;
    let noted = place.to_string_lossy().into_owned();
    session
        .store
        .wait(move |db| store::record(db, &noted, CopyKind::Export, 0))?;
    let rows = rows(session, results, people);
    let names: Vec<&str> = columns(session).map(|(name, _)| name).collect();
    let csv = table(&names, &rows)?;
    let read = words(&rows, &session.study.keys()?)?;
    let name = &session.study.settings.name;
    let described = serde_json::to_vec_pretty(&description(session))
        .map_err(|e| StudyError::refused(e.to_string()))?;
    let all = serde_json::to_vec_pretty(&rows).map_err(|e| StudyError::refused(e.to_string()))?;
    let files = [
        ("jspsych.csv".to_owned(), csv.clone()),
        ("jspsych.json".to_owned(), all),
        ("psych-ds/dataset_description.json".to_owned(), described),
        (
            format!("psych-ds/data/study-{}_data.csv", keyword(name)),
            csv,
        ),
        (
            "psych-ds/README.md".to_owned(),
            readme(session).into_bytes(),
        ),
        ("psych-ds/CHANGES.md".to_owned(), changes().into_bytes()),
    ];
    let read = read.map(|bytes| (WORDS.to_owned(), bytes));
    let mut written = Vec::new();
    for (file, bytes) in files.into_iter().chain(read) {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(io_at(parent))?;
        }
        std::fs::write(&path, bytes).map_err(io_at(&path))?;
        private::only_owner(&path).map_err(io_at(&path))?;
        written.push(path);
    }
    // Somebody may have withdrawn between reading and writing.
    let people = session.store.wait(store::all)?;
    let known = people.into_iter().map(|p| p.pseudonym).collect();
    deletion::scrub_export(folder, &known).map_err(io_at(folder))?;
    Ok(written)
}

/// A study's name as Psych-DS lets the value of a keyword be: letters and digits alone.
fn keyword(name: &str) -> String {
    let parts = name.split('-').filter(|part| !part.is_empty());
    let mut parts = parts.map(str::to_owned);
    let mut joined = parts.next().unwrap_or_default();
    for part in parts {
        let mut letters = part.chars();
        joined.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        joined.push_str(letters.as_str());
    }
    joined
}

fn readme(session: &Session) -> String {
    let settings = &session.study.settings;
    format!(
        "# {}\n\nAnswers of people in the study `{}`: one row for each answer in `data/`, under pseudonyms. \
         The columns are described in `dataset_description.json`. {} items a person, lists by {:?}, seed {}; \
         consent of version {}.\n",
        settings.title,
        settings.name,
        settings.per_person,
        settings.lists,
        settings.seed,
        settings.consent.version
    )
}

fn changes() -> String {
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d");
    format!("{today}: written by mary {}\n", env!("CARGO_PKG_VERSION"))
}

fn description(session: &Session) -> Value {
    let settings = &session.study.settings;
    json!({
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": settings.title,
        "description": format!(
            "Answers of people in the study {}: one row for each answer, under pseudonyms.",
            settings.name
        ),
        "variableMeasured": columns(session).map(|(name, meaning)| json!({
            "@type": "PropertyValue",
            "name": name,
            "description": meaning,
        })).collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_keyword_of_letters_and_digits() {
        let lines = include_str!("columns.tsv").lines();
        assert_eq!(lines.skip(ANSWERED).count(), 3);
        for (name, keyword_of) in [
            ("rhyme", "rhyme"),
            ("my-rhyme-2", "myRhyme2"),
            ("-a--b-", "aB"),
        ] {
            assert_eq!(keyword(name), keyword_of);
        }
    }
}
