//! A study whose server chooses the items: killed again and again, it asks the same of everybody, loses nothing that was
//! acknowledged, and finds the abilities that people have.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mary_contract::{Estimate, Target};
use mary_generators::stream;
use mary_lab::scale::{PEOPLE, Scale, ScaleItem, ScaleSubject, item_hash};
use mary_stats::irt::Item;
use mary_stats::irt::scale::Curve;
use mary_study::simulate::normal;
use mary_study::store::{Step, Submission};
use mary_study::{AdaptiveTest, Session, Study, now};
use rand::RngExt as _;

use crate::fixture::{frozen, settings};

const FOLDER: &str = "MARY_ADAPTIVE_TEST_FOLDER";
const ITEMS: usize = 120;

/// A study of a real task whose items have these curves.
fn make(folder: &Path, people: usize, most: usize) -> Study {
    let drawn = frozen("htest/rhyme", ITEMS, &[], Some(0), false);
    let items = drawn.keys.items.iter().enumerate().map(|(at, key)| {
        let difficulty = 4.0 * (at as f64 + 0.5) / ITEMS as f64 - 2.0;
        ScaleItem {
            task: "htest/rhyme".into(),
            id: key.item.id.clone(),
            hash: item_hash("htest/rhyme", &key.item),
            text: String::new(),
            kind: String::new(),
            only: None,
            compared: None,
            item: Item::binary(1.8, difficulty, 0.0),
            difficulty,
            error: 0.1,
            fit: None,
            chance: 0.0,
        }
    });
    let scale = Scale {
        schema: 1,
        version: String::new(),
        findings: Vec::new(),
        sources: Vec::new(),
        tasks: drawn.keys.tasks.clone(),
        curve: Curve::OnePl,
        compared: Vec::new(),
        items: items.collect(),
        unscaled: Vec::new(),
        subjects: vec![ScaleSubject {
            name: "somebody".into(),
            group: PEOPLE.into(),
            lineage: "somebody".into(),
            answers: 10,
            calibrates: true,
            ability: Some(Estimate::new(0.0, (-1.0, 1.0), 10, "posterior")),
            expected: None,
            above_chance: true,
            outfit: None,
        }],
        focal: None,
        groups: None,
        reliability: None,
        between_kinds: 0.0,
    };
    let mut wanted = settings(people, most);
    wanted.rules.attention_failures = 0;
    let study = Study::create(folder, &wanted, &drawn).unwrap();
    let test = AdaptiveTest::new(&scale, &study.keys().unwrap(), (0.35, most), (0, 3)).unwrap();
    test.write(folder).unwrap();
    std::fs::write(
        folder.join("curves.json"),
        serde_json::to_vec(&scale.items).unwrap(),
    )
    .unwrap();
    Study::open(folder).unwrap()
}

fn theta(place: usize) -> f64 {
    normal(&mut stream(5, &format!("ability/{place}")))
}

/// Everybody answers by their ability until nothing is asked any more; what was acknowledged is written down.
fn answer_all(folder: &Path) {
    let (session, _thread) = Session::open(folder).unwrap();
    let keys = session.study.keys().unwrap();
    let curves: Vec<ScaleItem> =
        serde_json::from_slice(&std::fs::read(folder.join("curves.json")).unwrap()).unwrap();
    let curves: BTreeMap<String, Item> = curves.into_iter().map(|i| (i.hash, i.item)).collect();
    let tokens = std::fs::read_to_string(folder.join("tokens.txt")).unwrap();
    let mut acknowledged = std::fs::File::options()
        .append(true)
        .create(true)
        .open(folder.join("acks.txt"))
        .unwrap();
    for token in tokens.lines() {
        while let Some(view) = session.store.wait(session.looking(token, now())).unwrap() {
            let (values, item) = match &view.step {
                Step::Instructions => (vec!["begin".to_owned()], None),
                Step::Trial { item, .. } => {
                    let key = &keys.items[*item].item;
                    let p =
                        curves[&item_hash("htest/rhyme", key)].expected(theta(view.person.place));
                    let draw: f64 = stream(7, &format!("{}/{item}", view.person.place)).random();
                    let Target::Choice {
                        correct, options, ..
                    } = &key.target
                    else {
                        panic!("rhymes are chosen");
                    };
                    let option = if draw < p {
                        *correct
                    } else {
                        (*correct + 1) % options.len()
                    };
                    let order = session.study.order(view.person.place, *item);
                    let shown = order.iter().position(|o| *o == option).unwrap();
                    (vec![shown.to_string()], Some(*item))
                }
                _ => break,
            };
            let sent = Submission {
                step: view.step.id(),
                key: view.key,
                values,
                ..Submission::default()
            };
            session
                .store
                .wait(session.submitting(token, sent, now()))
                .unwrap()
                .unwrap();
            if let Some(item) = item {
                writeln!(acknowledged, "{} {item}", view.person.pseudonym).unwrap();
            }
        }
    }
}

