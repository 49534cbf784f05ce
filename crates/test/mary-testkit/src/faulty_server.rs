//! A server on loopback that speaks the languages of the remote providers and breaks in all the ways
//! real ones do, as often as it is told to, and keeps the books: what was answered, what was paid for
//! in vain, and how often each request came.
//!
//! It writes HTTP by hand, because a library would not let it cut an answer in half.

mod shapes;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::raw_server::Heard;
use shapes::{housekeeping, reply};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// 429.
    TooMany,
    /// 429 with `Retry-After: 1`.
    TooManyRetryAfter,
    /// 500.
    ServerError,
    /// 503.
    Unavailable,
    /// Half an answer, then a reset.
    ResetMidBody,
    /// One byte now and then, for longer than anyone waits.
    SlowDrip,
    /// JSON that ends early, with a length that fits.
    TruncatedJson,
    /// Something that looks like JSON.
    MalformedJson,
    /// A good answer called `text/plain`.
    WrongContentType,
    /// An answer without choices.
    EmptyChoices,
    /// A proxy's page, with status 200.
    Html,
    /// A chunk of the answer comes twice.
    DuplicatedChunk,
}

impl Fault {
    pub const ALL: [Self; 12] = [
        Self::TooMany,
        Self::TooManyRetryAfter,
        Self::ServerError,
        Self::Unavailable,
        Self::ResetMidBody,
        Self::SlowDrip,
        Self::TruncatedJson,
        Self::MalformedJson,
        Self::WrongContentType,
        Self::EmptyChoices,
        Self::Html,
        Self::DuplicatedChunk,
    ];

    /// A real provider would have done the work and charged for it, though no answer came.
    pub fn is_paid_in_vain(self) -> bool {
        matches!(
            self,
            Self::ResetMidBody
                | Self::SlowDrip
                | Self::TruncatedJson
                | Self::MalformedJson
                | Self::EmptyChoices
                | Self::Html
                | Self::DuplicatedChunk
        )
    }
}

/// A limit on requests, as a bucket that refills steadily.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    pub per_second: f64,
    pub burst: f64,
    /// Tell about it in headers.
    pub advertise: bool,
}

pub type ReplyTo = Arc<dyn Fn(&str) -> String + Send + Sync>;

#[derive(Clone)]
pub struct Script {
    pub fault_rate: f64,
    pub faults: Vec<Fault>,
    pub seed: u64,
    pub rate_limit: Option<RateLimit>,
    /// Time before an answer.
    pub latency: Duration,
    /// The key it wants; others are refused with a message that repeats the key they gave.
    pub key: Option<String>,
    /// Every error message and answer repeats the key it was given.
    pub repeats_key: bool,
    /// Every request is answered with this status and body.
    pub always: Option<(u16, Value)>,
    /// Body parameters that are refused as unsupported, as OpenAI does.
    pub refuses: Vec<&'static str>,
    /// Looks at a batch before it has ended.
    pub batch_looks: u32,
    pub models: Vec<&'static str>,
    /// Keep an account of every request; off where memory is measured.
    pub keeps_accounts: bool,
    pub reply: ReplyTo,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            fault_rate: 0.0,
            faults: Fault::ALL.to_vec(),
            seed: 0,
            rate_limit: None,
            latency: Duration::ZERO,
            key: None,
            repeats_key: false,
            always: None,
            refuses: Vec::new(),
            batch_looks: 1,
            models: vec!["scripted"],
            keeps_accounts: true,
            reply: Arc::new(|prompt| format!("reply to {prompt}")),
        }
    }
}

/// What happened to one request, by the id it carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Times it came and was not refused by the rate limit.
    pub attempts: u32,
    pub delivered: u32,
    pub in_vain: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Books {
    pub accounts: HashMap<String, Account>,
    pub faults: HashMap<Fault, u32>,
    pub limited: u32,
    /// Bodies that came, the last few.
    pub bodies: Vec<Value>,
    pub requests: u64,
    /// Batches that were created.
    pub batches: u32,
}

struct State {
    script: Script,
    books: Mutex<Books>,
    bucket: Mutex<(f64, Instant)>,
    stored: Mutex<HashMap<String, Stored>>,
}

#[derive(Debug, Clone)]
struct Stored {
    lines: Vec<Value>,
    looks: u32,
    name: Value,
}

