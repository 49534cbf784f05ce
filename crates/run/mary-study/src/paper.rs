//! A study on paper: sheets to print, the key apart, and marks read back. A sheet is a place of the study:
//! the same list, the same order of options, so that paper and browser can be mixed.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use mary_contract::Part;
use mary_platform::replace_file;

use crate::error::{fault, io_at, table};
use crate::question::{AnswerForm, NONE_FITS};
use crate::server::words;
use crate::session::{Session, now};
use crate::store::{self, CopyKind, Step, Submission};
use crate::{Result, StudyError};

/// Writes `sheets.html` (one sheet for each place of a range), `key.csv` and an empty `marks.csv`.
pub fn print(
    session: &Session,
    places: std::ops::Range<usize>,
    folder: &Path,
) -> Result<Vec<PathBuf>> {
    let study = &session.study;
    if study.questions.iter().any(|q| !q.reading.is_empty()) {
        let why =
            "paper cannot uncover words one by one\nhint: `mary study serve` does, in a browser";
        return Err(StudyError::refused(why));
    }
    let keys = study.keys()?;
    let mut html = format!(
        "<!doctype html>\n<html lang=\"{}\"><meta charset=\"utf-8\"><title>{}</title><style>{}</style>\n",
        study.settings.language.name(),
        escaped(&study.settings.title),
        STYLE
    );
    let mut key = csv::Writer::from_writer(Vec::new());
    let mut marks = csv::Writer::from_writer(Vec::new());
    let wrong = |e: csv::Error| StudyError::refused(e.to_string());
    key.write_record(["sheet", "question", "task", "item", "right"])
        .map_err(wrong)?;
    marks
        .write_record(["sheet", "question", "mark", "seconds"])
        .map_err(wrong)?;
    for place in places {
        html.push_str(&format!(
            "<section class=\"sheet\"><h1>{}</h1><p class=\"number\">{}</p><p>{}</p>\n",
            escaped(&study.settings.title),
            place + 1,
            escaped(&study.settings.instructions)
        ));
        for (trial, item) in study.design().list(place).into_iter().enumerate() {
            let order = study.order(place, item);
            html.push_str(&sheet_question(session, trial, item, &order));
            let sheet = (place + 1).to_string();
            let number = (trial + 1).to_string();
            marks
                .write_record([sheet.as_str(), number.as_str(), "", ""])
                .map_err(wrong)?;
            let keyed = keys.items.get(item);
            let right = keyed.and_then(|k| match &k.item.target {
                mary_contract::Target::Choice { correct, .. } => {
                    let at = order.iter().position(|o| o == correct)?;
                    Some(letter(at))
                }
                mary_contract::Target::Pair { .. } => {
                    order.iter().position(|o| *o == 0).map(letter)
                }
                mary_contract::Target::Text(text) => Some(text.clone()),
                mary_contract::Target::Data(_) => None,
            });
            let task = keyed
                .and_then(|k| keys.tasks.get(k.task))
                .map(|t| t.id.as_str());
            key.write_record([
                sheet.as_str(),
                number.as_str(),
                task.unwrap_or_default(),
                keyed.map_or("", |k| k.item.id.as_str()),
                right.as_deref().unwrap_or_default(),
            ])
            .map_err(wrong)?;
        }
        html.push_str("</section>\n");
    }
    let bytes = |w: csv::Writer<Vec<u8>>| {
        w.into_inner()
            .map_err(|e| StudyError::refused(e.to_string()))
    };
    std::fs::create_dir_all(folder).map_err(io_at(folder))?;
    let mut written = Vec::new();
    for (name, content) in [
        ("sheets.html", html.into_bytes()),
        ("key.csv", bytes(key)?),
        ("marks.csv", bytes(marks)?),
    ] {
        let path = folder.join(name);
        replace_file(&path, &content).map_err(io_at(&path))?;
        written.push(path);
    }
    Ok(written)
}

const STYLE: &str = "body{font:11pt/1.4 serif;max-width:18cm;margin:auto}.sheet{break-after:page}\
.number{font-weight:bold}.question{break-inside:avoid;margin:.6cm 0}.words{white-space:pre-wrap}\
img{max-width:100%}ol{list-style:upper-alpha}.line{border-bottom:1px solid;height:1cm}\
table{border-collapse:collapse;font-size:10pt}td{padding:0 .3cm}";

