//! A local web page over run folders. Pages are made on the server, one page of samples at a time, so that a
//! million stay fluid. Whoever starts the viewer brings a [`SampleLog`]; [`IndexedSource`] does the rest.

mod guard;
mod index;
mod pages;
mod query;
mod runs;
mod search;
mod stream;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, State},
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use mary_contract::{RunManifest, RunSummary, Sample, SampleId};
use thiserror::Error;

use crate::OutcomeClass;

pub use index::{IndexedSource, SampleLog};
pub use query::{Filter, Order};

#[derive(Debug, Error)]
pub enum SourceError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Broken(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunEntry {
    pub manifest: RunManifest,
    pub samples: usize,
    /// Whether every planned sample is there; otherwise the pages look for more by themselves.
    pub complete: bool,
    pub name: String,
    pub bytes: u64,
    pub report: bool,
    pub summary: Option<RunSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableRun {
    pub name: String,
    pub why: String,
}

/// The runs there are. One that cannot be read hides none of the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunList {
    pub runs: Vec<RunEntry>,
    pub unreadable: Vec<UnreadableRun>,
}

impl From<Vec<RunEntry>> for RunList {
    fn from(runs: Vec<RunEntry>) -> Self {
        Self {
            runs,
            unreadable: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SampleRow {
    pub id: SampleId,
    pub class: OutcomeClass,
    /// How the other model of a flip ended, where flips are asked for.
    pub other: Option<OutcomeClass>,
    pub score: Option<f64>,
    /// By how much the right answer was preferred, where that was measured.
    pub margin: Option<f64>,
    pub question: String,
    pub answer: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    pub total: usize,
    pub lines: Vec<SampleRow>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Around {
    /// Its place, from 0; `None` when the list does not hold it.
    pub place: Option<usize>,
    pub total: usize,
    pub before: Option<SampleId>,
    pub after: Option<SampleId>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facets {
    /// Matching samples by outcome, whatever outcomes are asked for.
    pub outcomes: Vec<(OutcomeClass, usize)>,
    pub models: Vec<(String, usize)>,
    pub tasks: Vec<(String, usize)>,
}

/// Serves the viewer until the process ends. `ready` is told the address once it listens.
///
/// Hosts other than the loopback names and the bound address itself are refused, so that no web page
/// elsewhere can read the runs through a rebound name.
pub fn serve(
    source: Arc<IndexedSource>,
    address: SocketAddr,
    ready: &mut dyn FnMut(SocketAddr),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let bound = listener.local_addr()?;
        ready(bound);
        serve_on(source, listener, std::future::pending()).await
    })
}

pub async fn serve_on(
    source: Arc<IndexedSource>,
    listener: tokio::net::TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let bound = listener.local_addr()?;
    axum::serve(listener, router(source, bound))
        .with_graceful_shutdown(stop)
        .await
}

type Shared = State<Arc<IndexedSource>>;
type Pairs = Query<Vec<(String, String)>>;

fn router(source: Arc<IndexedSource>, bound: SocketAddr) -> Router {
    let css = async || typed("text/css; charset=utf-8", pages::CSS);
    let script = async || typed("text/javascript; charset=utf-8", pages::SCRIPT);
    Router::new()
        .route("/", get(runs))
        .route("/run/{run}", get(run))
        .route("/run/{run}/samples", get(samples))
        .route("/run/{run}/sample", get(sample))
        .route("/run/{run}/text", get(text))
        .route("/run/{run}/live", get(live))
        .route("/run/{run}/report", get(report))
        .route("/viewer.css", get(css))
        .route("/viewer.js", get(script))
        .fallback(async || refuse(&SourceError::NotFound("There is no such page.".into())))
        .layer(axum::middleware::from_fn_with_state(bound, guard::guard))
        .with_state(source)
}

fn typed(kind: &'static str, body: &'static str) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn runs(State(source): Shared, Query(pairs): Pairs) -> Response {
    page(move || {
        let asked = runs::RunsQuery::read(&pairs);
        Ok(pages::runs::page(&source.runs()?, &asked))
    })
    .await
}

async fn run(State(source): Shared, Path(id): Path<String>) -> Response {
    page(move || {
        let entry = source.run(&id)?;
        let facets = source.facets(&id, &Filter::default())?;
        Ok(pages::run::page(&entry, &facets))
    })
    .await
}

async fn samples(State(source): Shared, Path(id): Path<String>, Query(pairs): Pairs) -> Response {
    page(move || {
        let entry = source.run(&id)?;
        let asked = query::ListQuery::read(&pairs);
        let offset = asked.page.saturating_mul(pages::PER_PAGE);
        let facets = source.facets(&id, &asked.filter)?;
        let lines = source.page(&id, &asked.filter, offset, pages::PER_PAGE)?;
        Ok(pages::samples::page(&entry, &asked, &facets, &lines))
    })
    .await
}

async fn sample(State(source): Shared, Path(id): Path<String>, Query(pairs): Pairs) -> Response {
    let find = move || {
        let entry = source.run(&id)?;
        let query::SampleQuery {
            id: wanted,
            other,
            list,
        } = wanted(&pairs)?;
        let one = found(&source, &id, &wanted)?;
        let beside = match &other {
            Some(model) => {
                let mut twin = wanted.clone();
                twin.model.clone_from(model);
                Some((model.clone(), source.sample(&id, &twin)?))
            }
            None => None,
        };
        let list = list.unwrap_or_else(|| query::ListQuery::beside(&wanted));
        let around = source.around(&id, &list.filter, &wanted)?;
        let verdicts = source.verdicts(&id, &wanted)?;
        Ok(pages::sample::SamplePage {
            entry,
            one,
            beside,
            list,
            around,
            verdicts,
        })
    };
    answered(find, |page| {
        streamed("text/html; charset=utf-8", page, pages::sample::write)
    })
    .await
}

async fn text(State(source): Shared, Path(id): Path<String>, Query(pairs): Pairs) -> Response {
    let find = move || found(&source, &id, &wanted(&pairs)?.id);
    let write = crate::sample::write_plain;
    answered(find, |sample| {
        streamed("text/plain; charset=utf-8", sample, write)
    })
    .await
}

/// The report of a run, in a sandbox: whatever the file in the folder holds, its scripts belong to no
/// origin, reach no address and so read nothing of the viewer.
async fn report(State(source): Shared, Path(id): Path<String>) -> Response {
    let none = "There is no report of this run yet; `mary report` makes one.";
    let find = move || {
        let found = source.report(&id)?;
        found.ok_or_else(|| SourceError::NotFound(none.into()))
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, guard::REPORT_POLICY),
    ];
    answered(find, |body| (headers, body).into_response()).await
}

fn wanted(pairs: &[(String, String)]) -> Result<query::SampleQuery, SourceError> {
    query::wanted(pairs)
        .ok_or_else(|| SourceError::NotFound("A sample needs model, task and item.".into()))
}

fn found(source: &IndexedSource, run: &str, id: &SampleId) -> Result<Sample, SourceError> {
    source.sample(run, id)?.ok_or_else(|| {
        SourceError::NotFound(format!("There is no sample {} of {}.", id.item, id.model))
    })
}

/// Sends what is written about something that was found while it is written.
fn streamed<T: Send + 'static>(
    kind: &'static str,
    found: T,
    write: fn(&mut dyn std::fmt::Write, &T) -> std::fmt::Result,
) -> Response {
    let body = stream::body(move |out| write(out, &found));
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn live(State(source): Shared, Path(id): Path<String>) -> Response {
    let find = move || source.run(&id);
    answered(find, |entry| {
        let body = serde_json::json!({"samples": entry.samples, "complete": entry.complete});
        let kind = [(header::CONTENT_TYPE, "application/json")];
        (kind, body.to_string()).into_response()
    })
    .await
}

async fn page(make: impl FnOnce() -> Result<String, SourceError> + Send + 'static) -> Response {
    answered(make, |body| Html(body).into_response()).await
}

/// Looks something up off the event loop, since sources read files, and answers with it.
async fn answered<T: Send + 'static>(
    find: impl FnOnce() -> Result<T, SourceError> + Send + 'static,
    answer: impl FnOnce(T) -> Response,
) -> Response {
    match tokio::task::spawn_blocking(find).await {
        Ok(Ok(found)) => answer(found),
        Ok(Err(error)) => refuse(&error),
        Err(_) => refuse(&SourceError::Broken("The page could not be made.".into())),
    }
}

fn refuse(error: &SourceError) -> Response {
    let status = match error {
        SourceError::NotFound(_) => StatusCode::NOT_FOUND,
        SourceError::Broken(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, Html(pages::error(&error.to_string()))).into_response()
}
