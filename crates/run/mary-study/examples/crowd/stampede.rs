//! Many simulated people at once before a server in a process of its own, which may be killed (`kill -9`) and
//! started again while they answer; and what must hold afterwards.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mary_contract::{NoData, TaskSettings};
use mary_study::freeze::{StudyTask, freeze};
use mary_study::lists::Lists;
use mary_study::session::token_hash;
use mary_study::settings::{Consent, Language, Platform, Rules};
use mary_study::simulate::{Behaviour, Report, Simulation, through_page};
use mary_study::store::PersonState;
use mary_study::{Session, Settings, Study};

/// How many of what.
pub struct Crowd {
    /// People, all of whom find a place.
    pub people: usize,
    /// Items a person.
    pub trials: usize,
    /// At the page at once.
    pub at_once: usize,
    /// Kills of the server.
    pub kills: usize,
}

/// A study for a crowd.
pub fn make(folder: &Path, crowd: &Crowd) {
    let registry = mary_lab::families::registry();
    let wanted = StudyTask {
        task: Arc::clone(registry.task("htest/rhyme").expect("a task")),
        settings: TaskSettings {
            shots: Some(2),
            ..TaskSettings::default()
        },
        limit: Some(2 * crowd.trials),
        none_fits: Default::default(),
    };
    let frozen = freeze(&[wanted], &NoData, 1).expect("items");
    let settings = Settings {
        name: "crowd".into(),
        title: "A crowd".into(),
        language: Language::En,
        people: crowd.people,
        per_person: crowd.trials,
        lists: Lists::Latin,
        seed: 1,
        minutes: 600,
        consent: Consent {
            version: 1,
            text: "Simulated people agree.".into(),
        },
        instructions: "Answer.".into(),
        pay: String::new(),
        platform: Platform::default(),
        rules: Rules {
            joins_per_minute: 1_000_000,
            requests_per_minute: 1_000_000,
            ..Rules::default()
        },
        checks: Vec::new(),
    };
    Study::create(folder, &settings, &frozen).expect("a study");
}

/// Serves a study and writes its address into `folder/address`, for a process that will be killed.
pub fn serve(folder: &Path) {
    let (session, _thread) = Session::open(folder).expect("a study");
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let place = folder.join("address");
    mary_study::server::serve(session, local, &mut |bound| {
        let new = folder.join("address.new");
        std::fs::write(&new, bound.to_string()).expect("written");
        std::fs::rename(&new, &place).expect("moved");
    })
    .expect("served");
}

/// What came of it.
pub struct Outcome {
    /// What the people saw.
    pub report: Report,
    /// Kills that hit.
    pub killed: usize,
    /// Acknowledged answers that are not in the store as they were sent.
    pub lost: usize,
    /// Answers to a question that the person had answered before, and places given to two.
    pub doubled: usize,
}