/// Not a test by itself: the process that the others start and kill.
#[test]
fn answers_when_asked() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        answer_all(&PathBuf::from(folder));
    }
}

/// Items of every place, in order, and the share of people whose interval holds their ability.
fn take_part(folder: &Path, people: usize, kills: usize) -> (BTreeMap<usize, Vec<usize>>, f64) {
    let study = make(folder, people, 60);
    {
        let (session, _thread) = Session::open(folder).unwrap();
        let mut tokens = String::new();
        for _ in 0..people {
            let (token, work) = session.joining(None, now());
            session.store.wait(work).unwrap().unwrap();
            tokens += &format!("{token}\n");
        }
        std::fs::write(folder.join("tokens.txt"), tokens).unwrap();
    }
    let own = std::env::current_exe().unwrap();
    let start = || {
        let mut command = Command::new(&own);
        command.args(["--exact", "adaptive::answers_when_asked", "--nocapture"]);
        command
            .env(FOLDER, folder)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let lines = || {
        std::fs::read_to_string(folder.join("acks.txt"))
            .unwrap_or_default()
            .lines()
            .count()
    };
    for kill in 0..kills {
        let mut child = start();
        // Killed once it has answered some more, whatever the machine is busy with.
        let goal = lines() + 3 + kill % 5 * people / kills.max(1);
        while lines() < goal && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(start().wait().unwrap().success());
    let (session, _thread) = Session::open(folder).unwrap();
    let test = study.adaptive.as_ref().unwrap();
    let everybody = session.people().unwrap();
    let acks = std::fs::read_to_string(folder.join("acks.txt")).unwrap();
    let (mut asked, mut held) = (BTreeMap::new(), 0);
    for one in &everybody {
        let items: Vec<usize> = one.answers.iter().map(|a| a.item).collect();
        for line in acks
            .lines()
            .filter(|l| l.starts_with(&format!("{} ", one.person.pseudonym)))
        {
            let item: usize = line.split(' ').nth(1).unwrap().parse().unwrap();
            assert!(items.contains(&item), "an acknowledged answer is lost");
        }
        let (ability, count) = test
            .standing(one.answers.iter().map(|a| (a.item, &a.answer)))
            .unwrap();
        let (low, high) = ability.bounds();
        held += usize::from((low..high).contains(&theta(one.person.place)));
        assert!(ability.error <= 0.35 || count == 60);
        asked.insert(one.person.place, items);
    }
    assert_eq!(asked.len(), people);
    (asked, held as f64 / people as f64)
}

#[test]
fn a_killed_server_asks_on_as_if_nothing_had_been() {
    let dir = tempfile::tempdir().unwrap();
    let (killed, held) = take_part(&dir.path().join("killed"), 12, 3);
    let (calm, _) = take_part(&dir.path().join("calm"), 12, 0);
    assert_eq!(killed, calm);
    assert!(held > 0.6, "{held}");
}

#[test]
#[ignore = "a minute: 200 people, 20 kills"]
fn two_hundred_people_and_twenty_kills() {
    let dir = tempfile::tempdir().unwrap();
    let (asked, held) = take_part(&dir.path().join("killed"), 200, 20);
    let (calm, _) = take_part(&dir.path().join("calm"), 200, 0);
    assert_eq!(asked, calm);
    assert!((0.90..=0.99).contains(&held), "{held}");
}
