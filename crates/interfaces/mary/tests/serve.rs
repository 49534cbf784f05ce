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

/// What a server says of itself and what the system says of it.
impl Server {
    fn get(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        self.send(&head, b"").1
    }

    /// A number of the page of metrics.
    fn metric(&self, name: &str) -> u64 {
        let page = self.get("/metrics");
        let line = page.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        value.unwrap_or_else(|| panic!("{name}: {page}"))
    }

    /// Hundredths of a second that its threads computed.
    #[cfg(target_os = "linux")]
    fn computed(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let after_name = stat.rsplit(')').next().unwrap();
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        [11, 12]
            .map(|i| fields[i].parse::<u64>().unwrap())
            .iter()
            .sum()
    }

    /// Sends a request and does not wait for its answer.
    fn begin(&self, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, body) = (&self.address, body.to_string());
        let head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: ");
        write!(stream, "{head}{}\r\n\r\n{body}", body.len()).unwrap();
        stream
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

/// Clients that ask for a lot and leave: what they asked for is not computed, and nobody waits for it.
#[cfg(target_os = "linux")]
#[test]
fn who_disconnects_frees_the_place_at_once() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(home.path(), &["-m", "builtin/nano"], None);
    let writing = |n: usize| json!({"prompt": "The cat", "n": n, "max_tokens": 100, "seed": 1});
    let scoring = |n: usize| {
        let words = ["king", "teacher", "boy", "bird", "queen", "dog", "brother"];
        let text = |i: usize| -> String {
            let word = |j: usize| words[(i * 31 + j * j * (i % 11 + 1)) % words.len()];
            (0..60).map(|j| format!("The {} {i} ", word(j))).collect()
        };
        let texts: Vec<String> = (0..n.min(512)).map(text).collect();
        json!({"prompt": texts, "max_tokens": 0, "echo": true, "logprobs": 1})
    };
    for (few, ask) in [(16, &writing as &dyn Fn(usize) -> Value), (8, &scoring)] {
        let begun = server.computed();
        server.post("/v1/completions", &ask(few));
        let cost = server.computed() - begun;
        // Four times as many answers as are computed together, on four connections; then one of a stream.
        let mut asked: Vec<TcpStream> = (0..4)
            .map(|_| server.begin("/v1/completions", &ask(1000)))
            .collect();
        let stream = json!({"prompt": "The cat", "max_tokens": 400, "stream": true});
        asked.push(server.begin("/v1/completions", &stream));
        let now = "mary_requests_now{model=\"builtin/nano\",state=";
        while server.metric(&format!("{now}\"under_way\"}}")) == 0
            || server.metric(&format!("{now}\"waiting\"}}")) == 0
        {
            std::thread::yield_now();
        }
        let left = server.computed();
        drop(asked);
        while server.metric(&format!("{now}\"under_way\"}}")) > 0
            || server.metric(&format!("{now}\"waiting\"}}")) > 0
        {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let spent = server.computed() - left;
        let all = cost.max(1) * 2000 / few as u64;
        assert!(spent < all / 4, "{spent} of {all} hundredths of a second");
        server.post("/v1/completions", &ask(1));
    }
}

fn tool(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tools")
        .join(name)
}

/// The long form of this is `tools/attack_serve.py MARY MODEL --requests 10000 --kills 5`.
#[test]
fn hostile_requests_neither_end_it_nor_leak_nor_change_what_others_hear() {
    let mut attack = std::process::Command::new("python3");
    attack
        .arg(tool("attack_serve.py"))
        .arg(env!("CARGO_BIN_EXE_mary"));
    attack.args(["builtin/nano", "--requests", "400", "--kills", "1"]);
    let said = crate::program::said(&mut attack);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    eprintln!("{}", said.out);
}

/// What a run's items were given, by item and continuation, to the last bit.
fn scores(home: &Path, args: &[&str]) -> std::collections::BTreeMap<String, Vec<Value>> {
    let runs = tempfile::tempdir_in(home).unwrap();
    let path = runs.path().to_str().unwrap();
    let task = [
        "run",
        "-t",
        "psychometric/grammar-small",
        "--no-cache",
        "-q",
        "--no-report",
    ];
    let args = [&task[..], &["--output-path", path], args].concat();
    done(home, &args);
    let mut found = std::collections::BTreeMap::new();
    let run = std::fs::read_dir(path).unwrap().next().unwrap().unwrap();
    let samples = std::fs::read_to_string(run.path().join("samples.jsonl")).unwrap();
    for line in samples.lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        let all = &sample["exchanges"][0]["reply"]["Ok"]["answer"]["scored"]["continuations"];
        let all = all.as_array().unwrap_or_else(|| panic!("{line}"));
        let numbers = all.iter().map(|c| c["logprobs"].clone()).collect();
        found.insert(sample["item"]["id"].to_string(), numbers);
    }
    found
}

