//! Forms with which people judge what models wrote: a line for each text, an empty column for the
//! verdict; filled in as a spreadsheet, or made a study ([`frozen`]).
//!
//! Judges are blind: a page never shows which model wrote a text, and what several lines share is
//! judged once and counts for each. A form may ask several things of one answer, a line for each;
//! the column `part` tells them apart, and `measure` names what the verdicts become.

use std::collections::BTreeMap;

use mary_contract::{Ask, Generate, Item, Part, Prompt, Request, Sampling, Target};
use mary_platform::{Separated, from_spreadsheet};
use serde_json::json;

use crate::StudyError;
use crate::error::fault;
use crate::keys::{Frozen, KeyedItem, Keys, judged_by_people};
pub use crate::keys::{Judged, Judging};
use crate::lists::spread;
use crate::question::{AnswerForm, Question};
use crate::settings::Language;

/// Columns that name the answer of a run, and one for remarks; every other column is shown.
const MODEL: &str = "model";
const ITEM: &str = "item";
const TRIAL: &str = "trial";
const REMARK: &str = "remark";
const PART: &str = "part";
const NAMED: &str = "measure";
/// How the heading of the column for the verdict begins, and where its second half does.
const NO: &str = "0 =";
const YES: &str = ", 1 =";

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub of: Judged,
    /// Which part of it, where a form has several lines for an answer.
    pub part: String,
    pub shown: Vec<(String, String)>,
    /// The verdict, where there is one.
    pub mark: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    pub no: String,
    pub yes: String,
    pub measure: String,
    pub lines: Vec<Line>,
}

