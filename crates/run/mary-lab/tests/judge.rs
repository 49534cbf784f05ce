//! The judge is part of what a run is: a counting server sees who judges whom, before and after an
//! interruption.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mary_contract::*;
use mary_lab::engine::EngineError;
use mary_lab::{Laboratory, RunError, RunSpec, Silent, TaskChoice};
use mary_testkit::faulty_server::{FaultyServer, Script};
use mary_testkit::scripted::Scripted;

use crate::support::{ITEMS, StopAfter, registry};

fn server() -> FaultyServer {
    let script = Script {
        models: vec!["a", "b"],
        reply: Arc::new(|_| "yes".to_owned()),
        ..Script::default()
    };
    FaultyServer::start(script).unwrap()
}

fn laboratory(root: &Path) -> Laboratory {
    Laboratory::new(root.join("runs"))
        .tasks(registry())
        .providers(mary_remote::providers())
        .providers([Box::new(Mute) as Box<dyn Provider>])
        .answers(root.join("answers.sqlite"))
}

/// Models `a` and `b` on the server, one question at a time so that a stop falls between them.
fn spec(server: &FaultyServer, judge: JudgeChoice) -> RunSpec {
    let mut spec = RunSpec::new(model("a"), [TaskChoice::new("test/parity")]);
    spec.tasks[0].settings.form = PromptForm::Chat;
    spec.subjects.push(model("b"));
    spec.judge = judge;
    spec.opening.base_url = Some(server.url("/v1"));
    spec.execution.max_connections = Some(1);
    spec
}

fn model(name: &str) -> ModelRef {
    format!("vllm/{name}").parse().unwrap()
}

/// Who judged, by the bodies the server saw.
fn judged_by(server: &FaultyServer) -> Vec<String> {
    let bodies = server.books().bodies;
    assert!(bodies.len() < 64, "the server keeps the first 64");
    bodies
        .iter()
        .filter(|body| body.to_string().contains("Read the answer"))
        .map(|body| body["model"].as_str().unwrap().to_owned())
        .collect()
}

/// Begins a run and stops it within the second model; its folder.
fn interrupted(lab: &Laboratory, spec: &RunSpec) -> PathBuf {
    let stop = AtomicBool::new(false);
    let mut events = StopAfter {
        samples: ITEMS + 3,
        flag: &stop,
    };
    let mut run = lab.prepare(spec).unwrap().open().unwrap();
    let error = run.go(&mut events, &stop).unwrap_err();
    let RunError::Stopped { source, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        matches!(&**source, RunError::Engine(EngineError::Interrupted)),
        "{source}"
    );
    let lines = std::fs::read_to_string(run.path().join("samples.jsonl")).unwrap();
    // What the judge had not read is logged too, as interrupted.
    assert!((ITEMS + 1..=2 * ITEMS).contains(&lines.lines().count()));
    run.path().to_owned()
}

fn continued(lab: &Laboratory, folder: &Path) -> RunSummary {
    let mut run = lab
        .continue_run(folder, None, mary_lab::UsersWord::default())
        .unwrap();
    run.go(&mut Silent, &AtomicBool::new(false)).unwrap()
}

#[test]
fn the_named_judge_judges_everything_also_after_an_interruption() {
    let (server, home) = (server(), tempfile::tempdir().unwrap());
    let mut spec = spec(&server, JudgeChoice::Model(model("a")));
    spec.execution.cache = false;
    let folder = interrupted(&laboratory(home.path()), &spec);
    let summary = continued(&laboratory(home.path()), &folder);
    assert!(summary.complete);
    let judges = judged_by(&server);
    assert!(judges.len() >= 2 * ITEMS, "{judges:?}");
    assert!(judges.iter().all(|judge| judge == "a"), "{judges:?}");
}

#[test]
fn a_subject_that_judges_itself_is_another_run() {
    let (server, home) = (server(), tempfile::tempdir().unwrap());
    let lab = laboratory(home.path());
    let named = spec(&server, JudgeChoice::Model(model("a")));
    let oneself = spec(&server, JudgeChoice::Subject);
    let id = |spec: &RunSpec| lab.prepare(spec).unwrap().manifest().unwrap().id;
    assert_ne!(id(&named), id(&oneself));

    let folder = interrupted(&lab, &oneself);
    assert!(continued(&lab, &folder).complete);
    let judges = judged_by(&server);
    let by = |name: &str| judges.iter().filter(|judge| *judge == name).count();
    // What was on the wire when `b` was stopped may be asked again.
    assert!(by("a") == ITEMS && by("b") >= ITEMS, "{judges:?}");
}

#[test]
fn a_run_begun_without_the_cache_is_continued_without_it() {
    let (server, home) = (server(), tempfile::tempdir().unwrap());
    let answers = home.path().join("answers.sqlite");
    let mut spec = spec(&server, JudgeChoice::Subject);
    spec.execution.cache = false;
    let folder = interrupted(&laboratory(home.path()), &spec);
    continued(&laboratory(home.path()), &folder);
    assert!(!answers.exists(), "nothing was looked up or kept");

    spec.execution.cache = true;
    spec.seed = 1;
    let lab = laboratory(home.path());
    let mut run = lab.prepare(&spec).unwrap().open().unwrap();
    run.go(&mut Silent, &AtomicBool::new(false)).unwrap();
    assert!(answers.exists());
}

#[test]
fn a_judge_that_cannot_generate_is_refused_before_anything_is_asked() {
    let (server, home) = (server(), tempfile::tempdir().unwrap());
    let lab = laboratory(home.path());
    let mute = "mute/judge".parse().unwrap();
    let error = lab
        .prepare(&spec(&server, JudgeChoice::Model(mute)))
        .err()
        .unwrap();
    let RunError::Engine(EngineError::Refused(message)) = &error else {
        panic!("{error}");
    };
    assert!(
        message.contains("mute/judge on test/parity: the judge lacks text generation"),
        "{message}"
    );
    assert_eq!(server.books().requests, 0);
    assert!(!home.path().join("runs").exists());
}

/// Serves a model that gives log-probabilities and no words.
struct Mute;

impl Provider for Mute {
    fn name(&self) -> &'static str {
        "mute"
    }

    fn about(&self) -> &'static str {
        "says nothing"
    }

    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard, ModelError> {
        let mut card = self.open(model, settings)?.card().clone();
        card.model = model.clone();
        Ok(card)
    }

    fn open(&self, _: &ModelRef, _: &ModelSettings) -> Result<Box<dyn Model>, ModelError> {
        let able = Capabilities {
            score: true,
            chat: true,
            ..Capabilities::default()
        };
        Ok(Box::new(Scripted::saying("").able(able)))
    }
}
