//! Studies as the papers had them, in a real Chromium and with simulated people: rules named within three
//! minutes and marked blind by others (H-TEST, Table 7), chains of thought marked as misled or not (H-TEST,
//! Table 3), answers flagged "none fits" (PHYSICO, §5.3), and concepts given to ARC and confirmed by others
//! (PHYSICO, §4).

use std::path::Path;

use mary_contract::{
    Arguments, Exchange, Generated, Key, Made, NoData, Registry, Reply, Response, Sample, SampleId,
    TaskSettings,
};
use mary_store::RunFolder;
use mary_study::forms::{Form, FormOrigin, frozen};
use mary_study::freeze::Frozen;
use mary_study::question::Answer;
use mary_study::settings::Language;
use mary_study::simulate::{self, Behaviour, Simulation};
use mary_study::{PeopleStatistics, Session};

use crate::browser::{agree, at_step, axe, fits, opened, quiet};
use crate::chromium::{self, Browser};
use crate::fixture;

/// Begins a study: consent and instructions, from the keyboard.
fn begun(browser: &mut Browser, session: &Session, base: &str) {
    browser.open(&format!("{base}/s/{}", session.study.secrets.entry));
    agree(browser);
    at_step(browser, "instructions");
    browser.press("Enter");
}

fn write(browser: &mut Browser, text: &str) {
    browser.call("Input.insertText", serde_json::json!({ "text": text }));
    browser.press("Tab");
    browser.press("Enter");
}

fn samples(run: &Path) -> Vec<Sample> {
    let folder = RunFolder::open(run).unwrap();
    folder.samples().unwrap().map(Result::unwrap).collect()
}

/// What a family makes of a stored run.
fn acted(registry: &Registry, family: &str, action: &str, run: &Path) -> Made {
    let arguments = Arguments([("validators".to_owned(), vec!["2".to_owned()])].into());
    let family = registry.family(family).unwrap();
    family.act(action, &arguments, samples(run)).unwrap()
}

/// The pages on which others mark what a run holds.
fn marking(registry: &Registry, family: &str, action: &str, run: &Path, task: &str) -> Frozen {
    let form = acted(registry, family, action, run).form.unwrap().1;
    let origin = FormOrigin {
        run: run.file_name().unwrap().to_string_lossy().into_owned(),
        path: run.to_string_lossy().into_owned(),
        task: task.to_owned(),
    };
    frozen(&Form::from(&form), &origin, Language::En, None, 1).unwrap()
}

/// A marker who says yes to every page that `good` likes.
fn marked(session: &Session, good: impl Fn(&str) -> bool) {
    let token = fixture::joined(session);
    loop {
        let view = fixture::look(session, &token);
        let value = match view.step {
            mary_study::store::Step::Finished => break,
            mary_study::store::Step::Trial { item, .. } => {
                let page = serde_json::to_string(&session.study.questions[item]).unwrap();
                if good(&page) { "1" } else { "0" }
            }
            _ => "0",
        };
        fixture::send(session, &token, fixture::filled(&view, value)).unwrap();
    }
}

fn table<'a>(tables: &'a [mary_contract::Table], id: &str) -> &'a mary_contract::Table {
    tables.iter().find(|t| t.id == id).unwrap()
}

