//! What servers send: replies of every wire format, errors, lists of models, and batches with their
//! files. A server on loopback hands out the bytes; the whole way from the socket to the answer is
//! walked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mary_contract::{
    Generate, Generated, Model, ModelSettings, Prompt, Sampling, Score, Scored, Start,
};
use mary_remote::{BatchState, Ledger, providers_with};
use mary_testkit::conformance::TestQueue;
use mary_testkit::raw_server::{RawServer, Say};
use serde_json::json;

use super::{Result, Target};
use crate::mutate::{self, Dice};

pub(super) fn all() -> Result<Vec<Target>> {
    let good: serde_json::Value = serde_json::from_str(include_str!("good/replies.json"))?;
    let openai = "openai/gpt-4o";
    let mut targets = Vec::new();
    for (name, model, status, body, logprobs) in [
        ("reply openai", openai, 200, "chat", None),
        ("reply openai top", openai, 200, "chat", Some("top")),
        ("reply echo", "vllm/m", 200, "echo", Some("echo")),
        (
            "reply anthropic",
            "anthropic/claude-x",
            200,
            "anthropic",
            None,
        ),
        ("reply google", "google/gemini-x", 200, "google", None),
        ("reply error", openai, 400, "error", None),
    ] {
        targets.push(reply(name, model, status, &good[body], logprobs)?);
    }
    targets.extend([batches()?, batch_state()?]);
    Ok(targets)
}

fn open(name: &str, server: &RawServer, more: &[(&str, String)]) -> Result<Box<dyn Model>> {
    let model: mary_contract::ModelRef = name.parse()?;
    let mut settings = ModelSettings {
        base_url: Some(server.url("/v1")),
        ..ModelSettings::default()
    };
    let args = [
        ("key_env", "PATH"),
        ("check", "false"),
        ("backoff_ms", "0"),
        ("retries", "0"),
    ];
    let more = more.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in args.into_iter().chain(more) {
        settings.args.insert(name.to_owned(), value.to_owned());
    }
    let provider = providers_with(&Ledger::new())
        .into_iter()
        .find(|p| p.name() == model.provider)
        .ok_or("no such provider")?;
    Ok(provider.open(&model, &settings)?)
}

/// Whether a question is answered.
fn generates(model: &mut dyn Model) -> bool {
    let mut queue: TestQueue<_, Generated> =
        TestQueue::new([Generate::new(Prompt::chat("hello"), Sampling::greedy(4))]);
    if let Some(generator) = model.generator() {
        generator.generate(&mut queue);
    }
    !queue.replies().is_empty()
}

fn scores(model: &mut dyn Model, prefix: Prompt) -> bool {
    let mut queue: TestQueue<_, Scored> =
        TestQueue::new([Score::new(prefix, vec![" A".into()], Start::Model)]);
    if let Some(scorer) = model.scorer() {
        scorer.score(&mut queue);
    }
    !queue.replies().is_empty()
}

#[derive(Clone, Default)]
struct Body(Arc<Mutex<Vec<u8>>>);

impl Body {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model whose server sends what it is told; `logprobs` says how it is made to score, where it is.
fn reply(
    name: &'static str,
    model: &str,
    status: u16,
    good: &serde_json::Value,
    logprobs: Option<&'static str>,
) -> Result<Target> {
    let body = Body::default();
    let says = body.clone();
    let server = RawServer::start(move |_| Say::Answer(status, Vec::new(), says.lock().clone()))?;
    let more = logprobs.map(|how| ("logprobs", how.to_owned()));
    let mut model = open(model, &server, more.as_slice())?;
    let good = good.to_string().into_bytes();
    let make = move |dice: &mut Dice| mutate::json_text(&good, dice);
    let read = move |bytes: &[u8]| {
        *body.lock() = bytes.to_vec();
        match logprobs {
            None => generates(model.as_mut()),
            Some("echo") => scores(model.as_mut(), Prompt::plain("The cat")),
            Some(_) => scores(model.as_mut(), Prompt::chat("The cat")),
        }
    };
    Ok(Target::new(name, make, read))
}

fn batches() -> Result<Target> {
    let body = Body::default();
    let says = body.clone();
    let heard = Mutex::new(String::new());
    let server = RawServer::start(move |asked| {
        let lock = || heard.lock().unwrap_or_else(PoisonError::into_inner);
        match asked.path.as_str() {
            "/v1/files" => {
                let text = String::from_utf8_lossy(&asked.body).into_owned();
                let found = text.split("\"custom_id\":\"").nth(1);
                *lock() = found
                    .and_then(|t| t.split('"').next())
                    .unwrap_or("")
                    .to_owned();
                Say::json(&json!({"id": "file-1"}))
            }
            "/v1/batches" => Say::json(&json!({"id": "batch_1"})),
            "/v1/batches/batch_1" => Say::json(&json!({"status": "completed",
                "output_file_id": "o", "request_counts": {"total": 1, "completed": 1}})),
            "/v1/files/o/content" => {
                let text = String::from_utf8_lossy(&says.lock()).replace("NAME", &lock());
                Say::Answer(200, Vec::new(), text.into_bytes())
            }
            _ => Say::json(&json!({"data": []})),
        }
    })?;
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("batch.json");
    let more = [("batch", state.display().to_string())];
    let mut model = open("openai/gpt-4o", &server, &more)?;
    let good = json!({"custom_id": "NAME", "response": {"status_code": 200, "body": {
        "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1}}}});
    let good = format!("{good}\n{}\n", json!({"custom_id": "other"})).into_bytes();
    let make = move |dice: &mut Dice| mutate::json_lines(&good, dice);
    let read = move |bytes: &[u8]| {
        let _kept = &folder;
        *body.lock() = bytes.to_vec();
        let _ = std::fs::remove_file(&state);
        generates(model.as_mut())
    };
    Ok(Target::new("batch results", make, read))
}

fn batch_state() -> Result<Target> {
    let good = json!({"schema": 1, "fingerprint": "f", "parts": [{"name": "mary-1",
        "id": "batch_1", "submitted": 1, "known": ["a"], "requests": ["m1-0", "m2-0"],
        "estimate": 0.5, "fetched": false}]});
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("batch.json");
    std::fs::write(&file, good.to_string())?;
    Target::of_file("batch state", file.clone(), mutate::json_text, move || {
        let _kept = &folder;
        BatchState::load(&file, "f").is_ok_and(|state| state.outstanding().is_finite())
    })
}
