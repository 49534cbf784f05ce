//! What models wrote, judged by people: blind, in a real Chromium and on paper, and back as judgements of the
//! run, with the agreement between judges.

use std::path::Path;

use mary_contract::Sample;
use mary_store::RunFolder;
use mary_study::judgements::{self, Joining, MEASURE};
use mary_study::question::Answer;
use mary_study::{Session, Study, paper};

use crate::browser::{opened, quiet, through};
use crate::chromium;
use crate::fixture::{self, described, described_as, described_frozen, joined, look, send};

/// Three texts of each trial by the first model, three by the second: nine pages.
const TEXTS: usize = 9;

/// A second judge, who finds an error in the texts of the first page alone.
fn second_judge(session: &Session) {
    let token = joined(session);
    let first = session.study.design().list(1)[0];
    loop {
        let view = look(session, &token);
        let value = match view.step {
            mary_study::store::Step::Finished => break,
            mary_study::store::Step::Trial { item, .. } if item == first => "0",
            _ => "1",
        };
        send(session, &token, fixture::filled(&view, value)).unwrap();
    }
}

/// The judged run: every answer with the mean of its judges.
fn samples(run: &Path) -> Vec<Sample> {
    let folder = RunFolder::open(run).unwrap();
    folder.samples().unwrap().map(Result::unwrap).collect()
}

#[test]
fn descriptions_are_judged_in_the_browser_and_come_back_as_judgements_of_the_run() {
    let Some(mut browser) = chromium::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let (_run, form) = described(&runs);
    let frozen = described_frozen(&runs, &form);
    assert_eq!(frozen.questions.len(), TEXTS);
    let mut settings = fixture::settings(2, TEXTS);
    settings.name = "judged".into();
    let (session, base) = opened(&dir.path().join("study"), &settings, &frozen);
    // Blind: no page names a model. 1 is an error, 2 is none, on every page.
    through(&mut browser, "judged", &session, &base, &["2", "2", "1"]);
    quiet(&browser);
    second_judge(&session);
    let people = session.people().unwrap();
    let (one, two) = (Answer::Choice(1), Answer::Choice(0));
    let chosen: Vec<&Answer> = people[0].answers.iter().map(|a| &a.answer).collect();
    assert_eq!(chosen[..3], [&one, &one, &two]);

    let (path, summary, found) = session.close(&fixture::registry(), &runs).unwrap().unwrap();
    assert_eq!(found.samples.len(), 2 * TEXTS);
    assert!(
        path.ends_with("judged-judged-described"),
        "{}",
        path.display()
    );
    let judged = samples(&path);
    assert_eq!(judged.len(), 12);
    // Joined by hand: text by text, whoever the models were.
    let keys = session.study.keys().unwrap();
    let judging = keys.judging.as_ref().unwrap();
    for sample in &judged {
        let text = judging.of.iter().position(|all| {
            all.iter().any(|of| {
                of.model == sample.id.model
                    && of.item == sample.id.item
                    && of.trial == sample.id.trial
            })
        });
        let text = text.unwrap();
        let given = people
            .iter()
            .flat_map(|p| &p.answers)
            .filter(|a| a.item == text);
        let good = given.filter(|a| a.answer == one).count();
        assert_eq!(sample.judgement.measures[MEASURE], good as f64 / 2.0);
        assert_eq!(
            sample.judgement.notes["people"].as_array().unwrap().len(),
            2
        );
        // The verdict of the run itself stands.
        assert_eq!(
            sample.judgement.outcome,
            mary_contract::Outcome::Scored(1.0)
        );
    }
    for row in &summary.rows {
        let estimate = row.measure(MEASURE).unwrap();
        assert_eq!(estimate.method, "crossed");
    }
    // Where judges never differ, agreement cannot be said; here they do.
    let said = |row: &&mary_contract::SummaryRow| row.measure("judges_kappa").is_some();
    assert!(summary.rows.iter().filter(said).count() > 0);
    let by_model = judgements::by_model(&session.verdicts(&keys, &found.samples)).unwrap();
    let counts: Vec<(usize, usize)> = by_model
        .iter()
        .map(|m| (m.descriptions, m.judges))
        .collect();
    assert_eq!(counts, [(6, 2), (3, 2)]);
    // The run itself is as it was, and a judge who withdraws is in the new one no more.
    assert!(
        samples(&runs.join("described"))
            .iter()
            .all(|s| s.judgement.measures.is_empty())
    );
    let gone = people[0].person.pseudonym.clone();
    assert!(session.withdraw(&gone, None).unwrap().is_some());
    let (path, ..) = session.close(&fixture::registry(), &runs).unwrap().unwrap();
    let log = std::fs::read_to_string(path.join("samples.jsonl")).unwrap();
    assert!(!log.contains(&gone));
}

