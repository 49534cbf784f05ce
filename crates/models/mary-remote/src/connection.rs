//! A connection to one model: sends a request until it is answered, learns on the way which parameters
//! the model does not accept, and accounts for what it costs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use mary_contract::{ErrorKind, ModelError};
use rand::RngExt as _;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::api_error::{AskedService, Diagnosis, Remedy, diagnose};
use crate::bounds;
use crate::catalogue::CatalogueEntry;
use crate::flow::{Flow, Verdict};
use crate::http::{Answer, Attempt, Broken, Http, Message, Sink, is_stream};
use crate::limits::Advice;
use crate::money::Promise;
use crate::options::Result;
use crate::retry::{RetryPolicy, retry_after};
use crate::stream::{self, Teller};
use crate::wire::{ReadError, RequestShape};

/// Everything needed to ask one model.
pub(crate) struct Connection {
    pub(crate) http: Http,
    pub(crate) flow: Flow,
    pub(crate) retry: RetryPolicy,
    /// What the model does not accept, as known so far.
    pub(crate) shape: Mutex<RequestShape>,
    pub(crate) entry: &'static CatalogueEntry,
    pub(crate) key_env: String,
    pub(crate) model: String,
}

type ReadWith<'a, T> = &'a (dyn Fn(&Value) -> Result<T, ReadError> + Sync);

pub(crate) struct Question<'a, T> {
    pub(crate) path: &'a str,
    pub(crate) body: Body<'a>,
    /// Reads the answer; of one that went into a file there is nothing to read.
    pub(crate) read: ReadWith<'a, T>,
    /// Not to be repeated blindly: after an attempt that may have worked this is set, and the caller
    /// has to look.
    pub(crate) once: Option<&'a AtomicBool>,
    /// Where the body of the answer goes, however large.
    pub(crate) file: Option<&'a Path>,
    /// About how many tokens it takes, for rate limits.
    pub(crate) tokens: f64,
    pub(crate) promise: Option<&'a Promise>,
    /// Somebody who is told the words as they come.
    pub(crate) teller: Option<&'a Teller<'a>>,
}

/// What is posted; without it, the question is a GET.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    Empty,
    /// JSON, which may depend on what was learnt.
    Json(&'a (dyn Fn(&RequestShape) -> Value + Sync)),
    Raw(&'a str, &'a [u8]),
}

impl<'a, T> Question<'a, T> {
    /// A question that is repeated until it is answered.
    pub(crate) fn new(path: &'a str, body: Body<'a>, read: ReadWith<'a, T>) -> Self {
        Self {
            path,
            body,
            read,
            once: None,
            file: None,
            tokens: 0.0,
            promise: None,
            teller: None,
        }
    }

    pub(crate) fn post(
        path: &'a str,
        body: &'a (dyn Fn(&RequestShape) -> Value + Sync),
        read: ReadWith<'a, T>,
    ) -> Self {
        Self::new(path, Body::Json(body), read)
    }

    pub(crate) fn get(path: &'a str, read: ReadWith<'a, T>) -> Self {
        Self::new(path, Body::Empty, read)
    }

    #[must_use]
    pub(crate) fn costing(mut self, tokens: f64, promise: &'a Promise) -> Self {
        self.tokens = tokens;
        self.promise = Some(promise);
        self
    }

    fn message(&self, shape: &RequestShape, id: &str) -> Result<Message> {
        let (method, content_type, body) = match self.body {
            Body::Empty => (Method::GET, "", Vec::new()),
            Body::Raw(content_type, bytes) => (Method::POST, content_type, bytes.to_vec()),
            Body::Json(make) => {
                let mut body = make(shape);
                if let Some(teller) = self.teller {
                    teller.begin();
                    teller.format.ask(&mut body);
                }
                let body = serde_json::to_vec(&body);
                let body = body.map_err(|e| ModelError::new(ErrorKind::Internal, e.to_string()))?;
                (Method::POST, "application/json", body)
            }
        };
        Ok(Message {
            method,
            path: match self.teller {
                Some(teller) => teller.format.path(self.path),
                None => self.path.to_owned(),
            },
            body,
            content_type: content_type.to_owned(),
            id: id.to_owned(),
        })
    }

    /// Whether an error may come of asking for the answer in pieces: the server knows no streams, or not
    /// at this address.
    fn dislikes_streams(&self, error: &ModelError) -> bool {
        let Some(teller) = self.teller else {
            return false;
        };
        let elsewhere = teller.format.path(self.path) != self.path;
        error.kind == ErrorKind::BadRequest || error.kind == ErrorKind::NotFound && elsewhere
    }
}

pub(crate) struct Received<T> {
    pub(crate) answer: T,
    /// As it came, without keys.
    pub(crate) raw: Value,
    /// Attempts beyond the first.
    pub(crate) retries: u32,
}

