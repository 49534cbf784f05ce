//! Self-paced reading: in a real Chromium by the space bar, with people whose times are known; exported, read
//! back by `mary reading`'s own reader, and the effect found again by a mixed model.

use std::collections::BTreeMap;
use std::path::Path;

use mary_lab::texts::reading::{
    ReadWord, Reading, ReadingOptions, Settings as AnalysisSettings, analyse,
};
use mary_stats::mixed::{self, Criterion, Formula, Table};
use mary_study::freeze::Frozen;
use mary_study::lists::Lists;
use mary_study::settings::Language;
use mary_study::simulate::{Behaviour, Simulation, by_data, normal};
use mary_study::{Session, Settings, Study, export, reading};

use crate::browser::{agree, at_step, axe, fits, opened, quiet};
use crate::chromium;
use crate::fixture;

const ITEMS: usize = 6;

/// Six items in two conditions and a filler; a third of the items has a question.
fn sentences() -> String {
    let mut table = String::from("item,match,sentence,question,answer\n");
    for (item, noun) in ["key", "dog", "door", "plan", "song", "road"]
        .iter()
        .enumerate()
    {
        let asked = if item % 3 == 0 {
            "Was it old?,yes"
        } else {
            ","
        };
        table.push_str(&format!(
            "{item},good,The {noun} [[was]] old indeed.,{asked}\n"
        ));
        table.push_str(&format!(
            "{item},bad,The {noun}s [[was]] old indeed.,{asked}\n"
        ));
    }
    table + "filler,none,It rained again.,,\n"
}

fn study(people: usize) -> (Frozen, Settings) {
    let (frozen, each) = reading::frozen("t.csv", sentences().as_bytes(), Language::En).unwrap();
    assert_eq!(each, ITEMS + 1);
    let mut settings = fixture::settings(people, each);
    settings.lists = Lists::Balanced;
    settings.rules.places_per_address = people;
    (frozen, settings)
}

/// Writes the export and gives the table of words by column.
fn exported(session: &Session, folder: &Path) -> BTreeMap<String, Vec<String>> {
    let found = session.judged(&fixture::registry()).unwrap();
    export::write(session, &found, &session.people().unwrap(), folder).unwrap();
    let mut reader = csv::Reader::from_path(folder.join("reading.csv")).unwrap();
    let head = reader.headers().unwrap().clone();
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in reader.records() {
        for (name, cell) in head.iter().zip(&row.unwrap()) {
            columns
                .entry(name.to_owned())
                .or_default()
                .push(cell.to_owned());
        }
    }
    columns
}

/// The slope of `x` with its error, with intercepts of people and items.
fn slope(
    columns: &BTreeMap<String, Vec<String>>,
    keep: impl Fn(usize) -> bool,
    x: impl Fn(usize) -> f64,
) -> (f64, f64) {
    let rows: Vec<usize> = (0..columns["rt"].len()).filter(|row| keep(*row)).collect();
    let column = |name: &str| {
        rows.iter()
            .map(|r| columns[name][*r].clone())
            .collect::<Vec<_>>()
    };
    let mut table = Table::new();
    table
        .numbers("rt", column("rt").iter().map(|t| t.parse().unwrap()))
        .unwrap();
    table.numbers("x", rows.iter().map(|r| x(*r))).unwrap();
    table.words("participant", column("participant")).unwrap();
    table.words("item", column("item")).unwrap();
    let formula = Formula::parse("rt ~ x + (1 | participant) + (1 | item)").unwrap();
    let found = mixed::linear(&formula.design(&table).unwrap(), Criterion::Reml).unwrap();
    (found.estimates[1], found.errors[1])
}