/// Reads a form; `name` is said where something is wrong.
pub fn read(name: &str, bytes: &[u8]) -> Result<Form, StudyError> {
    let wrong =
        |line: usize, message: String| StudyError::Refused(format!("{name}:{line}: {message}"));
    let text = Separated::fields(bytes, None, true).map_err(|e| fault(1, &e, &wrong))?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(text.delimiter())
        .from_reader(text);
    let head = reader.headers().map_err(|e| fault(1, &e, &wrong))?.clone();
    let column = |wanted: &str| head.iter().position(|h| h.trim() == wanted);
    let verdict = head.iter().position(|h| h.trim().starts_with(NO));
    let (Some(model), Some(item), Some(trial), Some(verdict)) =
        (column(MODEL), column(ITEM), column(TRIAL), verdict)
    else {
        return Err(wrong(
            1,
            "expected the columns model, item, trial and one that begins with `0 =`\n\
             hint: the command `form` of a family writes such a form"
                .into(),
        ));
    };
    let meaning = head.get(verdict).unwrap_or_default().trim();
    let meaning = meaning.strip_prefix(NO).unwrap_or(meaning);
    let (no, yes) = meaning.split_once(YES).unwrap_or((meaning, "1"));
    let (remark, part, named) = (column(REMARK), column(PART), column(NAMED));
    let ids = [Some(model), Some(item), Some(trial), Some(verdict)];
    let apart: Vec<Option<usize>> = ids.into_iter().chain([remark, part, named]).collect();
    let mut measure: Option<String> = None;
    let mut lines: Vec<Line> = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let line = row + 2;
        let record = record.map_err(|e| fault(line, &e, &wrong))?;
        let get = |at: usize| from_spreadsheet(record.get(at).unwrap_or_default());
        let mark = match get(verdict).trim() {
            "" => None,
            "0" => Some(0.0),
            "1" => Some(1.0),
            other => return Err(wrong(line, format!("expected 0 or 1, found `{other}`"))),
        };
        if let Some(at) = named {
            let own = get(at).trim().to_owned();
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            let before = measure.get_or_insert_with(|| own.clone());
            if own.is_empty() || !own.chars().all(plain) || *before != own {
                return Err(wrong(
                    line,
                    format!(
                        "expected one name of a measure throughout (a to z and _), found `{own}` after `{before}`"
                    ),
                ));
            }
        }
        let number = get(trial).trim().parse().map_err(|_| {
            wrong(
                line,
                format!("expected the number of a trial, found `{}`", get(trial)),
            )
        })?;
        let shown = (0..record.len())
            .filter(|at| !apart.contains(&Some(*at)))
            .map(|at| {
                (
                    head.get(at).unwrap_or_default().trim().to_owned(),
                    get(at).trim().to_owned(),
                )
            })
            .filter(|(_, text)| !text.is_empty());
        lines.push(Line {
            shown: shown.collect(),
            of: Judged {
                model: get(model).trim().to_owned(),
                item: get(item).trim().to_owned(),
                trial: number,
            },
            part: part.map(get).unwrap_or_default().trim().to_owned(),
            mark,
        });
    }
    Ok(Form {
        no: no.trim().to_owned(),
        yes: yes.trim().to_owned(),
        measure: measure.unwrap_or_else(judged_by_people),
        lines,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormOrigin {
    pub run: String,
    pub path: String,
    pub task: String,
}

type Page<'a> = (&'a [(String, String)], &'a str);

/// A form as items of a study. Texts of different models are spread evenly over the lists. At most `limit`
/// texts are drawn.
pub fn frozen(
    form: &Form,
    source: &FormOrigin,
    language: Language,
    limit: Option<usize>,
    seed: u64,
) -> Result<Frozen, StudyError> {
    let mut texts: BTreeMap<Page<'_>, Vec<Judged>> = BTreeMap::new();
    for line in form.lines.iter().filter(|line| !line.shown.is_empty()) {
        let of = texts.entry((&line.shown, &line.part)).or_default();
        of.push(line.of.clone());
    }
    if texts.is_empty() {
        return Err(StudyError::refused(
            "the form holds nothing to judge\nhint: is the run finished?",
        ));
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    let models = |of: &[Judged]| of.first().map(|j| j.model.clone()).unwrap_or_default();
    let strata: Vec<String> = texts.iter().map(|(_, of)| models(of)).collect();
    let order = spread(&strata, seed);
    let limit = limit.unwrap_or(texts.len());
    let (mut questions, mut items, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let mut parts = Vec::new();
    for (number, place) in order.into_iter().take(limit).enumerate() {
        let Some(((shown, part), of)) = texts.get_mut(place) else {
            continue;
        };
        let question = Question {
            instruction: asked(language).to_owned(),
            examples: Vec::new(),
            parts: shown.iter().map(|cell| Part::Text(said(cell))).collect(),
            answer: AnswerForm::Choice {
                options: vec![form.no.clone(), form.yes.clone()],
                // One and the same place for "wrong" on every page: judges go through many of them.
                ordered: true,
                none_fits: false,
            },
        };
        items.push(keyed(number, shown, form));
        questions.push(question);
        all.push(std::mem::take(of));
        parts.push((*part).to_owned());
    }
    if parts.iter().all(String::is_empty) {
        parts.clear();
    }
    let FormOrigin { run, path, task } = source.clone();
    let judging = Some(Judging {
        run,
        path,
        task,
        measure: form.measure.clone(),
        of: all,
        parts,
    });
    Ok(Frozen {
        questions,
        keys: Keys {
            command: Vec::new(),
            tasks: Vec::new(),
            items,
            judging,
        },
    })
}

/// A heading and what stands under it. What has several lines (a grid among them) begins on a line of its own.
fn said((heading, text): &(String, String)) -> String {
    let between = if text.contains('\n') { '\n' } else { ' ' };
    format!("{heading}:{between}{text}")
}

fn asked(language: Language) -> &'static str {
    match language {
        Language::En => "Read what was written and judge it. Which is true of it?",
        Language::Zh => "请阅读以下内容并作出判断：哪一项符合？",
    }
}

fn keyed(number: usize, shown: &[(String, String)], form: &Form) -> KeyedItem {
    let said: Vec<String> = shown.iter().map(said).collect();
    let asked = format!("{}\n\n0 = {}, 1 = {}", said.join("\n\n"), form.no, form.yes);
    let request = Request::Generate(Generate {
        prompt: Prompt::chat(asked),
        sampling: Sampling::greedy(1),
    });
    let id = format!("text-{:04}", number + 1);
    KeyedItem {
        task: 0,
        // There is no right answer: what is asked for is the judge's own opinion.
        item: Item::new(
            id,
            Target::Data(json!({"judged": true})),
            vec![Ask::subject(request)],
        ),
        said: vec!["0".into(), "1".into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::MEASURE;

    const FORM: &str = "model,item,trial,concept,description,\"0 = any error, 1 = none\",remark\n\
        m/x,a,0,heat,It flows.,,\nm/x,b,0,heat,It flows.,1,\nm/y,a,0,heat,It flows.,,\nm/y,b,0,cold,It is.,0,why\n";

    fn source() -> FormOrigin {
        FormOrigin {
            run: "run-1".into(),
            path: "runs/run-1".into(),
            task: "family/describe".into(),
        }
    }

    #[test]
    fn what_lines_share_is_asked_once_and_no_model_is_named() {
        let form = read("form.csv", FORM.as_bytes()).unwrap();
        assert_eq!((form.no.as_str(), form.yes.as_str()), ("any error", "none"));
        assert_eq!(form.lines[1].mark, Some(1.0));
        let made = frozen(&form, &source(), Language::En, None, 1).unwrap();
        assert_eq!(made.questions.len(), 2);
        let judging = made.keys.judging.unwrap();
        let mut shared: Vec<usize> = judging.of.iter().map(Vec::len).collect();
        shared.sort_unstable();
        assert_eq!(shared, [1, 3]);
        let shown = serde_json::to_string(&made.questions).unwrap();
        assert!(!shown.contains("m/x") && !shown.contains("why"), "{shown}");
        assert_eq!(
            frozen(&form, &source(), Language::Zh, Some(1), 1)
                .unwrap()
                .questions
                .len(),
            1
        );
    }

    /// Two properties of one description: two pages, one of them shared with another model's.
    #[test]
    fn several_lines_of_one_answer_are_told_apart_by_their_part() {
        let text = "model,item,trial,part,measure,property,text,\"0 = no, 1 = yes\",remark\n\
            m/x,a,0,fall,recall_by_people,\"it falls\n0 1\n1 0\",It falls.,1,\n\
            m/x,a,0,float,recall_by_people,it floats,It falls.,0,\n\
            m/y,a,0,fall,recall_by_people,\"it falls\n0 1\n1 0\",It falls.,,\n";
        let form = read("form.csv", text.as_bytes()).unwrap();
        assert_eq!(form.measure, "recall_by_people");
        assert_eq!(form.lines[1].part, "float");
        let made = frozen(&form, &source(), Language::En, None, 1).unwrap();
        let judging = made.keys.judging.unwrap();
        assert_eq!(judging.measure, "recall_by_people");
        let fall = judging.parts.iter().position(|p| p == "fall").unwrap();
        assert_eq!((judging.of.len(), judging.of[fall].len()), (2, 2));
        // The grid begins on a line of its own, so that the page draws it.
        let shown = serde_json::to_string(&made.questions[fall]).unwrap();
        assert!(
            shown.contains("property:\\nit falls\\n0 1\\n1 0"),
            "{shown}"
        );
        assert!(!shown.contains("recall_by"), "{shown}");
        let mixed = text.replacen("recall_by_people", "other", 1);
        let error = read("form.csv", mixed.as_bytes()).unwrap_err().to_string();
        assert!(
            error.starts_with("form.csv:3: expected one name"),
            "{error}"
        );
        // A study of an earlier program names no measure.
        let old = r#"{"run": "r", "path": "p", "task": "t", "of": []}"#;
        let old: Judging = serde_json::from_str(old).unwrap();
        assert_eq!((old.measure.as_str(), old.parts.len()), (MEASURE, 0));
    }

    #[test]
    fn what_is_wrong_with_a_form_is_said_with_its_line() {
        for (text, said) in [
            ("a,b\n", "form.csv:1: expected the columns"),
            (
                "model,item,trial,t,0 = x\nm,i,0,t,yes\n",
                "form.csv:2: expected 0 or 1, found `yes`",
            ),
            // A judge in Germany fills it in with Excel.
            (
                "model;item;trial;t;0 = x\r\nm;i;0;t;ja\r\n",
                "form.csv:2: expected 0 or 1, found `ja`",
            ),
            (
                "model,item,trial,t,0 = x\nm,i,0,\"t,1\nm,j,0,t,1\n",
                "form.csv:2: a quote opens a field here and is never closed",
            ),
            (
                "model,item,trial,t,0 = x\nm,i,first,t,1\n",
                "form.csv:2: expected the number of a trial",
            ),
        ] {
            let error = read("form.csv", text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        let empty = read("form.csv", b"model,item,trial,t,0 = x\n").unwrap();
        assert!(frozen(&empty, &source(), Language::En, None, 1).is_err());
    }
}
