//! Forms with which people judge what models wrote: a line for each text, an empty column for the
//! verdict; filled in as a spreadsheet, or made a study ([`frozen`]).
//!
//! Judges are blind: neither a page nor a spreadsheet shows who wrote a text. In a spreadsheet a code stands
//! for the answer, and lines are sorted by it, so that their order tells nothing either; the run finds the
//! answer by its code ([`Form::named`]). What several lines share is judged once on pages and counts for
//! each. A form may ask several things of one answer, a line for each; the column `part` tells them apart,
//! and `measure` names what the verdicts become.

use std::collections::BTreeMap;

use mary_contract::{
    Ask, Generate, Item, MarkingForm, Part, Prompt, Request, SampleId, Sampling, Target,
};
use mary_platform::{for_spreadsheet, from_spreadsheet, grouped};
use serde_json::json;

use crate::error::{fault, table};
use crate::keys::{Frozen, KeyedItem, Keys, judged_by_people};
pub use crate::keys::{Judged, Judging};
use crate::lists::spread;
use crate::question::{AnswerForm, Question};
use crate::settings::Language;
use crate::{Result, StudyError};

/// The column with the code of an answer. Forms of earlier versions name model, item and trial instead.
const CODE: &str = "answer";
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

/// The writer of an answer whose run was not looked at.
pub const BLIND: &str = "all answers";

/// Names an answer without saying whose it is.
fn code(of: &SampleId) -> String {
    let SampleId {
        model,
        task,
        item,
        trial,
    } = of;
    let hash = blake3::hash(format!("{model}\n{task}\n{item}\n{trial}").as_bytes()).to_hex();
    hash.as_str().chars().take(12).collect()
}

/// A family's form as a spreadsheet, with an empty column for the verdict.
pub fn spreadsheet(form: &MarkingForm) -> Result<Vec<u8>> {
    let mut lines: Vec<_> = form.lines.iter().map(|l| (code(&l.of), l)).collect();
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    let parts = form.lines.iter().any(|l| !l.part.is_empty());
    let mut head = vec![CODE.to_owned()];
    head.extend(parts.then(|| PART.to_owned()));
    head.extend(form.measure.as_ref().map(|_| NAMED.to_owned()));
    head.extend(form.columns.iter().map(|c| c.to_string()));
    head.push(format!("{NO} {}{YES} {}", form.no, form.yes));
    head.push(REMARK.to_owned());
    let wrong = |e: csv::Error| StudyError::refused(e.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&head).map_err(wrong)?;
    for (code, line) in lines {
        let mut cells = vec![code];
        cells.extend(parts.then(|| line.part.clone()));
        cells.extend(form.measure.as_ref().map(|m| m.to_string()));
        cells.extend(line.shown.iter().cloned());
        cells.extend([String::new(), String::new()]);
        // A spreadsheet must not take somebody's words for a formula.
        let cells = cells.iter().map(|cell| for_spreadsheet(cell).into_owned());
        writer.write_record(cells).map_err(wrong)?;
    }
    let bytes = writer.into_inner();
    bytes.map_err(|e| StudyError::refused(e.to_string()))
}

impl From<&MarkingForm> for Form {
    fn from(form: &MarkingForm) -> Self {
        let measure = form.measure.as_ref().map(|m| m.to_string());
        let heads = || form.columns.iter().map(|c| c.to_string());
        let lines = form.lines.iter().map(|line| Line {
            of: Judged::from(&line.of),
            part: line.part.clone(),
            shown: heads()
                .zip(line.shown.iter().map(|text| text.trim().to_owned()))
                .filter(|(_, text)| !text.is_empty())
                .collect(),
            mark: None,
        });
        Self {
            no: form.no.to_string(),
            yes: form.yes.to_string(),
            measure: measure.unwrap_or_else(judged_by_people),
            lines: lines.collect(),
        }
    }
}

impl Form {
    /// Puts the answers of a run in place of their codes; says whose task they answer. A form that names
    /// its answers stays as it is.
    pub fn named(&mut self, answers: impl Iterator<Item = SampleId>) -> Result<Option<String>> {
        if self.lines.iter().all(|line| line.of.model != BLIND) {
            return Ok(None);
        }
        let known: BTreeMap<String, SampleId> = answers.map(|of| (code(&of), of)).collect();
        let mut task: Option<&str> = None;
        for line in &mut self.lines {
            let found = known.get(&line.of.item).ok_or_else(|| {
                StudyError::refused(format!(
                    "the run has no answer with the code `{}`\n\
                     hint: is it the run that the form was written from?",
                    line.of.item
                ))
            })?;
            if *task.get_or_insert(&found.task) != found.task {
                return Err(StudyError::refused(
                    "the form is of several tasks\nhint: write a form for each",
                ));
            }
            line.of = Judged::from(found);
        }
        Ok(task.map(str::to_owned))
    }
}

