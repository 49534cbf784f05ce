//! Pages as HTML. Every word that is not ours goes through a template that escapes it.

use std::fmt::Display;
use std::sync::OnceLock;

use mary_contract::Part;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use serde::Serialize;

use super::words::words;
use crate::folder::Study;
use crate::question::{AnswerForm, NONE_FITS, READ};
use crate::session::View;
use crate::settings::Check;
use crate::store::Step;

fn environment() -> &'static Environment<'static> {
    static PAGES: OnceLock<Environment<'static>> = OnceLock::new();
    PAGES.get_or_init(|| {
        let mut env = Environment::new();
        env.set_auto_escape_callback(|_| AutoEscape::Html);
        for (name, source) in [
            ("frame.html", include_str!("pages/frame.html")),
            ("message.html", include_str!("pages/message.html")),
            ("trial.html", include_str!("pages/trial.html")),
            ("admin.html", include_str!("pages/admin.html")),
        ] {
            // A template that does not compile is found by the tests; the page then says so.
            let _ = env.add_template(name, source);
        }
        env
    })
}

fn value<T: Serialize>(of: T) -> Value {
    Value::from(Serde(of))
}

fn render(name: &str, context: Value) -> String {
    let made = environment()
        .get_template(name)
        .and_then(|template| template.render(context));
    made.unwrap_or_else(|e| format!("<!doctype html><title>error</title><p>internal error: {e}"))
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Buttons {
    pub action: String,
    pub fields: Vec<(String, String)>,
    pub buttons: Vec<(String, String, String)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Message {
    pub heading: String,
    pub text: String,
    pub code: String,
    pub pseudonym: String,
    pub link: Option<(String, String)>,
    pub form: Option<Buttons>,
    pub withdraw: String,
}

pub(super) fn message(study: &Study, said: &Message) -> String {
    let w = words(study.settings.language);
    let paragraphs: Vec<&str> = said
        .text
        .split("\n\n")
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .collect();
    render(
        "message.html",
        context! {
            lang => study.settings.language.name(),
            title => study.settings.title.as_str(),
            script => true,
            w => value(w),
            heading => said.heading.as_str(),
            paragraphs => value(paragraphs),
            code => said.code.as_str(),
            pseudonym => said.pseudonym.as_str(),
            link => said.link.as_ref().map(|l| l.0.clone()),
            link_words => said.link.as_ref().map(|l| l.1.clone()),
            form => said.form.as_ref().map(value),
            withdraw => said.withdraw.as_str(),
        },
    )
}

#[derive(Default, Serialize)]
struct ShownPart {
    text: Option<String>,
    picture: Option<String>,
    grid: Option<Vec<Vec<char>>>,
    label: String,
}

#[derive(Serialize)]
struct ShownOption {
    value: String,
    text: String,
}

impl ShownOption {
    fn new(value: impl Display, text: &str) -> Self {
        let (value, text) = (value.to_string(), text.to_owned());
        Self { value, text }
    }
}

/// A question of a study or one of its checks.
pub(super) struct StepPage<'a> {
    pub token: &'a str,
    pub view: &'a View,
    pub notice: &'a str,
}

pub(super) fn trial(study: &Study, asked: &StepPage<'_>, trial: usize, item: usize) -> String {
    let w = words(study.settings.language);
    let Some(question) = study.questions.get(item) else {
        return String::new();
    };
    let order = study.order(asked.view.person.place, item);
    let texts = question.answer.options();
    let shown =
        |(place, option): (usize, &usize)| Some(ShownOption::new(place, texts.get(*option)?));
    let mut options: Vec<ShownOption> = order.iter().enumerate().filter_map(shown).collect();
    let (mut low, mut high, mut flag) = (0, 0, false);
    let kind = match &question.answer {
        AnswerForm::Choice {
            none_fits, beside, ..
        } => {
            flag = *beside;
            if *none_fits && !beside {
                options.push(ShownOption::new(NONE_FITS, w.none_fits));
            }
            "choice"
        }
        AnswerForm::Several { .. } => "several",
        AnswerForm::Text => "text",
        AnswerForm::Transcription => "transcription",
        AnswerForm::Number => "number",
        AnswerForm::Read => READ,
        AnswerForm::Rating { low: l, high: h } => {
            (low, high) = (*l, *h);
            let mark = |mark: i64| ShownOption::new(mark, &mark.to_string());
            options = (low..=high).map(mark).collect();
            "rating"
        }
    };
    let mut parts = Vec::new();
    let mut pictures = 0;
    for part in &question.parts {
        match part {
            Part::Text(text) => parts.extend(blocks(text)),
            Part::Image(_) => {
                parts.push(ShownPart {
                    picture: Some(format!("/p/{}/picture/{trial}/{pictures}", asked.token)),
                    ..ShownPart::default()
                });
                pictures += 1;
            }
        }
    }
    let heading = format!(
        "{} {} {} {}",
        if question.reading.is_empty() {
            w.question
        } else {
            w.sentence
        },
        trial + 1,
        w.of,
        study.settings.per_person
    );
    page(
        study,
        asked,
        context! {
            heading => heading,
            instruction => question.instruction.as_str(),
            examples => value(&question.examples),
            parts => value(&parts),
            reading => value(&question.reading),
            joint => study.settings.language.joint(),
            options => value(&options),
            kind => kind,
            low => low,
            high => high,
            flag => flag.then_some(NONE_FITS),
            seconds => study.settings.rules.seconds,
            progress => format!("{} / {}", trial + 1, study.settings.per_person),
        },
    )
}

pub(super) fn check(study: &Study, asked: &StepPage<'_>, check: &Check) -> String {
    let w = words(study.settings.language);
    let options = check.options.iter().enumerate();
    let options: Vec<_> = options
        .map(|(place, text)| ShownOption::new(place, text))
        .collect();
    let parts = [ShownPart {
        text: Some(check.question.clone()),
        ..ShownPart::default()
    }];
    page(
        study,
        asked,
        context! {
            heading => w.check,
            instruction => "",
            parts => value(&parts),
            options => value(&options),
            kind => "choice",
            seconds => 0,
        },
    )
}

fn page(study: &Study, asked: &StepPage<'_>, own: Value) -> String {
    let w = words(study.settings.language);
    let step: &Step = &asked.view.step;
    render(
        "trial.html",
        context! {
            lang => study.settings.language.name(),
            title => study.settings.title.as_str(),
            script => true,
            w => value(w),
            notice => asked.notice,
            action => format!("/p/{}", asked.token),
            step => step.id(),
            key => asked.view.key.as_str(),
            characters => study.settings.rules.characters,
            withdraw => format!("/p/{}/withdraw", asked.token),
            ..own
        },
    )
}

/// Text with the grids of digits in it as grids: two or more lines of digits parted by blanks.
fn blocks(text: &str) -> Vec<ShownPart> {
    let cells = |line: &str| -> Option<Vec<char>> {
        let words: Vec<&str> = line.split(' ').collect();
        let digit = |word: &&str| word.len() == 1 && word.chars().all(|c| c.is_ascii_digit());
        (words.len() > 1 && words.iter().all(digit))
            .then(|| words.iter().filter_map(|w| w.chars().next()).collect())
    };
    let lines: Vec<_> = text.lines().map(|line| (line, cells(line))).collect();
    let part = |run: &[(&str, Option<Vec<char>>)]| {
        let rows: Vec<Vec<char>> = run.iter().filter_map(|(_, row)| row.clone()).collect();
        if rows.is_empty() {
            let words: Vec<&str> = run.iter().map(|(line, _)| *line).collect();
            let text = words.join("\n").trim_matches('\n').to_owned();
            return (!text.trim().is_empty()).then_some(ShownPart {
                text: Some(if text == "->" { "→".into() } else { text }),
                ..ShownPart::default()
            });
        }
        let label: Vec<String> = rows.iter().map(|row| row.iter().collect()).collect();
        Some(ShownPart {
            grid: Some(rows),
            label: label.join(" / "),
            ..ShownPart::default()
        })
    };
    let runs = lines.chunk_by(|(_, a), (_, b)| a.is_some() == b.is_some());
    runs.filter_map(part).collect()
}

pub(super) fn admin(study: &Study, rows: &[(String, String)], link: &str) -> String {
    render(
        "admin.html",
        context! {
            lang => "en",
            title => study.settings.title.as_str(),
            w => value(words(study.settings.language)),
            heading => format!("Study {}", study.settings.name),
            rows => value(rows),
            link => link,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_compiles() {
        for name in ["frame.html", "message.html", "trial.html", "admin.html"] {
            assert!(environment().get_template(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn grids_are_told_from_words() {
        let parts = blocks("See:\n0 1\n2 3\n->\n1 0\n3 2\n\nWhich?");
        let shape: Vec<bool> = parts.iter().map(|p| p.grid.is_some()).collect();
        assert_eq!(shape, [false, true, false, true, false]);
        assert_eq!(parts[1].label, "01 / 23");
        assert_eq!(parts[2].text.as_deref(), Some("→"));
        assert_eq!(blocks("1 sheep\n2 goats").len(), 1);
    }
}
