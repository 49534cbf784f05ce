//! The key over the whole program: servers that hand it back in every way we can think of, for every
//! service and command, foreign folders that ask for it, kills, exports, the viewer and a terminal.
//! Afterwards every file that was written, its path, and every line that was printed is searched for
//! the key and for any twelve characters of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use mary_contract::Cache as _;
use mary_testkit::lacking::{self, Lacking};
use mary_testkit::raw_server::{Heard, RawServer, Say};
use regex::bytes::Regex;
use serde_json::{Value, json};

/// No twelve characters of it occur by chance.
const KEY: &str = "sk-Zq8Vt5-Lw0Kd3Xr9Hn7-By2Pf6Gc1Ju4-Ma8Ts5";

/// Twelve characters of the key in a row, anywhere in these bytes.
fn leak(bytes: &[u8]) -> Option<String> {
    static PIECES: LazyLock<Regex> = LazyLock::new(|| {
        let pieces = (0..=KEY.len() - 12).map(|at| regex::escape(&KEY[at..at + 12]));
        Regex::new(&pieces.collect::<Vec<_>>().join("|")).unwrap()
    });
    let found = PIECES.find(bytes)?;
    Some(String::from_utf8_lossy(found.as_bytes()).into_owned())
}

/// A folder in which commands are run; what they print is kept.
struct Room {
    home: tempfile::TempDir,
    printed: Vec<(String, Vec<u8>)>,
}

impl Room {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            printed: Vec::new(),
        }
    }

    fn command(&self, program: &str) -> Command {
        let home = self.home.path();
        let mut command = Command::new(program);
        command
            .current_dir(home)
            .env("MARY_RUNS", home.join("runs"))
            .env("MARY_CACHE_DIR", home.join("cache"))
            .env("TMPDIR", home.join("tmp"))
            .env("RUST_BACKTRACE", "1")
            .env_remove("MARY_MODEL")
            .env_remove("MARY_PRICES");
        for name in [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "OPENROUTER_API_KEY",
            "OPENAI_COMPATIBLE_API_KEY",
            "VLLM_API_KEY",
            "MY_OWN_SECRET",
        ] {
            command.env(name, KEY);
        }
        std::fs::create_dir_all(home.join("tmp")).unwrap();
        command
    }

    /// Runs Mary; its exit code and what it said.
    fn mary(&mut self, arguments: &[&str]) -> (i32, String) {
        let output = self
            .command(env!("CARGO_BIN_EXE_mary"))
            .args(arguments)
            .output()
            .unwrap();
        let all = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&all).into_owned();
        self.printed.push((arguments.join(" "), all));
        let code = output.status.code().unwrap_or(-1);
        assert!(
            code != 70 && code != 101 && code >= 0,
            "{arguments:?}: {code} {said}"
        );
        (code, said)
    }

    /// A small run on a server, with every command that looks at runs afterwards.
    fn ask(&mut self, model: &str, url: &str, more: &[&str]) -> (i32, String) {
        let mut arguments = vec![
            "run",
            "-m",
            model,
            "--base-url",
            url,
            "-t",
            "htest/uppercase",
        ];
        arguments.extend(["-k", "2", "--apply-chat-template"]);
        arguments.extend(["--model-arg", "retries=1,backoff_ms=0,max_wait=1"]);
        if !more.iter().any(|m| m.starts_with("mode=")) {
            arguments.extend(["--set", "mode=generate"]);
        }
        arguments.extend(more);
        self.mary(&arguments)
    }

    fn runs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.home.path().join("runs"));
        let entries = entries.into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_dir()).collect();
        runs.sort();
        runs
    }

    /// Searches everything.
    fn search(&self) -> usize {
        for (what, bytes) in &self.printed {
            if let Some(piece) = leak(bytes) {
                let text = String::from_utf8_lossy(bytes);
                panic!("`{what}` printed {piece}: {text}");
            }
        }
        let files = files(self.home.path());
        for file in &files {
            let place = file.display().to_string();
            assert_eq!(leak(place.as_bytes()), None, "in a name: {place}");
            assert_eq!(leak(&std::fs::read(file).unwrap()), None, "in {place}");
        }
        files.len()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The key as it came.
fn told(heard: &Heard) -> String {
    let names = ["authorization", "x-api-key", "x-goog-api-key"];
    let found = heard
        .headers
        .iter()
        .find(|(n, _)| names.contains(&n.as_str()));
    found.map_or_else(String::new, |(_, v)| {
        v.trim_start_matches("Bearer ").to_owned()
    })
}

/// Twelve, twenty and thirty characters of it, from everywhere.
fn pieces(key: &str) -> String {
    let mut out = String::new();
    for length in [12, 20, 30] {
        for start in (0..key.len().saturating_sub(length)).step_by(5) {
            out.push_str(key.get(start..start + length).unwrap_or_default());
            out.push('|');
        }
    }
    out
}

/// The key as JSON writes it when every character is an escape.
fn escaped(key: &str) -> String {
    key.chars()
        .map(|c| format!("\\u{:04x}", u32::from(c)))
        .collect()
}

fn reply(key: &str) -> Value {
    json!({
        "id": key, "model": format!("m-{key}"), "system_fingerprint": key, "object": key,
        "choices": [{
            "index": 0,
            "message": {"role": key, "content": format!("A {key} {}", pieces(key)),
                "reasoning": format!("Bearer {key}"), "refusal": null, "tool_calls": [{"id": key}]},
            "finish_reason": format!("stop-{key}"),
            "logprobs": {"content": [{"token": key, "logprob": -0.1, "top_logprobs": [
                {"token": key, "logprob": -0.1}, {"token": " A", "logprob": -0.5}]}]},
        }],
        key: {key: [key, [key]]},
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "cost": key, key: 1},
    })
}

