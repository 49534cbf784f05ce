//! The way through a study without a browser: places, steps, saving once, coming back, withdrawing, results.

use mary_contract::Outcome;
use mary_study::results::PEOPLE;
use mary_study::session::now;
use mary_study::simulate::{Behaviour, Simulation, by_data};
use mary_study::store::{NoPlace, PersonState, PlatformIds, Refusal, Step, Submitted};
use mary_study::{PeopleStatistics, Session, export, status};

use crate::fixture::{self, filled, joined, look, send, until};

#[test]
fn a_person_goes_through_and_can_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let (session, thread) =
        fixture::study(dir.path(), &fixture::with_checks(fixture::settings(2, 5)));
    let token = joined(&session);
    assert_eq!(look(&session, &token).step, Step::Instructions);
    until(&session, &token, |s| {
        matches!(s, Step::Trial { trial: 3, .. })
    });
    let place = look(&session, &token).person.place;
    // The server stops and starts again; the person comes back to the same question.
    drop(session);
    thread.finish();
    let (session, _thread) = Session::open(&dir.path().join("study")).unwrap();
    let view = look(&session, &token);
    assert!(matches!(view.step, Step::Trial { trial: 3, .. }));
    let end = until(&session, &token, |s| *s == Step::Finished);
    assert_eq!(end.person.state, PersonState::Finished);
    let people = session.people().unwrap();
    let items: Vec<usize> = people[0].answers.iter().map(|a| a.item).collect();
    assert_eq!(items, session.study.design().list(place));
    assert!(people[0].answers[3].views > 1, "it was opened again");
    assert_eq!(people[0].failures, 0);
}

#[test]
fn an_answer_is_saved_once_and_nothing_else_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(3, 4));
    let (one, other) = (joined(&session), joined(&session));
    let first = until(&session, &one, |s| {
        matches!(s, Step::Trial { trial: 0, .. })
    });
    let sent = filled(&first, "0");
    assert_eq!(send(&session, &one, sent.clone()), Ok(Submitted::Saved));
    // The same again, and with another answer: nothing changes.
    assert_eq!(send(&session, &one, sent.clone()), Ok(Submitted::Already));
    let mut changed = sent.clone();
    changed.values = vec!["1".into()];
    assert_eq!(send(&session, &one, changed), Ok(Submitted::Already));
    let saved = session.people().unwrap()[0].answers.clone();
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0].answer, mary_study::question::Answer::Choice(0));
    // A key of another step, of another person, or none; a step that is not the next one.
    let second = look(&session, &one);
    for (step, key) in [
        ("trial-1", sent.key.as_str()),
        ("trial-2", second.key.as_str()),
        ("trial-1", ""),
        ("finished", second.key.as_str()),
    ] {
        let mut forged = filled(&second, "0");
        forged.step = step.into();
        forged.key = key.into();
        assert_eq!(send(&session, &one, forged), Err(Refusal::NotNow), "{step}");
    }
    assert_eq!(
        send(&session, &other, filled(&second, "0")),
        Err(Refusal::NotNow)
    );
    assert_eq!(
        send(&session, "nobody", filled(&second, "0")),
        Err(Refusal::Unknown)
    );
    // What is no answer to the question.
    for value in ["2", "x", "", "none", "time-out"] {
        assert_eq!(
            send(&session, &one, filled(&second, value)),
            Err(Refusal::Unreadable),
            "{value}"
        );
    }
    assert_eq!(session.people().unwrap()[0].answers.len(), 1);
}