/// Reads a form; `name` is said where something is wrong.
pub fn read(name: &str, bytes: &[u8]) -> Result<Form> {
    let wrong =
        |line: usize, message: String| StudyError::Refused(format!("{name}:{line}: {message}"));
    let (mut reader, head) = table(bytes, &wrong)?;
    let column = |wanted: &str| head.iter().position(|h| h.trim() == wanted);
    let verdict = head.iter().position(|h| h.trim().starts_with(NO));
    let named_by = [MODEL, ITEM, TRIAL].map(column);
    let coded = column(CODE).filter(|_| named_by.contains(&None));
    let (Some(verdict), true) = (verdict, coded.is_some() || !named_by.contains(&None)) else {
        return Err(wrong(
            1,
            "expected the columns answer and one that begins with `0 =`\n\
             hint: a command of a family writes such a form, for example `mary physico form`"
                .into(),
        ));
    };
    let meaning = head.get(verdict).unwrap_or_default().trim();
    let meaning = meaning.strip_prefix(NO).unwrap_or(meaning);
    let (no, yes) = meaning.split_once(YES).unwrap_or((meaning, "1"));
    let (remark, part, named) = (column(REMARK), column(PART), column(NAMED));
    let ids = if coded.is_some() {
        [coded, None, None]
    } else {
        named_by
    };
    let others = [Some(verdict), remark, part, named];
    let apart: Vec<Option<usize>> = ids.into_iter().chain(others).collect();
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
        let id = |at: Option<usize>| at.map(get).unwrap_or_default().trim();
        let of = match coded {
            Some(at) => Judged {
                model: BLIND.to_owned(),
                item: get(at).trim().to_owned(),
                trial: 0,
            },
            None => Judged {
                model: id(named_by[0]).to_owned(),
                item: id(named_by[1]).to_owned(),
                trial: id(named_by[2]).parse().map_err(|_| {
                    let found = id(named_by[2]);
                    wrong(
                        line,
                        format!("expected the number of a trial, found `{found}`"),
                    )
                })?,
            },
        };
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
            of,
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

/// A form as items of a study. Texts of different models are spread evenly over the lists. At most `limit`
/// texts are drawn.
pub fn frozen(
    form: &Form,
    source: &FormOrigin,
    language: Language,
    limit: Option<usize>,
    seed: u64,
) -> Result<Frozen> {
    let shown = form.lines.iter().filter(|line| !line.shown.is_empty());
    let texts = grouped(shown.map(|line| ((&*line.shown, &*line.part), line.of.clone())));
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
            reading: Vec::new(),
            // One and the same place for "wrong" on every page: judges go through many of them.
            answer: AnswerForm::ordered(vec![form.no.clone(), form.yes.clone()]),
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
        seconds: None,
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
    let request = Request::Generate(Generate::new(Prompt::chat(asked), Sampling::greedy(1)));
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
        critical: None,
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

    /// A judge with a spreadsheet used to read the model's name in its first column.
    #[test]
    fn a_spreadsheet_names_no_model_and_the_run_finds_its_answers_again() {
        let id = |model: &str, item: &str| SampleId::new(model, "family/describe", item, 1);
        let mut form = MarkingForm::new("any error", "none", &["concept", "description"])
            .measured("sound_to_people");
        let answers = [("m/x", "a"), ("m/x", "b"), ("m/y", "a")].map(|(m, i)| id(m, i));
        for of in &answers {
            let text = format!("=It is said of {}.", of.item);
            form.line(of, "whole", vec!["heat".into(), text]);
        }
        let sheet = spreadsheet(&form).unwrap();
        let text = String::from_utf8(sheet.clone()).unwrap();
        assert!(!text.contains("m/x") && !text.contains("m/y"), "{text}");
        let filled = text.replace(".,,\n", ".,1,\n");
        let mut read = read("ann.csv", filled.as_bytes()).unwrap();
        assert!(read.lines.iter().all(|l| l.of.model == BLIND));
        let task = read.named(answers.iter().cloned()).unwrap();
        assert_eq!(task.as_deref(), Some("family/describe"));
        let mut found: Vec<Judged> = read.lines.iter().map(|l| l.of.clone()).collect();
        found.sort();
        assert_eq!(found, answers.each_ref().map(Judged::from));
        assert!(read.lines.iter().all(|l| l.mark == Some(1.0)));
        // The same as the form itself, which pages are made of.
        let mut own = Form::from(&form);
        own.lines.sort_by(|a, b| a.of.cmp(&b.of));
        read.lines.sort_by(|a, b| a.of.cmp(&b.of));
        for line in &mut read.lines {
            line.mark = None;
        }
        assert_eq!(read, own);
        let other = std::iter::once(id("m/z", "a"));
        assert!(super::read("a", &sheet).unwrap().named(other).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_form_is_said_with_its_line() {
        for (text, said) in [
            ("a,b\n", "form.csv:1: expected the columns answer"),
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