#[test]
fn several_servers_work_as_one_and_one_that_dies_is_left_out() {
    let home = tempfile::tempdir().unwrap();
    let own = scores(home.path(), &["-m", "builtin/nano"]);
    let mut servers: Vec<Server> = (0..3)
        .map(|_| Server::start(home.path(), &["-m", "small=builtin/nano"], None))
        .collect();
    let urls: Vec<String> = servers
        .iter()
        .map(|s| format!("http://{}/v1", s.address))
        .collect();
    let all = urls.join(",");
    let bos = "bos=<|endoftext|>";
    let asked = |urls: &str| {
        let args = ["-m", "mary/small", "--base-url", urls, "--model-arg", bos];
        scores(home.path(), &args)
    };
    let one = asked(&urls[0]);
    let answered = "mary_requests_total{path=\"/v1/completions\",status=\"200\"}";
    let three = asked(&all);
    assert_eq!(one, three, "one server and three");
    let counts: Vec<u64> = servers[1..].iter().map(|s| s.metric(answered)).collect();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let close = |a: &Value, b: &Value| {
        let both = numbers(a).into_iter().zip(numbers(b));
        both.into_iter()
            .all(|(a, b)| (a.unwrap() - b.unwrap()).abs() < 1e-5)
    };
    assert_eq!(own.len(), one.len());
    for (id, mine) in &own {
        assert!(mine.iter().zip(&one[id]).all(|(a, b)| close(a, b)), "{id}");
    }
    // One of them ends while it works.
    let victim = servers.remove(1);
    let before = victim.metric(answered);
    let left = std::thread::scope(|scope| {
        let run = scope.spawn(|| asked(&all));
        while victim.metric(answered) == before && !run.is_finished() {
            std::thread::yield_now();
        }
        drop(victim);
        run.join().unwrap()
    });
    assert_eq!(one, left, "two that are left");
}

/// The block of code that follows these words on the page, for a server of this address.
fn example(after: &str, address: &str) -> String {
    let page = include_str!("../../../../docs/serve.md");
    let (_, rest) = page
        .split_once(after)
        .unwrap_or_else(|| panic!("no `{after}`"));
    let lines = rest.lines().skip_while(|line| !line.starts_with("    "));
    let block = lines.take_while(|line| line.starts_with("    "));
    let block: Vec<&str> = block.map(|line| &line[4..]).collect();
    block.join("\n").replace("127.0.0.1:8000", address)
}

#[test]
fn the_clients_on_the_page_do_what_it_says() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(home.path(), &["-m", "small=builtin/nano"], None);
    let run = |words: &mut std::process::Command| {
        let said = crate::program::said(words.current_dir(home.path()));
        assert_eq!(said.code, 0, "{words:?}: {}{}", said.out, said.err);
        said.out
    };
    let shell = |line: &str| run(std::process::Command::new("bash").args(["-ec", line]));
    if std::process::Command::new("curl")
        .arg("--version")
        .output()
        .is_err()
    {
        mary_testkit::skip(mary_testkit::Lacking::Peers, "curl is not installed");
    } else {
        let said: Value =
            serde_json::from_str(&shell(&example("\ncurl", &server.address))).unwrap();
        assert_eq!(said["sums"].as_array().unwrap().len(), 2);
    }
    let Some(python) = std::env::var_os("MARY_PEER_PYTHON") else {
        return mary_testkit::skip(mary_testkit::Lacking::Peers, "MARY_PEER_PYTHON is not set");
    };
    let python = || std::process::Command::new(&python);
    let sdk = run(python().args(["-c", &example("\nPython", &server.address)]));
    assert!(sdk.starts_with("[None, -"), "{sdk}");
    let chain = run(python().args(["-c", &example("\nLangChain", &server.address)]));
    let asked = json!({"prompt": "The cat", "max_tokens": 12, "temperature": 0});
    let text = &server.post("/v1/completions", &asked)["choices"][0]["text"];
    assert_eq!(chain.trim(), text.as_str().unwrap().trim());
    let harness = tool("compare_serve.py");
    let program = env!("CARGO_BIN_EXE_mary");
    run(python()
        .arg(harness)
        .args([program, "builtin/nano", "--items", "12"]));
}
