//! `mary ask` on servers that write their answers piece by piece: words are on the screen before the answer
//! is whole, no control character of theirs reaches it, and what is kept is the whole answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

const KEY: &str = "sk-test-streams-0815-never-to-be-seen";

/// A picture of one pixel.
const DOT: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Reads a request: its path and its body.
fn request(stream: &TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

/// A server that sends the first half of its events, waits to be told that they were seen, and sends the
/// rest. It gives back the body of the question.
fn server(first: String, rest: String, seen: Receiver<()>) -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (send, asked) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Some((path, body)) = request(&stream) else {
                continue;
            };
            // Gemini is asked for pieces at another address, the others in the body.
            if body["stream"] != true && !path.ends_with(":streamGenerateContent?alt=sse") {
                let body = json!({"data": [{"id": "writer"}], "path": path}).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
                continue;
            }
            let _ = send.send(body);
            let head =
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(format!("{head}{first}").as_bytes());
            let _ = stream.flush();
            // Long enough for any machine; a program that shows nothing early fails below.
            let _ = seen.recv_timeout(Duration::from_secs(120));
            let _ = stream.write_all(rest.as_bytes());
        }
    });
    (url, asked)
}

fn events(events: &[Value]) -> String {
    events.iter().map(|e| format!("data: {e}\n\n")).collect()
}

/// Asks, says when the first words are on the screen, and gives what was printed and what was asked.
fn asked(model: &str, first: &[Value], rest: &[Value]) -> (String, Value) {
    asked_with(model, &[], first, rest)
}

/// The same with more arguments.
fn asked_with(model: &str, more: &[&str], first: &[Value], rest: &[Value]) -> (String, Value) {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("dot.png"), DOT).unwrap();
    let (tell, seen) = channel();
    let (url, bodies) = server(events(first), events(rest), seen);
    let mut child = Command::new(env!("CARGO_BIN_EXE_mary"))
        .args(["ask", "-m", model, "--base-url", &url, "What is blue?"])
        .args(["--output-path", "runs", "--cache-dir", "cache"])
        .args(more)
        .current_dir(home.path())
        .env("OPENAI_COMPATIBLE_API_KEY", KEY)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("GEMINI_API_KEY", KEY)
        .env_remove("MARY_MODEL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut early = vec![0; "Blue is ".len()];
    let shown = out.read_exact(&mut early);
    let _ = tell.send(());
    let mut printed = String::from_utf8(early).unwrap();
    out.read_to_string(&mut printed).unwrap();
    let said = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && shown.is_ok(), "{err}");
    let body = bodies.recv_timeout(Duration::from_secs(60)).unwrap();
    // What is kept is the answer as it would have come at once, and is said again without a server.
    let run = std::fs::read_dir(home.path().join("runs")).unwrap().next();
    let log = std::fs::read_to_string(run.unwrap().unwrap().path().join("samples.jsonl")).unwrap();
    assert!(!log.contains(KEY));
    let sample: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert!(sample.to_string().contains("Blue is a colour"), "{log}");
    (printed, body)
}

fn chat(words: &str, finish: Value) -> Value {
    json!({"model": "writer-2", "choices": [{"index": 0, "delta": {"content": words}, "finish_reason": finish}]})
}

#[test]
fn a_chat_appears_as_it_is_written_and_moves_no_cursor() {
    let (printed, body) = asked(
        "compatible/writer",
        &[chat("Blue ", Value::Null), chat("is ", Value::Null)],
        &[
            chat("a colour\u{1b}]0;mine\u{7}", Value::Null),
            chat("\u{1b}[31m, no\u{202e} more.", Value::Null),
            chat("", json!("stop")),
            json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}}),
        ],
    );
    assert_eq!(
        printed,
        "Blue is a colour\\x1b]0;mine\\x07\\x1b[31m, no\\u{202e} more.\n"
    );
    assert_eq!(body["stream_options"]["include_usage"], true);
}

#[test]
fn a_message_appears_as_it_is_written() {
    let (printed, body) = asked(
        "anthropic/claude-writer",
        &[
            json!({"type": "message_start", "message": {"model": "claude-writer", "content": [], "usage": {"input_tokens": 4, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Blue is "}}),
        ],
        &[
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a colour."}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 6}}),
            json!({"type": "message_stop"}),
        ],
    );
    assert_eq!(printed, "Blue is a colour.\n");
    assert_eq!(body["messages"][0]["role"], "user");
}

/// Text to be continued: no chat, no message.
#[test]
fn plain_text_goes_on_as_it_is_written() {
    let piece = |words: &str, finish: Value| json!({"choices": [{"index": 0, "text": words, "finish_reason": finish}]});
    let (printed, body) = asked_with(
        "compatible/writer",
        &["--raw"],
        &[piece("Blue ", Value::Null), piece("is ", Value::Null)],
        &[
            piece("a colour.", json!("stop")),
            json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}}),
        ],
    );
    assert_eq!(printed, "Blue is a colour.\n");
    assert_eq!(body["prompt"], "What is blue?");
}

/// Gemini's pieces, with a thought that is not shown and a picture that is sent before the words.
#[test]
fn a_candidate_appears_as_it_is_written() {
    let piece = |parts: Value, finish: Value| {
        let mut piece = json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}], "modelVersion": "gemini-writer"});
        if !finish.is_null() {
            piece["candidates"][0]["finishReason"] = finish;
            piece["usageMetadata"] = json!({"promptTokenCount": 5, "candidatesTokenCount": 6});
        }
        piece
    };
    let (printed, body) = asked_with(
        "google/gemini-writer",
        &["--image", "dot.png", "--model-arg", "check=false"],
        &[
            piece(json!([{"text": "hm, ", "thought": true}]), Value::Null),
            piece(json!([{"text": "Blue is "}]), Value::Null),
        ],
        &[
            piece(json!([{"text": "a colour"}]), Value::Null),
            piece(json!([{"text": "."}]), json!("STOP")),
        ],
    );
    assert_eq!(printed, "Blue is a colour.\n");
    let parts = &body["contents"][0]["parts"];
    assert_eq!(parts[0]["inlineData"]["mimeType"], "image/png");
    assert_eq!(parts[1]["text"], "What is blue?");
}

/// A picture in a chat; and one that is none.
#[test]
fn a_picture_is_shown_before_the_words() {
    let (printed, body) = asked_with(
        "compatible/writer",
        &["--image", "dot.png", "--model-arg", "images=true"],
        &[chat("Blue ", Value::Null), chat("is ", Value::Null)],
        &[chat("a colour.", json!("stop"))],
    );
    assert_eq!(printed, "Blue is a colour.\n");
    let content = &body["messages"][0]["content"];
    let url = content[0]["image_url"]["url"].as_str().unwrap();
    assert!(
        url.starts_with("data:image/png;base64,iVBORw0KGgo"),
        "{url}"
    );
    assert_eq!(content[1]["text"], "What is blue?");
}
