//! `mary serve`: what clients of OpenAI's API get, beside what the program's own commands say.

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::program::{done, program};

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(home: &Path, args: &[&str], key: Option<&str>) -> Self {
        let mut command = program(home);
        command.args(["serve", "--port", "0", "-q"]).args(args);
        if let Some(key) = key {
            command.env("MARY_SERVE_KEY", key);
        }
        let mut process = command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut told = std::io::BufReader::new(process.stderr.take().unwrap());
        while !line.contains("http://") {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0, "it ended");
        }
        let address = line.split("http://").nth(1).unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        Self { process, address }
    }

    fn send(&self, head: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!("{head}content-length: {length}\r\nconnection: close\r\n\r\n");
        // Who is refused early may find the connection closed.
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or(0), body.to_owned())
    }

    fn post_raw(&self, path: &str, body: &[u8]) -> (u16, String) {
        let head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        self.send(&head, body)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.post_raw(path, body.to_string().as_bytes());
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn numbers(list: &Value) -> Vec<Option<f64>> {
    list.as_array().unwrap().iter().map(Value::as_f64).collect()
}

const TEXT: &str = "The cat that the dogs chase is asleep.";

#[test]
fn prompts_have_the_log_probabilities_that_the_program_itself_gives() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(home.path(), &["-m", "small=builtin/nano"], None);
    let native = server.post(
        "/score",
        &json!({"continuations": [TEXT], "start": "model"}),
    );
    let expected = numbers(&native["continuations"][0]["logprobs"]);
    // As lm-evaluation-harness asks, in words and in token ids.
    let ids = server.post("/tokenize", &json!({"prompt": TEXT}))["tokens"].clone();
    for prompt in [
        json!(TEXT),
        ids.clone(),
        json!([TEXT, TEXT]),
        json!([ids, ids]),
    ] {
        let asked = json!({
            "model": "whatever", "prompt": prompt, "temperature": 0, "max_tokens": 1,
            "logprobs": 1, "seed": 1234, "echo": true,
        });
        let answer = server.post("/v1/completions", &asked);
        for choice in answer["choices"].as_array().unwrap() {
            let own = numbers(&choice["logprobs"]["token_logprobs"]);
            let tops = choice["logprobs"]["top_logprobs"].as_array().unwrap();
            assert_eq!(own.len(), ids.as_array().unwrap().len() + 1);
            assert_eq!(own[0], None);
            let scored = &own[own.len() - 1 - expected.len()..own.len() - 1];
            for (a, b) in scored.iter().zip(&expected) {
                assert!((a.unwrap() - b.unwrap()).abs() < 1e-5, "{a:?} {b:?}");
            }
            // A token's own value is among its alternatives to the bit, or no client could tell the likeliest.
            for (own, top) in own.iter().zip(tops).skip(1) {
                let best = top.as_object().unwrap().values().filter_map(Value::as_f64);
                let best = best.fold(f64::NEG_INFINITY, f64::max);
                assert!(best >= own.unwrap());
            }
            let last = tops.last().unwrap().as_object().unwrap();
            let best = last
                .values()
                .filter_map(Value::as_f64)
                .fold(f64::MIN, f64::max);
            assert_eq!(own.last().unwrap().unwrap(), best);
        }
    }
    let vllm = json!({"prompt": TEXT, "max_tokens": 0, "prompt_logprobs": 3});
    let shown = server.post("/v1/completions", &vllm);
    let places = shown["choices"][0]["prompt_logprobs"]
        .as_array()
        .unwrap()
        .clone();
    assert!(places[0].is_null() && places[1].as_object().unwrap().len() >= 3);
    // Once more with many alternatives, written and scored in one go, and written alone.
    let whole =
        json!({"prompt": TEXT, "max_tokens": 3, "temperature": 0, "echo": true, "logprobs": 5});
    let whole = &server.post("/v1/completions", &whole)["choices"][0];
    let alone = json!({"prompt": TEXT, "max_tokens": 3, "temperature": 0, "logprobs": 0});
    let alone = &server.post("/v1/completions", &alone)["choices"][0];
    assert_eq!(
        whole["text"],
        json!(format!("{TEXT}{}", alone["text"].as_str().unwrap()))
    );
    let own = numbers(&alone["logprobs"]["token_logprobs"]);
    assert_eq!(alone["logprobs"]["top_logprobs"][0], Value::Null);
    let all = numbers(&whole["logprobs"]["token_logprobs"]);
    for (a, b) in all[all.len() - own.len()..].iter().zip(&own) {
        assert!((a.unwrap() - b.unwrap()).abs() < 1e-5);
    }
}

