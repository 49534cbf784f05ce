//! Submit, leave, come back: nothing is submitted twice.

use crate::room;

use mary_contract::{ErrorKind, Generate};
use mary_remote::BatchState;
use mary_testkit::faulty_server::{FaultyServer, Script};
use room::{KEY, ask, generate, open, settings};

fn requests() -> Vec<Generate> {
    // The last question comes twice, as two trials without a seed would.
    (0..5)
        .chain([4])
        .map(|n| ask(format!("question {n}")))
        .collect()
}

fn submits_leaves_and_comes_back(model_name: &str) {
    let server = FaultyServer::start(Script {
        batch_looks: 2,
        ..Script::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("run/batch.json");
    let path = state.display().to_string();
    let args = [("batch", path.as_str()), ("check", "false")];
    for visit in 1..=3 {
        // A new process each time.
        let model = open(model_name, &settings(&server, "/v1", &args));
        let queue = generate(model.as_ref(), requests());
        let books = server.books();
        assert_eq!(books.batches, 1, "submitted once, at visit {visit}");
        let written = std::fs::read_to_string(&state).unwrap();
        assert!(
            !written.contains(KEY) && !written.contains("question"),
            "{written}"
        );
        if visit < 3 {
            let (_, answers) = queue.answers.iter().next().unwrap();
            let error = answers[0].as_ref().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Interrupted);
            assert!(error.is_fatal(), "the run stops and can be resumed");
            assert!(error.message.contains("0 of 6 done"), "{error}");
        } else {
            for (n, wanted) in [0, 1, 2, 3, 4, 4].into_iter().enumerate() {
                let reply = queue.only(n as u64).as_ref().unwrap();
                assert_eq!(reply.answer.text, format!("reply to question {wanted}"));
                assert!(
                    reply.meta.usage.cost.is_some_and(|c| c > 0.0),
                    "half the price, but a price"
                );
            }
        }
    }
}

#[test]
fn openai_batches() {
    submits_leaves_and_comes_back("openai/gpt-4o");
}

#[test]
fn anthropic_batches() {
    submits_leaves_and_comes_back("anthropic/claude-sonnet-4");
}

#[test]
fn waiting_for_a_batch_answers_in_one_go() {
    let server = FaultyServer::start(Script {
        batch_looks: 2,
        ..Script::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("batch.json").display().to_string();
    let args = [
        ("batch", path.as_str()),
        ("batch_wait", "10"),
        ("batch_poll", "0.01"),
        ("check", "false"),
    ];
    let model = open("openai/gpt-4o", &settings(&server, "/v1", &args));
    let queue = generate(model.as_ref(), requests());
    assert!((0..6).all(|n| queue.only(n).is_ok()));
}

#[test]
fn a_batch_created_just_before_the_process_died_is_found_again() {
    let server = FaultyServer::start(Script {
        batch_looks: 0,
        ..Script::default()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("batch.json");
    let path = state.display().to_string();
    let args = [("batch", path.as_str()), ("check", "false")];
    let model = open("openai/gpt-4o", &settings(&server, "/v1", &args));
    assert!(generate(model.as_ref(), requests()).only(0).is_ok());
    // As if the process had been killed between creating the batch and noting its id.
    let mut saved: BatchState =
        serde_json::from_str(&std::fs::read_to_string(&state).unwrap()).unwrap();
    saved.parts[0].id = None;
    saved.save(&state).unwrap();
    let queue = generate(model.as_ref(), requests());
    assert!(queue.only(0).is_ok());
    assert_eq!(server.books().batches, 1);
}

#[test]
fn another_models_state_is_not_touched() {
    let server = FaultyServer::start(Script::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("batch.json");
    let other = BatchState {
        schema: 1,
        fingerprint: "another".into(),
        parts: vec![],
    };
    other.save(&state).unwrap();
    let path = state.display().to_string();
    let args = [("batch", path.as_str()), ("check", "false")];
    let model = open("openai/gpt-4o", &settings(&server, "/v1", &args));
    let queue = generate(model.as_ref(), vec![ask("x")]);
    assert!(
        queue
            .only(0)
            .as_ref()
            .unwrap_err()
            .message
            .contains("another model")
    );
    assert_eq!(server.books().batches, 0);
}
