//! The pages of a study: plain forms that work from the keyboard and without scripts.
//!
//! The server does not read `keys.json`, so that no key can reach a browser. Whoever holds the
//! token of a link is that person; steps are saved with keys of their own, so that a form sent
//! twice, late or out of order changes nothing. TLS is a reverse proxy's (docs/people.md).

mod admin;
mod guard;
mod leaving;
mod limits;
mod render;
mod words;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::{
    Router,
    extract::{ConnectInfo, DefaultBodyLimit, Path, Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::get,
};
use mary_contract::Part;
use mary_serve::connection::{Connections, PATIENCE, Peer};

use crate::StudyError;
use crate::session::{Session, View, token_hash};
use crate::settings::CheckKind;
use crate::store::{self, Admission, NoPlace, PlatformIds, Refusal, Step, Submission};
use limits::Limits;
use render::{Buttons, Message, StepPage};
use words::Words;
pub(crate) use words::words;

/// No form of ours is larger.
const LARGEST: usize = 64 * 1024;
/// Characters of a platform's parameter, at most.
const LONGEST_ID: usize = 200;
/// At once, at most; more wait to be accepted.
const CONNECTIONS: usize = 10_000;
const DELETE_EVERY: Duration = Duration::from_secs(5);
/// Remembers who took part in this browser, for the link of the study alone.
const COOKIE: &str = "mary_study";

struct Server {
    session: Session,
    limits: Limits,
}

type Shared = State<Arc<Server>>;
type Pairs = Vec<(String, String)>;

/// Serves a study on a listener until `stop` is done.
pub async fn serve_on(
    session: Session,
    listener: tokio::net::TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let limits = Limits::new(&session.study.settings, Instant::now());
    let now = session.now();
    let known = session
        .store
        .call(move |db| store::welcome_back(db, now))
        .await
        .map_err(io::Error::other)?;
    limits.welcome(known, Instant::now());
    let deleting = tokio::spawn(delete_what_is_left(session.clone()));
    let connections = Connections {
        listener,
        patience: PATIENCE,
        places: Arc::new(tokio::sync::Semaphore::new(CONNECTIONS)),
    };
    let service = router(session, limits).into_make_service_with_connect_info::<Peer>();
    let served = axum::serve(connections, service)
        .with_graceful_shutdown(stop)
        .await;
    deleting.abort();
    served
}

/// Goes on with what could not be deleted when somebody withdrew, here or by a command.
async fn delete_what_is_left(session: Session) {
    loop {
        let session = session.clone();
        let work = move || session.finish_deletions(None);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(work).await {
            mary_platform::notice(&format!("study: {error}"));
        }
        tokio::time::sleep(DELETE_EVERY).await;
    }
}

/// Serves a study at an address until the process ends; `ready` is told where.
pub fn serve(
    session: Session,
    address: SocketAddr,
    ready: &mut dyn FnMut(SocketAddr),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        ready(listener.local_addr()?);
        serve_on(session, listener, std::future::pending()).await
    })
}

fn router(session: Session, limits: Limits) -> Router {
    let typed = |kind: &'static str, body: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, kind)], body))
    };
    Router::new()
        .route("/s/{entry}", get(consent).post(agree))
        .route("/p/{token}", get(step).post(answer))
        .route("/p/{token}/picture/{trial}/{number}", get(picture))
        .route(
            "/p/{token}/withdraw",
            get(leaving::ask).post(leaving::withdraw),
        )
        .route("/admin", get(admin::page))
        .route(
            "/study.css",
            typed("text/css; charset=utf-8", include_str!("study.css")),
        )
        .route(
            "/study.js",
            typed("text/javascript; charset=utf-8", include_str!("study.js")),
        )
        .route("/favicon.ico", get(async || StatusCode::NO_CONTENT))
        .fallback(async |State(server): Shared| server.not_found())
        .layer(DefaultBodyLimit::max(LARGEST))
        .layer(axum::middleware::from_fn(guard::headers))
        .with_state(Arc::new(Server { session, limits }))
}

