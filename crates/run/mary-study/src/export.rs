//! What others read: rows as jsPsych writes them (CSV and JSON), and a Psych-DS dataset. One row for each
//! answer, under pseudonyms; ids of platforms are in none of them.

use std::path::Path;

use mary_contract::{Outcome, Sample, Target};
use mary_platform::for_spreadsheet;
use serde_json::{Map, Value, json};

use crate::StudyError;
use crate::deletion;
use crate::error::io_at;
use crate::private;
use crate::results::Results;
use crate::session::{Participation, Session};
use crate::store::{self, CopyKind};

fn columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("columns.tsv").lines();
    lines.filter_map(|line| line.split_once('\t'))
}

pub fn rows(
    session: &Session,
    results: &Results,
    people: &[Participation],
) -> Vec<Map<String, Value>> {
    let limit = session.study.settings.rules.attention_failures;
    results
        .with_excluded
        .iter()
        .filter_map(|sample| {
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
                json!(match sample.judgement.outcome {
                    Outcome::Scored(score) => Some(score),
                    _ => None,
                }),
                json!(limit > 0 && one.failures >= limit),
                json!(sample.judgement.measures.get("none_fits")),
                json!(order.join(" ")),
                json!(given.blurs),
                json!(given.window.map(|w| w.0)),
                json!(given.window.map(|w| w.1)),
                json!(given.input),
                json!(one.person.consent_version),
            ];
            let names = columns().map(|(name, _)| name.to_owned());
            Some(names.zip(values).collect())
        })
        .collect()
}

fn kind(session: &Session, item: usize) -> &'static str {
    use crate::question::AnswerForm as Form;
    match session.study.questions.get(item).map(|q| &q.answer) {
        Some(Form::Choice { .. } | Form::Rating { .. }) => "html-keyboard-response",
        Some(Form::Several { .. }) => "survey-multi-select",
        _ => "survey-text",
    }
}

fn response(session: &Session, given: &crate::store::StoredAnswer) -> String {
    use crate::question::Answer;
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
    }
}

fn stimulus(sample: &Sample) -> String {
    match &sample.item.target {
        Target::Choice { question, .. } => question.clone(),
        Target::Pair { good, bad } => format!("{good} | {bad}"),
        Target::Text(_) | Target::Data(_) => sample
            .exchanges
            .first()
            .map(|e| match &e.ask.request {
                mary_contract::Request::Generate(g) => g.prompt.text(),
                mary_contract::Request::Score(s) => s.prefix.text(),
                mary_contract::Request::Observe(o) => o.text.clone(),
            })
            .unwrap_or_default(),
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

fn table(rows: &[Map<String, Value>]) -> Result<Vec<u8>, StudyError> {
    let wrong = |e: csv::Error| StudyError::refused(e.to_string());
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(columns().map(|(name, _)| name))
        .map_err(wrong)?;
    for row in rows {
        let cells = columns().map(|(name, _)| row.get(name).map(cell).unwrap_or_default());
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
) -> Result<Vec<std::path::PathBuf>, StudyError> {
    // Noted first: whoever withdraws from now on is taken out of it.
    let place = std::path::absolute(folder).map_err(io_at(folder))?;
    let noted = place.to_string_lossy().into_owned();
    session
        .store
        .wait(move |db| store::record(db, &noted, CopyKind::Export, 0))?;
    let rows = rows(session, results, people);
    let csv = table(&rows)?;
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
    let mut written = Vec::new();
    for (file, bytes) in files {
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
        "variableMeasured": columns().map(|(name, meaning)| json!({
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
        assert_eq!(columns().count(), 19);
        for (name, keyword_of) in [
            ("rhyme", "rhyme"),
            ("my-rhyme-2", "myRhyme2"),
            ("-a--b-", "aB"),
        ] {
            assert_eq!(keyword(name), keyword_of);
        }
    }
}
