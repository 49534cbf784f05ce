//! HTTP servers: connections with limits ([`connection`]), and models behind the API that everybody's clients speak.
//!
//! A request becomes one of the three that a model knows (write, score, show vectors) and waits in a backlog of its
//! model; a thread for each kind hands the backlog to the model whenever something waits. What arrives while answers
//! are written joins them; what arrives while texts are scored is the next window, in which shared beginnings are
//! computed once.

mod backlog;
mod chat;
mod completions;
pub mod connection;
mod error;
mod guard;
mod metrics;
mod native;
mod served;
mod stream;
mod wire;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use mary_contract::{ContinuationScore, Model};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::Semaphore;

use connection::{Connections, Peer};
use error::ApiError;
use metrics::Metrics;
use served::Served;

#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where it listens. Without a key only an address of this machine itself is taken.
    pub address: SocketAddr,
    /// What clients must send as `Authorization: Bearer …`.
    pub key: Option<String>,
    /// Bytes of one request, at most.
    pub body: usize,
    /// Connections at once, at most; more wait to be accepted.
    pub connections: usize,
    /// For one request, from its first byte to the first byte of its answer.
    pub patience: Duration,
    /// A line for every request: from where, which path, which status, how long. Never what was said.
    pub log: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 8000)),
            key: None,
            body: 32 << 20,
            connections: 1024,
            patience: Duration::from_secs(600),
            log: true,
        }
    }
}

struct Server {
    models: Vec<Arc<Served>>,
    key: Option<blake3::Hash>,
    metrics: Arc<Metrics>,
    /// Bytes of a body, at most, and kilobytes of all that are in memory.
    body: usize,
    bodies: Arc<Semaphore>,
    started: u64,
    log: bool,
}

/// Who asks, and whom.
struct Call {
    server: Arc<Server>,
    /// Connections take turns.
    client: u64,
}

impl Server {
    /// The model of this name. Where one model is served alone, every name means it: clients insist on names of their
    /// own.
    fn find(&self, name: Option<&str>) -> Result<Arc<Served>, ApiError> {
        let found = self.models.iter().find(|m| Some(m.name.as_str()) == name);
        match (found, self.models.as_slice()) {
            (Some(found), _) => Ok(Arc::clone(found)),
            (None, [only]) => Ok(Arc::clone(only)),
            (None, all) => {
                let names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
                let message = format!("no model of that name; there are {}", names.join(", "));
                Err(ApiError::new(
                    StatusCode::NOT_FOUND,
                    "invalid_request_error",
                    message,
                ))
            }
        }
    }
}

/// How soon a stop is heard.
const LISTEN: Duration = Duration::from_millis(100);