#[test]
fn a_place_is_given_to_one_person_and_released_after_a_while() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(2, 3));
    let begin = now();
    let join = |at: i64| {
        let (token, work) = session.joining(None, at);
        session.store.wait(work).unwrap().map(|_| token)
    };
    let (one, two) = (join(begin).unwrap(), join(begin).unwrap());
    assert_eq!(join(begin), Err(NoPlace::Full));
    let place = |token: &str, at: i64| {
        let view = session
            .store
            .wait(session.looking(token, at))
            .unwrap()
            .unwrap();
        (view.person.place, view.step)
    };
    assert_eq!(place(&one, begin).0, 0);
    assert_eq!(place(&two, begin).0, 1);
    // The first is silent for an hour, the second is not.
    let later = begin + 61 * 60_000;
    place(&two, later - 1_000);
    let three = join(later).unwrap();
    assert_eq!(place(&three, later).0, 0);
    assert_eq!(place(&one, later).1, Step::TimedOut);
    assert_eq!(join(later), Err(NoPlace::Full));
    // The third withdraws: the place is free, and the first goes on in it.
    let left = session.store.wait(session.leaving(&three, later)).unwrap();
    assert!(left.is_some());
    assert_eq!(place(&one, later), (0, Step::Instructions));
    assert_eq!(join(later), Err(NoPlace::Full));
}

#[test]
fn who_fails_the_comprehension_check_twice_is_sent_back() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) =
        fixture::study(dir.path(), &fixture::with_checks(fixture::settings(1, 3)));
    let token = joined(&session);
    let check = until(&session, &token, |s| matches!(s, Step::Check { .. }));
    assert_eq!(
        send(&session, &token, filled(&check, "0")),
        Ok(Submitted::Saved)
    );
    let again = look(&session, &token);
    assert_eq!(
        again.step,
        Step::Check {
            number: 0,
            attempt: 1
        }
    );
    assert_eq!(
        send(&session, &token, filled(&again, "0")),
        Ok(Submitted::Saved)
    );
    assert_eq!(look(&session, &token).step, Step::ScreenedOut);
    // The place goes to the next.
    let next = joined(&session);
    assert_eq!(look(&session, &next).person.place, 0);
}

#[test]
fn platforms_send_each_person_once_and_their_ids_stay_apart() {
    let dir = tempfile::tempdir().unwrap();
    let settings = fixture::prolific(fixture::settings(3, 2));
    let (session, _thread) = fixture::study(dir.path(), &settings);
    let ids = |session: &str| PlatformIds {
        pid: "5f00pid".into(),
        study: "s1".into(),
        session: session.into(),
    };
    let join = |ids: PlatformIds| {
        let (token, work) = session.joining(Some(ids), now());
        session.store.wait(work).unwrap().map(|_| token)
    };
    let first = join(ids("a")).unwrap();
    until(&session, &first, |s| {
        matches!(s, Step::Trial { trial: 1, .. })
    });
    // The same participation comes back under a new token; another one is refused.
    let back = join(ids("a")).unwrap();
    assert!(matches!(
        look(&session, &back).step,
        Step::Trial { trial: 1, .. }
    ));
    assert!(
        session
            .store
            .wait(session.looking(&first, now()))
            .unwrap()
            .is_none()
    );
    assert_eq!(join(ids("b")), Err(NoPlace::Again));
    until(&session, &back, |s| *s == Step::Finished);
    assert_eq!(join(ids("a")), Err(NoPlace::Again));
    // Nothing that is written out holds the id.
    let registry = fixture::registry();
    let (run, ..) = session
        .close(&registry, &dir.path().join("runs"))
        .unwrap()
        .unwrap();
    let found = session.judged(&registry).unwrap();
    let out = dir.path().join("out");
    export::write(&session, &found, &session.people().unwrap(), &out).unwrap();
    for folder in [
        run,
        out.clone(),
        out.join("psych-ds"),
        out.join("psych-ds/data"),
    ] {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_file() {
                let text = std::fs::read_to_string(entry.path()).unwrap();
                assert!(!text.contains("5f00pid"), "{}", entry.path().display());
            }
        }
    }
    // Withdrawn by the platform's id: nothing of them is left on disk.
    let deleted = session.withdraw("5f00pid", Some(&registry)).unwrap();
    assert!(deleted.unwrap().complete());
    assert!(session.withdraw("5f00pid", None).unwrap().is_none());
    assert!(session.people().unwrap().is_empty());
    for entry in std::fs::read_dir(dir.path().join("study"))
        .unwrap()
        .flatten()
    {
        let bytes = std::fs::read(entry.path()).unwrap();
        let found = bytes.windows(7).any(|w| w == b"5f00pid");
        assert!(!found, "{}", entry.path().display());
    }
}