/// Table 7's people used to be the paper's alone: no study asked for a rule, and nobody was handed over.
#[test]
fn rules_are_named_marked_blind_and_stand_in_table_7() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let registry = fixture::registry();
    let asked = fixture::frozen("htest/name-the-rule", 10, &[], Some(14), false);
    assert_eq!((asked.questions.len(), asked.seconds), (10, Some(180)));
    let mut settings = fixture::settings(3, 10);
    settings.name = "rules".into();
    settings.rules.seconds = 180;
    let (session, base) = opened(&dir.path().join("study"), &settings, &asked);
    let keys = session.study.keys().unwrap();
    // Two simulated people; the third sits at a browser.
    let simulation = Simulation {
        behaviour: Behaviour::Ability {
            mean: 1.5,
            sd_people: 0.7,
            sd_items: 0.9,
        },
        seconds: 20.0,
        seed: 4,
    };
    assert_eq!(
        simulate::by_data(&session, &keys, &simulation, 2).unwrap(),
        2
    );
    let browser = chromium::start();
    match browser {
        Some(mut browser) => {
            begun(&mut browser, &session, &base);
            for trial in 0..10 {
                at_step(&mut browser, &format!("trial-{trial}"));
                if trial == 0 {
                    let left = "document.getElementById('clock').textContent";
                    browser.until(&format!("{left}.includes('seconds left')"));
                    axe(&mut browser, "naming a rule");
                    browser.picture("study-naming-question", true);
                    browser.size(400, 800, true);
                    fits(&mut browser, "naming a rule");
                    browser.picture("study-naming-400px", false);
                    browser.size(1280, 900, false);
                }
                if trial == 9 {
                    // Out of time: what stands there is not taken.
                    browser.eval("(() => { const f = document.getElementById('trial'); const a = document.getElementById('answer'); a.disabled = true; const o = document.createElement('input'); o.type = 'hidden'; o.name = 'answer'; o.value = 'time-out'; f.append(o); f.requestSubmit(); })()");
                } else {
                    write(&mut browser, "A is the longer one");
                }
            }
            browser.until("!!document.getElementById('code')");
            quiet(&browser);
            let people = session.people().unwrap();
            let mine = people.last().unwrap();
            assert_eq!(mine.answers[9].answer, Answer::TimeOut);
        }
        None => {
            simulate::by_data(&session, &keys, &simulation, 1).unwrap();
        }
    }
    let (run, summary, _) = session.close(&registry, &runs).unwrap().unwrap();
    // Nobody counts before somebody has read what they said.
    let family = registry.family("htest").unwrap();
    let before = family.exhibits(std::slice::from_ref(&summary)).tables;
    let unread = |t: &mary_contract::Table| t.rows.iter().any(|r| r[0].contains("person 1"));
    assert!(!before.iter().any(unread));

    let pages = marking(&registry, "htest", "rules", &run, "htest/name-the-rule");
    let shown = serde_json::to_string(&pages.questions).unwrap();
    assert!(
        !shown.contains("people/") && !shown.contains("name-the-rule"),
        "{shown}"
    );
    let mut settings = fixture::settings(3, pages.questions.len());
    settings.name = "marked".into();
    let (marks, base) = opened(&dir.path().join("marks"), &settings, &pages);
    // Whoever says the rule in the form's own words names it.
    let named = |page: &str| !page.contains("do not know") && !page.contains("longer one");
    marked(&marks, named);
    marked(&marks, named);
    if let Some(mut browser) = chromium::start() {
        begun(&mut browser, &marks, &base);
        for trial in 0..pages.questions.len() {
            at_step(&mut browser, &format!("trial-{trial}"));
            if trial == 0 {
                axe(&mut browser, "marking a rule");
                browser.picture("study-marking-question", true);
            }
            let said = browser.text("document.getElementById('item').textContent");
            browser.press(if named(&said) { "2" } else { "1" });
            browser.until("document.querySelectorAll('input[name=answer]:checked').length === 1");
            browser.press("Enter");
        }
        browser.until("!!document.getElementById('code')");
        quiet(&browser);
    } else {
        marked(&marks, named);
    }
    let (path, summary, _) = marks.close(&registry, &runs).unwrap().unwrap();
    let tables = family.exhibits(std::slice::from_ref(&summary)).tables;
    let seventh = table(&tables, "htest-table-7");
    let all = samples(&path);
    for (place, row) in seventh.rows.iter().take(3).enumerate() {
        let own = all.iter().filter(|s| s.id.trial as usize == place);
        let right = own.filter(|s| s.judgement.measures.get("rule_named_by_people") == Some(&1.0));
        assert_eq!(&*row[0], format!("people/rules, person {}", place + 1));
        assert_eq!(
            &*row[2],
            format!("{}/10", right.count()),
            "{:?}",
            seventh.rows
        );
    }
    assert!(seventh.rows[0][2] != "0/10");
    if chromium::start().is_some() {
        assert_eq!(seventh.rows[2][2], "0/10");
    }
    assert_eq!(seventh.rows[3][0], "Human A");
}

