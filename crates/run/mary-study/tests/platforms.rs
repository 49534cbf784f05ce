//! Platforms over HTTP: their parameters in, the three codes out, nothing of them in what is exported.

use std::net::SocketAddr;

use mary_study::settings::{PlatformKind, Settings};
use mary_study::simulate::page::served;
use mary_study::{Session, export};

use crate::attacks::{Got, field, get, post};
use crate::fixture;

fn location(got: &Got) -> String {
    let line = got.head.lines().find(|l| l.starts_with("location:"));
    line.unwrap_or_else(|| panic!("{} {}", got.head, got.body))
        .split_once(' ')
        .unwrap()
        .1
        .trim()
        .to_owned()
}

/// Goes on with the first option until a page asks nothing more, and returns that page.
fn to_the_end(address: SocketAddr, own: &str, check: &str) -> Got {
    loop {
        let page = get(address, own);
        if !page.body.contains("name=\"step\"") {
            return page;
        }
        let (step, key) = (field(&page.body, "step"), field(&page.body, "key"));
        let answer = if step.starts_with("check") {
            check
        } else {
            "0"
        };
        let got = post(
            address,
            own,
            &format!("step={step}&key={key}&answer={answer}"),
        );
        assert_eq!(got.status, 303, "{}", got.body);
    }
}

fn began(address: SocketAddr, session: &Session, ids: &str) -> Got {
    let entry = format!("/s/{}", session.study.secrets.entry);
    let page = get(address, &format!("{entry}?{ids}"));
    assert_eq!(page.status, 200, "{ids}");
    let ticket = field(&page.body, "ticket").to_owned();
    post(address, &entry, &format!("agree=yes&ticket={ticket}&{ids}"))
}

fn open(settings: &Settings, folder: &std::path::Path) -> (Session, SocketAddr) {
    let (session, thread) = fixture::study(folder, settings);
    std::mem::forget(thread); // lives as long as the program
    let address = served(session.clone()).unwrap();
    (session, address)
}

/// A worker comes with the parameters of Mechanical Turk, finishes, types the code in; comes again and is refused.
/// A preview, which has no worker yet, does not begin.
#[test]
fn mechanical_turk_from_its_link_to_the_code() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = fixture::with_checks(fixture::settings(3, 3));
    settings.platform.kind = PlatformKind::Mturk;
    let (session, address) = open(&settings, dir.path());
    let entry = format!("/s/{}", session.study.secrets.entry);
    for preview in [
        "",
        "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H1",
        "?workerId=W%3Cb&assignmentId=A1",
    ] {
        assert_eq!(
            get(address, &format!("{entry}{preview}")).status,
            400,
            "{preview}"
        );
    }
    let ids = "workerId=W31337&hitId=H31337&assignmentId=A31337";
    let own = location(&began(address, &session, ids));
    let end = to_the_end(address, &own, "1");
    assert!(
        end.body.contains("DONE42") && !end.body.contains("OUT42"),
        "{}",
        end.body
    );
    assert_eq!(began(address, &session, ids).status, 409);
    // Another worker fails the comprehension check twice.
    let other = "workerId=W2&hitId=H31337&assignmentId=A2";
    let own = location(&began(address, &session, other));
    let end = to_the_end(address, &own, "0");
    assert!(
        end.body.contains("OUT42") && !end.body.contains("DONE42"),
        "{}",
        end.body
    );
    // A third does not agree.
    let got = post(
        address,
        &entry,
        "agree=no&workerId=W3&hitId=H31337&assignmentId=A3",
    );
    assert!(got.body.contains("NO42"), "{}", got.body);
    assert_eq!(session.people().unwrap().len(), 2);

    let found = session.judged(&fixture::registry()).unwrap();
    assert_eq!(found.finished, 1);
    let out = dir.path().join("out");
    for file in export::write(&session, &found, &session.people().unwrap(), &out).unwrap() {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("31337"), "{}", file.display());
    }
    assert!(session.withdraw("W31337", None).unwrap().is_some());
}

/// Prolific's participants go back to its address with the code of how it ended.
#[test]
fn prolific_gets_its_participants_back_with_the_code() {
    let dir = tempfile::tempdir().unwrap();
    let settings = fixture::with_checks(fixture::prolific(fixture::settings(3, 3)));
    let (session, address) = open(&settings, dir.path());
    for (pid, check, code) in [("one", "1", "DONE42"), ("two", "0", "OUT42")] {
        let ids = format!("PROLIFIC_PID={pid}&STUDY_ID=s&SESSION_ID=x{pid}");
        let own = location(&began(address, &session, &ids));
        // Half-way there is no way back to the platform yet.
        assert!(!get(address, &own).body.contains("platform.example"));
        let end = to_the_end(address, &own, check);
        let link = format!("href=\"https:&#x2f;&#x2f;platform.example&#x2f;complete?cc={code}\"");
        let plain = format!("href=\"https://platform.example/complete?cc={code}\"");
        assert!(
            end.body.contains(&link) || end.body.contains(&plain),
            "{}",
            end.body
        );
    }
    let entry = format!("/s/{}", session.study.secrets.entry);
    let got = post(
        address,
        &entry,
        "agree=no&PROLIFIC_PID=three&STUDY_ID=s&SESSION_ID=z",
    );
    assert!(got.body.contains("cc=NO42"), "{}", got.body);
}
