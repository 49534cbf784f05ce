//! The thread that commits answers in batches.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mary_contract::{Key, StoreError};
use rusqlite::Connection;

use super::database::{self, Row, said};
use super::patience::patiently;
use crate::fault::{Result, io_at};

/// A batch is committed when it has this many rows …
const BATCH_ROWS: usize = 1_000;
/// … or when its first row has waited this long: a paid answer is on its way to disk at once, and
/// answers that come in a flood still share a commit.
const BATCH_AGE: Duration = Duration::from_millis(2);
/// Who hands over faster than the disk writes waits beyond these.
const MOST_ROWS: usize = 16_000;
const MOST_BYTES: usize = 64 << 20;

#[derive(Default)]
struct Shared {
    /// Handed over, not committed; readers look here first.
    waiting: HashMap<Key, Arc<[u8]>>,
    rows: Vec<Row>,
    bytes: usize,
    since: Option<Instant>,
    /// Batches committed so far: a reader's view older than the last one lacks rows that are no
    /// longer waiting.
    commits: u64,
    in_hand: usize,
    flush: bool,
    stop: bool,
    error: Option<StoreError>,
    #[cfg(test)]
    page_limit: Option<u32>,
}

struct Post {
    shared: Mutex<Shared>,
    work: Condvar,
    done: Condvar,
}

impl Post {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where an answer is that may not be committed yet.
pub(super) enum Pending {
    Waiting(Arc<[u8]>),
    /// Not here; the database has it if it was among this many commits.
    NotHere {
        commits: u64,
    },
}

pub(super) struct Writer {
    post: Arc<Post>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(path: &Path, connection: Connection) -> Result<Self> {
        let post = Arc::new(Post {
            shared: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let thread = std::thread::Builder::new()
            .name("response-cache".into())
            .spawn({
                let (post, path) = (Arc::clone(&post), path.to_owned());
                move || serve(&post, &path, connection)
            })
            .map_err(io_at(path))?;
        Ok(Self {
            post,
            thread: Some(thread),
        })
    }

    /// The stored form of an answer that is not committed yet.
    pub(super) fn pending(&self, key: &Key) -> Pending {
        let shared = self.post.lock();
        match shared.waiting.get(key) {
            Some(reply) => Pending::Waiting(Arc::clone(reply)),
            None => Pending::NotHere {
                commits: shared.commits,
            },
        }
    }

    /// Takes a row. An error is one of an earlier batch, whose rows are still here and are tried
    /// again.
    pub(super) fn hand_over(&self, row: Row) -> Result<()> {
        let mut shared = self.post.lock();
        while shared.error.is_none()
            && (shared.rows.len() + shared.in_hand >= MOST_ROWS || shared.bytes >= MOST_BYTES)
        {
            shared = wait(&self.post.done, shared);
        }
        shared.bytes += row.reply.len();
        shared
            .waiting
            .insert(row.key.clone(), Arc::clone(&row.reply));
        shared.rows.push(row);
        shared.since.get_or_insert_with(Instant::now);
        let wake = shared.rows.len() == 1 || shared.rows.len() == BATCH_ROWS;
        let error = shared.error.take();
        drop(shared);
        if wake || error.is_some() {
            self.post.work.notify_one();
        }
        error.map_or(Ok(()), Err)
    }

    /// Returns when everything handed over is committed, or with what went wrong.
    pub(super) fn flush(&self) -> Result<()> {
        let mut shared = self.post.lock();
        shared.error = None;
        while shared.error.is_none() && !(shared.rows.is_empty() && shared.in_hand == 0) {
            shared.flush = true;
            self.post.work.notify_one();
            shared = wait(&self.post.done, shared);
        }
        shared.error.take().map_or(Ok(()), Err)
    }

    #[cfg(test)]
    pub(super) fn limit_pages(&self, pages: u32) {
        self.post.lock().page_limit = Some(pages);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.post.lock().stop = true;
        self.post.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has already been printed; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

fn wait<'a>(condition: &Condvar, shared: MutexGuard<'a, Shared>) -> MutexGuard<'a, Shared> {
    condition
        .wait(shared)
        .unwrap_or_else(PoisonError::into_inner)
}

fn serve(post: &Post, path: &Path, mut connection: Connection) {
    let mut shared = post.lock();
    loop {
        let due = shared.since.map(|t| t + BATCH_AGE);
        let left = due.map(|d| d.saturating_duration_since(Instant::now()));
        let failed = shared.error.is_some();
        let ready = !shared.rows.is_empty()
            && (shared.flush
                || shared.stop
                || (!failed && (shared.rows.len() >= BATCH_ROWS || left == Some(Duration::ZERO))));
        if !ready {
            if shared.stop {
                return;
            }
            shared = match left {
                // An error waits for somebody to hear of it before the next try.
                Some(left) if !failed && !left.is_zero() => {
                    post.work
                        .wait_timeout(shared, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                _ => wait(&post.work, shared),
            };
            continue;
        }
        let rows = std::mem::take(&mut shared.rows);
        shared.in_hand = rows.len();
        shared.since = None;
        shared.flush = false;
        #[cfg(test)]
        if let Some(pages) = shared.page_limit.take() {
            let _ = connection.pragma_update(None, "max_page_count", pages);
        }
        drop(shared);
        let result = patiently(|| database::insert(&mut connection, &rows));
        shared = post.lock();
        shared.in_hand = 0;
        match result {
            Ok(()) => settle(&mut shared, &rows),
            Err(e) => {
                // The rows go back to the front of the queue.
                let later = std::mem::replace(&mut shared.rows, rows);
                shared.rows.extend(later);
                shared.since.get_or_insert_with(Instant::now);
                shared.error = Some(said(path)(e));
            }
        }
        let give_up = shared.stop && shared.error.is_some();
        post.done.notify_all();
        if give_up {
            return;
        }
    }
}

fn settle(shared: &mut Shared, rows: &[Row]) {
    shared.commits += 1;
    for row in rows {
        shared.bytes = shared.bytes.saturating_sub(row.reply.len());
        // A newer answer of the same name may be waiting already.
        if shared
            .waiting
            .get(&row.key)
            .is_some_and(|b| Arc::ptr_eq(b, &row.reply))
        {
            shared.waiting.remove(&row.key);
        }
    }
}
