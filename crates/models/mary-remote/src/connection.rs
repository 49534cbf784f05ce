//! A connection to one model: sends a request until it is answered, learns on the way which parameters
//! the model does not accept, and accounts for what it costs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use mary_contract::{ErrorKind, ModelError};
use rand::RngExt as _;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::api_error::{Remedy, Service, Trouble, diagnose};
use crate::bounds;
use crate::flow::{Flow, Verdict};
use crate::http::{Attempt, Http, Message, is_stream};
use crate::limits::Advice;
use crate::money::Promise;
use crate::retry::{RetryPolicy, retry_after};
use crate::stream::{self, Teller};
use crate::wire::{ReadError, RequestShape};

/// Everything needed to ask one model.
#[derive(Debug)]
pub struct Connection {
    pub http: Http,
    pub flow: Flow,
    /// When to try again.
    pub retry: RetryPolicy,
    /// What the model does not accept, as known so far.
    pub shape: Mutex<RequestShape>,
    /// As users know the service.
    pub title: &'static str,
    /// Name of the variable that holds the key.
    pub key_env: String,
    /// Where keys and credit are looked after.
    pub console: &'static str,
    /// The provider's name for the model.
    pub model: String,
    /// How to start the server, where it is the user's own.
    pub start: &'static str,
}

/// One question on the connection.
pub struct Question<'a, T> {
    /// GET or POST.
    pub method: Method,
    /// Where to.
    pub path: &'a str,
    pub body: Body<'a>,
    /// Not to be repeated blindly: after an attempt that may have worked this is set, and the caller
    /// has to look.
    pub once: Option<&'a AtomicBool>,
    pub read: &'a (dyn Fn(&Value) -> Result<T, ReadError> + Sync),
    /// About how many tokens it takes, for rate limits.
    pub tokens: f64,
    /// The money set aside for it.
    pub promise: Option<&'a Promise>,
    /// Somebody who is told the words as they come.
    pub teller: Option<&'a Teller<'a>>,
}

#[derive(Clone, Copy)]
pub enum Body<'a> {
    Empty,
    /// JSON, which may depend on what was learnt.
    Json(&'a (dyn Fn(&RequestShape) -> Value + Sync)),
    /// Something else, with its type.
    Raw(&'a str, &'a [u8]),
}

impl<'a, T> Question<'a, T> {
    /// A question with a JSON body, repeated until it is answered.
    pub fn post(
        path: &'a str,
        body: &'a (dyn Fn(&RequestShape) -> Value + Sync),
        read: &'a (dyn Fn(&Value) -> Result<T, ReadError> + Sync),
    ) -> Self {
        Self {
            method: Method::POST,
            path,
            body: Body::Json(body),
            once: None,
            read,
            tokens: 0.0,
            promise: None,
            teller: None,
        }
    }

    /// A question without a body.
    pub fn get(path: &'a str, read: &'a (dyn Fn(&Value) -> Result<T, ReadError> + Sync)) -> Self {
        Self {
            method: Method::GET,
            path,
            body: Body::Empty,
            once: None,
            read,
            tokens: 0.0,
            promise: None,
            teller: None,
        }
    }

    /// Whether an answer in pieces is asked for at another address than one at once.
    fn streams_elsewhere(&self) -> bool {
        self.teller
            .is_some_and(|teller| teller.format().path(self.path) != self.path)
    }

    /// With somebody who is told the words as they come.
    #[must_use]
    pub fn told_to(mut self, teller: Option<&'a Teller<'a>>) -> Self {
        self.teller = teller;
        self
    }

    /// With its size and the money set aside for it.
    #[must_use]
    pub fn costing(mut self, tokens: f64, promise: &'a Promise) -> Self {
        self.tokens = tokens;
        self.promise = Some(promise);
        self
    }
}

/// An answer as read and as it came.
#[derive(Debug)]
pub struct Told<T> {
    pub answer: T,
    /// As it came, without keys.
    pub raw: Value,
    /// Attempts beyond the first.
    pub retries: u32,
}

