//! One suite end to end on a server that we did not write: llama.cpp's own, from the PyPI package
//! `xllamacpp`, with a real model; and the same file read by our own backend.
//!
//! Runs when MARY_XLLAMACPP_PYTHON names a Python that has the package and MARY_TEST_GGUF a GGUF file
//! (or MARY_TEST_MODELS a folder with `smollm2-135m.gguf`). `docs/remote.md` says how to start the
//! server by hand.

use mary_testkit::{Lacking, skip};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// llama.cpp rounds activations to 8 bits where the weights are quantised, our backend does not:
/// nats by which single log-probabilities may differ, at most and on average (`docs/remote.md`).
const WORST: f64 = 0.6;
const MEAN: f64 = 0.25;

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
    if let Some(file) = std::env::var_os("MARY_TEST_GGUF") {
        return Some(file.into());
    }
    let file = PathBuf::from(std::env::var_os("MARY_TEST_MODELS")?).join("smollm2-135m.gguf");
    file.is_file().then_some(file)
}

fn start(python: &str, model: &Path) -> Server {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/serve_llamacpp.py");
    // One thread: two that wait for each other by spinning crawl on a busy machine.
    let mut child = Command::new(python)
        .arg(script)
        .arg(model)
        .args(["0", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("listening ").map(str::to_owned));
    let Some(url) = url else {
        let _ = child.kill();
        panic!("the server did not say where it listens");
    };
    Server { child, url }
}

/// Runs a few items and gives back the samples of the log.
fn samples(home: &Path, name: &str, args: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(["run", "-t", "htest/rhyme", "--no-report", "--quiet"])
        .args(args)
        .current_dir(home)
        .env("MARY_RUNS", home.join(name))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env_remove("MARY_MODEL")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    let run = std::fs::read_dir(home.join(name)).unwrap().next().unwrap();
    let log = std::fs::read_to_string(run.unwrap().path().join("samples.jsonl")).unwrap();
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Tokens and log-probabilities of every continuation, by item.
fn scores(samples: &[Value]) -> BTreeMap<String, Vec<(Value, Vec<f64>)>> {
    let of = |sample: &Value| {
        let answer = &sample["exchanges"][0]["reply"]["Ok"]["answer"]["scored"];
        let each = answer["continuations"].as_array().unwrap();
        let each = each.iter().map(|c| {
            let numbers = c["logprobs"].as_array().unwrap().iter();
            (
                c["tokens"].clone(),
                numbers.map(|x| x.as_f64().unwrap()).collect(),
            )
        });
        (
            sample["id"]["item"].as_str().unwrap().to_owned(),
            each.collect(),
        )
    };
    samples.iter().map(of).collect()
}

#[test]
fn a_suite_runs_on_a_real_llama_cpp_server_and_agrees_with_our_backend() {
    let Ok(python) = std::env::var("MARY_XLLAMACPP_PYTHON") else {
        skip(
            Lacking::Peers,
            "MARY_XLLAMACPP_PYTHON names no Python with xllamacpp",
        );
        return;
    };
    let Some(model) = gguf() else {
        skip(
            Lacking::Models,
            "neither MARY_TEST_GGUF nor MARY_TEST_MODELS leads to a GGUF file",
        );
        return;
    };
    let server = start(&python, &model);
    let url = format!("{}/v1", server.url);
    let remote = ["-m", "llamacpp/SmolLM2", "--base-url", url.as_str()];
    let home = tempfile::tempdir().unwrap();

    let few = ["-k", "4", "--limit", "8"];
    let theirs = samples(home.path(), "http", &[&remote[..], &few].concat());
    let local = format!("gguf/{}", model.display());
    let local = ["-m", local.as_str(), "--threads", "1"];
    let ours = samples(home.path(), "local", &[&local[..], &few].concat());
    agree(&scores(&theirs), &scores(&ours));

    let words = ["-k", "2", "--limit", "4", "--set", "mode=generate"];
    let words = [&remote[..], &words, &["--apply-chat-template"]].concat();
    for sample in samples(home.path(), "words", &words) {
        let reply = &sample["exchanges"][0]["reply"]["Ok"];
        assert!(
            !reply["answer"]["generated"]["text"]
                .as_str()
                .unwrap()
                .is_empty()
        );
        assert!(reply["meta"]["usage"]["prompt_tokens"].as_u64().unwrap() > 20);
        assert!(reply["meta"]["raw"].is_object(), "{reply}");
        let outcome = &sample["judgement"]["outcome"];
        assert!(outcome.get("failed").is_none(), "{outcome}");
    }
}

fn agree(
    theirs: &BTreeMap<String, Vec<(Value, Vec<f64>)>>,
    ours: &BTreeMap<String, Vec<(Value, Vec<f64>)>>,
) {
    assert_eq!(theirs.len(), 8);
    assert!(theirs.keys().eq(ours.keys()), "the same items");
    let mut apart = Vec::new();
    for (item, continuations) in theirs {
        for ((tokens, theirs), (same, ours)) in continuations.iter().zip(&ours[item]) {
            assert_eq!(tokens, same, "{item}: the same tokens");
            apart.extend(theirs.iter().zip(ours).map(|(a, b)| (a - b).abs()));
        }
    }
    let worst = apart.iter().copied().fold(0.0, f64::max);
    let mean = apart.iter().sum::<f64>() / apart.len() as f64;
    eprintln!(
        "{} log-probabilities over HTTP and from the file: {mean:.3} nats apart on average, {worst:.3} at most",
        apart.len()
    );
    assert!(
        apart.len() >= 16 && worst <= WORST && mean <= MEAN,
        "{apart:?}"
    );
}