#[test]
fn the_same_on_paper_and_in_a_spreadsheet() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let (run, form) = described(&runs);
    drop(run);
    let frozen = described_frozen(&runs, &form);
    let mut settings = fixture::settings(1, TEXTS);
    settings.name = "paper".into();
    Study::create(&dir.path().join("study"), &settings, &frozen).unwrap();
    let (session, _thread) = Session::open(&dir.path().join("study")).unwrap();
    let files = paper::print(&session, 0..1, &dir.path().join("paper")).unwrap();
    let sheets = std::fs::read_to_string(&files[0]).unwrap();
    assert!(sheets.contains("unfaithful example") && !sheets.contains("maker/"));
    let marks: String = (1..=TEXTS)
        .map(|n| format!("1,{n},{}\n", if n == 1 { "A" } else { "B" }))
        .collect();
    let file = dir.path().join("marks.csv");
    std::fs::write(&file, format!("sheet,question,mark\n{marks}")).unwrap();
    assert_eq!(paper::read(&session, &file).unwrap(), 1);
    let (path, ..) = session.close(&fixture::registry(), &runs).unwrap().unwrap();
    let wrong = samples(&path)
        .iter()
        .filter(|s| s.judgement.measures[MEASURE] == 0.0)
        .count();
    let keys = session.study.keys().unwrap();
    let first = session.study.design().list(0)[0];
    assert_eq!(wrong, keys.judging.unwrap().of[first].len());

    // A spreadsheet: every line has a verdict of its own.
    let mut filled = form;
    for (n, line) in filled.lines.iter_mut().enumerate() {
        line.mark = Some(if n == 0 { 0.0 } else { 1.0 });
    }
    let marks = judgements::of_forms(&[("ann".into(), filled)]);
    let run = RunFolder::open(&runs.join("described")).unwrap();
    let named = Joining {
        name: "sheet",
        task: Some("physico/describe"),
        measure: MEASURE,
    };
    let registry = fixture::registry();
    let (path, summary) = judgements::write_run(&runs, &run, &registry, named, &marks).unwrap();
    assert_eq!(
        samples(&path)
            .iter()
            .filter(|s| s.judgement.measures[MEASURE] == 1.0)
            .count(),
        11
    );
    assert_eq!(summary.rows[0].measure(MEASURE).unwrap().n, 6);
    // Of another task of the same ids nothing is joined, and nothing is written.
    let other = Joining {
        name: "other",
        task: Some("physico/definition"),
        ..named
    };
    assert!(judgements::write_run(&runs, &run, &registry, other, &marks).is_err());
    assert!(!runs.join("judged-other-described").exists());
}

/// Which core properties descriptions name, as the paper's annotators said: a page for each property of each
/// description, with a pair of grids that was drawn for it, and back as a measure of its own.
#[test]
fn which_properties_a_description_names_is_judged_with_their_grids() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let (run, form) = described_as(&runs, "recall");
    drop(run);
    assert_eq!(form.measure, "recall_by_people");
    // Of one answer: a line for each property of its concept, each drawn.
    let first = &form.lines[0].of;
    let own: Vec<_> = form.lines.iter().filter(|l| l.of == *first).collect();
    assert!(own.len() > 1, "{own:?}");
    for line in &own {
        let drawn = line.shown.iter().find(|(h, _)| h == "drawn as");
        let (input, output) = drawn.unwrap().1.split_once("\n->\n").unwrap();
        assert!(input != output && input.starts_with(|c: char| c.is_ascii_digit()));
    }
    let frozen = described_frozen(&runs, &form);
    let pages = frozen.questions.len();
    // The two trials of the second model share their texts.
    assert_eq!(pages, form.lines.len() * 3 / 4);
    let mut settings = fixture::settings(2, pages);
    settings.name = "recall".into();
    let (session, base) = opened(&dir.path().join("study"), &settings, &frozen);
    // Both judges find the first property of every concept, and only one of them the others.
    let keys = session.study.keys().unwrap();
    let judging = keys.judging.clone().unwrap();
    let easy = |item: usize| {
        let line = form.lines.iter().find(|l| l.of == judging.of[item][0]);
        judging.parts[item] == line.unwrap().part
    };
    for judge in 0..2 {
        let token = joined(&session);
        loop {
            let view = look(&session, &token);
            let value = match view.step {
                mary_study::store::Step::Finished => break,
                mary_study::store::Step::Trial { item, .. } if judge == 0 || easy(item) => "1",
                _ => "0",
            };
            send(&session, &token, fixture::filled(&view, value)).unwrap();
        }
    }
    let (path, summary, found) = session.close(&fixture::registry(), &runs).unwrap().unwrap();
    for sample in samples(&path) {
        let parts = form.lines.iter().filter(|l| {
            l.of.model == sample.id.model
                && l.of.item == sample.id.item
                && l.of.trial == sample.id.trial
        });
        let parts = parts.count() as f64;
        let expected = (1.0 + 0.5 * (parts - 1.0)) / parts;
        let measured = sample.judgement.measures["recall_by_people"];
        assert!((measured - expected).abs() < 1e-12, "{measured} {expected}");
        let said = sample.judgement.notes["recall_by_people"]
            .as_array()
            .unwrap();
        assert_eq!(said.len() as f64, 2.0 * parts);
        assert!(said.iter().all(|s| s["part"].is_string()));
        assert!(!sample.judgement.measures.contains_key(MEASURE));
    }
    for row in &summary.rows {
        assert_eq!(row.measure("recall_by_people").unwrap().method, "crossed");
        assert!(row.measure("recall_by_people_agreement").is_some());
    }
    let marks = session.verdicts(&keys, &found.samples);
    let words = judgements::table(&judgements::by_model(&marks).unwrap(), &judging.measure);
    assert!(words.contains("texts (recall_by_people)"), "{words}");

    let Some(mut browser) = chromium::start() else {
        return;
    };
    // In the browser, the first pages of a study of its own.
    drop((session, base));
    settings.per_person = 3;
    let (session, base) = opened(&dir.path().join("again"), &settings, &frozen);
    through(&mut browser, "recall", &session, &base, &["2", "1"]);
    quiet(&browser);
}