/// How one attempt is to be followed.
enum Next<T> {
    Done(T, Value),
    Stop(ModelError),
    Retry {
        error: ModelError,
        overload: Option<Option<std::time::Duration>>,
        /// It surely had no effect: it never left, or was sent away at the door.
        without_effect: bool,
    },
    Learn(Remedy, ModelError),
}

impl Connection {
    fn service(&self) -> Service<'_> {
        Service {
            title: self.title,
            key_env: &self.key_env,
            console: self.console,
            model: &self.model,
        }
    }

    /// What the model does not accept, as known now.
    pub fn shape(&self) -> RequestShape {
        self.shape
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Asks until there is an answer, or a reason to give up.
    pub async fn ask<T>(&self, mut question: Question<'_, T>) -> Result<Told<T>, ModelError> {
        let id = new_id();
        // A broken answer says nothing about load, so the two kinds of pause grow apart.
        let (mut overloads, mut breaks) = (0, 0);
        // Attempts that taught us something come on top.
        let mut lessons = 0;
        loop {
            let shape = self.shape();
            let retries = overloads + breaks;
            let next = self.attempt(&question, &shape, &id).await;
            match next {
                Next::Done(answer, mut raw) => {
                    note_omitted(&mut raw, &shape);
                    return Ok(Told {
                        answer,
                        raw,
                        retries: retries + lessons,
                    });
                }
                // A server that knows no streams, or not where they are asked for, is asked for the whole
                // answer at once.
                Next::Stop(error)
                    if (error.kind == ErrorKind::BadRequest
                        || error.kind == ErrorKind::NotFound && question.streams_elsewhere())
                        && question.teller.take().is_some() =>
                {
                    lessons += 1;
                }
                Next::Stop(error) => return Err(self.http.scrubber().error(error)),
                Next::Learn(remedy, error) => {
                    lessons += 1;
                    if lessons > 8 || !self.learn(&shape, &remedy) {
                        return Err(self.http.scrubber().error(error));
                    }
                }
                Next::Retry {
                    error,
                    overload,
                    without_effect,
                } => {
                    let ambiguous = match question.once {
                        Some(unsure) if !without_effect => {
                            unsure.store(true, Ordering::Relaxed);
                            true
                        }
                        _ => false,
                    };
                    if retries >= self.retry.retries || ambiguous {
                        return Err(self.http.scrubber().error(after(error, retries + 1)));
                    }
                    // What may have been paid for in vain counts before it is tried again.
                    if let Some(promise) = question.promise {
                        promise.still_fits()?;
                    }
                    let pause = match overload {
                        Some(Some(told)) if told > self.retry.longest_wait => {
                            return Err(self.flow.too_long(told));
                        }
                        // Not before the time told, and not all at the same moment.
                        Some(Some(told)) => {
                            told + self.retry.pause(self.retry.overload_base / 4, 0)
                        }
                        // While others are answered, a refusal is a stray one and no reason to
                        // stay away for long.
                        Some(None) => {
                            let most = if self.flow.is_calm() { 2 } else { overloads };
                            let base = self.retry.overload_base;
                            self.retry.pause(base, overloads.min(most))
                        }
                        None => self.retry.pause(self.retry.broken_base, breaks.min(4)),
                    };
                    match overload {
                        Some(_) => overloads += 1,
                        None => breaks += 1,
                    }
                    self.flow.pause(pause).await?;
                }
            }
        }
    }

    /// Fetches a file, trying again when it breaks off.
    pub async fn download(&self, path: &str, to: &Path) -> Result<(), ModelError> {
        let message = Message {
            method: Method::GET,
            path: path.to_owned(),
            body: Vec::new(),
            content_type: String::new(),
            id: new_id(),
        };
        let mut tries = 0;
        loop {
            let pass = self.flow.admit(0.0).await?;
            let attempt = tokio::select! {
                biased;
                () = self.flow.stopped() => return Err(Flow::interrupted()),
                attempt = self.http.download(&message, to) => attempt,
            };
            drop(pass);
            let (error, told) = match attempt {
                Attempt::Answer {
                    status: 200..=299, ..
                } => return Ok(()),
                Attempt::Answer {
                    status,
                    headers,
                    body,
                } => match self.bad_status::<()>(status, &headers, &body) {
                    Next::Retry {
                        error, overload, ..
                    } => (error, overload.flatten()),
                    Next::Stop(error) | Next::Learn(_, error) => {
                        return Err(self.http.scrubber().error(error));
                    }
                    Next::Done((), _) => return Ok(()),
                },
                Attempt::Broken { kind, message, .. } => {
                    let error = ModelError::new(kind, format!("{}: {message}", self.title));
                    // The disk, not the service.
                    if kind == ErrorKind::Budget {
                        return Err(error.hint("free some room and go on with `mary resume`"));
                    }
                    (error, None)
                }
            };
            if tries >= self.retry.retries {
                return Err(self.http.scrubber().error(after(error, tries + 1)));
            }
            let pause = told.unwrap_or_else(|| self.retry.pause(self.retry.overload_base, tries));
            if pause > self.retry.longest_wait {
                return Err(self.flow.too_long(pause));
            }
            tries += 1;
            self.flow.pause(pause).await?;
        }
    }

    async fn attempt<T>(
        &self,
        question: &Question<'_, T>,
        shape: &RequestShape,
        id: &str,
    ) -> Next<T> {
        let (content_type, body) = match question.body {
            Body::Empty => ("", Vec::new()),
            Body::Raw(content_type, bytes) => (content_type, bytes.to_vec()),
            Body::Json(make) => {
                let mut body = make(shape);
                if let Some(teller) = question.teller {
                    teller.begin();
                    teller.format().ask(&mut body);
                }
                match serde_json::to_vec(&body) {
                    Ok(bytes) => ("application/json", bytes),
                    Err(e) => {
                        return Next::Stop(ModelError::new(ErrorKind::Internal, e.to_string()));
                    }
                }
            }
        };
        let message = Message {
            method: question.method.clone(),
            path: match question.teller {
                Some(teller) => teller.format().path(question.path),
                None => question.path.to_owned(),
            },
            body,
            content_type: content_type.to_owned(),
            id: id.to_owned(),
        };
        let pass = match self.flow.admit(question.tokens).await {
            Ok(pass) => pass,
            Err(error) => return Next::Stop(error),
        };
        if let Some(promise) = question.promise {
            promise.leaves();
        }
        let attempt = self.http.send(&message, question.teller).await;
        if let Some(promise) = question.promise {
            promise.is_back();
        }
        let advice = match &attempt {
            Attempt::Answer { headers, .. } => Advice::read(headers, SystemTime::now()),
            Attempt::Broken { .. } => Advice::default(),
        };
        let (next, lost) = self.judge(question, attempt);
        if let (true, Some(promise)) = (lost, question.promise) {
            promise.lost();
        }
        let verdict = match &next {
            Next::Retry {
                overload: Some(told),
                ..
            } => Verdict::Overloaded { retry_after: *told },
            Next::Retry { overload: None, .. } => Verdict::Broken,
            _ => Verdict::Answered,
        };
        pass.report(verdict, advice);
        next
    }

    /// What an attempt means, and whether it may have been paid for in vain.
    fn judge<T>(&self, question: &Question<'_, T>, attempt: Attempt) -> (Next<T>, bool) {
        match attempt {
            Attempt::Broken {
                kind,
                message,
                maybe_paid,
            } => (self.broken(kind, &message, !maybe_paid), maybe_paid),
            Attempt::Answer {
                status: 200..=299,
                headers,
                body,
            } => self.good_status(question, &headers, &body),
            Attempt::Answer {
                status,
                headers,
                body,
            } => (self.bad_status(status, &headers, &body), false),
        }
    }

    fn broken<T>(&self, kind: ErrorKind, message: &str, without_effect: bool) -> Next<T> {
        let mut error = ModelError::new(kind, format!("{}: {message}", self.title));
        if !self.start.is_empty() {
            error = error.hint(format!(
                "is it running? Start it with `{}`, or say where it listens with --base-url",
                self.start
            ));
        }
        Next::Retry {
            error,
            overload: None,
            without_effect,
        }
    }

    fn good_status<T>(
        &self,
        question: &Question<'_, T>,
        headers: &HeaderMap,
        body: &[u8],
    ) -> (Next<T>, bool) {
        let unreadable = |what: String| {
            let error = ModelError::new(ErrorKind::Transport, format!("{}: {what}", self.title))
                .hint("the answer came broken again and again; is there a proxy in between?");
            let next = Next::Retry {
                error,
                overload: None,
                without_effect: false,
            };
            (next, true)
        };
        let streamed = question.teller.filter(|_| is_stream(headers));
        let parsed = match streamed {
            Some(teller) => stream::whole(teller.format(), body),
            None => bounds::parse(body),
        };
        let mut raw: Value = match parsed {
            Ok(raw) => raw,
            Err(error) if streamed.is_some() => return unreadable(error),
            Err(error) => {
                let kind = headers
                    .get("content-type")
                    .and_then(|v| v.to_str().ok())
                    .unwrap_or("no content type");
                return unreadable(format!("expected JSON, found {kind}: {error}"));
            }
        };
        // Before anybody reads it: whatever becomes an answer, a name or an error is free of keys.
        self.http.scrubber().value(&mut raw);
        // Some routers report errors with a good status.
        if let Some(error) = raw.get("error").filter(|e| !e.is_null()) {
            let status = error.get("code").and_then(Value::as_u64);
            let status = status.and_then(|s| u16::try_from(s).ok());
            let status = status.filter(|s| (400..600).contains(s)).unwrap_or(500);
            let said = raw.to_string();
            return (self.bad_status(status, headers, said.as_bytes()), false);
        }
        match (question.read)(&raw) {
            Ok(answer) => (Next::Done(answer, raw), false),
            Err(ReadError::Unreadable(what)) => unreadable(what.to_string()),
            Err(ReadError::Final(error)) => (Next::Stop(error), true),
        }
    }

    fn bad_status<T>(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Next<T> {
        // Free of keys before any of it is cut or quoted.
        let body = self.http.scrubber().body(body);
        let Trouble { error, remedy } = diagnose(&self.service(), status, &body);
        let told = || {
            let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
            // OpenAI and Azure also give it more exactly.
            let exact = text("retry-after-ms").and_then(|ms| ms.trim().parse::<u64>().ok());
            exact
                .map(std::time::Duration::from_millis)
                .or_else(|| retry_after(text("retry-after")?, SystemTime::now()))
        };
        match remedy {
            Remedy::GiveUp => Next::Stop(error),
            Remedy::Slower => Next::Retry {
                error,
                overload: Some(told()),
                without_effect: status == 429,
            },
            Remedy::Again => Next::Retry {
                error,
                overload: told().map(Some),
                without_effect: false,
            },
            lesson @ (Remedy::Without(_) | Remedy::RenameMaxTokens) => Next::Learn(lesson, error),
        }
    }

    /// Takes a lesson to heart; false when it was known and did not help.
    fn learn(&self, tried: &RequestShape, remedy: &Remedy) -> bool {
        let mut shape = self.shape.lock().unwrap_or_else(PoisonError::into_inner);
        match remedy {
            Remedy::Without(name) => {
                shape.omit.insert((*name).to_owned());
                tried.sends(name)
            }
            Remedy::RenameMaxTokens => {
                shape.max_completion_tokens = true;
                !tried.max_completion_tokens
            }
            Remedy::GiveUp | Remedy::Slower | Remedy::Again => false,
        }
    }
}

fn after(error: ModelError, attempts: u32) -> ModelError {
    ModelError {
        message: format!("{} (after {attempts} attempts)", error.message),
        ..error
    }
}

/// What was asked for and left out belongs to the truth about an answer.
fn note_omitted(raw: &mut Value, shape: &RequestShape) {
    if let (false, Some(fields)) = (shape.omit.is_empty(), raw.as_object_mut()) {
        let names: Vec<Value> = shape.omit.iter().map(|n| n.as_str().into()).collect();
        fields.insert("mary_omitted".into(), names.into());
    }
}

/// A name for one request, the same in all its attempts.
fn new_id() -> String {
    format!("mary-{:032x}", rand::rng().random::<u128>())
}
