//! One HTTP client: connections kept alive, time-outs for each stage, bodies read up to a limit.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use mary_contract::{ErrorKind, ModelError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use crate::format::WireFormat;
use crate::options::{Result, Timeouts};
use crate::secret::{Scrubber, Secret};
use crate::servers::Servers;
use crate::stream::Teller;

/// No honest answer is larger.
const LARGEST_BODY: u64 = 64 << 20;
/// No honest file of a batch's answers is larger.
const LARGEST_DOWNLOAD: u64 = 64 << 30;

pub(crate) struct Http {
    client: reqwest::Client,
    servers: Servers,
    timeouts: Timeouts,
    pub(crate) scrubber: Scrubber,
}

pub(crate) struct Message {
    pub(crate) method: Method,
    /// Below the base address, or from the root when it begins with a slash.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    pub(crate) content_type: String,
    /// The same for all attempts at one request, so that a service can tell a retry from a new one.
    pub(crate) id: String,
}

pub(crate) type Attempt = Result<Answer, Broken>;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// Empty where it went into a file.
    pub(crate) body: Vec<u8>,
}

/// No answer came, or only part of one.
#[derive(Debug)]
pub(crate) struct Broken {
    /// Timeout or transport; budget where the disk is full.
    pub(crate) kind: ErrorKind,
    /// In words, without address or key.
    pub(crate) message: String,
    /// The service may have done (and charged for) the work.
    pub(crate) maybe_paid: bool,
}

impl Broken {
    fn new(kind: ErrorKind, message: impl Into<String>, maybe_paid: bool) -> Self {
        Self {
            kind,
            message: message.into(),
            maybe_paid,
        }
    }
}

/// Where the body of a good answer goes.
#[derive(Clone, Copy)]
pub(crate) enum Sink<'a> {
    Memory(Option<&'a Teller<'a>>),
    /// However large. Only the pause between two pieces is limited, not the whole.
    File(&'a Path),
}