/// Attacks after which nothing more is asked: keys refused, a model not found, a wait of a day.
const ENDS: [usize; 5] = [8, 9, 10, 12, 13];

/// What a server says to a question, by the way of attack.
fn says(attack: usize, key: &str) -> Option<Say> {
    let headers = |more: &[(&str, &str)]| {
        let mut all = vec![
            ("x-request-id".to_owned(), key.to_owned()),
            ("set-cookie".to_owned(), format!("k={key}")),
            (format!("x-{key}"), "1".to_owned()),
        ];
        all.extend(more.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        all
    };
    let error = json!({"error": {"message": format!("{}{key} {}", "x".repeat(1_980), pieces(key)),
        "code": key, "type": key, "param": key, "details": [{key: key}]}});
    let status = |status, more: &[(&str, &str)]| {
        Say::Answer(status, headers(more), error.to_string().into_bytes())
    };
    let text = reply(key).to_string();
    Some(match attack {
        0 => Say::Answer(200, headers(&[]), text.into_bytes()),
        // Escapes, halves, doubled keys, other spellings of the body.
        1 => {
            let body = text.replace(key, &escaped(key));
            Say::Answer(200, headers(&[]), body.into_bytes())
        }
        2 => Say::Answer(200, headers(&[]), text[..text.len() - 40].into()),
        3 => Say::Answer(200, headers(&[]), format!("<html>{key}</html>").into()),
        4 => Say::Answer(
            200,
            headers(&[]),
            format!("{{\"choices\": [{key}]}}").into(),
        ),
        5 => Say::Answer(
            200,
            headers(&[]),
            json!([key, {"a": key}]).to_string().into(),
        ),
        6 => {
            let half = &key[..key.len() / 2];
            let split = json!({"choices": [{"message": {"content": [
                {"type": "text", "text": format!("{half}{half}")},
                {"type": "text", "text": &key[key.len() / 2..]}]},
                "finish_reason": null}], "model": half});
            Say::Answer(200, headers(&[]), split.to_string().into())
        }
        // Errors of every kind.
        7 => status(400, &[]),
        8 => status(401, &[]),
        9 => status(403, &[]),
        10 => status(404, &[]),
        11 => status(422, &[]),
        12 => status(429, &[("retry-after", key)]),
        13 => status(429, &[("retry-after", "86400")]),
        14 => status(500, &[]),
        15 => status(503, &[]),
        16 => status(302, &[("location", &format!("http://127.0.0.1:9/{key}"))]),
        17 => Say::Answer(
            400,
            headers(&[]),
            format!("{}{key}", "y".repeat(1_985)).into(),
        ),
        18 => Say::Answer(400, headers(&[]), json!(key).to_string().into()),
        // Broken HTTP.
        19 => Say::Bytes(format!("HTTP/1.1 200 {key}\r\ncontent-length: 5\r\n\r\n{key}").into()),
        20 => Say::Bytes(format!("HTTP/1.1 {key}\r\n\r\n").into()),
        21 => Say::Bytes(format!("{key}\r\n{key}: {key}\r\n\r\n{key}").into()),
        22 => Say::Bytes(
            format!("HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n{key}\r\n{key}").into(),
        ),
        23 => Say::Bytes(
            format!("HTTP/1.1 200 X\r\ncontent-type: {key}\r\ncontent-length: 9999\r\n\r\n{key}")
                .into(),
        ),
        24 => Say::Bytes(
            format!("HTTP/1.1 200 X\r\ncontent-encoding: {key}\r\ncontent-length: 2\r\n\r\n{{}}")
                .into(),
        ),
        _ => return None,
    })
}

/// A server that plays these attacks in turn.
fn server(attacks: Vec<usize>) -> RawServer {
    let count = AtomicUsize::new(0);
    RawServer::start(move |heard| {
        let key = told(heard);
        let count = count.fetch_add(1, Ordering::SeqCst);
        let attack = attacks[count % attacks.len()];
        if heard.method == "GET" {
            // The list of models, which is looked at before the first question.
            return match attack % 3 {
                0 => Say::json(&json!({"data": [{"id": key}, {"id": "m"}]})),
                1 => Say::json(&json!({"data": [{"id": "m", "owned_by": key}], key.as_str(): key})),
                _ => Say::Answer(404, vec![], json!({"error": key}).to_string().into()),
            };
        }
        says(attack, &key).unwrap_or(Say::Nothing)
    })
    .unwrap()
}

#[test]
fn the_key_is_in_no_file_and_in_no_line_after_hostile_servers() {
    let mut room = Room::new();
    let all = (0..).take_while(|a| says(*a, KEY).is_some());
    let (ending, passing): (Vec<usize>, Vec<usize>) = all.partition(|a| ENDS.contains(a));
    assert!(passing.len() >= 15 && ending.len() == ENDS.len());
    let mut heard = 0;
    // Attacks that end one question come in turn; those that end a run have one each.
    for model in ["compatible/m", "openai/m", "anthropic/m", "google/m"] {
        let server = server(passing.clone());
        let more = [
            "--limit",
            "80",
            "--json",
            "--no-report",
            "--model-arg",
            "check=false",
        ];
        room.ask(model, &server.url("/v1"), &more);
        let asked = server.heard().iter().filter(|h| told(h) == KEY).count();
        // A service may take one of them for the end of the run.
        assert!(asked >= 10, "{model}: {asked} requests");
        heard += asked;
    }
    for attack in ending {
        let server = server(vec![attack]);
        room.ask(
            "compatible/m",
            &server.url("/v1"),
            &["--limit", "3", "--no-report"],
        );
        heard += server.heard().iter().filter(|h| told(h) == KEY).count();
    }
    // Log-probabilities, which are read elsewhere.
    for (model, how) in [("vllm/m", "echo"), ("openai/m", "top")] {
        let server = server(passing.clone());
        let how = format!("logprobs={how},check=false");
        let more = [
            "--limit",
            "80",
            "--no-report",
            "--model-arg",
            &how,
            "--set",
            "mode=score",
        ];
        room.ask(model, &server.url("/v1"), &more);
        heard += server.heard().iter().filter(|h| told(h) == KEY).count();
    }

    // What looks at runs afterwards, and asks the cache again.
    let good = server(vec![0]);
    let (code, said) = room.ask("compatible/m", &good.url("/v1"), &["--limit", "3"]);
    assert_eq!(code, 0, "{said}");
    for command in [
        vec!["report"],
        vec!["cache", "stats"],
        vec!["rescore"],
        vec!["export", "--to", "csv"],
        vec!["export", "--to", "inspect"],
        vec!["export", "--to", "eval"],
        vec!["export", "--to", "lm-eval"],
        vec!["export", "--to", "parquet"],
        vec!["report", "--tables", "tables"],
        vec!["resume", "--base-url", &good.url("/v1")],
        vec!["models", "show", "openai/m"],
    ] {
        room.mary(&command);
    }
    instruments(&mut room, &passing);
    in_parts(&mut room, &good.url("/v1"));
    in_the_cache(&room);
    in_the_viewer(&mut room);
    on_a_terminal(&mut room, &good.url("/v1"));
    let searched = room.search();
    assert!(searched >= 40, "{searched} files");
    eprintln!(
        "{} commands, {searched} files, {heard} requests with the key: no piece of it",
        room.printed.len()
    );
}

/// Plain texts scored, observed and answered by hostile servers, and what is written without a model.
fn instruments(room: &mut Room, passing: &[usize]) {
    std::fs::write(
        room.home.path().join("texts.txt"),
        "the cat sat\nthe dog ran\n".repeat(6),
    )
    .unwrap();
    let hostile = server(passing.to_vec());
    let url = hostile.url("/v1");
    let mut sent = 0;
    let retries = "retries=1,backoff_ms=0,max_wait=1,check=false";
    let echo = "logprobs=echo,retries=1,backoff_ms=0,max_wait=1,check=false";
    for (model, words) in [
        ("vllm/m", vec!["score", "texts.txt", "--model-arg", echo]),
        (
            "compatible/m",
            vec!["score", "texts.txt", "--model-arg", retries],
        ),
        (
            "compatible/m",
            vec!["observe", "texts.txt", "--model-arg", retries],
        ),
        (
            "compatible/m",
            vec!["ask", "who are you", "-n", "4", "--model-arg", retries],
        ),
        (
            "openai/m",
            vec!["ask", "who are you", "--model-arg", retries],
        ),
        (
            "anthropic/m",
            vec!["ask", "who are you", "--no-cache", "--model-arg", retries],
        ),
    ] {
        let mut words = words;
        words.extend(["-m", model, "--base-url", &url]);
        let before = hostile.heard().len();
        let (_, said) = room.mary(&words);
        assert!(!said.trim().is_empty(), "{words:?}");
        sent += hostile.heard().len() - before;
    }
    assert!(sent >= 12, "{sent} requests");
    for words in [
        vec![
            "items",
            "htest/uppercase",
            "--to",
            "csv",
            "--limit",
            "3",
            "-o",
            "items.csv",
        ],
        vec!["runs"],
        vec!["tasks", "show", "htest/uppercase"],
        vec!["models", "list"],
        vec!["data", "list"],
        vec![
            "study",
            "new",
            "-t",
            "htest/uppercase",
            "--out",
            "study",
            "--people",
            "2",
            "--items",
            "4",
            "--per-person",
            "2",
        ],
        vec!["study", "status", "study"],
        vec!["study", "simulate", "study"],
        vec!["study", "close", "study"],
    ] {
        room.mary(&words);
    }
}

/// A run in two parts through scripts and processes, joined again; the scripts name no secret.
fn in_parts(room: &mut Room, url: &str) {
    let run = [
        "--",
        "run",
        "-m",
        "compatible/m",
        "--base-url",
        url,
        "-t",
        "htest/uppercase",
        "-k",
        "2",
        "--limit",
        "6",
        "--set",
        "mode=generate",
        "--apply-chat-template",
        "--seed",
        "11",
    ];
    for engine in ["slurm", "hyperqueue", "kubernetes"] {
        let words = ["submit", engine, "--shards", "2", "--dry-run"];
        room.mary(&[&words[..], &run[..]].concat());
    }
    let (code, said) = room.mary(&[&["submit", "local", "--shards", "2"][..], &run[..]].concat());
    assert_eq!(code, 0, "{said}");
    for words in [
        vec!["jobs"],
        vec!["jobs", "--json"],
        vec!["merge", "--json"],
    ] {
        let run = room
            .runs()
            .into_iter()
            .find(|r| r.join("shards").is_dir())
            .unwrap();
        let run = run.display().to_string();
        room.mary(&[&words[..], &[run.as_str()]].concat());
    }
}

/// Answers are packed in the cache: they are taken out and looked at.
fn in_the_cache(room: &Room) {
    let cache = room.home.path().join("cache/answers.sqlite");
    let mut cache = mary_store::ResponseCache::open(&cache).unwrap();
    let mut found = 0;
    for run in room.runs() {
        let Ok(log) = std::fs::read_to_string(run.join("samples.jsonl")) else {
            continue;
        };
        for line in log.lines() {
            let sample: Value = serde_json::from_str(line).unwrap();
            for exchange in sample["exchanges"].as_array().unwrap() {
                let key = serde_json::from_value(exchange["key"].clone()).unwrap();
                if let Some(reply) = cache.recall(&key).unwrap() {
                    found += 1;
                    let text = serde_json::to_string(&reply).unwrap();
                    assert_eq!(leak(text.as_bytes()), None, "{text}");
                }
            }
        }
    }
    assert!(found > 0, "no answer was in the cache");
}

/// Pages of the viewer, from link to link.
fn in_the_viewer(room: &mut Room) {
    use std::io::BufRead as _;
    let mut viewer = room
        .command(env!("CARGO_BIN_EXE_mary"))
        .args(["view", "--port", "0"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = std::io::BufReader::new(viewer.stderr.take().unwrap());
    said.read_line(&mut line).unwrap();
    let address = line.split("http://").nth(1).unwrap();
    let address = address.split_whitespace().next().unwrap().to_owned();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut page = Vec::new();
        stream.read_to_end(&mut page).unwrap();
        page
    };
    let mut seen = std::collections::BTreeSet::new();
    // The newest link first, so that a run is looked at to its depth.
    let mut next = vec!["/".to_owned()];
    while let Some(path) = next.pop() {
        if seen.len() >= 120 {
            break;
        }
        if !seen.insert(path.clone()) {
            continue;
        }
        let page = get(&path);
        let text = String::from_utf8_lossy(&page).into_owned();
        let links = text.split("href=\"").skip(1);
        let links = links.filter_map(|l| l.split('"').next());
        let links = links.filter(|l| l.starts_with("/run/"));
        next.extend(links.map(|l| l.replace("&amp;", "&")));
        room.printed.push((format!("GET {path}"), page));
    }
    assert!(seen.iter().any(|p| p.contains("/sample?")), "{seen:?}");
    viewer.kill().unwrap();
    viewer.wait().unwrap();
}

/// The same on a terminal, where there is a progress bar.
fn on_a_terminal(room: &mut Room, url: &str) {
    let run = format!(
        "'{}' run -m compatible/m --base-url {url} -t htest/uppercase,htest/palindrome -k 2 --limit 3 --no-cache \
         --apply-chat-template --set mode=generate --seed 9",
        env!("CARGO_BIN_EXE_mary")
    );
    let pty = room
        .command("script")
        .args(["-qec", &run, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output();
    match pty {
        Ok(output) => {
            assert!(!output.stdout.is_empty());
            let all = [output.stdout, output.stderr].concat();
            room.printed.push(("on a terminal".into(), all));
        }
        Err(_) => lacking::skip(Lacking::Terminal, "no `script` to make one"),
    }
}

/// Batches: names, states, counts, files and errors that hold the key; and folders that came back from
/// somewhere else.
#[test]
fn the_key_is_in_no_file_and_in_no_line_after_hostile_batches_and_folders() {
    let mut room = Room::new();
    for attack in 0..8 {
        let name = std::sync::Mutex::new(Vec::new());
        let server = RawServer::start(move |heard| {
            let key = told(heard);
            let path = heard.path.as_str();
            let error = json!({"error": {"message": key, "code": key}});
            let mut names = name.lock().unwrap();
            if path.ends_with("/files") && heard.method == "POST" {
                let text = String::from_utf8_lossy(&heard.body).into_owned();
                let found = text.split("\"custom_id\":\"").skip(1);
                *names = found
                    .filter_map(|t| t.split('"').next().map(str::to_owned))
                    .collect();
                return match attack {
                    1 => Say::Answer(400, vec![], error.to_string().into()),
                    _ => Say::json(&json!({"id": "file-1", "filename": key, "name": key})),
                };
            }
            if path.ends_with("/batches") && heard.method == "POST" {
                return match attack {
                    2 => Say::Answer(400, vec![], error.to_string().into()),
                    3 => Say::json(&json!({"id": format!("batch_{key}"), "status": key})),
                    4 => Say::Nothing,
                    _ => Say::json(&json!({"id": "batch_1", "metadata": {"k": key}})),
                };
            }
            if path.contains("/batches/") {
                return match attack {
                    5 => Say::json(&json!({"status": "failed", "errors": {"data": [
                        {"message": key, "code": key}]}, "id": key})),
                    6 => Say::json(&json!({"status": key})),
                    _ => Say::json(&json!({"status": "completed", "output_file_id": "o",
                        "error_file_id": "e", "request_counts": {"total": names.len(),
                        "completed": names.len(), key.as_str(): key}})),
                };
            }
            if path.ends_with("/content") {
                let mut lines = String::new();
                for name in names.iter() {
                    let body = if attack == 7 {
                        error.clone()
                    } else {
                        reply(&key)
                    };
                    let status = if attack == 7 { 400 } else { 200 };
                    let line = json!({"custom_id": name, key.clone(): key, "error": null,
                        "response": {"status_code": status, "request_id": key, "body": body}});
                    lines.push_str(&format!("{line}\n{key}\n"));
                }
                return Say::Answer(200, vec![], lines.into());
            }
            Say::json(&json!({"data": [{"id": key, "metadata": {"mary": key}}], "has_more": false}))
        })
        .unwrap();
        let url = server.url("/v1");
        let seed = attack.to_string();
        for _ in 0..2 {
            let more = ["--batch", "--no-report", "--seed", &seed, "--limit", "3"];
            room.ask("openai/gpt-4o", &url, &more);
        }
        assert!(server.heard().iter().any(|h| told(h) == KEY));
    }
    // Folders that name other hosts, other secrets, and the key itself where ids stand.
    let stranger = RawServer::start(|_| Say::json(&json!({"data": []}))).unwrap();
    let good = server(vec![0]);
    let known = room.runs();
    let more = ["--no-report", "--limit", "3", "--model-arg", "check=false"];
    let (code, said) = room.ask("openai/m", &good.url("/v1"), &more);
    assert_eq!(code, 0, "{said}");
    let mut runs = room.runs().into_iter();
    let folder = runs.find(|r| !known.contains(r)).unwrap();
    let manifest = folder.join("manifest.json");
    let original = std::fs::read_to_string(&manifest).unwrap();
    let newest = |room: &Room| room.runs().len();
    let before = newest(&room);
    for change in 0..5 {
        let mut value: Value = serde_json::from_str(&original).unwrap();
        let settings = &mut value["model_settings"];
        match change {
            0 => settings["base_url"] = json!("http://192.0.2.1:9/v1"),
            1 => settings["base_url"] = json!("http://stranger.invalid/v1"),
            2 => {
                // The usual host of a service, and a secret that is not its own.
                settings["base_url"] = Value::Null;
                settings["args"]["key_env"] = json!("MY_OWN_SECRET");
            }
            3 => settings["args"]["batch"] = json!("../../outside.json"),
            _ => settings["base_url"] = json!(format!("{}@x", stranger.url("/v1"))),
        }
        std::fs::write(&manifest, value.to_string()).unwrap();
        let (code, said) = room.mary(&["resume", &folder.display().to_string()]);
        assert_ne!(code, 0, "{change}: {said}");
        if change == 2 {
            assert!(said.contains("--key-env MY_OWN_SECRET"), "{said}");
        }
    }
    assert_eq!(newest(&room), before, "no folder was begun");
    assert!(stranger.heard().iter().all(|h| told(h).is_empty()));
    let searched = room.search();
    eprintln!(
        "{} commands, {searched} files: no piece of the key",
        room.printed.len()
    );
}
