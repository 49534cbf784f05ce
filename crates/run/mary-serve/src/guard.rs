//! Who may ask: holders of the key, or, where there is none, programs on this machine. A page in a browser is not one
//! of them, whatever name it calls this machine by.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::OwnedSemaphorePermit;

use crate::Server;
use crate::backlog::Overloaded;
use crate::connection::Peer;
use crate::error::ApiError;

/// The paths that metrics and the log know; anything else is one of them, so that nobody fills them with names.
const PATHS: &str = "/v1/completions /v1/chat/completions /v1/embeddings /v1/models /tokenize /detokenize /tokenizer_info /score \
    /health /metrics other";

pub(crate) async fn guard(
    State(server): State<Arc<Server>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let path = PATHS
        .split_whitespace()
        .find(|path| *path == request.uri().path());
    let path = path.unwrap_or("other");
    let refused = refused(&server, request.headers(), path);
    let response = match refused.map_or_else(|| room(&server, request.headers()), Err) {
        Err(error) => error.into_response(),
        Ok(_room) => next.run(request).await,
    };
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    server.metrics.answered(path, status, took);
    if server.log && path != "/health" && path != "/metrics" {
        let milliseconds = took.as_millis();
        mary_platform::notice(&format!(
            "{} {path} {status} {milliseconds} ms",
            peer.socket()
        ));
    }
    response
}

/// Bodies of the largest size that are in memory at once.
pub(crate) const LARGEST_BODIES: usize = 4;
/// Smaller ones come in anyway; their number is that of the connections.
const SMALL_BODY: usize = 64 << 10;

/// Room for a body as long as it is kept. One that does not tell its length may be as long as any.
fn room(server: &Server, headers: &HeaderMap) -> Result<Option<OwnedSemaphorePermit>, ApiError> {
    let told = headers.get(header::CONTENT_LENGTH);
    let told = told.and_then(|length| length.to_str().ok()?.parse().ok());
    let chunked = headers.contains_key(header::TRANSFER_ENCODING);
    let length = told.unwrap_or(if chunked { server.body } else { 0 });
    if length <= SMALL_BODY {
        return Ok(None);
    }
    let kilobytes = u32::try_from(length.min(server.body) >> 10).unwrap_or(u32::MAX);
    let room = Arc::clone(&server.bodies).try_acquire_many_owned(kilobytes);
    room.map(Some).map_err(|_| Overloaded.into())
}

fn refused(server: &Server, headers: &HeaderMap, path: &str) -> Option<ApiError> {
    if path == "/health" {
        return None;
    }
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &header::HeaderValue| value.to_str().ok())
    };
    let Some(key) = &server.key else {
        let host = text(header::HOST).unwrap_or_default();
        let page = text(header::ORIGIN).is_some();
        return (page || !local(host)).then(|| {
            let message = "without a key this server answers programs on this machine only";
            ApiError::new(StatusCode::FORBIDDEN, "permission_error", message)
        });
    };
    let given = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let given = given.or_else(|| text(header::HeaderName::from_static("api-key")));
    // Hashes are compared, in a time that does not depend on where they differ.
    let right = given.is_some_and(|given| blake3::hash(given.trim().as_bytes()) == *key);
    (!right).then(|| {
        let message = "this server wants its key: Authorization: Bearer …";
        ApiError::new(StatusCode::UNAUTHORIZED, "authentication_error", message)
    })
}

/// A name that can only mean this machine; any other may have been made to.
fn local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(inside, _)| inside),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