/// A running server. It stops when dropped.
pub struct FaultyServer {
    address: SocketAddr,
    state: Arc<State>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Drop for FaultyServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FaultyServer {
    /// Starts on a free port, with one thread of its own.
    pub fn start(script: Script) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("faulty-server")
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let burst = script.rate_limit.map_or(0.0, |l| l.burst);
        let state = Arc::new(State {
            script,
            books: Mutex::default(),
            bucket: Mutex::new((burst, Instant::now())),
            stored: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move {
                    // A broken connection is what this server is for.
                    let _ = serve(stream, &state).await;
                });
            }
        });
        Ok(Self {
            address,
            state,
            runtime: Some(runtime),
        })
    }

    /// `http://127.0.0.1:PORT` and the path of an API's version.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn books(&self) -> Books {
        lock(&self.state.books).clone()
    }
}

impl Heard {
    fn id(&self) -> String {
        self.header("idempotency-key")
            .unwrap_or_default()
            .to_owned()
    }

    fn key(&self) -> &str {
        let own = || self.header("x-api-key").or(self.header("x-goog-api-key"));
        self.token().or_else(own).unwrap_or_default()
    }
}

async fn serve(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(8192);
    loop {
        let Some(incoming) = read_request(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        if !state.script.latency.is_zero() {
            tokio::time::sleep(state.script.latency).await;
        }
        if answer(&mut stream, state, incoming).await? == After::Close {
            return Ok(());
        }
    }
}

#[derive(PartialEq, Eq)]
enum After {
    Keep,
    Close,
}

async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Option<Heard>> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let text = String::from_utf8_lossy(buffer.get(..head).unwrap_or_default()).into_owned();
    let mut incoming = Heard::parse(&text);
    let length = incoming.length();
    while buffer.len() < head + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    incoming.body = buffer.get(head..head + length).unwrap_or_default().to_vec();
    buffer.drain(..head + length);
    Ok(Some(incoming))
}