/// The run folder that comes out is one that Mary reads: every person a trial, judged by the task's judge.
#[test]
fn results_are_a_run_of_people() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(12, 10));
    let keys = session.study.keys().unwrap();
    let simulation = Simulation {
        behaviour: Behaviour::Ability {
            mean: 2.0,
            sd_people: 0.5,
            sd_items: 0.5,
        },
        seconds: 3.0,
        seed: 5,
    };
    assert_eq!(by_data(&session, &keys, &simulation, 50).unwrap(), 12);
    let registry = fixture::registry();
    let runs = dir.path().join("runs");
    let (path, summary, found) = session.close(&registry, &runs).unwrap().unwrap();
    assert_eq!((found.finished, found.excluded), (12, 0));
    assert_eq!(found.samples.len(), 120);
    assert!(summary.complete);
    let folder = mary_store::RunFolder::open(&path).unwrap();
    let model = format!("{PEOPLE}/trial-study");
    let samples: Vec<_> = folder.samples().unwrap().map(Result::unwrap).collect();
    assert!(samples.iter().all(|s| s.id.model == model));
    // Independently judged: right is what the key says, whatever the order that was shown.
    let right = samples
        .iter()
        .filter(|s| s.judgement.outcome == Outcome::Scored(1.0))
        .count();
    let expected = session
        .people()
        .unwrap()
        .iter()
        .flat_map(|p| p.answers.clone())
        .filter(|a| {
            let mary_contract::Target::Choice { correct, .. } = &keys.items[a.item].item.target
            else {
                panic!("a choice");
            };
            a.answer == mary_study::question::Answer::Choice(*correct)
        })
        .count();
    assert_eq!(right, expected);
    assert!((60..120).contains(&right), "{right}");
    let row = &summary.rows[0];
    assert_eq!(row.score.as_ref().unwrap().method, "crossed");
    assert_eq!(row.human, None);
    assert!(row.measure("krippendorff_alpha").is_some());
    let all: Vec<_> = samples.iter().collect();
    let statistics = PeopleStatistics::from_samples(&all);
    assert_eq!((statistics.people, statistics.items), (12, 20));
    assert_eq!(statistics.learning.len(), 10);
    assert!(statistics.seconds.unwrap()[2] > 1.0);
    // Whoever withdraws is not in the run that is written again.
    let gone = session.people().unwrap()[0].person.pseudonym.clone();
    let deleted = session.withdraw(&gone, Some(&registry)).unwrap();
    assert!(deleted.unwrap().complete());
    let log = std::fs::read_to_string(path.join("samples.jsonl")).unwrap();
    assert!(!log.contains(&gone), "the run is written again");
    let (again, ..) = session.close(&registry, &runs).unwrap().unwrap();
    assert_eq!(again, path);
    let log = std::fs::read_to_string(again.join("samples.jsonl")).unwrap();
    assert!(!log.contains(&gone));
    assert_eq!(log.lines().count(), 110);
}

/// Closing while somebody is inside: with the doors shut they may finish; closed, they get the code.
#[test]
fn closing_lets_people_finish_or_gives_them_their_code() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(4, 3));
    let [one, two, three] = [(); 3].map(|()| joined(&session));
    for token in [&one, &two] {
        until(&session, token, |s| {
            matches!(s, Step::Trial { trial: 1, .. })
        });
    }
    assert_eq!(session.inside().unwrap(), 3);
    session.stop_admission().unwrap();
    let (_, work) = session.joining(None, now());
    assert_eq!(session.store.wait(work).unwrap(), Err(NoPlace::Closed));
    assert!(!session.is_closed().unwrap());
    until(&session, &one, |s| *s == Step::Finished);
    assert_eq!(session.inside().unwrap(), 2);
    let late = look(&session, &two);
    let (_, summary, found) = session
        .close(&fixture::registry(), &dir.path().join("runs"))
        .unwrap()
        .unwrap();
    assert_eq!(look(&session, &two).step, Step::Closed { begun: true });
    assert_eq!(look(&session, &three).step, Step::Closed { begun: false });
    assert_eq!(
        send(&session, &two, filled(&late, "0")),
        Err(Refusal::Over),
        "no answer is taken"
    );
    assert_eq!(found.finished, 1);
    assert!(
        summary.complete,
        "a closed study holds all it will ever hold"
    );
    // One person: the same score in the table of people as in the summary, over items alone.
    let all: Vec<_> = found.samples.iter().collect();
    let score = PeopleStatistics::from_samples(&all).score.unwrap();
    assert_eq!(summary.rows[0].score.as_ref().unwrap().value, score.value);
    let shown = mary_study::exhibits::of_people(&found.samples);
    let cells = format!("{:?}", shown.tables[0].rows);
    let percent = format!("{:.1} [", 100.0 * score.value);
    assert!(cells.contains(&percent), "{percent} in {cells}");
}