fn letter(at: usize) -> String {
    char::from(b'A' + u8::try_from(at % 26).unwrap_or(0)).to_string()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn sheet_question(session: &Session, trial: usize, item: usize, order: &[usize]) -> String {
    let Some(question) = session.study.questions.get(item) else {
        return String::new();
    };
    let mut out = format!(
        "<div class=\"question\"><p><b>{}.</b> {}</p>\n",
        trial + 1,
        escaped(&question.instruction)
    );
    if !question.examples.is_empty() {
        out.push_str("<table>");
        for example in &question.examples {
            let (text, label) = (escaped(&example.text), escaped(&example.label));
            out.push_str(&format!("<tr><td>{text}</td><td>{label}</td></tr>"));
        }
        out.push_str("</table>\n");
    }
    for part in &question.parts {
        match part {
            Part::Text(text) => {
                out.push_str(&format!("<p class=\"words\">{}</p>\n", escaped(text)));
            }
            Part::Image(image) => {
                let data = base64::engine::general_purpose::STANDARD.encode(&image.data);
                let kind = escaped(&image.media_type);
                out.push_str(&format!(
                    "<img alt=\"\" src=\"data:{kind};base64,{data}\">\n"
                ));
            }
        }
    }
    match &question.answer {
        AnswerForm::Choice {
            options,
            none_fits,
            beside,
            ..
        } => {
            out.push_str("<ol>");
            for option in order.iter().filter_map(|o| options.get(*o)) {
                out.push_str(&format!("<li>{}</li>", escaped(option)));
            }
            if *none_fits && !beside {
                out.push_str("<li>–</li>");
            }
            out.push_str("</ol>");
            if *beside {
                let flag = words(session.study.settings.language).flag;
                out.push_str(&format!("<p>☐ {}</p>", escaped(flag)));
            }
        }
        AnswerForm::Several { options } => {
            out.push_str("<ol>");
            for option in order.iter().filter_map(|o| options.get(*o)) {
                out.push_str(&format!("<li>☐ {}</li>", escaped(option)));
            }
            out.push_str("</ol>");
        }
        AnswerForm::Rating { low, high } => {
            let marks: Vec<String> = (*low..=*high).map(|m| m.to_string()).collect();
            out.push_str(&format!("<p>{}</p>", marks.join(" &nbsp; ")));
        }
        AnswerForm::Read => {}
        AnswerForm::Text | AnswerForm::Transcription | AnswerForm::Number => {
            out.push_str("<p class=\"line\"></p>");
        }
    }
    out.push_str("</div>\n");
    out
}

/// Reads marks back: `sheet`, `question`, `mark` (a letter, several letters, a number or words; `-` or the
/// letter after the last option is "none fits", a letter with `-` behind it an answer so marked), `seconds` where they were taken. Each sheet becomes a
/// person with the place of that sheet. How many sheets.
pub fn read(session: &Session, marks: &Path) -> Result<usize> {
    let wrong = |line: usize, message: String| StudyError::File {
        path: marks.to_owned(),
        message: format!("line {line}: {message}"),
        hint: "`mary study print` writes an empty marks.csv to fill in".into(),
    };
    let file = mary_platform::open_plain(marks).map_err(|e| fault(1, &e, &wrong))?;
    let (mut reader, head) = table(file, &wrong)?;
    let column = |name: &str| head.iter().position(|h| h.trim() == name);
    let (Some(sheet), Some(question), Some(mark)) =
        (column("sheet"), column("question"), column("mark"))
    else {
        return Err(wrong(
            1,
            format!(
                "expected the columns sheet, question and mark, found: {}",
                head.iter().collect::<Vec<_>>().join(", ")
            ),
        ));
    };
    let seconds = column("seconds");
    let mut sheets: std::collections::BTreeMap<usize, Vec<Marked>> = Default::default();
    for (row, record) in reader.records().enumerate() {
        let line = row + 2;
        let record = record.map_err(|e| fault(line, &e, &wrong))?;
        let number = |at: usize| record.get(at).and_then(|v| v.trim().parse::<usize>().ok());
        let (Some(place), Some(trial)) = (number(sheet), number(question)) else {
            return Err(wrong(
                line,
                "expected numbers of a sheet and a question".into(),
            ));
        };
        let (Some(place), Some(trial)) = (place.checked_sub(1), trial.checked_sub(1)) else {
            return Err(wrong(line, "sheets and questions count from 1".into()));
        };
        let took = seconds.and_then(|at| record.get(at)?.trim().parse::<f64>().ok());
        let text = record.get(mark).unwrap_or_default().to_owned();
        sheets
            .entry(place)
            .or_default()
            .push((trial, text, took, line));
    }
    let mut read = 0;
    for (place, mut given) in sheets {
        given.sort_by_key(|(trial, ..)| *trial);
        if given.iter().all(|(_, text, ..)| text.trim().is_empty()) {
            continue; // a sheet that nobody filled in
        }
        // Noted first: whoever withdraws is taken out of the marks too.
        let path = std::path::absolute(marks).map_err(io_at(marks))?;
        let noted = path.to_string_lossy().into_owned();
        session
            .store
            .wait(move |db| store::record(db, &noted, CopyKind::Marks, place + 1))?;
        take_sheet(session, place, &given).map_err(|(line, message)| wrong(line, message))?;
        read += 1;
    }
    Ok(read)
}

/// Question (from 0), mark, seconds, line of the file.
type Marked = (usize, String, Option<f64>, usize);

fn take_sheet(session: &Session, place: usize, given: &[Marked]) -> Result<(), (usize, String)> {
    let study = &session.study;
    let first = given.first().map_or(0, |g| g.3);
    let fail = |line: usize| move |e: StudyError| (line, e.to_string());
    let list = study.design().list(place);
    if place >= study.settings.people || given.len() != list.len() {
        return Err((
            first,
            format!(
                "sheet {} has {} marks; expected {} for each of {} sheets",
                place + 1,
                given.len(),
                list.len(),
                study.settings.people
            ),
        ));
    }
    // Everything is read before anything is saved.
    let mut values = Vec::new();
    for ((trial, text, _, line), item) in given.iter().zip(&list) {
        let form = study.questions.get(*item).map(|q| &q.answer);
        let order = study.order(place, *item);
        let read = form.and_then(|form| marked(form, text));
        let fits = read.as_ref().is_some_and(|values| {
            form.is_some_and(|f| {
                f.read(values, &order, study.settings.rules.characters)
                    .is_some()
            })
        });
        match read.filter(|_| fits) {
            Some(read) => values.push(read),
            None => {
                return Err((
                    *line,
                    format!("`{text}` is no answer to question {}", trial + 1),
                ));
            }
        }
    }
    let token = session
        .seat(place)
        .map_err(fail(first))?
        .ok_or((first, format!("the place of sheet {} is taken", place + 1)))?;
    for step in 0.. {
        let view = session
            .store
            .wait(session.looking(&token, now()))
            .map_err(fail(first))?;
        let Some(view) = view else { break };
        let (values, rt) = match &view.step {
            Step::Instructions => (vec![], None),
            // On paper nobody watches: checks are the researcher's own affair.
            Step::Check { number, .. } => {
                let check = study.settings.checks.get(*number);
                let right = check.map_or(0, |c| c.answer.saturating_sub(1));
                (vec![right.to_string()], None)
            }
            Step::Trial { trial, .. } => {
                let took = given.get(*trial).and_then(|g| g.2);
                let values = values.get(*trial).cloned().unwrap_or_default();
                (values, took.map(|s| s * 1_000.0))
            }
            _ => break,
        };
        let sent = Submission {
            step: view.step.id(),
            key: view.key,
            values,
            rt,
            ..Submission::default()
        };
        let done = session.store.wait(session.submitting(&token, sent, now()));
        done.map_err(fail(first))?
            .map_err(|refusal| (first, format!("step {step} was refused: {refusal:?}")))?;
    }
    Ok(())
}

fn marked(form: &AnswerForm, text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let place = |c: char| {
        let upper = c.to_ascii_uppercase();
        upper
            .is_ascii_uppercase()
            .then(|| (upper as u8 - b'A') as usize)
    };
    match form {
        AnswerForm::Choice { beside: true, .. } => {
            let flagged = text.strip_suffix(['-', '–']).map(str::trim);
            let mut letters = flagged.unwrap_or(text).chars();
            let at = place(letters.next()?).filter(|_| letters.next().is_none())?;
            let flag = flagged.map(|_| NONE_FITS.to_owned());
            Some([at.to_string()].into_iter().chain(flag).collect())
        }
        AnswerForm::Choice {
            options, none_fits, ..
        } => {
            if *none_fits && (text == "-" || text == "–") {
                return Some(vec![NONE_FITS.into()]);
            }
            let mut letters = text.chars();
            let at = place(letters.next()?).filter(|_| letters.next().is_none())?;
            if *none_fits && at == options.len() {
                return Some(vec![NONE_FITS.into()]);
            }
            Some(vec![at.to_string()])
        }
        AnswerForm::Several { .. } => {
            let letters = text.chars().filter(|c| !" ,;".contains(*c));
            letters.map(|c| place(c).map(|at| at.to_string())).collect()
        }
        _ => Some(vec![text.to_owned()]),
    }
}
