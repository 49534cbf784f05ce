//! What servers send: replies of every wire format, errors, lists of models, and batches with their
//! files. A server on loopback hands out the bytes; the whole way from the socket to the answer is
//! walked.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{
    Generate, Generated, Job, Model, ModelError, ModelSettings, Prompt, Reply, Sampling, Score,
    Scored, Start, Ticket, WorkQueue,
};
use mary_remote::{BatchState, Ledger, providers_with};
use mary_testkit::raw_server::{RawServer, Say};
use serde_json::json;
use tempfile::TempDir;

use super::{Target, Trouble};
use crate::mutate::{self, Dice};

/// The readers of this kind.
pub(super) fn all() -> Result<Vec<Box<dyn Target>>, Trouble> {
    let chat = json!({"id": "x", "model": "gpt-4o", "choices": [{"index": 0, "message": {
        "role": "assistant", "content": "yes", "reasoning": "hm", "refusal": null},
        "finish_reason": "stop", "logprobs": {"content": [{"top_logprobs": [
        {"token": " A", "logprob": -0.1}, {"token": " B", "logprob": -2.5}]}]}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.001,
        "prompt_tokens_details": {"cached_tokens": 3}}});
    let echo = json!({"model": "m", "choices": [{"text": "The cat A", "finish_reason": "length",
        "logprobs": {"tokens": ["The", " cat", " A"], "token_logprobs": [null, -1.0, -2.0]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 0}});
    let anthropic = json!({"id": "m", "model": "claude", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 2,
        "cache_creation_input_tokens": 1, "cache_read_input_tokens": 2}});
    let google = json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true},
        {"text": "yes"}]}, "finishReason": "STOP"}], "modelVersion": "g",
        "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 1, "thoughtsTokenCount": 1}});
    let error = json!({"error": {"message": "Unsupported parameter: 'temperature'", "code": "x",
        "type": "invalid_request_error", "param": "temperature", "details": [{"reason": "y"}]}});
    Ok(vec![
        Box::new(Replies::new(
            "reply openai",
            "openai/gpt-4o",
            200,
            &chat,
            false,
        )?),
        Box::new(Replies::new(
            "reply openai top",
            "openai/gpt-4o",
            200,
            &chat,
            true,
        )?),
        Box::new(Replies::new("reply echo", "vllm/m", 200, &echo, true)?),
        Box::new(Replies::new(
            "reply anthropic",
            "anthropic/claude-x",
            200,
            &anthropic,
            false,
        )?),
        Box::new(Replies::new(
            "reply google",
            "google/gemini-x",
            200,
            &google,
            false,
        )?),
        Box::new(Replies::new(
            "reply error",
            "openai/gpt-4o",
            400,
            &error,
            false,
        )?),
        Box::new(Batches::new()?),
        Box::new(BatchStates::new()?),
    ])
}

/// A queue with one question.
struct OneQuestion<Q, A> {
    job: Option<Job<Q>>,
    answer: Option<Result<Reply<A>, ModelError>>,
}

impl<Q, A> OneQuestion<Q, A> {
    fn new(request: Q) -> Self {
        let ticket = Ticket(0);
        Self {
            job: Some(Job { ticket, request }),
            answer: None,
        }
    }
}

impl<Q, A> WorkQueue<Q, A> for OneQuestion<Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        self.job.take()
    }

    fn answer(&mut self, _: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        self.answer = Some(answer);
        ControlFlow::Continue(())
    }
}

fn open(
    name: &str,
    server: &RawServer,
    more: &[(&str, String)],
) -> Result<Box<dyn Model>, Trouble> {
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
    for (name, value) in args {
        settings.args.insert(name.to_owned(), value.to_owned());
    }
    for (name, value) in more {
        settings.args.insert((*name).to_owned(), value.clone());
    }
    let provider = providers_with(&Ledger::new())
        .into_iter()
        .find(|p| p.name() == model.provider)
        .ok_or("no such provider")?;
    Ok(provider.open(&model, &settings)?)
}

fn question() -> Generate {
    Generate {
        prompt: Prompt::chat("hello"),
        sampling: Sampling::greedy(4),
    }
}

