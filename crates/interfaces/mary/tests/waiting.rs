//! Servers that ask to wait, are overloaded or send odd headers, and disks that fill up, seen from
//! outside: what is said, the exit code, and that the same run goes on later.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mary_testkit::raw_server::{RawServer, Say};
use serde_json::{Value, json};

/// A server that answers three questions and then does what it is told, until it is calm again.
struct Moody {
    server: RawServer,
    calm: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
}

type Mood = Box<dyn Fn() -> Say + Send + Sync>;

fn answer(headers: Vec<(String, String)>) -> Say {
    let body = json!({
        "choices": [{"message": {"content": "A"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    });
    Say::Answer(200, headers, body.to_string().into_bytes())
}

fn moody(mood: impl Fn() -> Say + Send + Sync + 'static) -> Moody {
    let (calm, answered) = (Arc::new(AtomicBool::new(false)), Arc::default());
    let (is_calm, count): (_, Arc<AtomicUsize>) = (Arc::clone(&calm), Arc::clone(&answered));
    let server = RawServer::start(move |heard| {
        if heard.method == "GET" {
            return Say::json(&json!({"data": [{"id": "m"}]}));
        }
        if is_calm.load(Ordering::SeqCst) || count.load(Ordering::SeqCst) < 3 {
            count.fetch_add(1, Ordering::SeqCst);
            return answer(Vec::new());
        }
        mood()
    });
    Moody {
        server: server.unwrap(),
        calm,
        answered,
    }
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(n, v): &(&str, &str)| ((*n).to_owned(), (*v).to_owned());
    pairs.iter().map(owned).collect()
}

/// One question at a time, twelve in all.
fn words(url: &str) -> Vec<String> {
    let words = "run -m compatible/m -t htest/end-punctuation -k 2 --limit 12 --set mode=generate \
                 --apply-chat-template --no-report --no-cache --max-connections 1 \
                 --model-arg retries=2 --model-arg backoff_ms=1";
    let mut words: Vec<String> = words.split_whitespace().map(String::from).collect();
    words.extend(["--base-url".to_owned(), url.to_owned()]);
    words
}

fn mary(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mary"));
    command
        .current_dir(home)
        .env("MARY_RUNS", home.join("runs"))
        .env("MARY_CACHE_DIR", home.join("cache"))
        .env_remove("MARY_MODEL");
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder(home: &Path) -> PathBuf {
    let entries = std::fs::read_dir(home.join("runs")).unwrap().flatten();
    entries.map(|e| e.path()).find(|p| p.is_dir()).unwrap()
}

/// Items that the log has an answer for.
fn logged(home: &Path) -> usize {
    let log = std::fs::read_to_string(folder(home).join("samples.jsonl")).unwrap();
    let answered = log.lines().filter(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["judgement"]["outcome"].get("failed").is_none()
    });
    answered.count()
}

/// The run goes on from where it stopped, and nothing that was answered is asked again, but for
/// `lost` at most.
fn goes_on(home: &Path, moody: &Moody, lost: usize) {
    moody.calm.store(true, Ordering::SeqCst);
    let url = moody.server.url("/v1");
    let output = mary(home)
        .args(["resume", "--base-url", &url])
        .arg(folder(home))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let answered = moody.answered.load(Ordering::SeqCst);
    assert!((12..=12 + lost).contains(&answered), "{answered} answers");
    assert_eq!(logged(home), 12);
}

#[test]
fn whatever_asks_for_a_day_is_said_with_the_time_and_the_run_goes_on_later() {
    let body = || b"{\"error\":{\"message\":\"slow down\"}}".to_vec();
    let moods: [(&str, Mood); 5] = [
        (
            "Retry-After",
            Box::new(move || Say::Answer(429, headers(&[("retry-after", "86400")]), body())),
        ),
        (
            "Retry-After in milliseconds, with another status",
            Box::new(move || Say::Answer(503, headers(&[("retry-after-ms", "86400000")]), body())),
        ),
        (
            "a date",
            Box::new(move || {
                let date = headers(&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")]);
                Say::Answer(429, date, body())
            }),
        ),
        (
            "no requests left until tomorrow",
            Box::new(|| {
                answer(headers(&[
                    ("x-ratelimit-limit-requests", "100"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "24h"),
                ]))
            }),
        ),
        (
            "no tokens left for ages",
            Box::new(|| {
                answer(headers(&[
                    ("anthropic-ratelimit-tokens-limit", "100"),
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2999-01-01T00:00:00Z"),
                ]))
            }),
        ),
    ];
    for (what, mood) in moods {
        let home = tempfile::tempdir().unwrap();
        let moody = moody(mood);
        let run = words(&moody.server.url("/v1"));
        let output = mary(home.path()).args(run).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(5), "{what}: {text}");
        assert!(text.contains("asks to wait"), "{what}: {text}");
        assert!(text.contains("the longest wait is"), "{what}: {text}");
        assert!(text.contains("mary resume"), "{what}: {text}");
        // What came with such headers is an answer too.
        let before = logged(home.path());
        assert!((3..=5).contains(&before), "{what}: {before} in the log");
        moody.answered.store(before, Ordering::SeqCst);
        goes_on(home.path(), &moody, 0);
    }
}

#[test]
fn a_wait_within_the_bound_is_said_at_once_and_ends_with_a_signal() {
    let home = tempfile::tempdir().unwrap();
    let moody = moody(|| Say::Answer(429, headers(&[("retry-after", "500")]), b"{}".to_vec()));
    let run = words(&moody.server.url("/v1"));
    let mut child = mary(home.path())
        .args(&run)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines
        .by_ref()
        .any(|line| line.unwrap().contains("asks to wait"));
    assert!(told, "the wait is said while it lasts");
    let begun = Instant::now();
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // It takes a moment; a busy machine may take more, but not the minutes that were asked for.
    assert!(begun.elapsed() < Duration::from_secs(240), "{begun:?}");
    goes_on(home.path(), &moody, 0);
}

#[test]
fn the_longest_wait_is_a_setting() {
    let home = tempfile::tempdir().unwrap();
    let moody = moody(|| Say::Answer(429, headers(&[("retry-after", "20")]), b"{}".to_vec()));
    let output = mary(home.path())
        .args(words(&moody.server.url("/v1")))
        .args(["--model-arg", "max_wait=10"])
        .output()
        .unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(5), "{text}");
    // Not after three waits of twenty seconds, which would end with the same code.
    assert!(text.contains("the longest wait is 10 s"), "{text}");
}

#[test]
fn an_overloaded_server_ends_a_run_with_five() {
    for status in [429, 503, 529] {
        let home = tempfile::tempdir().unwrap();
        let moody = moody(move || Say::Answer(status, Vec::new(), b"{}".to_vec()));
        let run = words(&moody.server.url("/v1"));
        let output = mary(home.path()).args(run).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{status}: {}", said(&output));
        goes_on(home.path(), &moody, 0);
    }
}

#[test]
fn huge_and_malformed_headers_end_as_errors_of_their_items() {
    let huge = format!(
        "HTTP/1.1 200 OK\r\nx-long: {}\r\n\r\n{{}}",
        "h".repeat(2 << 20)
    );
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n{{}}", "x-a: b\r\n".repeat(50_000));
    let odd = "HTTP/1.1 200 OK\r\nretry-after\0: \u{1}\r\n: x\r\n\r\n{}".to_owned();
    let length = "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n{}".to_owned();
    for bytes in [huge, many, odd, length] {
        let home = tempfile::tempdir().unwrap();
        let sent = bytes.clone().into_bytes();
        let moody = moody(move || Say::Bytes(sent.clone()));
        let run = words(&moody.server.url("/v1"));
        let output = mary(home.path()).args(run).output().unwrap();
        let text = said(&output);
        let start: String = bytes.chars().take(40).collect();
        assert!(
            matches!(output.status.code(), Some(1 | 5)),
            "{start:?}: {:?} {text}",
            output.status
        );
        assert!(!text.contains("panicked"), "{start:?}: {text}");
        goes_on(home.path(), &moody, 0);
    }
}

/// A limit on the size of files is what a full disk is to a program, and needs no disk to fill.
#[test]
fn a_full_disk_ends_a_run_with_five_and_what_was_answered_stays() {
    let there = Command::new("bash").args(["-c", "ulimit -f"]).output();
    if !there.is_ok_and(|o| o.status.success()) {
        mary_testkit::lacking::skip(mary_testkit::lacking::Lacking::Terminal, "no bash");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let moody = moody(|| answer(Vec::new()));
    moody.calm.store(true, Ordering::SeqCst);
    let run = words(&moody.server.url("/v1"));
    // Sixteen blocks of a kilobyte; the signal that comes with it is not heard.
    let limited = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
    let output = Command::new("bash")
        .args(["-c", limited, "bash", env!("CARGO_BIN_EXE_mary")])
        .args(run)
        .current_dir(home.path())
        .env("MARY_RUNS", home.path().join("runs"))
        .env("MARY_CACHE_DIR", home.path().join("cache"))
        .env_remove("MARY_MODEL")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    let kept = logged(home.path());
    assert!((1..12).contains(&kept), "{kept} in the log");
    // The answers for which there was no room are asked for again.
    goes_on(home.path(), &moody, 6);
}