fn row<'r>(rows: &'r [(String, String)], name: &str) -> &'r str {
    let found = rows.iter().find(|(n, _)| n == name);
    &found.unwrap_or_else(|| panic!("no {name} in {rows:?}")).1
}

/// Closed while somebody is in the middle: they no longer count as taking part, and what they answered is
/// counted as what it is.
#[test]
fn whoever_did_not_finish_is_counted_apart() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(4, 3));
    let [one, two] = [(); 2].map(|()| joined(&session));
    until(&session, &one, |s| *s == Step::Finished);
    until(&session, &two, |s| {
        matches!(s, Step::Trial { trial: 1, .. })
    });
    let rows = || {
        let people = session.people().unwrap();
        status::rows(&session.study, &people, session.admission().unwrap())
    };
    let before = rows();
    assert_eq!(row(&before, "running"), "1");
    assert_eq!(row(&before, "new people are admitted"), "true");
    session.stop_admission().unwrap();
    let letting = rows();
    assert_eq!(row(&letting, "new people are admitted"), "false");
    assert_eq!(row(&letting, "closed"), "false");
    let runs = dir.path().join("runs");
    let (_, summary, found) = session.close(&fixture::registry(), &runs).unwrap().unwrap();
    let said = "1 person did not finish; 1 answer is not used";
    assert_eq!(found.unfinished.to_string(), said);
    let remarks = &summary.manifest.models[0].remarks;
    assert!(remarks.iter().any(|r| r == said), "{remarks:?}");
    let after = rows();
    for (name, value) in [
        ("finished", "1"),
        ("running", "0"),
        ("stopped by closing", "1"),
        ("answers saved", "4"),
        ("answers of unfinished people", "1"),
        ("closed", "true"),
    ] {
        assert_eq!(row(&after, name), value, "{name}");
    }
}

/// Nobody finished: the study is closed and there is no run, nor one that a withdrawal would look for.
#[test]
fn a_study_that_nobody_finished_is_closed_without_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(4, 3));
    let token = joined(&session);
    let view = until(&session, &token, |s| {
        matches!(s, Step::Trial { trial: 1, .. })
    });
    let (registry, runs) = (fixture::registry(), dir.path().join("runs"));
    assert!(session.close(&registry, &runs).unwrap().is_none());
    assert!(session.is_closed().unwrap() && !runs.exists());
    let gone = session
        .withdraw(&view.person.pseudonym, Some(&registry))
        .unwrap()
        .unwrap();
    assert!(gone.complete());
    assert_eq!(gone.notes, [""; 0]);
}