#[test]
fn words_are_uncovered_one_by_one_and_the_effect_is_found_again() {
    const PEOPLE: usize = 8;
    const EFFECT: f64 = 60.0;
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (frozen, settings) = study(PEOPLE);
    let (session, base) = opened(&dir.path().join("study"), &settings, &frozen);
    let keys = session.study.keys().unwrap();
    let visible = "[...document.querySelectorAll('.word span')].filter((s) => getComputedStyle(s).visibility === 'visible').map((s) => s.textContent).join(' ')";
    for person in 0..PEOPLE {
        browser.call("Network.clearBrowserCookies", serde_json::json!({}));
        browser.open(&format!("{base}/s/{}", session.study.secrets.entry));
        agree(&mut browser);
        at_step(&mut browser, "instructions");
        browser.press("Enter");
        let mut rng = mary_generators::stream(5, &format!("person/{person}"));
        let pace = 300.0 + 40.0 * normal(&mut rng);
        for (trial, item) in session.study.design().list(person).into_iter().enumerate() {
            at_step(&mut browser, &format!("trial-{trial}"));
            browser.until("document.querySelector('form').classList.contains('scripted')");
            let question = &session.study.questions[item];
            let words = question.reading.len();
            if person == 0 {
                assert_eq!(
                    browser.text(visible),
                    "",
                    "nothing is uncovered before the first press"
                );
                if trial == 0 {
                    axe(&mut browser, "a covered sentence");
                    fits(&mut browser, "a covered sentence");
                }
                for word in 0..=words {
                    // Without waiting the clock still goes on; a busy machine only makes it longer.
                    std::thread::sleep(std::time::Duration::from_millis(40));
                    browser.press(" ");
                    if word < words {
                        assert_eq!(browser.text(visible), question.reading[word]);
                    }
                    if trial == 0 && word == 1 {
                        browser.picture("study-reading-word", false);
                        let held =
                            "dispatchEvent(new KeyboardEvent('keydown', {key: ' ', repeat: true}))";
                        browser.eval(held);
                        assert_eq!(browser.text(visible), question.reading[1], "held down");
                    }
                }
            } else {
                let key = &keys.items[item];
                let times: Vec<f64> = (0..words)
                    .map(|word| {
                        let bad = key.item.tags["match"] == "bad" && key.critical == Some(word);
                        pace + 25.0 * normal(&mut rng) + if bad { EFFECT } else { 0.0 }
                    })
                    .collect();
                // The page's own clock, set forward between presses: what a person's pauses would do.
                browser.eval(&format!(
                    "(() => {{ let clock = performance.now(); performance.now = () => clock; \
                     const press = () => dispatchEvent(new KeyboardEvent('keydown', {{key: ' '}})); \
                     clock += 500; press(); for (const t of {times:?}) {{ clock += t; press(); }} }})()"
                ));
            }
            if !question.parts.is_empty() {
                browser.until(
                    "getComputedStyle(document.querySelector('.asked')).visibility === 'visible'",
                );
                if person == 0 {
                    axe(&mut browser, "a question after a sentence");
                }
                browser.press("1");
                browser
                    .until("document.querySelectorAll('input[name=answer]:checked').length === 1");
                browser.press("Enter");
            }
        }
        browser.until("document.readyState === 'complete' && !!document.getElementById('code')");
    }
    quiet(&browser);

    let columns = exported(&session, &dir.path().join("export"));
    let first: Vec<f64> = session.people().unwrap()[0].answers[0].times.clone();
    assert!(
        first.iter().all(|t| *t >= 40.0),
        "the browser's own clock: {first:?}"
    );
    // Everybody else's.
    let own = &session.people().unwrap()[0].person.pseudonym;
    let critical =
        |row: usize| columns["from_critical"][row] == "0" && columns["participant"][row] != *own;
    let bad = |row: usize| {
        if columns["match"][row] == "bad" {
            1.0
        } else {
            0.0
        }
    };
    let (found, error) = slope(&columns, critical, bad);
    assert!(
        (found - EFFECT).abs() < 3.0 * error && error < 12.0,
        "{found} ± {error}"
    );
    // The word before it shows nothing of the kind.
    let before =
        |row: usize| columns["from_critical"][row] == "-1" && columns["participant"][row] != *own;
    let (found, error) = slope(&columns, before, bad);
    assert!(found.abs() < 3.0 * error, "{found} ± {error}");

    // As `mary reading` reads it: jsPsych's trials with lists of words and times.
    let options = ReadingOptions {
        measure: "rt".into(),
        person: Some("participant".into()),
        ..ReadingOptions::default()
    };
    for file in ["jspsych.csv", "jspsych.json"] {
        let read = Reading::open(&dir.path().join("export").join(file), &options, None).unwrap();
        assert_eq!(
            (read.persons.len(), read.sentences.len()),
            (PEOPLE, 2 * ITEMS + 1)
        );
        let trials: usize = read.words.iter().map(|w| w.trials.len()).sum();
        assert_eq!(trials, columns["rt"].len(), "{:?}", read.notes);
        assert_eq!(read.words[1].place, 1);
        // Person by person: a mixed model finds the effect beside length and place.
        let bad = |w: &ReadWord| {
            let sentence = &read.sentences[w.sentence];
            let wrong = sentence.words[w.place] == "was" && sentence.words[1].ends_with('s');
            (
                (sentence.id.clone(), w.place),
                if wrong { 1.0 } else { 0.0 },
            )
        };
        let bad = read.predictor("bad", &read.words.iter().map(bad).collect());
        let found = analyse(&read, &[bad], &AnalysisSettings::default()).unwrap();
        let persons = found.added[0].persons.as_ref().unwrap();
        assert_eq!(persons.rows, trials);
        let (slope, error) = (persons.slope.value, persons.slope.error);
        assert!(
            (slope - EFFECT).abs() < 3.0 * error && persons.slope.p < 1e-3,
            "{slope} ± {error}"
        );
    }
}

#[test]
fn simulated_readers_take_longer_for_longer_words_and_leave_no_trace_when_they_withdraw() {
    let dir = tempfile::tempdir().unwrap();
    let (frozen, settings) = study(30);
    Study::create(&dir.path().join("study"), &settings, &frozen).unwrap();
    let (session, _thread) = Session::open(&dir.path().join("study")).unwrap();
    let simulation = Simulation {
        behaviour: Behaviour::Random,
        seconds: 2.0,
        seed: 1,
    };
    by_data(&session, &session.study.keys().unwrap(), &simulation, 30).unwrap();
    let export = dir.path().join("export");
    let columns = exported(&session, &export);
    let letters = |row: usize| columns["word"][row].chars().count() as f64;
    let (found, error) = slope(&columns, |_| true, letters);
    // Fifteen for a letter, times the mean of the noise.
    let truth = 15.0 * (0.02f64).exp();
    assert!(
        (found - truth).abs() < 3.0 * error && error < 2.0,
        "{found} ± {error}"
    );
    // Both conditions of every item were read by half of the people.
    let half = |m: &str| columns["match"].iter().filter(|c| *c == m).count();
    assert_eq!(half("good"), half("bad"));
    let found = session.judged(&fixture::registry()).unwrap();
    let scored = found
        .samples
        .iter()
        .filter(|s| matches!(s.judgement.outcome, mary_contract::Outcome::Scored(_)))
        .count();
    assert_eq!(scored, 30 * 2, "questions of two items");

    let gone = session.people().unwrap()[3].person.pseudonym.clone();
    session.withdraw(&gone, Some(&fixture::registry())).unwrap();
    for file in ["reading.csv", "jspsych.csv", "jspsych.json"] {
        let text = std::fs::read_to_string(export.join(file)).unwrap();
        assert!(!text.contains(&gone) && text.contains("indeed"), "{file}");
    }
}
