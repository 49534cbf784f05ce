//! A server that we did not write: llama.cpp's own, from the PyPI package `xllamacpp`, with a real
//! model. Runs when MARY_XLLAMACPP_PYTHON names a Python that has the package and
//! MARY_TEST_GGUF a GGUF file (or MARY_TEST_MODELS a folder that holds one).

use mary_testkit::{Lacking, skip};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::room;

use mary_contract::{
    Finish, Generate, Model, ModelSettings, Prompt, PromptForm, Sampling, Score, Scored, Start,
};
use room::{TestQueue, generate, open};
use serde_json::{Value, json};

struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gguf() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("MARY_TEST_GGUF") {
        return Some(path.into());
    }
    fn search(folder: &Path, depth: usize) -> Option<PathBuf> {
        let entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().collect();
        let files = entries.iter().map(std::fs::DirEntry::path);
        files
            .clone()
            .find(|p| p.extension().is_some_and(|e| e == "gguf"))
            .or_else(|| {
                (depth > 0).then(|| {
                    let mut folders = files.filter(|p| p.is_dir());
                    folders.find_map(|p| search(&p, depth - 1))
                })?
            })
    }
    search(Path::new(&std::env::var_os("MARY_TEST_MODELS")?), 3)
}

fn start() -> Option<Server> {
    let Some(python) = std::env::var_os("MARY_XLLAMACPP_PYTHON") else {
        skip(
            Lacking::Peers,
            "MARY_XLLAMACPP_PYTHON names no Python with xllamacpp",
        );
        return None;
    };
    let Some(model) = gguf() else {
        skip(
            Lacking::Models,
            "neither MARY_TEST_GGUF nor MARY_TEST_MODELS leads to a GGUF file",
        );
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/serve_llamacpp.py");
    let mut child = Command::new(python)
        .arg(script)
        .arg(model)
        // Of one thread: several wait for each other by computing, at the cost of the tests beside them.
        .args(["0", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("listening ").map(str::to_owned));
    Some(Server {
        child,
        url: url.expect("the server said where it listens"),
    })
}

fn score(model: &dyn Model, request: Score) -> Scored {
    let mut queue = TestQueue::new([request]);
    model.scorer().unwrap().score(&mut queue);
    queue.only(0).as_ref().unwrap().answer.clone()
}

/// The whole distribution after some tokens, asked in the plainest way.
fn distribution(url: &str, tokens: &[u64]) -> Vec<(u64, f64)> {
    let body = json!({"prompt": tokens, "n_predict": 1, "n_probs": 60_000, "cache_prompt": false});
    let answer: Value = post(url, "/completion", &body);
    answer["completion_probabilities"][0]["top_logprobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["id"].as_u64().unwrap(), t["logprob"].as_f64().unwrap()))
        .collect()
}

fn post(url: &str, path: &str, body: &Value) -> Value {
    let client = mary_fetch::blocking().no_proxy().build().unwrap();
    let answer = client
        .post(format!("{url}{path}"))
        .body(body.to_string())
        .send()
        .unwrap();
    serde_json::from_str(&answer.text().unwrap()).unwrap()
}

#[test]
fn a_real_llama_cpp_server_generates_and_scores() {
    let Some(server) = start() else { return };
    let settings = ModelSettings {
        base_url: Some(format!("{}/v1", server.url)),
        ..ModelSettings::default()
    };
    let model = open("llamacpp/SmolLM2", &settings);
    let card = model.card();
    assert!(card.capabilities.score && !card.capabilities.score_single_token_only);
    assert!(!card.capabilities.images, "the server says it has no eyes");
    assert!(card.context_length.is_some_and(|n| n >= 1024));
    assert!(card.parameters.is_some());

    words(model.as_ref());
    scores(model.as_ref(), &server.url);
    long_text_is_refused(model.as_ref());
    let broken = mary_testkit::conformance::check(model.as_ref());
    assert!(broken.is_empty(), "{broken:#?}");
}

fn words(model: &dyn Model) {
    let ask = |form, text: &str| Generate::new(Prompt::single(form, text), Sampling::greedy(8));
    let queue = generate(
        model,
        vec![
            ask(PromptForm::Plain, "The capital of France is"),
            ask(
                PromptForm::Chat,
                "What is the capital of France? Answer in one word.",
            ),
        ],
    );
    let plain = queue.only(0).as_ref().unwrap();
    assert!(plain.answer.text.contains("Paris"), "{:?}", plain.answer);
    assert_eq!(plain.answer.finish, Finish::Length);
    assert!(plain.meta.usage.prompt_tokens >= 5);
    assert!(plain.meta.raw.is_some() && plain.meta.model_version.is_some());
    let chat = queue.only(1).as_ref().unwrap();
    assert!(chat.answer.text.contains("Paris"), "{:?}", chat.answer);
}

fn scores(model: &dyn Model, url: &str) {
    let scored = score(
        model,
        Score::new(
            Prompt::plain("The capital of France is"),
            vec![" Paris.".into(), " London.".into(), " \u{1f600}!".into()],
            Start::Model,
        ),
    );
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    eprintln!("ln p of ' Paris.', ' London.', an emoji: {sums:?}");
    assert!(sums[0] > sums[1] && sums[1] > sums[2]);
    let halves = &scored.continuations[2].tokens;
    assert!(
        halves.iter().any(|t| t.contains('\u{fffd}')),
        "half characters are scored too: {halves:?}"
    );

    // The same numbers, token by token, from the whole distribution at each step.
    let tokens = post(
        url,
        "/tokenize",
        &json!({"content": "The capital of France is London.", "add_special": true}),
    );
    let tokens: Vec<u64> = tokens["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t.as_u64().unwrap())
        .collect();
    let ours = &scored.continuations[1].logprobs;
    for (n, logprob) in ours.iter().enumerate() {
        let at = tokens.len() - ours.len() + n;
        let all = distribution(url, &tokens[..at]);
        let total: f64 = all.iter().map(|(_, p)| p.exp()).sum();
        assert!((total - 1.0).abs() < 2e-3, "a whole distribution: {total}");
        let (_, theirs) = all.iter().find(|(id, _)| *id == tokens[at]).unwrap();
        assert!(
            (f64::from(*logprob) - theirs).abs() < 2e-2,
            "{logprob} {theirs}"
        );
    }

    let start = |start| Score::new(Prompt::plain(""), vec!["The cat sat.".into()], start);
    let without = score(model, start(Start::Never)).continuations.remove(0);
    assert!(without.first_unscored);
    let with = score(model, start(Start::Always)).continuations.remove(0);
    assert!(!with.first_unscored);
    assert_eq!(with.tokens.len(), without.tokens.len() + 1);
    assert_eq!(with.tokens[0], "The");

    let chat = score(
        model,
        Score::new(
            Prompt::chat("What is the capital of France?"),
            vec![
                "The capital of France is Paris".into(),
                "purple monkey dishwasher".into(),
            ],
            Start::Model,
        ),
    );
    let means: Vec<f64> = chat
        .continuations
        .iter()
        .map(|c| c.mean().unwrap())
        .collect();
    assert!(means[0] > means[1], "{means:?}");
}

fn long_text_is_refused(model: &dyn Model) {
    let long = Generate::new(Prompt::plain("word ".repeat(9000)), Sampling::greedy(1));
    let queue = generate(model, vec![long]);
    let error = queue.only(0).as_ref().unwrap_err();
    assert_eq!(
        error.kind,
        mary_contract::ErrorKind::ContextTooLong,
        "{error}"
    );
}