/// Reads the address of a service. A key in it (as user, password or query) is refused: it would end
/// up in logs.
pub(crate) fn base_url(text: &str) -> Result<Url> {
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
pub(crate) fn base_urls(text: &str) -> Result<Vec<Url>> {
    text.split(',')
        .map(|address| base_url(address.trim()))
        .collect()
}

/// Whether the address is this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

impl Http {
    /// A client for services that speak this format at these addresses, which [`base_urls`] has checked.
    pub(crate) fn new(
        format: &dyn WireFormat,
        bases: Vec<Url>,
        key: Option<Secret>,
        timeouts: Timeouts,
        connections: usize,
    ) -> Result<Self> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &key {
            let (name, before) = format.key_header();
            let text = format!("{before}{}", key.reveal());
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                let message = "the key holds characters that no HTTP header can carry";
                ModelError::new(ErrorKind::Auth, message)
                    .hint("look for line breaks or quotes in the environment or .env")
            })?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        for (name, value) in format.headers() {
            let value = HeaderValue::from_static(value);
            headers.insert(HeaderName::from_static(name), value);
        }
        let mut builder = mary_fetch::asynchronous()
            .default_headers(headers)
            .connect_timeout(timeouts.connect)
            .pool_max_idle_per_host(connections)
            .pool_idle_timeout(Duration::from_secs(60))
            .tcp_keepalive(Duration::from_secs(30))
            // A redirect would carry the key to another place.
            .redirect(reqwest::redirect::Policy::none());
        if bases.iter().all(is_loopback) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            let what = explain(error);
            ModelError::new(ErrorKind::Internal, format!("no HTTP client: {what}"))
        })?;
        Ok(Self {
            client,
            servers: Servers::new(bases),
            timeouts,
            scrubber: Scrubber::new(key),
        })
    }

    fn request(&self, base: &Url, message: &Message) -> Result<reqwest::RequestBuilder, Broken> {
        let internal = |what: String| Broken::new(ErrorKind::Internal, what, false);
        let url = base.join(&message.path);
        let url = url.map_err(|_| internal(format!("`{}` is no path", message.path)))?;
        // A path from a server's words must not lead to another host, where the key would go.
        if url.origin() != base.origin() {
            return Err(internal("a path leads away from the service".into()));
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

    pub(crate) async fn send(&self, message: &Message, sink: Sink<'_>) -> Attempt {
        let no_server = || Broken::new(ErrorKind::Internal, "no server is named", false);
        let seat = self.servers.seat().ok_or_else(no_server)?;
        let request = self.request(seat.base(), message)?;
        let exchange = self.exchange(request, sink);
        let attempt = match sink {
            Sink::File(_) => exchange.await,
            Sink::Memory(_) => in_time("complete", self.timeouts.total, exchange)
                .await
                .flatten(),
        };
        let refused = |answer: &Answer| answer.status == 429 || answer.status >= 500;
        seat.ended(attempt.as_ref().map_or(true, refused));
        attempt.map_err(|broken| self.located(seat.base(), message, broken))
    }

    /// A break of the connection with the address it happened at: a wrong port or a proxy is seen there
    /// first. Only scheme, host and path, which hold no key.
    fn located(&self, base: &Url, message: &Message, mut broken: Broken) -> Broken {
        if !matches!(broken.kind, ErrorKind::Timeout | ErrorKind::Transport) {
            return broken;
        }
        let place = base.join(&message.path).unwrap_or_else(|_| base.clone());
        let port = place.port().map_or_else(String::new, |p| format!(":{p}"));
        let host = place.host_str().unwrap_or_default();
        let address = format!("{}://{host}{port}{}", place.scheme(), place.path());
        let words = format!("{} (at {address})", broken.message);
        broken.message = self.scrubber.text(&words);
        broken
    }

    async fn exchange(&self, request: reqwest::RequestBuilder, sink: Sink<'_>) -> Attempt {
        let Timeouts {
            first_byte, total, ..
        } = self.timeouts;
        let transport = |error| self.broken(error);
        let began = in_time("beginning", first_byte, request.send()).await?;
        let mut response = began.map_err(transport)?;
        let good = response.status().is_success();
        let no_file = |path: &Path, error: std::io::Error| {
            let message = format!("{} cannot be written: {error}", path.display());
            Broken::new(ErrorKind::Budget, message, false)
        };
        let (mut file, mut teller, mut most, mut pause) = (None, None, LARGEST_BODY, total);
        match sink {
            Sink::File(path) if good => {
                let made = std::fs::File::create(path).map_err(|e| no_file(path, e))?;
                file = Some((path, made));
                (most, pause) = (LARGEST_DOWNLOAD, first_byte);
            }
            Sink::Memory(watching) if good && is_stream(response.headers()) => teller = watching,
            _ => {}
        }
        let (mut body, mut size) = (Vec::new(), 0);
        while let Some(chunk) = in_time("further", pause, response.chunk())
            .await?
            .map_err(transport)?
        {
            size += chunk.len() as u64;
            if size > most {
                let message = format!("the answer is larger than {most} bytes");
                return Err(Broken::new(ErrorKind::Transport, message, true));
            }
            match &mut file {
                Some((path, file)) => file.write_all(&chunk).map_err(|e| no_file(path, e))?,
                None => body.extend_from_slice(&chunk),
            }
            if let Some(teller) = teller {
                teller.take(&chunk);
            }
        }
        Ok(Answer {
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body,
        })
    }

    fn broken(&self, error: reqwest::Error) -> Broken {
        let kind = if error.is_timeout() {
            ErrorKind::Timeout
        } else {
            ErrorKind::Transport
        };
        let maybe_paid = !error.is_connect();
        Broken::new(kind, self.scrubber.text(&explain(error)), maybe_paid)
    }
}

async fn in_time<T>(
    what: &str,
    limit: Duration,
    future: impl Future<Output = T>,
) -> Result<T, Broken> {
    tokio::time::timeout(limit, future).await.map_err(|_| {
        let message = format!("no {what} answer within {} s", limit.as_secs_f64());
        Broken::new(ErrorKind::Timeout, message, true)
    })
}

/// Whether a body is one of server-sent events.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    kind.is_some_and(|k| {
        k.trim_start()
            .to_ascii_lowercase()
            .starts_with("text/event-stream")
    })
}

/// The error and its causes, without the address, which may hold more than its host and path.
fn explain(error: reqwest::Error) -> String {
    mary_fetch::chain(&error.without_url())
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