enum Next<T> {
    Done(T, Value),
    Stop(ModelError),
    Retry {
        error: ModelError,
        /// Overload, or a break, which says nothing about load.
        verdict: Verdict,
        /// It surely had no effect: it never left, or was sent away at the door.
        without_effect: bool,
    },
    Learn(Remedy, ModelError),
}

impl Connection {
    /// What the model does not accept, as known now.
    pub(crate) fn shape(&self) -> RequestShape {
        let shape = self.shape.lock().unwrap_or_else(PoisonError::into_inner);
        shape.clone()
    }

    /// Asks once, for something that is read as it is.
    pub(crate) async fn fetch(&self, path: &str) -> Result<Value> {
        let received = self
            .ask(Question::get(path, &|raw| Ok(raw.clone())))
            .await?;
        Ok(received.answer)
    }

    /// Asks until there is an answer, or a reason to give up.
    pub(crate) async fn ask<T>(&self, mut question: Question<'_, T>) -> Result<Received<T>> {
        let id = format!("mary-{:032x}", rand::rng().random::<u128>());
        let clean = |error| Err(self.http.scrubber.error(error));
        // A broken answer says nothing about load, so the two kinds of pause grow apart.
        let (mut overloads, mut breaks) = (0, 0);
        // Attempts that taught us something come on top.
        let mut lessons = 0;
        loop {
            let shape = self.shape();
            let retries = overloads + breaks;
            match self.attempt(&question, &shape, &id).await {
                Next::Done(answer, mut raw) => {
                    note_omitted(&mut raw, &shape);
                    return Ok(Received {
                        answer,
                        raw,
                        retries: retries + lessons,
                    });
                }
                // It is asked for the whole answer at once.
                Next::Stop(error) if question.dislikes_streams(&error) => {
                    question.teller = None;
                    lessons += 1;
                }
                Next::Stop(error) => return clean(error),
                Next::Learn(remedy, error) => {
                    lessons += 1;
                    if lessons > 8 || !self.learn(&shape, &remedy) {
                        return clean(error);
                    }
                }
                Next::Retry {
                    error,
                    verdict,
                    without_effect,
                } => {
                    let unsure = question.once.filter(|_| !without_effect);
                    if let Some(unsure) = unsure {
                        unsure.store(true, Ordering::Relaxed);
                    }
                    if retries >= self.retry.retries || unsure.is_some() {
                        return clean(after(error, retries + 1));
                    }
                    // What may have been paid for in vain counts before it is tried again.
                    if let Some(promise) = question.promise {
                        promise.still_fits()?;
                    }
                    let pause = self.pause(verdict, overloads, breaks)?;
                    match verdict {
                        Verdict::Overloaded { .. } => overloads += 1,
                        _ => breaks += 1,
                    }
                    self.flow.pause(pause).await?;
                }
            }
        }
    }

    /// How long to wait before an attempt is made again.
    fn pause(&self, verdict: Verdict, overloads: u32, breaks: u32) -> Result<Duration> {
        let base = self.retry.overload_base;
        let Verdict::Overloaded { retry_after } = verdict else {
            return Ok(self.retry.pause(self.retry.broken_base, breaks.min(4)));
        };
        match retry_after {
            Some(told) if told > self.retry.longest_wait => Err(self.flow.too_long(told)),
            // Not before the time told, and not all at the same moment.
            Some(told) => Ok(told + self.retry.pause(base / 4, 0)),
            // While others are answered, a refusal is a stray one and no reason to stay away for long.
            None => {
                let most = if self.flow.is_calm() { 2 } else { overloads };
                Ok(self.retry.pause(base, overloads.min(most)))
            }
        }
    }

    async fn attempt<T>(
        &self,
        question: &Question<'_, T>,
        shape: &RequestShape,
        id: &str,
    ) -> Next<T> {
        let message = match question.message(shape, id) {
            Ok(message) => message,
            Err(error) => return Next::Stop(error),
        };
        let pass = match self.flow.admit(question.tokens).await {
            Ok(pass) => pass,
            Err(error) => return Next::Stop(error),
        };
        let attempt = match question.file {
            // A file may take hours; a stop does not wait for it.
            Some(file) => {
                let sent = async { Ok(self.http.send(&message, Sink::File(file)).await) };
                match self.flow.unless_stopped(sent).await {
                    Ok(attempt) => attempt,
                    Err(stopped) => return Next::Stop(stopped),
                }
            }
            None => {
                question.promise.inspect(|promise| promise.leaves());
                let sink = Sink::Memory(question.teller);
                let attempt = self.http.send(&message, sink).await;
                question.promise.inspect(|promise| promise.is_back());
                attempt
            }
        };
        let advice = match &attempt {
            Ok(answer) => Advice::read(&answer.headers, SystemTime::now()),
            Err(_) => Advice::default(),
        };
        let (next, lost) = self.judge(question, attempt);
        if let (true, Some(promise)) = (lost, question.promise) {
            promise.lost();
        }
        let verdict = match &next {
            Next::Retry { verdict, .. } => *verdict,
            _ => Verdict::Answered,
        };
        pass.report(verdict, advice);
        next
    }

