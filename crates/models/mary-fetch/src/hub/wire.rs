//! Requests to the hub: who gets the token, when to wait and try again, and what a refusal means.

use std::time::Duration;

use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};
use serde::de::DeserializeOwned;

use super::fault::in_words;
use super::{Hub, HubError, Repository};
use crate::client::{blocking, chain, retry_after};

/// Redirects followed for one request.
const REDIRECTS: usize = 5;
/// Attempts for a hub to which no connection can be made: a missing network does not come back.
const CONNECTS: u32 = 2;
/// A wait that somebody might take for a hang.
const NOTABLE: Duration = Duration::from_secs(5);
/// The longest answer of the hub's interface that is read.
const LARGEST_ANSWER: u64 = 64 << 20;

/// A part of a path with everything escaped that has a meaning of its own.
pub(super) fn escaped(text: &str, slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || (slashes && byte == b'/') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

pub(super) enum Attempt {
    Answer(Response),
    /// Somewhere else: what the hub says about the content, and where it lies.
    Elsewhere(HeaderMap, Url),
    Broken(Retryable),
}

pub(super) enum Retryable {
    Connect(String),
    /// The connection or the server broke.
    Passing(String),
    /// 429; and how long to wait, if it says.
    Busy(Option<Duration>),
}

impl Hub {
    pub(super) fn client(&self) -> Result<&Client, HubError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut builder = blocking()
            .connect_timeout(Duration::from_secs(15))
            // Of one read or write, not of the whole download.
            .timeout(Duration::from_secs(60))
            // By hand: the token stays with the hub.
            .redirect(reqwest::redirect::Policy::none());
        let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
        if local.iter().any(|l| self.endpoint.starts_with(l)) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|e| HubError::Strange {
            id: self.endpoint.clone(),
            what: format!("no HTTP client: {}", chain(&e)),
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        repository: &Repository,
        path: &str,
    ) -> Result<T, HubError> {
        self.online(repository)?;
        let url = self.url(repository, path)?;
        let mut tries = Tries::new(self, repository);
        loop {
            let answer = match self.attempt(&url, true, |client, url| client.get(url))? {
                Attempt::Answer(answer) => answer,
                Attempt::Elsewhere(_, to) => {
                    return Err(self.strange(repository, format!("it points to {}", place(&to))));
                }
                Attempt::Broken(cause) => {
                    tries.wait(cause)?;
                    continue;
                }
            };
            if !answer.status().is_success() {
                return Err(self.refusal(repository, None, &answer));
            }
            match whole(answer) {
                Ok(bytes) => {
                    return serde_json::from_slice(&bytes)
                        .map_err(|e| self.strange(repository, format!("{path}: {e}")));
                }
                Err(cause) => tries.wait(Retryable::Passing(cause))?,
            }
        }
    }

    pub(super) fn url(&self, repository: &Repository, path: &str) -> Result<Url, HubError> {
        let text = format!("{}{path}", self.endpoint);
        Url::parse(&text).map_err(|e| self.strange(repository, format!("`{text}` is no URL: {e}")))
    }

    pub(super) fn strange(&self, repository: &Repository, what: String) -> HubError {
        HubError::Strange {
            id: repository.id.clone(),
            what,
        }
    }

    /// One attempt. Redirects inside the hub are followed with the token; one that leads elsewhere is
    /// either handed back (`inside`) or followed without it.
    pub(super) fn attempt(
        &self,
        url: &Url,
        inside: bool,
        build: impl Fn(&Client, Url) -> RequestBuilder,
    ) -> Result<Attempt, HubError> {
        let broken = |what: String| Ok(Attempt::Broken(Retryable::Passing(what)));
        let client = self.client()?;
        let mut url = url.clone();
        let mut at_home = true;
        for _ in 0..=REDIRECTS {
            let mut request = build(client, url.clone());
            if let (true, Some(token)) = (at_home, &self.token) {
                request = request.header(AUTHORIZATION, format!("Bearer {token}"));
            }
            let answer = match request.send() {
                Ok(answer) => answer,
                // Storage links are signed: the address of what failed is nobody's business.
                Err(error) => {
                    let connect = error.is_connect() && at_home;
                    let cause = chain(&error.without_url());
                    return Ok(Attempt::Broken(if connect {
                        Retryable::Connect(cause)
                    } else {
                        Retryable::Passing(cause)
                    }));
                }
            };
            let status = answer.status();
            if status == StatusCode::TOO_MANY_REQUESTS {
                let asked = retry_after(answer.headers());
                return Ok(Attempt::Broken(Retryable::Busy(asked)));
            }
            if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
                return broken(format!("it answered {status}"));
            }
            let next = answer
                .headers()
                .get(LOCATION)
                .filter(|_| status.is_redirection())
                .and_then(|to| url.join(to.to_str().ok()?).ok());
            let Some(next) = next else {
                // A link of the storage that has expired is renewed by asking again.
                if !at_home && !status.is_success() && status != StatusCode::RANGE_NOT_SATISFIABLE {
                    let storage = place(&url);
                    return broken(format!("the storage at {storage} answered {status}"));
                }
                return Ok(Attempt::Answer(answer));
            };
            let leaves = next.origin() != url.origin();
            if leaves && inside && at_home {
                return Ok(Attempt::Elsewhere(answer.headers().clone(), next));
            }
            at_home &= !leaves;
            url = next;
        }
        broken(format!("more than {REDIRECTS} redirects"))
    }

    /// What an answer that is not the wanted one means.
    pub(super) fn refusal(
        &self,
        repository: &Repository,
        path: Option<&str>,
        answer: &Response,
    ) -> HubError {
        let header = |name: &str| {
            let value = answer.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let id = repository.id.clone();
        let revision = repository.revision().to_owned();
        let message = header("x-error-message").unwrap_or_default();
        let gated = HubError::Gated {
            id: id.clone(),
            message: message.clone(),
        };
        match (
            header("x-error-code").as_deref(),
            answer.status().as_u16(),
            path,
        ) {
            (Some("GatedRepo"), ..) | (_, 403, _) => gated,
            (Some("RevisionNotFound"), ..) => HubError::NoRevision { id, revision },
            (Some("EntryNotFound"), _, Some(path)) | (None, 404, Some(path)) => HubError::NoFile {
                id,
                revision,
                path: path.to_owned(),
            },
            // The hub does not tell strangers what exists: without a token, 401 is also said of what
            // does not.
            (_, 401, _) if self.token.is_some() || message.contains("credentials") => gated,
            (Some("RepoNotFound"), ..) | (_, 401 | 404, _) => HubError::NoRepository { id },
            (_, status, _) => self.strange(repository, format!("it answered {status} {message}")),
        }
    }
}

/// A URL as far as it may be told: signed links carry their key in the query.
fn place(url: &Url) -> String {
    url.host_str().unwrap_or("nowhere").to_owned()
}

fn whole(answer: Response) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    answer
        .take(LARGEST_ANSWER)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("its answer broke off: {}", chain(&e)))?;
    Ok(bytes)
}

