//! A hub on loopback with all the ways in which the real one breaks, each planned beforehand. It
//! keeps the books: what was asked, what was sent, and whether a token went where it must not go.
//! HTTP is written by hand, because a library would not let it cut an answer in half.

mod answers;
mod repository;

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use repository::HubRepository;

use crate::raw_server::{Heard, read};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubFault {
    /// 429 with `Retry-After` in seconds.
    TooMany(u64),
    /// 503.
    Unavailable,
    /// The connection closes after so many bytes of the content.
    CutAfter(usize),
    /// The connection closes before any answer.
    Hangup,
    /// One byte of the content is another.
    WrongByte,
    /// 403 from the storage: the signed link is too old.
    Expired,
    /// The whole content, whatever part was asked for.
    WholeInstead,
    /// The content, and so many bytes behind it.
    Longer(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubRequest {
    /// `GET` or `HEAD`.
    pub method: String,
    /// Path and query; of the storage `/store/HASH?…`.
    pub path: String,
    /// First byte asked for, where a part was.
    pub from: Option<u64>,
    pub token: Option<String>,
    /// It came to the storage, not to the hub.
    pub storage: bool,
    /// The answer's status; 0 where there was none.
    pub status: u16,
    pub sent: u64,
}

#[derive(Debug)]
struct Planned {
    part: String,
    fault: HubFault,
    left: u32,
}

#[derive(Default)]
struct State {
    repositories: BTreeMap<String, HubRepository>,
    planned: Vec<Planned>,
    requests: Vec<HubRequest>,
    /// Answers that are being written: a client may have read one before it is in the books.
    answering: usize,
    signed: u64,
    hub: String,
    storage: String,
}

/// A running hub. It stops when dropped.
pub struct HubServer {
    state: Arc<Mutex<State>>,
    addresses: [SocketAddr; 2],
    stop: Arc<AtomicBool>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The books once every answer that was begun is in them. A client that left in the middle of one
/// may keep its thread busy for a while, so the wait has an end.
fn settled(state: &Mutex<State>) -> MutexGuard<'_, State> {
    for _ in 0..2000 {
        let books = lock(state);
        if books.answering == 0 {
            return books;
        }
        drop(books);
        std::thread::sleep(Duration::from_millis(5));
    }
    lock(state)
}

impl HubServer {
    pub fn start() -> std::io::Result<Self> {
        let hub = TcpListener::bind("127.0.0.1:0")?;
        let storage = TcpListener::bind("127.0.0.1:0")?;
        let addresses = [hub.local_addr()?, storage.local_addr()?];
        let state = Arc::new(Mutex::new(State {
            hub: format!("http://{}", addresses[0]),
            storage: format!("http://{}", addresses[1]),
            ..State::default()
        }));
        let stop = Arc::new(AtomicBool::new(false));
        for (listener, is_storage) in [(hub, false), (storage, true)] {
            let (state, stop) = (Arc::clone(&state), Arc::clone(&stop));
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let state = Arc::clone(&state);
                    std::thread::spawn(move || {
                        // A broken connection is what this server is for.
                        let _ = serve(stream, &state, is_storage);
                    });
                }
            });
        }
        Ok(Self {
            state,
            addresses,
            stop,
        })
    }

    /// What `HF_ENDPOINT` should say.
    pub fn endpoint(&self) -> String {
        lock(&self.state).hub.clone()
    }

    /// Puts a repository on the hub, or in place of the one of its name.
    pub fn put(&self, repository: HubRepository) {
        let mut state = lock(&self.state);
        state
            .repositories
            .insert(repository.id().to_owned(), repository);
    }

    /// The next requests whose path contains `part` break; earlier plans come first.
    pub fn plan(&self, part: &str, fault: HubFault, times: u32) {
        lock(&self.state).planned.push(Planned {
            part: part.to_owned(),
            fault,
            left: times,
        });
    }

    /// Forgets what was planned and has not happened.
    pub fn calm(&self) {
        lock(&self.state).planned.clear();
    }

    pub fn requests(&self) -> Vec<HubRequest> {
        settled(&self.state).requests.clone()
    }

    /// Bytes of content that the storage sent.
    pub fn stored_bytes_sent(&self) -> u64 {
        let state = settled(&self.state);
        state
            .requests
            .iter()
            .filter(|r| r.storage)
            .map(|r| r.sent)
            .sum()
    }
}

impl Drop for HubServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for address in self.addresses {
            // Wakes the listener, so that it sees that it should stop.
            let _ = TcpStream::connect(address);
        }
    }
}

impl Heard {
    /// First byte asked for, where a part is.
    fn range(&self) -> Option<u64> {
        let range = self.header("range")?.strip_prefix("bytes=")?;
        range.trim_end_matches('-').parse().ok()
    }
}

struct Outgoing {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn serve(stream: TcpStream, state: &Mutex<State>, storage: bool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some(incoming) = read(&mut reader)? {
        let (outgoing, fault) = {
            let mut state = lock(state);
            let fault = state.fault(&incoming);
            state.answering += 1;
            (state.answer(&incoming, storage, fault), fault)
        };
        let sent = write(&mut writer, &incoming, outgoing, fault);
        let mut state = lock(state);
        state.answering -= 1;
        state.requests.push(HubRequest {
            from: incoming.range(),
            token: incoming.token().map(str::to_owned),
            method: incoming.method,
            path: incoming.path,
            storage,
            status: sent.0,
            sent: sent.1,
        });
        if sent.2 {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes the answer: its status, the bytes of content sent, and whether the connection is over.
fn write(
    writer: &mut TcpStream,
    incoming: &Heard,
    outgoing: Outgoing,
    fault: Option<HubFault>,
) -> (u16, u64, bool) {
    if fault == Some(HubFault::Hangup) {
        return (0, 0, true);
    }
    let mut head = format!("HTTP/1.1 {} Answer\r\n", outgoing.status);
    for (name, value) in &outgoing.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !outgoing.headers.iter().any(|(n, _)| n == "content-length") {
        head.push_str(&format!("content-length: {}\r\n", outgoing.body.len()));
    }
    head.push_str("\r\n");
    if writer.write_all(head.as_bytes()).is_err() {
        return (outgoing.status, 0, true);
    }
    if incoming.method == "HEAD" {
        return (outgoing.status, 0, false);
    }
    let cut = match fault {
        Some(HubFault::CutAfter(bytes)) if outgoing.status < 300 => bytes,
        _ => usize::MAX,
    };
    let body = outgoing.body.get(..cut).unwrap_or(&outgoing.body);
    let whole = body.len() == outgoing.body.len();
    let sent = if writer.write_all(body).is_ok() {
        body.len() as u64
    } else {
        0
    };
    let content = if outgoing.status < 300 { sent } else { 0 };
    (outgoing.status, content, !whole)
}

impl State {
    /// The first plan that concerns this request and is not used up.
    fn fault(&mut self, incoming: &Heard) -> Option<HubFault> {
        let planned = self
            .planned
            .iter_mut()
            .find(|p| p.left > 0 && incoming.path.contains(&p.part))?;
        // What breaks a content cannot break an answer that has none.
        let of_content = matches!(
            planned.fault,
            HubFault::CutAfter(_)
                | HubFault::WrongByte
                | HubFault::WholeInstead
                | HubFault::Longer(_)
        );
        if of_content && incoming.method == "HEAD" {
            return None;
        }
        planned.left -= 1;
        Some(planned.fault)
    }
}