/// A model whose server sends what it is told.
struct Replies {
    name: &'static str,
    good: Vec<u8>,
    said: Arc<Mutex<Vec<u8>>>,
    model: Box<dyn Model>,
    scores: bool,
}

impl Replies {
    fn new(
        name: &'static str,
        model: &str,
        status: u16,
        good: &serde_json::Value,
        scores: bool,
    ) -> Result<Self, Trouble> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = Arc::clone(&said);
        let server = RawServer::start(move |_| {
            let body = says.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Say::Answer(status, Vec::new(), body)
        })?;
        let how = if model.starts_with("vllm") {
            "echo"
        } else {
            "top"
        };
        let more: &[(&str, String)] = if scores {
            &[("logprobs", how.to_owned())]
        } else {
            &[]
        };
        Ok(Self {
            name,
            good: good.to_string().into_bytes(),
            said,
            model: open(model, &server, more)?,
            scores,
        })
    }
}

impl Target for Replies {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        mutate::json_text(&self.good, dice)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = bytes.to_vec();
        if self.scores {
            let form = if self.name.ends_with("echo") {
                Prompt::plain("The cat")
            } else {
                Prompt::chat("The cat")
            };
            let mut queue: OneQuestion<Score, Scored> = OneQuestion::new(Score {
                prefix: form,
                continuations: vec![" A".into()],
                start: Start::Model,
                details: Default::default(),
            });
            if let Some(scorer) = self.model.scorer() {
                scorer.score(&mut queue);
            }
            return queue.answer.is_some_and(|a| a.is_ok());
        }
        let mut queue: OneQuestion<Generate, Generated> = OneQuestion::new(question());
        if let Some(generator) = self.model.generator() {
            generator.generate(&mut queue);
        }
        queue.answer.is_some_and(|a| a.is_ok())
    }
}

/// The file of a batch's answers.
struct Batches {
    good: Vec<u8>,
    said: Arc<Mutex<Vec<u8>>>,
    model: Box<dyn Model>,
    state: PathBuf,
    _folder: TempDir,
}

impl Batches {
    fn new() -> Result<Self, Trouble> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = Arc::clone(&said);
        let name = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&name);
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
                    let body = says.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let text = String::from_utf8_lossy(&body).replace("NAME", &lock());
                    Say::Answer(200, Vec::new(), text.into_bytes())
                }
                _ => Say::json(&json!({"data": []})),
            }
        })?;
        let folder = tempfile::tempdir()?;
        let state = folder.path().join("batch.json");
        let good = json!({"custom_id": "NAME", "response": {"status_code": 200, "body": {
            "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1}}}});
        Ok(Self {
            good: format!("{good}\n{}\n", json!({"custom_id": "other"})).into_bytes(),
            said,
            model: open(
                "openai/gpt-4o",
                &server,
                &[("batch", state.display().to_string())],
            )?,
            state,
            _folder: folder,
        })
    }
}

impl Target for Batches {
    fn name(&self) -> &'static str {
        "batch results"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        mutate::json_lines(&self.good, dice)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = bytes.to_vec();
        let _ = std::fs::remove_file(&self.state);
        let mut queue: OneQuestion<Generate, Generated> = OneQuestion::new(question());
        if let Some(generator) = self.model.generator() {
            generator.generate(&mut queue);
        }
        queue.answer.is_some_and(|a| a.is_ok())
    }
}

/// The file that remembers batches.
struct BatchStates {
    good: Vec<u8>,
    folder: TempDir,
}

impl BatchStates {
    fn new() -> Result<Self, Trouble> {
        let good = json!({"schema": 1, "fingerprint": "f", "parts": [{"name": "mary-1",
            "id": "batch_1", "submitted": 1, "known": ["a"], "requests": ["m1-0", "m2-0"],
            "estimate": 0.5, "fetched": false}]});
        Ok(Self {
            good: good.to_string().into_bytes(),
            folder: tempfile::tempdir()?,
        })
    }
}

impl Target for BatchStates {
    fn name(&self) -> &'static str {
        "batch state"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        mutate::json_text(&self.good, dice)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        let path = self.folder.path().join("batch.json");
        if std::fs::write(&path, bytes).is_err() {
            return false;
        }
        BatchState::load(&path, "f").is_ok_and(|state| state.outstanding().is_finite())
    }
}