/// Counts attempts in a row that brought nothing, and waits between them.
pub(super) struct Tries<'a> {
    hub: &'a Hub,
    id: &'a str,
    pub(super) failed: u32,
}

impl<'a> Tries<'a> {
    pub(super) fn new(hub: &'a Hub, repository: &'a Repository) -> Self {
        Self {
            hub,
            id: &repository.id,
            failed: 0,
        }
    }

    /// Waits as long as fits the cause, or gives up.
    pub(super) fn wait(&mut self, cause: Retryable) -> Result<(), HubError> {
        self.failed += 1;
        let patience = &self.hub.patience;
        let allowed = match &cause {
            Retryable::Connect(_) => patience.attempts.min(CONNECTS),
            // Others are waiting for the same hub: give it more time than a broken connection.
            Retryable::Busy(_) => patience.attempts * 2,
            Retryable::Passing(_) => patience.attempts,
        };
        let asked = match cause {
            Retryable::Busy(asked) => asked,
            _ => None,
        };
        let too_long = asked.filter(|asked| *asked > patience.asked);
        if self.failed >= allowed || too_long.is_some() {
            return Err(match cause {
                Retryable::Connect(cause) | Retryable::Passing(cause) => HubError::Unreachable {
                    id: self.id.to_owned(),
                    endpoint: self.hub.endpoint.clone(),
                    cause,
                },
                Retryable::Busy(_) => HubError::Busy {
                    id: self.id.to_owned(),
                    attempts: self.failed,
                    asked: too_long,
                },
            });
        }
        let doubled = patience.first * (1 << (self.failed - 1).min(10));
        let wait = asked.unwrap_or(doubled.min(patience.longest));
        if wait >= NOTABLE {
            mary_platform::notice(&format!(
                "{}: the hub is busy; trying again in {} (Ctrl-C stops, the same command continues)",
                self.id,
                in_words(wait)
            ));
        }
        std::thread::sleep(wait);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_a_path_is_escaped() {
        assert_eq!(escaped("me/my model", true), "me/my%20model");
        assert_eq!(escaped("refs/pr/1", false), "refs%2Fpr%2F1");
        assert_eq!(escaped("a?b#c%d", true), "a%3Fb%23c%25d");
    }
}