fn whole(status: u16, kind: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut out = format!(
        "HTTP/1.1 {status} Answer\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    out.extend_from_slice(body);
    out
}

const JSON: &str = "application/json";

fn error(state: &State, incoming: &Heard, message: &str) -> String {
    let key = if state.script.repeats_key {
        incoming.key()
    } else {
        ""
    };
    let message = format!("{message} {key}");
    json!({"error": {"message": message.trim(), "type": "error", "code": null}}).to_string()
}

/// The whole answer to a request that is not asked of the model: one that is refused, or one about models,
/// files and batches. Otherwise the headers of the rate limit.
fn aside(state: &State, incoming: &Heard, parsed: &Value) -> Result<String, Vec<u8>> {
    let script = &state.script;
    let said = |status, headers: &str, body: &str| whole(status, JSON, headers, body.as_bytes());
    let key = incoming.key();
    if script.key.as_ref().is_some_and(|k| k != key) {
        let message = format!("Incorrect API key provided: {key}");
        let body = json!({"error": {"message": message, "code": "invalid_api_key"}});
        return Err(said(401, "", &body.to_string()));
    }
    if let Some((status, body)) = &script.always {
        return Err(said(*status, "", &body.to_string()));
    }
    if let Some(body) = housekeeping(state, incoming) {
        return Err(said(200, "", &body));
    }
    let (admitted, headers) = limit(state);
    if !admitted {
        lock(&state.books).limited += 1;
        let body = error(state, incoming, "Rate limit reached.");
        return Err(said(429, &headers, &body));
    }
    let mut refused = script.refuses.iter();
    let Some(name) = refused.find(|name| parsed.get(**name).is_some()) else {
        return Ok(headers);
    };
    let mut message = format!("Unsupported parameter: '{name}' is not supported with this model.");
    if *name == "max_tokens" {
        message.push_str(" Use 'max_completion_tokens' instead.");
    }
    let body =
        json!({"error": {"message": message, "param": name, "code": "unsupported_parameter"}});
    Err(said(400, &headers, &body.to_string()))
}

async fn answer(stream: &mut TcpStream, state: &State, incoming: Heard) -> std::io::Result<After> {
    let script = &state.script;
    lock(&state.books).requests += 1;
    let parsed: Value = serde_json::from_slice(&incoming.body).unwrap_or_default();
    let headers = match aside(state, &incoming, &parsed) {
        Ok(headers) => headers,
        Err(answer) => {
            stream.write_all(&answer).await?;
            return Ok(After::Keep);
        }
    };
    let attempt = {
        let mut books = lock(&state.books);
        if books.bodies.len() < 64 {
            books.bodies.push(parsed.clone());
        }
        if script.keeps_accounts {
            let account = books.accounts.entry(incoming.id()).or_default();
            account.attempts += 1;
            account.attempts
        } else {
            1
        }
    };
    let fault = draw(script, &incoming.body, attempt);
    if let Some(fault) = fault {
        let mut books = lock(&state.books);
        *books.faults.entry(fault).or_default() += 1;
        if fault.is_paid_in_vain() {
            books.accounts.entry(incoming.id()).or_default().in_vain += 1;
        }
    }
    let mut good = reply(script, &incoming.path, &parsed);
    if let (true, Some(fields)) = (script.repeats_key, good.as_object_mut()) {
        fields.insert("you_sent".into(), incoming.key().into());
    }
    let good = good.to_string();
    let after = match fault {
        None => {
            let answer = whole(200, JSON, &headers, good.as_bytes());
            stream.write_all(&answer).await?;
            After::Keep
        }
        Some(fault) => {
            let error = error(state, &incoming, "Something broke.");
            play(stream, fault, &good, &headers, &error).await?
        }
    };
    let delivered = fault.is_none() || fault == Some(Fault::WrongContentType);
    if delivered && script.keeps_accounts {
        let mut books = lock(&state.books);
        books.accounts.entry(incoming.id()).or_default().delivered += 1;
    }
    Ok(after)
}

/// The same request breaks in the same way at the same attempt, whatever the order of arrival.
fn draw(script: &Script, body: &[u8], attempt: u32) -> Option<Fault> {
    let mut hasher = DefaultHasher::new();
    (script.seed, body, attempt).hash(&mut hasher);
    let hash = hasher.finish();
    let share = (hash >> 11) as f64 / (1u64 << 53) as f64;
    if share >= script.fault_rate {
        return None;
    }
    let which = usize::try_from(hash & 0x7ff).unwrap_or(0) % script.faults.len().max(1);
    script.faults.get(which).copied()
}

async fn play(
    stream: &mut TcpStream,
    fault: Fault,
    good: &str,
    headers: &str,
    error: &str,
) -> std::io::Result<After> {
    let bytes = good.as_bytes();
    let half = bytes.len() / 2;
    let (first_half, second_half) = bytes.split_at(half);
    let said = |kind, body: &[u8]| whole(200, kind, headers, body);
    let refused =
        |status, more: &str| whole(status, JSON, &format!("{headers}{more}"), error.as_bytes());
    let answer = match fault {
        Fault::TooMany => refused(429, ""),
        Fault::TooManyRetryAfter => refused(429, "retry-after: 1\r\n"),
        Fault::ServerError => refused(500, ""),
        Fault::Unavailable => refused(503, ""),
        Fault::ResetMidBody => {
            let mut answer = said(JSON, bytes);
            answer.truncate(answer.len() - half);
            stream.write_all(&answer).await?;
            stream.flush().await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
            // Lingering zero seconds turns the close into a reset.
            stream.set_zero_linger()?;
            return Ok(After::Close);
        }
        Fault::SlowDrip => {
            for byte in said(JSON, bytes) {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            return Ok(After::Keep);
        }
        Fault::TruncatedJson => said(JSON, first_half),
        Fault::MalformedJson => said(JSON, good.replacen(':', "=", 2).as_bytes()),
        Fault::WrongContentType => said("text/plain", bytes),
        Fault::EmptyChoices => {
            let empty = json!({"choices": [], "candidates": [], "object": "chat.completion"});
            said(JSON, empty.to_string().as_bytes())
        }
        Fault::Html => said(
            "text/html",
            b"<html><body><h1>502 Bad Gateway</h1></body></html>",
        ),
        Fault::DuplicatedChunk => {
            let mut out = format!(
                "HTTP/1.1 200 Answer\r\ncontent-type: {JSON}\r\ntransfer-encoding: chunked\r\n{headers}\r\n"
            )
            .into_bytes();
            for chunk in [first_half, second_half, second_half] {
                out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                out.extend_from_slice(chunk);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"0\r\n\r\n");
            out
        }
    };
    stream.write_all(&answer).await?;
    Ok(After::Keep)
}

/// Whether the rate limit lets one more through, and the headers that tell about it.
fn limit(state: &State) -> (bool, String) {
    let Some(limit) = state.script.rate_limit else {
        return (true, String::new());
    };
    let mut bucket = lock(&state.bucket);
    let now = Instant::now();
    let passed = now.duration_since(bucket.1).as_secs_f64();
    bucket.0 = (bucket.0 + passed * limit.per_second).min(limit.burst);
    bucket.1 = now;
    let admitted = bucket.0 >= 1.0;
    if admitted {
        bucket.0 -= 1.0;
    }
    if !limit.advertise {
        return (admitted, String::new());
    }
    let reset = (limit.burst - bucket.0) / limit.per_second;
    let headers = format!(
        "x-ratelimit-limit-requests: {}\r\nx-ratelimit-remaining-requests: {}\r\nx-ratelimit-reset-requests: {reset:.6}s\r\n",
        limit.burst,
        bucket.0.floor()
    );
    (admitted, headers)
}