#[test]
fn answers_are_those_of_mary_ask_together_alone_and_as_a_stream() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(home.path(), &["-m", "builtin/nano"], None);
    let prompts = [
        "The cat",
        "A dog",
        "The birds that the boy",
        "Nobody",
        "The teacher",
    ];
    let expected: Vec<String> = prompts
        .iter()
        .map(|prompt| {
            let args = ["ask", "--raw", "-q", "--max-tokens", "12", "--json", prompt];
            let said: Value = serde_json::from_str(&done(home.path(), &args)).unwrap();
            said["answer"].as_str().unwrap().to_owned()
        })
        .collect();
    std::thread::scope(|scope| {
        for round in 0..4 {
            for (prompt, expected) in prompts.iter().zip(&expected) {
                let (server, prompt) = (&server, *prompt);
                scope.spawn(move || {
                    let asked = json!({"prompt": prompt, "temperature": 0, "max_tokens": 12});
                    let answer = server.post("/v1/completions", &asked);
                    let choice = &answer["choices"][0];
                    assert_eq!(
                        choice["text"].as_str().unwrap().trim(),
                        expected.trim(),
                        "{round}"
                    );
                });
            }
        }
    });
    let asked = json!({
        "prompt": prompts[2], "temperature": 0, "max_tokens": 12, "stream": true,
        "stream_options": {"include_usage": true},
    });
    let (status, body) = server.post_raw("/v1/completions", asked.to_string().as_bytes());
    assert_eq!(status, 200);
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<&str> = events.collect();
    assert_eq!(events.last(), Some(&"[DONE]"));
    let read: Vec<Value> = events
        .iter()
        .filter_map(|e| serde_json::from_str(e).ok())
        .collect();
    let text: String = read
        .iter()
        .filter_map(|e| e["choices"][0]["text"].as_str())
        .collect();
    assert_eq!(text.trim(), expected[2].trim());
    assert!(read.len() > 3, "it came in pieces: {body}");
    assert!(read.last().unwrap()["usage"]["completion_tokens"].as_u64() > Some(0));
    // A stop string neither ends up in the stream nor does its beginning.
    let first: String = expected[2].trim_start().chars().skip(3).take(2).collect();
    let asked = json!({"prompt": prompts[2], "temperature": 0, "max_tokens": 12, "stream": true, "stop": first});
    let (_, body) = server.post_raw("/v1/completions", asked.to_string().as_bytes());
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let read = events.filter_map(|e| serde_json::from_str::<Value>(e).ok());
    let text: String = read
        .filter_map(|e| Some(e["choices"][0]["text"].as_str()?.to_owned()))
        .collect();
    assert!(!text.contains(&first) && expected[2].trim().starts_with(text.trim()));
    // Vectors, counts.
    let vectors = server.post(
        "/v1/embeddings",
        &json!({"input": ["cat", "dog"], "layer": 1, "pool": "last"}),
    );
    assert_eq!(vectors["data"].as_array().unwrap().len(), 2);
    let (_, page) = server.send(
        &format!("GET /metrics HTTP/1.1\r\nhost: {}\r\n", server.address),
        b"",
    );
    assert!(
        page.contains("mary_requests_total{path=\"/v1/completions\",status=\"200\"} 22"),
        "{page}"
    );
}

