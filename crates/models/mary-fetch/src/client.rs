//! Builders of clients with the TLS provider chosen, small helpers for what servers say, and bodies written behind what
//! an earlier attempt left, with the hash of what lies there then.

use std::fs::OpenOptions;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::{CONTENT_RANGE, HeaderMap, RETRY_AFTER};

/// `rustls` is built without a provider of its own, so that only one is compiled; it is named here,
/// once a process.
fn provider() {
    static CHOSEN: Once = Once::new();
    CHOSEN.call_once(|| {
        // An error says that another part of the process has chosen one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

const AGENT: &str = concat!("mary/", env!("CARGO_PKG_VERSION"));

pub fn asynchronous() -> reqwest::ClientBuilder {
    provider();
    reqwest::Client::builder().user_agent(AGENT)
}

pub fn blocking() -> reqwest::blocking::ClientBuilder {
    provider();
    reqwest::blocking::Client::builder().user_agent(AGENT)
}

/// An error with its causes: the outermost alone says little.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = inner.source();
    }
    text
}

/// How long the server asks to wait: `Retry-After` in seconds or as a date.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let when = httpdate::parse_http_date(text).ok()?;
    Some(
        when.duration_since(SystemTime::now())
            .unwrap_or(Duration::ZERO),
    )
}

/// How much of a file is here after an answer, and why it is not more.
pub(crate) struct Received {
    pub(crate) total: u64,
    pub(crate) broke: Option<String>,
}

/// Writes an answer behind the `have` bytes that are there, if it begins there, or instead of them. An answer
/// that is longer than `most` bytes in all is not read on, and what is too much is not written.
pub(crate) fn receive(
    mut answer: Response,
    part: &Path,
    (have, most): (u64, u64),
    progress: &mut dyn FnMut(u64),
) -> io::Result<Received> {
    let partial = answer.status() == StatusCode::PARTIAL_CONTENT;
    let begin = format!("bytes {have}-");
    let range = answer.headers().get(CONTENT_RANGE);
    if partial && !range.is_some_and(|r| r.as_bytes().starts_with(begin.as_bytes())) {
        return Ok(Received {
            total: have,
            broke: Some("it sent another part than was asked for".into()),
        });
    }
    let mut options = OpenOptions::new();
    if partial {
        options.append(true);
    } else {
        options.create(true).write(true).truncate(true);
    }
    let mut file = options.open(part)?;
    let mut total = if partial { have } else { 0 };
    progress(total);
    let mut buffer = vec![0; 1 << 18];
    let broke = loop {
        let n = match answer.read(&mut buffer) {
            Ok(0) => break None,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => break Some(chain(&e)),
        };
        total = total.saturating_add(n as u64);
        if total > most {
            break None;
        }
        file.write_all(buffer.get(..n).unwrap_or_default())?;
        progress(total);
    };
    file.sync_data()?;
    Ok(Received { total, broke })
}

/// The number of bytes that come, and the hash in hex of `head` and these bytes.
pub(crate) fn hash<D: sha2::Digest>(
    head: &[u8],
    mut reader: impl Read,
) -> io::Result<(u64, String)> {
    let mut hasher = D::new_with_prefix(head);
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                hasher.update(buffer.get(..n).unwrap_or_default());
                bytes += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let digits = hasher.finalize();
    Ok((bytes, digits.iter().map(|b| format!("{b:02x}")).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clients_can_be_built() {
        asynchronous().build().unwrap();
        blocking().build().unwrap();
    }

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(of("7"), Some(Duration::from_secs(7)));
        assert_eq!(of("Thu, 01 Jan 1970 00:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(of("soon"), None);
    }
}