/// A run of chains of thought: on every second item one that goes by the mood of the sentence, each read by a
/// judge. The first of the misled is right all the same.
fn thought(registry: &Registry, runs: &Path) -> std::path::PathBuf {
    const MODEL: &str = "maker/thinker";
    let task = registry.task("htest/end-punctuation").unwrap();
    let settings = TaskSettings {
        seed: 3,
        shots: Some(4),
        params: [("mode".to_owned(), "cot".to_owned())].into(),
        ..TaskSettings::default()
    };
    let manifest = fixture::manifest("thought", task.as_ref(), settings.clone(), &[MODEL]);
    let mut folder = RunFolder::create_or_open(runs, &manifest).unwrap();
    let words = |text: String| Reply::bare(Response::Generated(Generated::whole(text)));
    let items = task.items(&settings, &NoData).unwrap().take(8);
    for (place, item) in items.map(Result::unwrap).enumerate() {
        let mary_contract::Target::Choice { correct, .. } = &item.target else {
            panic!("no choice");
        };
        let misled = place % 2 == 1;
        let right = !misled || place == 1;
        let said = ["A", "B"][if right { *correct } else { 1 - *correct }];
        let by = if misled { "mood" } else { "last mark" };
        let chain = words(format!("{place}. By its {by} this is {said}."));
        let reading = task.follow_up(&settings, &item, std::slice::from_ref(&chain));
        let asks = [item.asks[0].clone(), reading.unwrap().remove(0)];
        let replies = [chain, words(said.to_owned())];
        let judgement = task.judge(&settings, &item, &replies);
        assert_eq!(
            judgement.outcome,
            mary_contract::Outcome::Scored(f64::from(u8::from(right)))
        );
        let exchanges = asks.into_iter().zip(replies).map(|(ask, reply)| Exchange {
            key: Key::of(MODEL, task.card(), 0, &ask.request).unwrap(),
            ask,
            reply: Ok(reply),
        });
        let sample = Sample {
            id: SampleId::new(MODEL, "htest/end-punctuation", item.id.clone(), 0),
            exchanges: exchanges.collect(),
            judgement,
            item,
        };
        folder.append(&sample).unwrap();
    }
    folder.flush().unwrap();
    runs.join("thought")
}

/// Table 3: which chains of thought are misled, and what comes of those and of the others.
#[test]
fn chains_of_thought_are_marked_blind_and_stand_in_table_3() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let registry = fixture::registry();
    let run = thought(&registry, &runs);
    let task = "htest/end-punctuation";
    let pages = marking(&registry, "htest", "reasoning", &run, task);
    assert_eq!(pages.questions.len(), 8);
    let shown = serde_json::to_string(&pages.questions).unwrap();
    assert!(shown.contains("By its mood") && !shown.contains("maker/"));
    let mut settings = fixture::settings(3, 8);
    settings.name = "misled".into();
    let (marks, base) = opened(&dir.path().join("marks"), &settings, &pages);
    let misled = |page: &str| page.contains("By its mood");
    marked(&marks, misled);
    marked(&marks, misled);
    if let Some(mut browser) = chromium::start() {
        begun(&mut browser, &marks, &base);
        for trial in 0..8 {
            at_step(&mut browser, &format!("trial-{trial}"));
            if trial == 0 {
                axe(&mut browser, "marking a chain of thought");
                browser.picture("study-reasoning-question", true);
                browser.size(400, 800, true);
                fits(&mut browser, "marking a chain of thought");
                browser.picture("study-reasoning-400px", false);
                browser.size(1280, 900, false);
            }
            let said = browser.text("document.getElementById('item').textContent");
            browser.press(if misled(&said) { "2" } else { "1" });
            browser.until("document.querySelectorAll('input[name=answer]:checked').length === 1");
            browser.press("Enter");
        }
        browser.until("!!document.getElementById('code')");
        quiet(&browser);
    } else {
        marked(&marks, misled);
    }
    let (path, summary, _) = marks.close(&registry, &runs).unwrap().unwrap();
    for sample in samples(&path) {
        let found = sample.judgement.measures["misled_by_people"];
        assert_eq!(found, f64::from(u8::from(misled(sample.written()))));
    }
    let family = registry.family("htest").unwrap();
    let tables = family.exhibits(std::slice::from_ref(&summary)).tables;
    let row = &table(&tables, "htest-table-3").rows[0];
    let cells: Vec<&str> = row.iter().map(|cell| &**cell).collect();
    // One of the four misled chains is right, and all of the others.
    assert_eq!(
        cells,
        [
            "maker/thinker",
            "Texts ending in punctuation",
            "50.0",
            "25.0",
            "100.0"
        ]
    );
}

