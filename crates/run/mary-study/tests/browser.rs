//! Three studies in a real Chromium, by keyboard alone, from consent to completion code: rule finding,
//! grids as pictures with "none fits", and PerceptualQA in Chinese. Closed and reopened half-way, at 400
//! pixels, with axe on every kind of page. Pictures are left under `report-pictures` of the build folder.

use std::path::Path;

use mary_study::freeze::Frozen;
use mary_study::question::{Answer, AnswerForm};
use mary_study::settings::Language;
use mary_study::simulate::page::served;
use mary_study::{Session, Settings, Study};

use crate::chromium::{self, Browser};
use crate::fixture;

pub fn opened(folder: &Path, settings: &Settings, frozen: &Frozen) -> (Session, String) {
    Study::create(folder, settings, frozen).unwrap();
    let (session, _thread) = Session::open(folder).unwrap();
    let address = served(session.clone()).unwrap();
    (session, format!("http://{address}"))
}

/// Everything axe finds, minor findings included.
pub fn axe(browser: &mut Browser, page: &str) {
    let serious = browser.axe();
    assert!(serious.is_empty(), "{page}: {serious:#?}");
    let all = browser.eval(
        "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' ')))",
    );
    assert_eq!(all, serde_json::json!([]), "{page}");
}

pub fn fits(browser: &mut Browser, page: &str) {
    let wide = browser.eval("document.documentElement.scrollWidth - window.innerWidth");
    assert!(
        wide.as_f64().unwrap() <= 0.0,
        "{page} is {wide} px too wide"
    );
}

pub fn at_step(browser: &mut Browser, step: &str) {
    browser.until(&format!(
        "document.readyState === 'complete' && document.querySelector('input[name=step]')?.value === '{step}'"
    ));
    browser.until("[...document.images].every((i) => i.complete && i.naturalWidth > 0)");
}

/// No complaint of the console, no request to anybody else.
pub fn quiet(browser: &Browser) {
    assert!(
        browser.complaints.is_empty(),
        "the console complained: {:#?}",
        browser.complaints
    );
    let foreign = |url: &&String| !url.starts_with("http://127.0.0.1:");
    assert_eq!(browser.requests.iter().filter(foreign).count(), 0);
}

/// Agrees from the keyboard. Nothing is chosen beforehand: Enter alone does nothing.
pub fn agree(browser: &mut Browser) {
    browser.until("document.readyState === 'complete'");
    assert_eq!(browser.text("document.activeElement.tagName"), "BODY");
    browser.press("Enter");
    assert_eq!(
        browser.text("document.querySelector('[name=agree]').value"),
        "yes"
    );
    browser.press("Tab");
    browser.until("document.activeElement?.value === 'yes'");
    browser.press("Enter");
}

/// One study from its link to the code. `keys` are pressed on each question before Enter.
pub fn through(browser: &mut Browser, name: &str, session: &Session, base: &str, keys: &[&str]) {
    let link = format!("{base}/s/{}", session.study.secrets.entry);
    let trials = session.study.settings.per_person;
    browser.open(&link);
    axe(browser, "consent");
    browser.picture(&format!("study-{name}-consent"), false);
    agree(browser);
    at_step(browser, "instructions");
    axe(browser, "instructions");
    browser.until("document.activeElement?.tagName === 'BUTTON'");
    browser.press("Enter");
    for trial in 0..trials {
        at_step(browser, &format!("trial-{trial}"));
        if trial == 0 {
            axe(browser, "a question");
            browser.picture(&format!("study-{name}-question"), true);
        }
        if trial == trials / 2 {
            // Closed and reopened with the link that everybody has.
            browser.open("data:text/html,closed");
            browser.open(&link);
            at_step(browser, &format!("trial-{trial}"));
            // A telephone.
            browser.size(400, 800, true);
            browser.open(&link);
            at_step(browser, &format!("trial-{trial}"));
            fits(browser, name);
            axe(browser, "a question at 400 px");
            browser.picture(&format!("study-{name}-400px"), false);
            browser.size(1280, 900, false);
        }
        browser.press(keys[trial % keys.len()]);
        browser.until("document.querySelectorAll('input[name=answer]:checked').length === 1");
        browser.press("Enter");
    }
    browser.until("document.readyState === 'complete' && !!document.getElementById('code')");
    assert_eq!(
        browser.text("document.getElementById('code').textContent"),
        "DONE42"
    );
    axe(browser, "the end");
    browser.picture(&format!("study-{name}-end"), false);
}