impl Server {
    fn words(&self) -> &'static Words {
        words(self.session.study.settings.language)
    }

    fn say(&self, status: StatusCode, said: &Message) -> Response {
        (status, Html(render::message(&self.session.study, said))).into_response()
    }

    fn plain(&self, status: StatusCode, text: &str) -> Response {
        let said = Message {
            heading: self.session.study.settings.title.clone(),
            text: text.into(),
            ..Message::default()
        };
        self.say(status, &said)
    }

    /// The same page for whatever is not there: a guess learns nothing from it.
    fn not_found(&self) -> Response {
        if !self.limits.stranger(Instant::now()) {
            return self.busy();
        }
        self.plain(StatusCode::NOT_FOUND, self.words().not_found)
    }

    fn busy(&self) -> Response {
        let mut response = self.plain(StatusCode::TOO_MANY_REQUESTS, self.words().busy);
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        response
    }

    fn fault(&self, error: &StudyError) -> Response {
        // What went wrong is for the study's author, not for its people.
        mary_platform::notice(&format!("study: {error}"));
        self.plain(StatusCode::INTERNAL_SERVER_ERROR, self.words().busy)
    }

    /// Whether a token may ask now.
    fn may(&self, token: &str) -> bool {
        let now = Instant::now();
        let hash = token_hash(token);
        if self.limits.knows(&hash) {
            self.limits.person(hash, now)
        } else {
            !self.limits.strangers_waiting(now)
        }
    }

    async fn view(&self, token: &str) -> Result<View, Box<Response>> {
        if !self.may(token) {
            return Err(Box::new(self.busy()));
        }
        let looking = self.session.looking(token, self.session.now());
        match self.session.store.call(looking).await {
            Ok(Some(view)) => {
                // From now on counted by themselves.
                if !self.limits.knows(&token_hash(token)) {
                    self.limits.person(token_hash(token), Instant::now());
                }
                Ok(view)
            }
            Ok(None) => Err(Box::new(self.not_found())),
            Err(error) => Err(Box::new(self.fault(&error))),
        }
    }

    fn page(&self, token: &str, view: &View, notice: &str, status: StatusCode) -> Response {
        let study = &self.session.study;
        let (settings, w) = (&study.settings, self.words());
        let asked = StepPage {
            token,
            view,
            notice,
        };
        let html = match &view.step {
            Step::Trial { trial, item } => render::trial(study, &asked, *trial, *item),
            Step::Check { number, attempt } => match settings.checks.get(*number) {
                Some(check) => {
                    let again = check.kind == CheckKind::Comprehension && *attempt > 0;
                    let text = format!("{}\n\n{}", w.wrong_check, settings.instructions);
                    let notice = if again { &text } else { notice };
                    render::check(study, &StepPage { notice, ..asked }, check)
                }
                None => return self.not_found(),
            },
            Step::Instructions => {
                let fields = [("step", view.step.id()), ("key", view.key.clone())];
                let said = Message {
                    heading: w.instructions.into(),
                    text: settings.instructions.clone(),
                    form: Some(Buttons {
                        action: format!("/p/{token}"),
                        fields: fields.map(|(n, v)| (n.to_owned(), v)).to_vec(),
                        buttons: vec![("answer".into(), "begin".into(), w.begin.into())],
                    }),
                    withdraw: format!("/p/{token}/withdraw"),
                    ..Message::default()
                };
                render::message(study, &said)
            }
            Step::Finished => self.ending(w.finished, &settings.platform.finished, &asked),
            Step::ScreenedOut => {
                self.ending(w.screened_out, &settings.platform.screened_out, &asked)
            }
            // Who was stopped on the way has earned what they were promised.
            Step::Closed { begun: true } => {
                self.ending(w.closed_early, &settings.platform.finished, &asked)
            }
            Step::TimedOut => return self.plain(StatusCode::GONE, w.timed_out),
            Step::Closed { begun: false } => return self.plain(StatusCode::GONE, w.closed),
        };
        (status, Html(html)).into_response()
    }

    /// A last page with a code. It is only ever made from what the store says, after the last answer is
    /// on disk.
    fn ending(&self, text: &str, code: &str, asked: &StepPage<'_>) -> String {
        let w = self.words();
        let said = Message {
            heading: w.thanks.into(),
            text: text.into(),
            code: code.into(),
            pseudonym: asked.view.person.pseudonym.clone(),
            link: self.back(code).map(|link| (link, w.back.to_owned())),
            withdraw: format!("/p/{}/withdraw", asked.token),
            ..Message::default()
        };
        render::message(&self.session.study, &said)
    }

    fn back(&self, code: &str) -> Option<String> {
        let to = &self.session.study.settings.platform.return_to;
        (!to.is_empty()).then(|| to.replace("{code}", code))
    }

    fn enters(&self, entry: &str) -> bool {
        let own = &self.session.study.secrets.entry;
        blake3::hash(entry.as_bytes()) == blake3::hash(own.as_bytes())
    }

    /// What the platform says about who comes; an error where it should and does not.
    fn platform(&self, pairs: &Pairs) -> Result<Option<PlatformIds>, ()> {
        let Some(names) = self.session.study.settings.platform.kind.parameters() else {
            return Ok(None);
        };
        let value = |name: &str| {
            let found = field(pairs, name);
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            found
                .filter(|v| !v.is_empty() && v.len() <= LONGEST_ID && v.chars().all(plain))
                .map(str::to_owned)
        };
        match names.map(value) {
            [Some(pid), study, Some(session)] => Ok(Some(PlatformIds {
                pid,
                study: study.unwrap_or_default(),
                session,
            })),
            _ => Err(()),
        }
    }
}