#[test]
fn people_flag_that_none_fits_and_answer_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let registry = fixture::registry();
    let asked = fixture::flagging("physico/definition", 8, &[("set", "associative")]);
    let mut settings = fixture::settings(12, 8);
    settings.name = "flagged".into();
    let (session, base) = opened(&dir.path().join("study"), &settings, &asked);
    if let Some(mut browser) = chromium::start() {
        begun(&mut browser, &session, &base);
        for trial in 0..8 {
            at_step(&mut browser, &format!("trial-{trial}"));
            if trial == 0 {
                // The mark alone is no answer.
                browser.press("5");
                browser.press("Enter");
                at_step(&mut browser, "trial-0");
                axe(&mut browser, "flag and answer");
                fits(&mut browser, "flag and answer");
                browser.press("1");
                browser
                    .until("document.querySelectorAll('input[name=answer]:checked').length === 2");
                browser.picture("study-flag-question", true);
            } else {
                browser.press("2");
                browser
                    .until("document.querySelectorAll('input[name=answer]:checked').length === 1");
            }
            browser.press("Enter");
        }
        browser.until("!!document.getElementById('code')");
        quiet(&browser);
        let given = session.people().unwrap()[0].answers.clone();
        assert_eq!(given[0].answer, Answer::Flagged(given[0].shown[0]));
        assert_eq!(given[1].answer, Answer::Choice(given[1].shown[1]));
    }
    let simulation = Simulation {
        behaviour: Behaviour::Ability {
            mean: 1.0,
            sd_people: 0.5,
            sd_items: 0.5,
        },
        seconds: 5.0,
        seed: 2,
    };
    let keys = session.study.keys().unwrap();
    simulate::by_data(&session, &keys, &simulation, 12).unwrap();
    let found = session.judged(&registry).unwrap();
    let all: Vec<&Sample> = found.samples.iter().collect();
    let statistics = PeopleStatistics::from_samples(&all);
    let flag = |s: &&&Sample| s.judgement.measures["none_fits"] == 1.0;
    let flagged: Vec<f64> = all
        .iter()
        .filter(flag)
        .map(|s| match s.judgement.outcome {
            mary_contract::Outcome::Scored(score) => score,
            _ => panic!("unscored"),
        })
        .collect();
    let mean = flagged.iter().sum::<f64>() / flagged.len() as f64;
    let stated = statistics.flagged.unwrap();
    assert!((stated.value - mean).abs() < 1e-12);
    assert!(stated.value < statistics.unflagged.unwrap().value);
    let closed = session.close(&registry, &dir.path().join("runs")).unwrap();
    let (_, summary, _) = closed.unwrap();
    assert!(summary.rows[0].measure("score_flagged").is_some());
}

