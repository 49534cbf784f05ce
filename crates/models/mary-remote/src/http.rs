//! One HTTP client: connections kept alive, time-outs for each stage, bodies read up to a limit.

use std::error::Error as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use mary_contract::{ErrorKind, ModelError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use crate::options::Timeouts;
use crate::secret::{Scrubber, Secret};
use crate::servers::{Seat, Servers};
use crate::stream::Teller;

/// No honest answer is larger.
const LARGEST_BODY: usize = 64 << 20;
/// No honest file of a batch's answers is larger.
const LARGEST_DOWNLOAD: u64 = 64 << 30;

/// How a key is shown to a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `x-api-key`.
    XApiKey,
    /// `x-goog-api-key`, so that the key is never part of an address.
    XGoogApiKey,
}

/// What a client is made of.
#[derive(Debug)]
pub struct HttpSettings {
    /// Where the service listens, checked by [`base_urls`]; several where several servers have the
    /// model.
    pub bases: Vec<Url>,
    /// The key and how it is shown.
    pub key: Option<(KeyHeader, Secret)>,
    /// Headers that every request has.
    pub headers: &'static [(&'static str, &'static str)],
    pub timeouts: Timeouts,
    pub connections: usize,
}

/// A client for one service.
#[derive(Debug)]
pub struct Http {
    client: reqwest::Client,
    servers: Servers,
    timeouts: Timeouts,
    scrubber: Scrubber,
}

/// One message to the service.
#[derive(Debug, Clone)]
pub struct Message {
    /// GET or POST.
    pub method: Method,
    /// Below the base address, or from the root when it begins with a slash.
    pub path: String,
    pub body: Vec<u8>,
    pub content_type: String,
    /// The same for all attempts at one request, so that a service can tell a retry from a new one.
    pub id: String,
}

/// How one attempt ended.
#[derive(Debug)]
pub enum Attempt {
    /// An answer came in full.
    Answer {
        status: u16,
        headers: HeaderMap,
        body: Vec<u8>,
    },
    /// None came, or only part of one.
    Broken {
        /// Timeout or transport.
        kind: ErrorKind,
        /// In words, without address or key.
        message: String,
        /// The service may have done (and charged for) the work.
        maybe_paid: bool,
    },
}