#[test]
fn three_studies_by_keyboard_alone() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);

    let rules = fixture::frozen("htest/rhyme", 4, &[], Some(12), false);
    let settings = fixture::settings(2, 4);
    let (session, base) = opened(&at("rules"), &settings, &rules);
    through(&mut browser, "rules", &session, &base, &["1", "2"]);
    let answers = session.people().unwrap()[0].answers.clone();
    let chosen: Vec<&Answer> = answers.iter().map(|a| &a.answer).collect();
    let (a, b) = (Answer::Choice(0), Answer::Choice(1));
    assert_eq!(chosen, [&a, &b, &a, &b], "labels stay in their order");
    for answer in &answers {
        assert_eq!(answer.input.as_deref(), Some("key"));
        assert!(answer.rt.unwrap() > 0.0);
        assert!(answer.window.is_some() && answer.blurs.is_some());
    }
    assert!(answers[2].views > 1, "it was opened again");

    let mut grids = fixture::pictures().clone();
    grids.questions.truncate(3);
    grids.keys.items.truncate(3);
    let mut settings = fixture::settings(2, 3);
    settings.name = "grids".into();
    let (session, base) = opened(&at("grids"), &settings, &grids);
    through(&mut browser, "grids", &session, &base, &["5", "1", "2"]);
    let answers = session.people().unwrap()[0].answers.clone();
    assert_eq!(answers[0].answer, Answer::NoneFits);
    // The place that was shown, mapped back to the task's own order.
    assert_eq!(answers[1].answer, Answer::Choice(answers[1].shown[0]));
    let found = session.judged(&fixture::registry()).unwrap();
    assert_eq!(found.samples[0].judgement.measures["none_fits"], 1.0);

    quiet(&browser);
    let Some(data) = mary_testkit::lacking::datasets("embodied") else {
        return;
    };
    let senses = [("language", "zh"), ("orders", "1"), ("source", "upstream")];
    let data = fixture::Datasets(data);
    let senses = fixture::drawn("embodied/perceptualqa", 3, &senses, None, false, &data);
    let mut settings = fixture::prolific(fixture::settings(2, 3));
    settings.platform.kind = Default::default();
    settings.language = Language::Zh;
    settings.title = "感官知识研究".into();
    settings.consent.text = "您同意回答问题。参加是自愿的，可以随时退出。".into();
    settings.instructions = "请独立回答以下问题。".into();
    let (session, base) = opened(&at("senses"), &settings, &senses);
    through(&mut browser, "senses", &session, &base, &["4", "2", "3"]);
    let back = browser.text("document.getElementById('on').href");
    assert_eq!(back, "https://platform.example/complete?cc=DONE42");
    assert_eq!(browser.text("document.documentElement.lang"), "zh");
    quiet(&browser);
}

/// The other kinds of answer: several, words, a number, a rating, a transcription; with a time limit.
#[test]
fn every_kind_of_answer_from_the_keyboard() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut frozen = fixture::frozen("htest/rhyme", 6, &[], Some(0), false);
    let forms = [
        AnswerForm::Several {
            options: ["red", "green", "blue"].map(String::from).to_vec(),
        },
        AnswerForm::Text,
        AnswerForm::Number,
        AnswerForm::Rating { low: 1, high: 7 },
        AnswerForm::Transcription,
    ];
    let mut settings = fixture::settings(1, 5);
    settings.rules.seconds = 600;
    for (question, form) in frozen.questions.iter_mut().zip(&forms) {
        question.answer = form.clone();
    }
    frozen.questions.truncate(5);
    frozen.keys.items.truncate(5);
    let (session, base) = opened(&dir.path().join("study"), &settings, &frozen);
    browser.open(&format!("{base}/s/{}", session.study.secrets.entry));
    agree(&mut browser);
    at_step(&mut browser, "instructions");
    browser.press("Enter");
    let list = session.study.design().list(0);
    for (trial, item) in list.iter().enumerate() {
        at_step(&mut browser, &format!("trial-{trial}"));
        axe(&mut browser, "a question");
        fits(&mut browser, "a question");
        match &session.study.questions[*item].answer {
            AnswerForm::Several { .. } => {
                browser.press("1");
                browser.press("3");
            }
            AnswerForm::Rating { .. } => browser.press("6"),
            AnswerForm::Number => {
                browser.call("Input.insertText", serde_json::json!({"text": "12.5"}));
            }
            _ => {
                let text = serde_json::json!({"text": "some <b>words</b>"});
                browser.call("Input.insertText", text);
                browser.press("Tab");
            }
        }
        browser.press("Enter");
    }
    browser.until("!!document.getElementById('code')");
    let people = session.people().unwrap();
    for given in &people[0].answers {
        let expected = match &session.study.questions[given.item].answer {
            AnswerForm::Several { .. } => {
                let mut chosen = vec![given.shown[0], given.shown[2]];
                chosen.sort_unstable();
                Answer::Several(chosen)
            }
            AnswerForm::Rating { .. } => Answer::Rating(6),
            AnswerForm::Number => Answer::Number("12.5".into()),
            _ => Answer::Text("some <b>words</b>".into()),
        };
        assert_eq!(given.answer, expected);
    }
}