#[test]
fn what_makes_no_sense_is_refused_in_the_apis_own_form() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(
        home.path(),
        &["-m", "builtin/nano", "--max-body", "1"],
        None,
    );
    let wrong: &[(&str, &[u8], u16)] = &[
        ("/v1/completions", b"", 400),
        ("/v1/completions", b"{\"prompt\": ", 400),
        ("/v1/completions", b"\xff\xfe{}", 400),
        ("/v1/completions", b"{\"prompt\": 7}", 400),
        ("/v1/completions", b"{\"prompt\": [4294967295]}", 400),
        (
            "/v1/completions",
            b"{\"prompt\": [], \"max_tokens\": 1}",
            400,
        ),
        (
            "/v1/completions",
            b"{\"prompt\": \"x\", \"n\": 1000000}",
            400,
        ),
        (
            "/v1/completions",
            b"{\"prompt\": \"x\", \"temperature\": -1}",
            400,
        ),
        (
            "/v1/completions",
            b"{\"prompt\": \"x\", \"max_tokens\": 1e99}",
            400,
        ),
        (
            "/v1/completions",
            b"{\"prompt\": \"x\", \"logit_bias\": {\"5\": 1}}",
            400,
        ),
        (
            "/v1/completions",
            b"{\"prompt\": \"x\", \"logprobs\": 21}",
            400,
        ),
        ("/v1/chat/completions", b"{\"messages\": []}", 400),
        (
            "/v1/chat/completions",
            b"{\"messages\": [{\"role\": \"tool\", \"content\": \"x\"}]}",
            400,
        ),
        ("/score", b"{\"continuations\": []}", 400),
        ("/detokenize", b"{\"tokens\": [4000000000]}", 400),
        ("/nowhere", b"{}", 404),
    ];
    for (path, body, expected) in wrong {
        let (status, answer) = server.post_raw(path, body);
        let shown = String::from_utf8_lossy(body);
        assert_eq!(status, *expected, "{path} {shown}: {answer}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer["error"]["message"].is_string(), "{path} {shown}");
    }
    let long = json!({"prompt": "cat ".repeat(5000), "echo": true, "logprobs": 1, "max_tokens": 0});
    let (status, answer) = server.post_raw("/v1/completions", long.to_string().as_bytes());
    assert!(
        status == 400 && answer.contains("context_length_exceeded"),
        "{answer}"
    );
    let (status, _) = server.post_raw("/v1/completions", &vec![b' '; 3 << 20]);
    assert!(status == 413 || status == 0, "{status}");
    // A page in a browser, under whatever name.
    let body = b"{\"prompt\": \"x\"}";
    for head in [
        "host: evil.example:8000\r\n",
        "host: localhost\r\norigin: https://evil.example\r\n",
    ] {
        let head = format!("POST /v1/completions HTTP/1.1\r\n{head}");
        assert_eq!(server.send(&head, body).0, 403);
    }
    assert_eq!(
        server.post("/v1/completions", &json!({"prompt": "x"}))["choices"][0]["index"],
        0
    );
}

#[test]
fn a_key_is_wanted_where_there_is_one_and_other_addresses_want_a_key() {
    let home = tempfile::tempdir().unwrap();
    let refused = crate::program::mary(home.path(), &["serve", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("MARY_SERVE_KEY"), "{}", refused.err);
    let server = Server::start(home.path(), &["-m", "builtin/nano"], Some("a secret"));
    let body = b"{\"prompt\": \"x\", \"max_tokens\": 1}";
    for (key, expected) in [
        ("", 401),
        ("authorization: Bearer wrong\r\n", 401),
        ("authorization: Bearer a secret\r\n", 200),
    ] {
        let head = format!("POST /v1/completions HTTP/1.1\r\nhost: anything\r\n{key}");
        assert_eq!(server.send(&head, body).0, expected, "{key}");
    }
    let health = format!("GET /health HTTP/1.1\r\nhost: {}\r\n", server.address);
    assert_eq!(server.send(&health, b"").0, 200);
}