/// Reads the address of a service. A key in it (as user, password or query) is refused: it would end
/// up in logs.
pub fn base_url(text: &str) -> Result<Url, ModelError> {
    let wrong = |what: &str| {
        ModelError::new(ErrorKind::BadRequest, format!("the base URL {what}")).hint(
            "expected an address like http://localhost:8000/v1; keys belong into the environment or .env",
        )
    };
    let mut url = Url::parse(text).map_err(|e| wrong(&format!("cannot be read: {e}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("must begin with http:// or https:// and name a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("holds a user name or password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("holds a query or fragment"));
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Reads the addresses of one or more servers, separated by commas.
pub fn base_urls(text: &str) -> Result<Vec<Url>, ModelError> {
    text.split(',')
        .map(|address| base_url(address.trim()))
        .collect()
}

/// Whether the address is this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

impl Http {
    pub fn new(settings: HttpSettings) -> Result<Self, ModelError> {
        let internal =
            |what: String| ModelError::new(ErrorKind::Internal, format!("no HTTP client: {what}"));
        let mut headers = HeaderMap::new();
        let mut secrets = Vec::new();
        if let Some((how, key)) = settings.key {
            let (name, text) = match how {
                KeyHeader::Bearer => ("authorization", format!("Bearer {}", key.reveal())),
                KeyHeader::XApiKey => ("x-api-key", key.reveal().to_owned()),
                KeyHeader::XGoogApiKey => ("x-goog-api-key", key.reveal().to_owned()),
            };
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                ModelError::new(
                    ErrorKind::Auth,
                    "the key holds characters that no HTTP header can carry",
                )
                .hint("look for line breaks or quotes in the environment or .env")
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
            secrets.push(key);
        }
        for (name, value) in settings.headers {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let mut builder = mary_fetch::asynchronous()
            .default_headers(headers)
            .connect_timeout(settings.timeouts.connect)
            .pool_max_idle_per_host(settings.connections)
            .pool_idle_timeout(Duration::from_secs(60))
            .tcp_keepalive(Duration::from_secs(30))
            // A redirect would carry the key to another place.
            .redirect(reqwest::redirect::Policy::none());
        if settings.bases.iter().all(is_loopback) {
            builder = builder.no_proxy();
        }
        Ok(Self {
            client: builder.build().map_err(|e| internal(explain(e)))?,
            servers: Servers::new(settings.bases),
            timeouts: settings.timeouts,
            scrubber: Scrubber::new(secrets),
        })
    }

    /// Takes keys out of what is kept.
    pub fn scrubber(&self) -> &Scrubber {
        &self.scrubber
    }

    /// A place at a server for one attempt.
    fn seat(&self) -> Result<Seat<'_>, Attempt> {
        self.servers.seat().ok_or_else(|| Attempt::Broken {
            kind: ErrorKind::Internal,
            message: "no server is named".into(),
            maybe_paid: false,
        })
    }

    fn request(&self, base: &Url, message: &Message) -> Result<reqwest::RequestBuilder, Attempt> {
        let Ok(url) = base.join(&message.path) else {
            return Err(Attempt::Broken {
                kind: ErrorKind::Internal,
                message: format!("`{}` is no path", message.path),
                maybe_paid: false,
            });
        };
        // A path from a server's words must not lead to another host, where the key would go.
        if url.origin() != base.origin() {
            return Err(Attempt::Broken {
                kind: ErrorKind::Internal,
                message: "a path leads away from the service".into(),
                maybe_paid: false,
            });
        }
        let mut request = self
            .client
            .request(message.method.clone(), url)
            .header("idempotency-key", &message.id);
        if !message.body.is_empty() {
            request = request
                .header(CONTENT_TYPE, &message.content_type)
                .body(message.body.clone());
        }
        Ok(request)
    }

    /// Sends one message once and writes the body of a good answer into a file, however large. Only
    /// the pause between two pieces is limited, not the whole. The body of a bad answer comes back.
    pub async fn download(&self, message: &Message, to: &Path) -> Attempt {
        let seat = match self.seat() {
            Ok(seat) => seat,
            Err(broken) => return broken,
        };
        let request = match self.request(seat.base(), message) {
            Ok(request) => request,
            Err(broken) => return broken,
        };
        let attempt = self.received(request, to).await;
        self.located(seat.base(), message, attempt)
    }

    async fn received(&self, request: reqwest::RequestBuilder, to: &Path) -> Attempt {
        let began = tokio::time::timeout(self.timeouts.first_byte, request.send()).await;
        let mut response = match began {
            Err(_) => return late("beginning", self.timeouts.first_byte),
            Ok(Err(error)) => return self.broken(error),
            Ok(Ok(response)) => response,
        };
        let good = response.status().is_success();
        let mut file = match (good, std::fs::File::create(to)) {
            (true, Ok(file)) => Some(file),
            (true, Err(error)) => return no_file(to, &error),
            (false, _) => None,
        };
        let mut body = Vec::new();
        let mut written = 0u64;
        loop {
            let chunk = match tokio::time::timeout(self.timeouts.first_byte, response.chunk()).await
            {
                Err(_) => return late("further", self.timeouts.first_byte),
                Ok(Err(error)) => return self.broken(error),
                Ok(Ok(chunk)) => chunk,
            };
            let Some(chunk) = chunk else { break };
            written = written.saturating_add(chunk.len() as u64);
            if written > LARGEST_DOWNLOAD || (!good && written > LARGEST_BODY as u64) {
                return too_large(if good {
                    LARGEST_DOWNLOAD
                } else {
                    LARGEST_BODY as u64
                });
            }
            match &mut file {
                Some(file) => {
                    if let Err(error) = file.write_all(&chunk) {
                        return no_file(to, &error);
                    }
                }
                None => body.extend_from_slice(&chunk),
            }
        }
        Attempt::Answer {
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body,
        }
    }

    /// Sends one message once. The teller, where there is one, gets the body of a good answer as it comes.
    pub async fn send(&self, message: &Message, teller: Option<&Teller<'_>>) -> Attempt {
        let seat = match self.seat() {
            Ok(seat) => seat,
            Err(broken) => return broken,
        };
        let request = match self.request(seat.base(), message) {
            Ok(request) => request,
            Err(broken) => return broken,
        };
        let ended = tokio::time::timeout(self.timeouts.total, self.exchange(request, teller)).await;
        let attempt = ended.unwrap_or_else(|_| late("complete", self.timeouts.total));
        seat.ended(&attempt);
        self.located(seat.base(), message, attempt)
    }

    /// A break of the connection with the address it happened at: a wrong port or a proxy is seen there
    /// first. Only scheme, host and path, which hold no key.
    fn located(&self, base: &Url, message: &Message, attempt: Attempt) -> Attempt {
        let (kind, words, maybe_paid) = match attempt {
            Attempt::Broken {
                kind: kind @ (ErrorKind::Timeout | ErrorKind::Transport),
                message,
                maybe_paid,
            } => (kind, message, maybe_paid),
            other => return other,
        };
        let place = base.join(&message.path).unwrap_or_else(|_| base.clone());
        let port = place.port().map_or_else(String::new, |p| format!(":{p}"));
        let host = place.host_str().unwrap_or_default();
        let address = format!("{}://{host}{port}{}", place.scheme(), place.path());
        Attempt::Broken {
            kind,
            message: self.scrubber.text(&format!("{words} (at {address})")),
            maybe_paid,
        }
    }

    async fn exchange(
        &self,
        request: reqwest::RequestBuilder,
        teller: Option<&Teller<'_>>,
    ) -> Attempt {
        let began = tokio::time::timeout(self.timeouts.first_byte, request.send()).await;
        let mut response = match began {
            Err(_) => return late("beginning", self.timeouts.first_byte),
            Ok(Err(error)) => return self.broken(error),
            Ok(Ok(response)) => response,
        };
        let teller =
            teller.filter(|_| response.status().is_success() && is_stream(response.headers()));
        let mut body = Vec::with_capacity(
            response
                .content_length()
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(0)
                .min(1 << 20),
        );
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= LARGEST_BODY => {
                    body.extend_from_slice(&chunk);
                    if let Some(teller) = teller {
                        teller.take(&chunk);
                    }
                }
                Ok(Some(_)) => return too_large(LARGEST_BODY as u64),
                Ok(None) => break,
                Err(error) => return self.broken(error),
            }
        }
        Attempt::Answer {
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body,
        }
    }

    fn broken(&self, error: reqwest::Error) -> Attempt {
        let kind = if error.is_timeout() {
            ErrorKind::Timeout
        } else {
            ErrorKind::Transport
        };
        let maybe_paid = !error.is_connect();
        Attempt::Broken {
            kind,
            message: self.scrubber.text(&explain(error)),
            maybe_paid,
        }
    }
}

/// Whether a body is one of server-sent events.
pub fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    kind.is_some_and(|k| {
        k.trim_start()
            .to_ascii_lowercase()
            .starts_with("text/event-stream")
    })
}

fn too_large(limit: u64) -> Attempt {
    Attempt::Broken {
        kind: ErrorKind::Transport,
        message: format!("the answer is larger than {limit} bytes"),
        maybe_paid: true,
    }
}

fn no_file(path: &Path, error: &std::io::Error) -> Attempt {
    Attempt::Broken {
        kind: ErrorKind::Budget,
        message: format!("{} cannot be written: {error}", path.display()),
        maybe_paid: false,
    }
}

fn late(what: &str, limit: Duration) -> Attempt {
    Attempt::Broken {
        kind: ErrorKind::Timeout,
        message: format!("no {what} answer within {} s", limit.as_secs_f64()),
        maybe_paid: true,
    }
}

/// The error and its causes, without the address, which may hold more than its host and path.
fn explain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !words.ends_with(&text) {
            words = format!("{words}: {text}");
        }
        cause = inner.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_key_in_it_is_refused_without_repeating_it() {
        for bad in [
            "http://user:hunter22@host/v1",
            "https://host/v1?key=hunter22",
            "https://host/v1#hunter22",
            "ftp://host",
            "localhost:8000",
            "",
        ] {
            let error = base_url(bad).unwrap_err();
            assert!(!format!("{error:?}").contains("hunter22"), "{error:?}");
        }
    }

    #[test]
    fn paths_are_below_the_base_or_from_the_root() {
        let base = base_url("http://localhost:8080/v1").unwrap();
        assert_eq!(base.join("completions").unwrap().path(), "/v1/completions");
        assert_eq!(base.join("/tokenize").unwrap().path(), "/tokenize");
        assert!(is_loopback(&base));
        assert!(!is_loopback(
            &base_url("https://api.openai.com/v1").unwrap()
        ));
    }
}