async fn consent(
    State(server): Shared,
    Path(entry): Path<String>,
    Query(pairs): Query<Pairs>,
    headers: HeaderMap,
) -> Response {
    if !server.enters(&entry) {
        return server.not_found();
    }
    if let Some(token) = cookie(&headers) {
        let looking = server.session.looking(&token, server.session.now());
        if let Ok(Some(_)) = server.session.store.call(looking).await {
            return Redirect::to(&format!("/p/{token}")).into_response();
        }
    }
    let study = &server.session.study;
    let w = server.words();
    if server.platform(&pairs).is_err() {
        return server.plain(StatusCode::BAD_REQUEST, w.not_found);
    }
    // Nobody reads a consent and agrees to it only to hear that it was in vain.
    match server.session.store.call(store::admission).await {
        Ok(Admission::Open) => {}
        Ok(Admission::LettingFinish | Admission::Closed) => {
            return server.plain(StatusCode::GONE, w.closed);
        }
        Err(error) => return server.fault(&error),
    }
    // What the platform said goes through the form; nothing is kept before somebody agrees.
    let known = study.settings.platform.kind.parameters();
    let mine = |name: &str| known.is_some_and(|names| names.contains(&name));
    let mut fields: Pairs = pairs.into_iter().filter(|(n, _)| mine(n)).collect();
    fields.push(("ticket".into(), server.session.ticket()));
    let text = format!("{}\n\n{}", study.settings.consent.text, study.settings.pay);
    let said = Message {
        heading: w.consent.into(),
        text,
        form: Some(Buttons {
            action: format!("/s/{entry}"),
            fields,
            buttons: vec![
                ("agree".into(), "yes".into(), w.agree.into()),
                ("agree".into(), "no".into(), w.disagree.into()),
            ],
        }),
        ..Message::default()
    };
    server.say(StatusCode::OK, &said)
}

fn field<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(n, _)| n == name);
    found.map(|(_, value)| value.as_str())
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let all = headers.get(header::COOKIE)?.to_str().ok()?;
    let own = all
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == COOKIE)?;
    let plain = own.1.len() == 26 && own.1.chars().all(|c| c.is_ascii_alphanumeric());
    plain.then(|| own.1.to_owned())
}

/// Whether they agree; who does gets a place and a link of their own.
async fn agree(
    State(server): Shared,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(entry): Path<String>,
    headers: HeaderMap,
    body: axum::Form<Pairs>,
) -> Response {
    if !server.enters(&entry) {
        return server.not_found();
    }
    let pairs = body.0;
    let w = server.words();
    let settings = &server.session.study.settings;
    if field(&pairs, "agree") != Some("yes") {
        let code = &settings.platform.no_consent;
        let said = Message {
            heading: w.thanks.into(),
            text: w.declined.into(),
            code: code.clone(),
            link: server.back(code).map(|link| (link, w.back.to_owned())),
            ..Message::default()
        };
        return server.say(StatusCode::OK, &said);
    }
    let Ok(platform) = server.platform(&pairs) else {
        return server.plain(StatusCode::BAD_REQUEST, w.not_found);
    };
    let from = peer.address(&headers);
    let Some(neighbours) = server.limits.attempt(from, Instant::now()) else {
        return server.busy();
    };
    let ticket = field(&pairs, "ticket");
    let Some(token) = ticket.and_then(|t| server.session.ticket_token(t)) else {
        return server.plain(StatusCode::BAD_REQUEST, w.not_found);
    };
    let now = server.session.now();
    let among = Some(neighbours);
    let work = server.session.joining_among(&token, platform, among, now);
    match server.session.store.call(work).await {
        Ok(Ok(_)) => {
            server.limits.joined(token_hash(&token), Instant::now());
            let mut response = Redirect::to(&format!("/p/{token}")).into_response();
            let https = headers
                .get("x-forwarded-proto")
                .is_some_and(|proto| proto == "https");
            let secure = if https { "; Secure" } else { "" };
            let cookie = format!(
                "{COOKIE}={token}; Path=/s/{entry}; HttpOnly; SameSite=Lax; Max-Age=2592000{secure}"
            );
            if let Ok(value) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(header::SET_COOKIE, value);
            }
            response
        }
        Ok(Err(NoPlace::Full)) => server.plain(StatusCode::SERVICE_UNAVAILABLE, w.full),
        Ok(Err(NoPlace::Closed)) => server.plain(StatusCode::GONE, w.closed),
        Ok(Err(NoPlace::Crowded)) => server.plain(StatusCode::SERVICE_UNAVAILABLE, w.crowded),
        Ok(Err(NoPlace::Again)) => server.plain(StatusCode::CONFLICT, w.again),
        Err(error) => server.fault(&error),
    }
}