/// Lets the crowd loose. `command` starts a server of the folder (it calls [`serve`]).
pub fn run(folder: &Path, crowd: &Crowd, command: &(dyn Fn() -> Command + Sync)) -> Outcome {
    let start = || -> Child {
        command()
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a server starts")
    };
    // The folder is opened once here, so that the tables are there before anybody looks.
    let (session, _thread) = Session::open(folder).expect("a study");
    let keys = session.study.keys().expect("keys");
    let address_file: PathBuf = folder.join("address");
    let address = move || -> SocketAddr {
        loop {
            if let Ok(text) = std::fs::read_to_string(&address_file)
                && let Ok(address) = text.parse()
            {
                return address;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let simulation = Simulation {
        behaviour: Behaviour::Ability {
            mean: 1.0,
            sd_people: 0.7,
            sd_items: 0.7,
        },
        seconds: 3.0,
        seed: 9,
    };
    let over = AtomicBool::new(false);
    let total = crowd.people * crowd.trials;
    let answered = || -> usize {
        let database = session.study.database();
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let count = rusqlite::Connection::open_with_flags(database, flags).and_then(|db| {
            db.busy_timeout(Duration::from_secs(30))?;
            db.query_row("SELECT count(*) FROM answers", [], |row| {
                row.get::<_, i64>(0)
            })
        });
        count.map_or(0, |n| usize::try_from(n).unwrap_or(0))
    };
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut server = start();
            let mut killed = 0;
            // Kills are spread over the answers, not over the time, so that a slow machine sees as many.
            while !over.load(Ordering::Relaxed) {
                let due = (killed + 1) * total / (crowd.kills + 1);
                if killed < crowd.kills && answered() >= due {
                    server.kill().expect("killed");
                    server.wait().expect("gone");
                    killed += 1;
                    server = start();
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            server.kill().expect("killed");
            server.wait().expect("gone");
            killed
        });
        let report = through_page(
            &session,
            &keys,
            &simulation,
            crowd.people,
            crowd.at_once,
            &address,
        );
        over.store(true, Ordering::Relaxed);
        let killed = killer.join().expect("the killer ends");
        let mut outcome = Outcome {
            report,
            killed,
            lost: 0,
            doubled: 0,
        };
        hold(&session, crowd, &mut outcome);
        outcome
    })
}

/// Counts what was lost and what was doubled, and checks everything else that must hold; panics with what does
/// not.
pub fn hold(session: &Session, crowd: &Crowd, outcome: &mut Outcome) {
    let people = session.people().expect("people");
    let study = &session.study;
    assert_eq!(
        outcome.report.finished, crowd.people,
        "everybody reaches the end"
    );
    assert_eq!(outcome.report.turned_away, 0, "everybody finds a place");
    let people_by_id: BTreeMap<i64, _> = people.iter().map(|p| (p.person.id, p)).collect();
    // Nobody was asked twice, no place was given twice; every list is filled as designed.
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for one in &people {
        assert_eq!(one.person.state, PersonState::Finished, "{:?}", one.person);
        *places.entry(one.person.place).or_default() += 1;
        let items: Vec<usize> = one.answers.iter().map(|a| a.item).collect();
        let mut once = items.clone();
        once.sort_unstable();
        once.dedup();
        outcome.doubled += items.len() - once.len();
        assert_eq!(items, study.design().list(one.person.place));
        let trials: Vec<usize> = one.answers.iter().map(|a| a.trial).collect();
        assert_eq!(trials, (0..crowd.trials).collect::<Vec<_>>());
    }
    outcome.doubled += places.values().map(|n| n - 1).sum::<usize>();
    assert_eq!(places.len(), crowd.people, "every place is filled");
    // Every acknowledged answer is there, as it was sent.
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let db = rusqlite::Connection::open_with_flags(study.database(), flags).expect("a database");
    let mut by_token: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
    let mut select = db.prepare("SELECT token, id FROM people").expect("a query");
    let rows = select
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("rows");
    by_token.extend(rows.map(|row| row.expect("a row")));
    let mut checked = 0;
    for (token, step, values) in &outcome.report.acknowledged {
        let Some(trial) = step.strip_prefix("trial-") else {
            continue;
        };
        let trial: usize = trial.parse().expect("a trial");
        let id = by_token.get(token_hash(token).as_slice());
        let kept = id
            .and_then(|id| people_by_id.get(id))
            .and_then(|one| one.answers.get(trial));
        let as_sent = kept.is_some_and(|kept| {
            let form = &study.questions[kept.item].answer;
            form.read(values, &kept.shown, 1_000).as_ref() == Some(&kept.answer)
        });
        outcome.lost += usize::from(!as_sent);
        checked += 1;
    }
    assert!(
        checked >= crowd.people * crowd.trials,
        "{checked} acknowledged"
    );
    assert_eq!((outcome.lost, outcome.doubled), (0, 0), "lost and doubled");
}
