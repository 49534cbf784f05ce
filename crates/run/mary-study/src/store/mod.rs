//! People and answers in SQLite, through one thread. Whatever is asked of the store is done in the order
//! in which it came, several at once in one transaction, and nobody hears back before the transaction is
//! on disk: what was acknowledged survives a kill, and no place can be given to two people.

mod erase;
mod people;
mod schema;
mod submit;

pub use people::{
    Admission, Joined, NoPlace, Person, PersonState, PlatformIds, find_by_platform, withdraw,
};
pub use submit::{Refusal, Step, Submission, Submitted, step_key};

pub(crate) use erase::{Copy, CopyKind, cleaned, copies, note_all, pending, record};
pub use people::StoredAnswer;
pub(crate) use people::{
    Joining, Neighbours, admission, all, answers_of, close_study, failures, is_closed, join, known,
    last_seen, platform_kept, seat, stop_admission, welcome_back,
};
pub(crate) use submit::{begin_view, current, submit};

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, Params};
use tokio::sync::oneshot;

use crate::{Result, StudyError};

/// What is done with the database. It returns what is to be done once that is on disk, or is not.
type Job = Box<dyn FnOnce(&Connection) -> Acknowledge + Send>;
type Acknowledge = Box<dyn FnOnce(Result<(), rusqlite::Error>) + Send>;

enum Order {
    Job(Job),
    /// Outside of any transaction.
    Erase(oneshot::Sender<rusqlite::Result<bool>>),
}

/// Jobs that share a transaction, at most.
const BATCH: usize = 128;

/// The store. Clones share one thread; it ends with the last of them.
#[derive(Clone)]
pub struct Store {
    jobs: mpsc::Sender<Order>,
    path: PathBuf,
}

/// Joins the store's thread: everything handed in is on disk afterwards.
pub struct StoreThread(JoinHandle<()>);

impl StoreThread {
    /// Waits until every clone of the store is gone and the thread has ended.
    pub fn finish(self) {
        // A thread that panicked has told so on standard error.
        let _ = self.0.join();
    }
}

impl Store {
    /// Opens the database at a path, making it with as many places as a study has.
    pub fn open(path: &Path, places: usize) -> Result<(Self, StoreThread)> {
        crate::private::file(path).map_err(crate::error::io_at(path))?;
        let connection = schema::open(path, places).map_err(|source| StudyError::Database {
            path: path.to_owned(),
            source,
        })?;
        let (jobs, queue) = mpsc::channel::<Order>();
        let thread = std::thread::Builder::new()
            .name("study-store".into())
            .spawn(move || serve(&connection, &queue))
            .map_err(crate::error::io_at(path))?;
        let store = Self {
            jobs,
            path: path.to_owned(),
        };
        Ok((store, StoreThread(thread)))
    }

    fn send<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> oneshot::Receiver<Result<T, rusqlite::Error>> {
        let (tell, told) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let done = guarded(connection, work);
            Box::new(move |committed| {
                // Who asked may have gone away meanwhile.
                let _ = tell.send(committed.and(done));
            })
        });
        // A thread that has ended drops the job, and with it `tell`.
        let _ = self.jobs.send(Order::Job(job));
        told
    }

    /// Does something with the database and waits until it is on disk.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.told(self.send(work).await)
    }

    pub fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.told(self.send(work).blocking_recv())
    }

    /// Erases what was deleted from the database's file and its journal. Whether nothing is left: another
    /// program that reads the database keeps the journal from being emptied.
    pub fn erase(&self) -> Result<bool> {
        let (tell, told) = oneshot::channel();
        let _ = self.jobs.send(Order::Erase(tell));
        self.told(told.blocking_recv())
    }

    /// What the thread told; a thread that has ended tells nothing.
    fn told<T>(&self, told: Result<rusqlite::Result<T>, oneshot::error::RecvError>) -> Result<T> {
        let done = told.map_err(|_| StudyError::Stopped)?;
        done.map_err(|source| StudyError::Database {
            path: self.path.clone(),
            source,
        })
    }
}

/// Does a statement, compiled once; how many rows it changed.
fn execute(db: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
    db.prepare_cached(sql)?.execute(params)
}

fn exists(db: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<bool> {
    db.prepare_cached(sql)?.exists(params)
}

/// The first column of the first row, if there is one.
fn value<T: FromSql>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<Option<T>> {
    let mut select = db.prepare_cached(sql)?;
    select.query_row(params, |row| row.get(0)).optional()
}

/// One job within the transaction of its batch: an error takes back what this job did, nothing else.
fn guarded<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.execute_batch("SAVEPOINT job")?;
    let done = work(connection);
    let end = if done.is_ok() {
        "RELEASE job"
    } else {
        "ROLLBACK TO job; RELEASE job"
    };
    connection.execute_batch(end)?;
    done
}

fn serve(connection: &Connection, queue: &mpsc::Receiver<Order>) {
    while let Ok(first) = queue.recv() {
        let mut order = Some(first);
        // Whatever comes to be erased waits for the batch: it must not share a transaction.
        while let Some(next) = order.take() {
            match next {
                Order::Erase(tell) => {
                    let _ = tell.send(erase::erase(connection));
                }
                Order::Job(job) => order = batch(connection, job, queue),
            }
        }
    }
}

/// Does a job and those behind it in one transaction; an order of another kind ends it and is given back.
fn batch(connection: &Connection, first: Job, queue: &mpsc::Receiver<Order>) -> Option<Order> {
    let mut waiting = Vec::new();
    let mut other = None;
    let committed = connection.execute_batch("BEGIN IMMEDIATE").and_then(|()| {
        waiting.push(first(connection));
        while waiting.len() < BATCH
            && let Ok(next) = queue.try_recv()
        {
            match next {
                Order::Job(job) => waiting.push(job(connection)),
                erase => {
                    other = Some(erase);
                    break;
                }
            }
        }
        connection.execute_batch("COMMIT")
    });
    if committed.is_err() {
        // Nothing of it counts; who asked is told, below.
        let _ = connection.execute_batch("ROLLBACK");
    }
    let error = committed.err();
    for tell in waiting {
        tell(match &error {
            None => Ok(()),
            Some(e) => Err(again(e)),
        });
    }
    other
}

fn again(error: &rusqlite::Error) -> rusqlite::Error {
    let code = match error {
        rusqlite::Error::SqliteFailure(code, _) => *code,
        _ => rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
    };
    rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
}
