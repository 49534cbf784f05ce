//! Tuning by a service that breaks: a job is created once, left, come back to, and never costs more than allowed.

use std::path::Path;
use std::time::Duration;

use mary_contract::{ErrorKind, ModelError, ModelRef, ModelSettings};
use mary_remote::{ServiceTuned, ServiceTuning, TuningState, tune};
use mary_testkit::faulty_server::{Fault, FaultyServer, Script};

use crate::room::{self, KEY};

const MODEL: &str = "openai/gpt-4o-mini-2024-07-18";

/// Forty examples of ours in the chat form, each with a word that must not stand in the state.
fn examples(folder: &Path) -> std::path::PathBuf {
    let line = |n: usize| {
        let ask = format!(r#"{{"role":"user","content":"Is kumquat {n} sour?"}}"#);
        format!(r#"{{"messages":[{ask},{{"role":"assistant","content":"yes"}}]}}"#)
    };
    let lines: Vec<String> = (0..40).map(line).collect();
    let path = folder.join("examples.jsonl");
    std::fs::write(&path, lines.join("\n")).unwrap();
    path
}

fn wanted(again: bool) -> ServiceTuning {
    ServiceTuning {
        epochs: 3,
        batch: Some(2),
        rate_multiplier: Some(1.8),
        seed: Some(656_770_515),
        again,
    }
}

/// One visit: as long as a process has patience.
fn visit(
    settings: &ModelSettings,
    folder: &Path,
    patience: Duration,
) -> Result<ServiceTuned, ModelError> {
    visit_again(settings, folder, patience, false)
}

fn visit_again(
    settings: &ModelSettings,
    folder: &Path,
    patience: Duration,
    again: bool,
) -> Result<ServiceTuned, ModelError> {
    let model: ModelRef = MODEL.parse().unwrap();
    let data = examples(folder);
    let state = folder.join("state/tuning.json");
    let patience = (patience, Duration::from_millis(5));
    let wanted = wanted(again);
    let files = (&*data, &*state);
    let result = tune(&model, settings, &wanted, files, patience, &mut |_| true);
    if let Ok(written) = std::fs::read_to_string(&state) {
        assert!(
            !written.contains(KEY) && !written.contains("kumquat"),
            "{written}"
        );
    }
    result
}

fn with_budget(server: &FaultyServer, budget: Option<f64>) -> ModelSettings {
    let args = [("check", "false"), ("backoff_ms", "1"), ("retries", "100")];
    ModelSettings {
        budget,
        ..room::settings(server, "/v1", &args)
    }
}

#[test]
fn a_job_is_created_once_left_and_come_back_to() {
    let server = FaultyServer::start(Script {
        batch_looks: 2,
        ..Script::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let settings = with_budget(&server, Some(1.0));
    for number in 1..=3 {
        // A new process each time, which looks once and leaves.
        let found = visit(&settings, folder.path(), Duration::ZERO);
        assert_eq!(server.books().batches, 1, "created once, at visit {number}");
        if number < 3 {
            let error = found.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Interrupted, "{error}");
            assert!(error.message.contains("running"), "{error}");
        } else {
            let tuned = found.unwrap();
            assert_eq!(
                tuned.model.to_string(),
                format!("openai/ft:{}:lab:mary:1", &MODEL[7..])
            );
            assert_eq!(tuned.tokens, Some(123_456));
            assert!((tuned.cost - 0.37).abs() < 0.01, "{}", tuned.cost);
        }
    }
    // The service was told what the paper prints, and is not asked again.
    let bodies = server.books().bodies;
    let body = bodies
        .iter()
        .find(|b| b.get("training_file").is_some())
        .unwrap();
    let set = &body["method"]["supervised"]["hyperparameters"];
    assert_eq!(
        (set["n_epochs"].as_u64(), set["batch_size"].as_u64()),
        (Some(3), Some(2))
    );
    assert_eq!(set["learning_rate_multiplier"].as_f64(), Some(1.8));
    assert_eq!(body["seed"].as_u64(), Some(656_770_515));
    let before = server.books().requests;
    assert!(visit(&settings, folder.path(), Duration::ZERO).is_ok());
    assert_eq!(server.books().requests, before);
}

#[test]
fn whatever_breaks_a_job_is_created_and_paid_once() {
    for seed in 0..12 {
        let mut faults = Fault::ALL.to_vec();
        // These two only cost time.
        faults.retain(|f| !matches!(f, Fault::SlowDrip | Fault::TooManyRetryAfter));
        let server = FaultyServer::start(Script {
            batch_looks: 1,
            fault_rate: 0.5,
            faults,
            seed,
            ..Script::default()
        })
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let settings = with_budget(&server, Some(1.0));
        let (mut last, mut again) = (None, false);
        for _ in 0..40 {
            match visit_again(&settings, folder.path(), Duration::from_secs(60), again) {
                Ok(tuned) => {
                    last = Some(tuned);
                    break;
                }
                Err(error) => {
                    assert!(!error.message.contains(KEY), "{error}");
                    // Whoever is told so looks at the service's console, and says what stands there.
                    let unsure = error.message.contains("was lost");
                    again = unsure && server.books().batches == 0;
                }
            }
        }
        assert!(last.is_some(), "seed {seed}: never done");
        assert_eq!(server.books().batches, 1, "seed {seed}");
    }
}

#[test]
fn a_job_created_just_before_the_process_died_is_found_again() {
    let server = FaultyServer::start(Script {
        batch_looks: 0,
        ..Script::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let settings = with_budget(&server, Some(1.0));
    visit(&settings, folder.path(), Duration::ZERO).unwrap();
    let path = folder.path().join("state/tuning.json");
    let mut state: TuningState =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    // As if it had been killed between creating the job and noting its id.
    (state.job, state.tuned) = (None, None);
    assert!(state.creating);
    std::fs::write(&path, serde_json::to_string(&state).unwrap()).unwrap();
    assert!(visit(&settings, folder.path(), Duration::ZERO).is_ok());
    assert_eq!(server.books().batches, 1);
}

#[test]
fn without_enough_money_nothing_is_sent() {
    let server = FaultyServer::start(Script::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for budget in [None, Some(0.0001)] {
        let settings = with_budget(&server, budget);
        let error = visit(&settings, folder.path(), Duration::ZERO).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Budget, "{error}");
        assert!(error.message.contains("nothing was sent"), "{error}");
    }
    assert_eq!(server.books().requests, 0);
}
