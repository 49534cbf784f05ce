//! Simulated people before the real page: an HTTP client that posts the forms it is given, many at
//! once. What the server acknowledged is written down here, to be held against the store
//! afterwards; a connection that breaks is taken up again with the same form, as a browser's reload
//! does.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mary_platform::percent_encoded;

use super::Simulation;
use crate::keys::Keys;
use crate::session::Session;

/// Serves a study on a port of its own in the background, for as long as the process lives.
pub fn served(session: Session) -> io::Result<SocketAddr> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::Builder::new()
        .name("study-server".into())
        .spawn(move || {
            let local = SocketAddr::from(([127, 0, 0, 1], 0));
            // Who waits for the address is told by the channel's end when this fails.
            let _ = crate::server::serve(session, local, &mut |bound| {
                let _ = tell.send(bound);
            });
        })?;
    told.recv()
        .map_err(|_| io::ErrorKind::AddrNotAvailable.into())
}

#[derive(Debug, Default)]
pub struct Report {
    pub finished: usize,
    pub turned_away: usize,
    pub acknowledged: Vec<(String, String, Vec<String>)>,
    /// Seconds that each post of an answer took.
    pub latencies: Vec<f64>,
    pub broken: usize,
    pub seconds: f64,
}

struct Page {
    status: u16,
    location: Option<String>,
    body: String,
}

/// One connection, opened again when it breaks.
struct Client<'a> {
    address: &'a dyn Fn() -> SocketAddr,
    stream: Option<BufReader<TcpStream>>,
    broken: usize,
    stop: &'a AtomicBool,
    /// As a reverse proxy names where somebody comes from: simulated people come from different places.
    from: Ipv4Addr,
}

impl Client<'_> {
    fn exchange(&mut self, request: &str) -> io::Result<Page> {
        if self.stream.is_none() {
            let stream = TcpStream::connect((self.address)())?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(120)))?;
            self.stream = Some(BufReader::new(stream));
        }
        let Some(stream) = self.stream.as_mut() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|s| s.parse().ok());
        let status = status.ok_or(io::ErrorKind::UnexpectedEof)?;
        let (mut length, mut location) = (0usize, None);
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            } else if name.eq_ignore_ascii_case("location") {
                location = Some(value.trim().to_owned());
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok(Page {
            status,
            location,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }

    /// Asks until there is an answer: a server that is gone comes back.
    fn ask(&mut self, request: &str) -> Option<Page> {
        loop {
            match self.exchange(request) {
                Ok(page) if page.status == 429 => std::thread::sleep(Duration::from_millis(200)),
                Ok(page) => return Some(page),
                Err(_) => {
                    self.stream = None;
                    self.broken += 1;
                    if self.stop.load(Ordering::Relaxed) {
                        return None;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    fn get(&mut self, path: &str) -> Option<Page> {
        let from = self.from;
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: study\r\nX-Forwarded-For: {from}\r\n\r\n"
        ))
    }

    fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Option<Page> {
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", percent_encoded(value)))
            .collect();
        let (body, from) = (body.join("&"), self.from);
        self.ask(&format!(
            "POST {path} HTTP/1.1\r\nHost: study\r\nX-Forwarded-For: {from}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }
}

fn hidden<'p>(page: &'p str, name: &str) -> Option<&'p str> {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Lets `people` simulated people, `at_once` of them at a time, take part at `address` (asked anew for each
/// connection, since a server that is started again may listen elsewhere). `session` gives the questions and
/// orders from which answers are drawn; nothing is written through it.
pub fn through_page(
    session: &Session,
    keys: &Keys,
    simulation: &Simulation,
    people: usize,
    at_once: usize,
    address: &(dyn Fn() -> SocketAddr + Sync),
) -> Report {
    let begun = Instant::now();
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let all = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(people).max(1) {
            scope.spawn(|| {
                let mut own = Report::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= people {
                        break;
                    }
                    let mut client = Client {
                        address,
                        stream: None,
                        broken: 0,
                        stop: &stop,
                        from: Ipv4Addr::from_bits(
                            0x0a00_0000 | u32::try_from(number % (1 << 24)).unwrap_or(0),
                        ),
                    };
                    one(&mut client, session, keys, simulation, &mut own);
                    own.broken += client.broken;
                }
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.finished += own.finished;
                all.turned_away += own.turned_away;
                all.broken += own.broken;
                all.acknowledged.append(&mut own.acknowledged);
                all.latencies.append(&mut own.latencies);
            });
        }
    });
    let mut report = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.seconds = begun.elapsed().as_secs_f64();
    report
}

/// One person from the link to the last page.
fn one(
    client: &mut Client<'_>,
    session: &Session,
    keys: &Keys,
    simulation: &Simulation,
    report: &mut Report,
) -> Option<()> {
    let study = &session.study;
    let entry = format!("/s/{}", study.secrets.entry);
    let consent = client.get(&entry)?;
    let Some(ticket) = hidden(&consent.body, "ticket") else {
        report.turned_away += 1;
        return None;
    };
    let joined = client.post(&entry, &[("agree", "yes"), ("ticket", ticket)])?;
    let Some(own) = joined.location else {
        report.turned_away += 1;
        return None;
    };
    let token = own.rsplit('/').next().unwrap_or_default().to_owned();
    let place = place_of(session, &token)?;
    loop {
        let page = client.get(&own)?;
        let (Some(step), Some(key)) = (hidden(&page.body, "step"), hidden(&page.body, "key"))
        else {
            // The last page has no form.
            report.finished += usize::from(page.status == 200);
            return Some(());
        };
        let mut times = Vec::new();
        let (values, rt) = if let Some(trial) = step.strip_prefix("trial-") {
            let trial: usize = trial.parse().ok()?;
            let item = *study.design().list(place).get(trial)?;
            let order = study.order(place, item);
            let question = study.questions.get(item)?;
            times = simulation.times(place, item, question);
            simulation.answer(place, item, question, keys, &order)
        } else if let Some(check) = step.strip_prefix("check-") {
            let number: usize = check.split('-').next()?.parse().ok()?;
            let right = study.settings.checks.get(number)?.answer - 1;
            (vec![right.to_string()], 1_000.0)
        } else {
            (vec!["begin".to_owned()], 1_000.0)
        };
        let rt = format!("{rt:.1}");
        let times: Vec<String> = times.iter().map(|t| format!("{t:.1}")).collect();
        let times = times.join(" ");
        let mut fields = vec![
            ("step", step),
            ("key", key),
            ("rt", rt.as_str()),
            ("input", "key"),
            ("times", times.as_str()),
        ];
        fields.extend(values.iter().map(|v| ("answer", v.as_str())));
        let asked = Instant::now();
        let answer = client.post(&own, &fields)?;
        report.latencies.push(asked.elapsed().as_secs_f64());
        if answer.status == 303 {
            report
                .acknowledged
                .push((token.clone(), step.to_owned(), values));
        }
    }
}

/// The place of a token. The page does not say it, so that it is read from the store.
fn place_of(session: &Session, token: &str) -> Option<usize> {
    let hash = crate::session::token_hash(token);
    let database = session.study.database();
    // A connection of its own, reading only: the server may be another process.
    let connection =
        rusqlite::Connection::open_with_flags(database, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .ok()?;
    connection.busy_timeout(Duration::from_secs(30)).ok()?;
    let place: i64 = connection
        .query_row(
            "SELECT place FROM people WHERE token = ?1",
            [hash.as_slice()],
            |row| row.get(0),
        )
        .ok()?;
    usize::try_from(place).ok()
}