/// Serves models at an address until `stop` is set; what is under way then is finished. `ready` is told where.
pub fn serve(
    models: Vec<(String, Arc<dyn Model>)>,
    options: &ServeOptions,
    ready: &mut dyn FnMut(SocketAddr),
    stop: Arc<AtomicBool>,
) -> io::Result<()> {
    if options.key.is_none() && !options.address.ip().is_loopback() {
        let message = "an address that others reach needs a key";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let (mut all, mut threads) = (vec![], vec![]);
    for (name, model) in models {
        let (served, its_threads) = Served::start(name, model)?;
        all.push(Arc::new(served));
        threads.extend(its_threads);
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let server = Arc::new(Server {
        models: all,
        key: options.key.as_ref().map(|key| blake3::hash(key.as_bytes())),
        metrics: Arc::default(),
        body: options.body,
        bodies: Arc::new(Semaphore::new(guard::LARGEST_BODIES * (options.body >> 10))),
        started: since.unwrap_or_default().as_secs(),
        log: options.log,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let stopped = async move {
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(LISTEN).await;
        }
    };
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(options.address).await?;
        ready(listener.local_addr()?);
        let connections = Connections {
            listener,
            patience: options.patience,
            places: Arc::new(Semaphore::new(options.connections)),
        };
        let router = router(&server, options.body);
        axum::serve(
            connections,
            router.into_make_service_with_connect_info::<Peer>(),
        )
        .with_graceful_shutdown(stopped)
        .await
    });
    server.models.iter().for_each(|model| model.end());
    for thread in threads {
        let _ = thread.join();
    }
    served
}

fn router(server: &Arc<Server>, body: usize) -> Router {
    macro_rules! calls {
        ($handler:path) => {
            post(|state, peer, body| call(state, peer, body, $handler))
        };
    }
    let with = Arc::clone(server);
    Router::new()
        .route("/v1/completions", calls!(completions::completions))
        .route("/v1/chat/completions", calls!(chat::chat))
        .route("/v1/embeddings", calls!(native::embeddings))
        .route("/tokenize", calls!(native::tokenize))
        .route("/detokenize", calls!(native::detokenize))
        .route("/score", calls!(native::score))
        .route(
            "/v1/models",
            get(async |State(server): State<Arc<Server>>| Json(native::models(&server))),
        )
        .route(
            "/tokenizer_info",
            get(async |State(server): State<Arc<Server>>| native::tokenizer_info(&server)),
        )
        .route("/health", get(async || Json(json!({"status": "ok"}))))
        .route(
            "/metrics",
            get(async |State(server): State<Arc<Server>>| {
                let loads = server.models.iter().map(|m| (m.name.as_str(), m.load()));
                server.metrics.page(loads)
            }),
        )
        .fallback(async || {
            ApiError::new(
                StatusCode::NOT_FOUND,
                "invalid_request_error",
                "no such path",
            )
        })
        .layer(DefaultBodyLimit::max(body))
        .layer(axum::middleware::from_fn_with_state(with, guard::guard))
        .with_state(Arc::clone(server))
}

/// Reads a request and has it answered. What cannot be read is an error of the API's form, not of the library's.
async fn call<Q, F>(
    State(server): State<Arc<Server>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
    handler: impl FnOnce(Call, Q) -> F,
) -> Response
where
    Q: DeserializeOwned,
    F: Future<Output = Result<Response, ApiError>>,
{
    let read = body
        .map_err(|refused| {
            ApiError::new(
                refused.status(),
                "invalid_request_error",
                refused.body_text(),
            )
        })
        .and_then(|body| {
            serde_json::from_slice::<Q>(&body).map_err(|error| ApiError::bad(error.to_string()))
        });
    let call = Call {
        client: peer.number(),
        server,
    };
    let answer = match read {
        Ok(request) => handler(call, request).await,
        Err(error) => Err(error),
    };
    answer.unwrap_or_else(IntoResponse::into_response)
}

/// Tokens of a prompt and its answer with what was scored of them.
struct Asked<'a> {
    ids: Vec<u32>,
    prompt: usize,
    /// The first token that was scored.
    from: usize,
    score: &'a ContinuationScore,
}

impl<'a> Asked<'a> {
    fn new(prompt: &[u32], answer: &[u32], score: &'a ContinuationScore, whole: bool) -> Self {
        Self {
            ids: [prompt, answer].concat(),
            prompt: prompt.len(),
            from: if whole { 1 } else { prompt.len() },
            score,
        }
    }

    /// The tokens from one on: id, log-probability where it has one, place among those scored.
    fn tokens(&self, first: usize) -> impl Iterator<Item = (u32, Option<f32>, usize)> {
        let all = self.ids.iter().enumerate().skip(first);
        all.map(|(at, id)| {
            let place = at.checked_sub(self.from);
            let logprob = place.and_then(|place| self.score.logprobs.get(place));
            (*id, logprob.copied(), place.unwrap_or(usize::MAX))
        })
    }

    fn alternatives(&self, place: usize, most: u32) -> &[(u32, f32)] {
        let details = self.score.details.as_ref();
        let all = details.and_then(|d| d.alternatives.get(place));
        let all = all.map(Vec::as_slice).unwrap_or_default();
        &all[..all.len().min(most as usize)]
    }

    fn rank(&self, place: usize) -> u32 {
        let details = self.score.details.as_ref();
        let rank = details.and_then(|d| d.rank.get(place));
        rank.copied().unwrap_or(0)
    }
}