/// Whoever comes too late hears it before the consent; whoever has finished is not asked to go on.
#[test]
fn a_page_says_first_that_the_study_is_closed_and_last_that_answers_stay() {
    use crate::attacks::{field, get, post};
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(4, 3));
    let [one, two] = [(); 2].map(|()| joined(&session));
    until(&session, &one, |s| *s == Step::Finished);
    let address = mary_study::simulate::page::served(session.clone()).unwrap();
    let entry = format!("/s/{}", session.study.secrets.entry);
    let open = get(address, &entry);
    assert!(
        open.body.contains("You agree to be asked."),
        "{}",
        open.body
    );
    let late = format!("agree=yes&ticket={}", field(&open.body, "ticket"));
    let asked = |token: &str| get(address, &format!("/p/{token}/withdraw")).body;
    assert!(asked(&two).contains("go on with the study"));
    session.stop_admission().unwrap();
    for closed in [false, true] {
        if closed {
            let runs = dir.path().join("runs");
            session.close(&fixture::registry(), &runs).unwrap();
            assert!(!asked(&two).contains("go on with the study"));
        }
        let page = get(address, &entry);
        assert_eq!(page.status, 410);
        assert!(page.body.contains("This study is closed."), "{}", page.body);
        assert!(!page.body.contains("You agree to be asked."));
        // A page that was opened before.
        assert_eq!(post(address, &entry, &late).status, 410);
        let page = asked(&one);
        assert!(page.contains("No, keep my answers"), "{page}");
        assert!(!page.contains("go on with the study"), "{page}");
    }
}

/// The clock is set back while people answer, the server is started again, and the clock is put right: what was
/// written by the wrong clock looks long ago. Nobody loses their place for it.
#[test]
fn a_clock_that_was_set_back_costs_nobody_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let (session, thread) = fixture::study(dir.path(), &fixture::settings(1, 3));
    let token = joined(&session);
    until(&session, &token, |s| {
        matches!(s, Step::Trial { trial: 1, .. })
    });
    let hours = 5 * 3_600_000;
    let wrong = now() - hours;
    let set = move |db: &rusqlite::Connection| db.execute("UPDATE people SET seen = ?1", [wrong]);
    session.store.wait(set).unwrap();
    drop(session);
    thread.finish();
    let (session, _thread) = Session::open(&dir.path().join("study")).unwrap();
    let address = mary_study::simulate::page::served(session.clone()).unwrap();
    let entry = format!("/s/{}", session.study.secrets.entry);
    let page = crate::attacks::get(address, &entry);
    let ticket = crate::attacks::field(&page.body, "ticket").to_owned();
    let sent = format!("agree=yes&ticket={ticket}");
    assert_eq!(crate::attacks::post(address, &entry, &sent).status, 503);
    let view = look(&session, &token);
    assert!(
        matches!(view.step, Step::Trial { trial: 1, .. }),
        "{view:?}"
    );
    // A clock that runs ahead of the machine's stays ahead: no sign of life lies in its future.
    let ahead = now() + hours;
    let set = move |db: &rusqlite::Connection| db.execute("UPDATE people SET seen = ?1", [ahead]);
    session.store.wait(set).unwrap();
    let (again, _thread) = Session::open(&dir.path().join("study")).unwrap();
    assert!(again.now() >= ahead);
}

/// A place is not kept long for who agreed and never answered.
#[test]
fn agreeing_alone_keeps_a_place_for_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) = fixture::study(dir.path(), &fixture::settings(2, 3));
    let (silent, busy) = (joined(&session), joined(&session));
    until(&session, &busy, |s| {
        matches!(s, Step::Trial { trial: 1, .. })
    });
    let later = now() + 11 * 60_000;
    let (_, work) = session.joining(None, later);
    assert!(session.store.wait(work).unwrap().is_ok());
    let state = |token: &str| look(&session, token).person.state;
    assert_eq!(state(&silent), PersonState::TimedOut);
    assert_eq!(state(&busy), PersonState::Running);
}

#[test]
fn people_who_fail_the_attention_rule_are_left_out_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (session, _thread) =
        fixture::study(dir.path(), &fixture::with_checks(fixture::settings(2, 4)));
    for value in ["1", "0"] {
        let token = joined(&session);
        loop {
            let view = look(&session, &token);
            let answer = match view.step {
                Step::Finished => break,
                Step::Check { number: 0, .. } => "1",
                Step::Check { .. } => value,
                _ => "0",
            };
            send(&session, &token, filled(&view, answer)).unwrap();
        }
    }
    let found = session.judged(&fixture::registry()).unwrap();
    assert_eq!((found.finished, found.excluded), (2, 1));
    assert_eq!((found.samples.len(), found.with_excluded.len()), (4, 8));
}