/// Concepts for ARC: named freely, confirmed by two others, and asked as associative instances.
#[test]
fn arc_is_relabelled_by_people_and_confirmed_by_others() {
    let Some(data) = mary_testkit::lacking::datasets("arc") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let registry = fixture::registry();
    let data = fixture::Datasets(data);
    let asked = fixture::drawn("physico/relabel", 6, &[("n", "8")], None, false, &data);
    let mut settings = fixture::settings(2, 6);
    settings.name = "arc".into();
    let (session, base) = opened(&dir.path().join("study"), &settings, &asked);
    let labels = [
        "gravity",
        "Reflection.",
        "diffusion",
        "a tug of war",
        "none",
        "wave",
    ];
    if let Some(mut browser) = chromium::start() {
        begun(&mut browser, &session, &base);
        for (trial, label) in labels.iter().enumerate() {
            at_step(&mut browser, &format!("trial-{trial}"));
            if trial == 0 {
                axe(&mut browser, "relabelling");
                browser.picture("study-relabel-question", true);
            }
            write(&mut browser, label);
        }
        browser.until("!!document.getElementById('code')");
        quiet(&browser);
    } else {
        let token = fixture::joined(&session);
        for label in std::iter::once(&"begin").chain(&labels) {
            let view = fixture::look(&session, &token);
            fixture::send(&session, &token, fixture::filled(&view, label)).unwrap();
        }
    }
    // A second person, simulated, who labels in a way that nobody confirms.
    let simulation = Simulation {
        behaviour: Behaviour::Random,
        seconds: 9.0,
        seed: 5,
    };
    let keys = session.study.keys().unwrap();
    assert_eq!(
        simulate::by_data(&session, &keys, &simulation, 1).unwrap(),
        1
    );
    let (run, ..) = session.close(&registry, &runs).unwrap().unwrap();
    let pages = marking(&registry, "physico", "validate", &run, "physico/relabel");
    // Five labels of the first person (one said none) and six of the second.
    assert_eq!(pages.questions.len(), 11);
    let mut settings = fixture::settings(2, 11);
    settings.name = "confirmed".into();
    let (marks, base) = opened(&dir.path().join("marks"), &settings, &pages);
    let sensible = |page: &str| !page.contains("answer ") && !page.contains("tug of war");
    marked(&marks, sensible);
    if let Some(mut browser) = chromium::start() {
        begun(&mut browser, &marks, &base);
        for trial in 0..11 {
            at_step(&mut browser, &format!("trial-{trial}"));
            if trial == 0 {
                axe(&mut browser, "confirming a label");
                browser.picture("study-confirm-question", true);
            }
            let said = browser.text("document.getElementById('item').textContent");
            browser.press(if sensible(&said) { "2" } else { "1" });
            browser.until("document.querySelectorAll('input[name=answer]:checked').length === 1");
            browser.press("Enter");
        }
        browser.until("!!document.getElementById('code')");
        quiet(&browser);
    } else {
        marked(&marks, sensible);
    }
    let (path, ..) = marks.close(&registry, &runs).unwrap().unwrap();
    let made = acted(&registry, "physico", "labels", &path);
    let file = String::from_utf8(made.files[0].1.clone()).unwrap();
    let mut concepts: Vec<&str> = file
        .lines()
        .skip(1)
        .map(|l| l.split_once(',').unwrap().1)
        .collect();
    concepts.sort_unstable();
    assert_eq!(
        concepts,
        ["diffusion", "gravity", "reflection", "wave"],
        "{file}"
    );
    // What was confirmed can be asked at once.
    let place = dir.path().join("labels.csv");
    std::fs::write(&place, &file).unwrap();
    let place = place.to_string_lossy().into_owned();
    let set = [("source", "arc"), ("labels", place.as_str())];
    let asked = fixture::drawn("physico/associative-text", 4, &set, None, false, &data);
    assert_eq!(asked.questions.len(), 4);
}