    /// What an attempt means, and whether it may have been paid for in vain.
    fn judge<T>(&self, question: &Question<'_, T>, attempt: Attempt) -> (Next<T>, bool) {
        match attempt {
            Err(broken) => {
                let maybe_paid = broken.maybe_paid;
                (self.broken(broken), maybe_paid)
            }
            Ok(answer) if (200..300).contains(&answer.status) => self.good_status(question, answer),
            Ok(answer) => {
                let next = self.bad_status(answer.status, &answer.headers, &answer.body);
                (next, false)
            }
        }
    }

    fn broken<T>(&self, broken: Broken) -> Next<T> {
        let message = format!("{}: {}", self.entry.title, broken.message);
        let mut error = ModelError::new(broken.kind, message);
        // The disk, not the service.
        if broken.kind == ErrorKind::Budget {
            return Next::Stop(error.hint("free some room and go on with `mary resume`"));
        }
        if !self.entry.start.is_empty() {
            error = error.hint(format!(
                "is it running? Start it with `{}`, or say where it listens with --base-url",
                self.entry.start
            ));
        }
        Next::Retry {
            error,
            verdict: Verdict::Broken,
            without_effect: !broken.maybe_paid,
        }
    }

    fn good_status<T>(&self, question: &Question<'_, T>, answer: Answer) -> (Next<T>, bool) {
        let title = self.entry.title;
        let unreadable = |what: String| {
            let error = ModelError::new(ErrorKind::Transport, format!("{title}: {what}"))
                .hint("the answer came broken again and again; is there a proxy in between?");
            let next = Next::Retry {
                error,
                verdict: Verdict::Broken,
                without_effect: false,
            };
            (next, true)
        };
        let Answer { headers, body, .. } = answer;
        let streamed = question.teller.filter(|_| is_stream(&headers));
        let parsed = match (streamed, question.file) {
            (Some(teller), _) => stream::whole(teller.format, &body),
            (None, Some(_)) => Ok(Value::Null),
            (None, None) => bounds::parse(&body).map_err(|error| {
                let kind = headers.get("content-type").and_then(|v| v.to_str().ok());
                let kind = kind.unwrap_or("no content type");
                format!("expected JSON, found {kind}: {error}")
            }),
        };
        let mut raw: Value = match parsed {
            Ok(raw) => raw,
            Err(error) => return unreadable(error),
        };
        // Before anybody reads it: whatever becomes an answer, a name or an error is free of keys.
        self.http.scrubber.value(&mut raw);
        // Some routers report errors with a good status.
        if let Some(error) = raw.get("error").filter(|e| !e.is_null()) {
            let status = error.get("code").and_then(Value::as_u64);
            let status = status.and_then(|s| u16::try_from(s).ok());
            let status = status.filter(|s| (400..600).contains(s)).unwrap_or(500);
            let said = raw.to_string();
            return (self.bad_status(status, &headers, said.as_bytes()), false);
        }
        match (question.read)(&raw) {
            Ok(answer) => (Next::Done(answer, raw), false),
            Err(ReadError::Unreadable(what)) => unreadable(what),
            Err(ReadError::Final(error)) => (Next::Stop(error), true),
        }
    }

    fn bad_status<T>(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Next<T> {
        // Free of keys before any of it is cut or quoted.
        let body = self.http.scrubber.body(body);
        let service = AskedService {
            title: self.entry.title,
            key_env: &self.key_env,
            console: self.entry.console,
            model: &self.model,
        };
        let Diagnosis { error, remedy } = diagnose(&service, status, &body);
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        // OpenAI and Azure also give it more exactly.
        let exact = text("retry-after-ms").and_then(|ms| ms.trim().parse::<u64>().ok());
        let told = exact
            .map(Duration::from_millis)
            .or_else(|| retry_after(text("retry-after")?, SystemTime::now()));
        match remedy {
            Remedy::GiveUp => Next::Stop(error),
            Remedy::Slower => Next::Retry {
                error,
                verdict: Verdict::Overloaded { retry_after: told },
                without_effect: status == 429,
            },
            Remedy::Again => Next::Retry {
                error,
                verdict: match told {
                    Some(_) => Verdict::Overloaded { retry_after: told },
                    None => Verdict::Broken,
                },
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