async fn step(State(server): Shared, Path(token): Path<String>) -> Response {
    match server.view(&token).await {
        Ok(view) => server.page(&token, &view, "", StatusCode::OK),
        Err(response) => *response,
    }
}

/// Takes an answer in; the browser is sent on only after it is on disk.
async fn answer(
    State(server): Shared,
    Path(token): Path<String>,
    body: axum::Form<Pairs>,
) -> Response {
    if !server.may(&token) {
        return server.busy();
    }
    let work = server
        .session
        .submitting(&token, submission(body.0), server.session.now());
    let w = server.words();
    match server.session.store.call(work).await {
        Ok(Ok(_)) => Redirect::to(&format!("/p/{token}")).into_response(),
        Ok(Err(Refusal::Unknown)) => server.not_found(),
        Ok(Err(Refusal::Unreadable)) => match server.view(&token).await {
            Ok(view) => server.page(
                &token,
                &view,
                w.unreadable,
                StatusCode::UNPROCESSABLE_ENTITY,
            ),
            Err(response) => *response,
        },
        Ok(Err(Refusal::NotNow)) => {
            let said = Message {
                heading: server.session.study.settings.title.clone(),
                text: w.conflict.into(),
                link: Some((format!("/p/{token}"), w.go_on.into())),
                ..Message::default()
            };
            server.say(StatusCode::CONFLICT, &said)
        }
        // The page says whether the place or the study has ended, with the code where one is due.
        Ok(Err(Refusal::Over)) => Redirect::to(&format!("/p/{token}")).into_response(),
        Err(error) => server.fault(&error),
    }
}

/// Reads a form. Times and sizes that make no sense are left out, not believed.
fn submission(pairs: Pairs) -> Submission {
    let mut sent = Submission::default();
    let (mut width, mut height) = (None, None);
    let time = |v: &str| v.parse().ok().filter(|t: &f64| (0.0..1e9).contains(t));
    let count = |v: &str| v.parse().ok().filter(|n: &i64| (0..100_000).contains(n));
    for (name, value) in pairs {
        match name.as_str() {
            "step" => sent.step = value,
            "key" => sent.key = value,
            "answer" => sent.values.push(value),
            "rt" => sent.rt = time(&value),
            "elapsed" => sent.elapsed = time(&value),
            "times" => {
                let all: Option<Vec<f64>> = value.split(' ').map(time).collect();
                sent.times = all.unwrap_or_default();
            }
            "blurs" => sent.blurs = count(&value),
            "width" => width = count(&value),
            "height" => height = count(&value),
            "input" => {
                sent.input = ["key", "mouse", "touch"]
                    .contains(&value.as_str())
                    .then_some(value);
            }
            _ => {}
        }
    }
    sent.window = width.zip(height);
    sent
}

/// A picture of the question at hand, and of no other.
async fn picture(
    State(server): Shared,
    Path((token, trial, number)): Path<(String, usize, usize)>,
) -> Response {
    if !server.may(&token) {
        return server.busy();
    }
    let looking = server.session.peeking(&token, server.session.now());
    let step = match server.session.store.call(looking).await {
        Ok(Some(step)) => step,
        Ok(None) => return server.not_found(),
        Err(error) => return server.fault(&error),
    };
    let Step::Trial { trial: at, item } = step else {
        return server.not_found();
    };
    let question = server.session.study.questions.get(item);
    let parts = question.filter(|_| at == trial).map(|q| q.parts.iter());
    let mut pictures = parts.into_iter().flatten().filter_map(|part| match part {
        Part::Image(image) => Some(image),
        Part::Text(_) => None,
    });
    match pictures.nth(number) {
        Some(image) => {
            let kind = HeaderValue::from_str(&image.media_type)
                .unwrap_or(HeaderValue::from_static("application/octet-stream"));
            ([(header::CONTENT_TYPE, kind)], image.data.clone()).into_response()
        }
        None => server.not_found(),
    }
}
