//! Builders of clients with the TLS provider chosen, and two small helpers for what servers say.

use std::sync::Once;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

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
