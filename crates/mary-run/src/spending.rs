//! What a run has spent, on disk while it goes on, so that a budget holds over interruptions.
//!
//! The log cannot tell: answers that came from the cache carry the price somebody paid for them
//! once, and answers that were paid for and came broken are not in it. The file holds three numbers
//! and is overwritten in place whenever one changes; it has the same length whatever they are, so
//! that a kill leaves whole ones:
//!
//! - `dollars`: what answers cost that came.
//! - `in_flight`: what is set aside for requests under way. It is written *before* a request leaves,
//!   so that after a kill it is known what may have been paid for without an answer.
//! - `unsure`: what was in flight at earlier kills. It counts as spent.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mary_contract::{Event, EventObserver, StoreError, read_plain, writable_place};
use mary_remote::Ledger;
use serde_json::Value;

const FILE: &str = "spent.json";
/// The file is a few numbers.
const LARGEST: u64 = 1 << 16;

/// What a run has spent.
pub struct Spending {
    path: PathBuf,
    ledger: Ledger,
    book: Arc<Mutex<Book>>,
}

/// The file while the run goes on.
struct Book {
    path: PathBuf,
    file: Option<File>,
    /// What the ledger held for others before this run.
    others: f64,
    unsure: f64,
    error: Option<io::Error>,
}

impl Spending {
    /// Takes what the run spent before into the ledger, and from now on notes every change.
    pub fn open(run: &Path, ledger: &Ledger) -> Result<Self, StoreError> {
        let path = run.join(FILE);
        let others = ledger.spent();
        let (dollars, unsure) = before(&path)?;
        if dollars + unsure > 0.0 {
            ledger.add_spent(dollars + unsure);
        }
        let book = Arc::new(Mutex::new(Book {
            path: path.clone(),
            file: None,
            others,
            unsure,
            error: None,
        }));
        let watching = Arc::clone(&book);
        ledger.watch(move |spent, in_flight| {
            let mut book = watching.lock().unwrap_or_else(PoisonError::into_inner);
            book.note(spent, in_flight);
        });
        Ok(Self {
            path,
            ledger: ledger.clone(),
            book,
        })
    }

    /// Dollars spent so far, by this command and those before it.
    pub fn spent(&self) -> f64 {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        self.ledger.spent() - book.others
    }

    /// Says whether every change could be written down.
    pub fn note(&mut self) -> Result<(), StoreError> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        match book.error.take() {
            None => Ok(()),
            Some(source) => Err(StoreError::Io {
                path: self.path.clone(),
                source,
            }),
        }
    }
}

impl Drop for Spending {
    fn drop(&mut self) {
        self.ledger.unwatch();
    }
}

impl Book {
    fn note(&mut self, spent: f64, in_flight: f64) {
        let dollars = (spent - self.others - self.unsure).max(0.0);
        // Models that cost nothing leave no file.
        if self.file.is_none() && dollars + self.unsure + in_flight <= 0.0 {
            return;
        }
        if let Err(error) = self.write(dollars, in_flight) {
            self.error.get_or_insert(error);
        }
    }

    fn write(&mut self, dollars: f64, in_flight: f64) -> io::Result<()> {
        let text = format!(
            "{{\"dollars\": {dollars:20.9}, \"in_flight\": {in_flight:20.9}, \"unsure\": {:20.9}}}\n",
            self.unsure
        );
        let file = match &mut self.file {
            Some(file) => file,
            empty => {
                writable_place(&self.path)?;
                let file = OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&self.path)?;
                empty.insert(file)
            }
        };
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())
    }
}

/// What the file says: dollars that answers cost, and dollars that may have been paid for nothing.
fn before(path: &Path) -> Result<(f64, f64), StoreError> {
    let bytes = match read_plain(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((0.0, 0.0)),
        Err(source) => {
            return Err(StoreError::Io {
                path: path.to_owned(),
                source,
            });
        }
    };
    // Killed between making the file and its first number.
    if bytes.is_empty() {
        return Ok((0.0, 0.0));
    }
    let value: Option<Value> = serde_json::from_slice(&bytes).ok();
    let number = |name: &str| {
        let number = value.as_ref()?.get(name)?.as_f64()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    let dollars = number("dollars").ok_or_else(|| StoreError::Corrupt {
        path: path.to_owned(),
        line: 1,
        message: "expected {\"dollars\": …}, what this run has spent".into(),
        hint: "correct the number, or delete the file to count from nothing".into(),
    })?;
    // Files of earlier versions have the first number only.
    let more = |name| number(name).unwrap_or(0.0);
    Ok((dollars, more("in_flight") + more("unsure")))
}

impl EventObserver for Spending {
    fn observe(&mut self, event: &Event<'_>) -> Result<(), StoreError> {
        match event {
            Event::Answered {
                recalled: false, ..
            } => self.note(),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(folder: &Path) -> Value {
        serde_json::from_slice(&std::fs::read(folder.join(FILE)).unwrap()).unwrap()
    }

    #[test]
    fn what_was_spent_is_found_again_and_free_runs_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new();
        let mut spending = Spending::open(folder.path(), &ledger).unwrap();
        ledger.add_spent(0.0);
        spending.note().unwrap();
        assert!(!folder.path().join(FILE).exists());
        for cost in [0.25, 1234.5, 1e-7] {
            ledger.add_spent(cost);
            spending.note().unwrap();
        }
        let length = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        drop(spending);
        let later = Ledger::new();
        let spending = Spending::open(folder.path(), &later).unwrap();
        assert!((later.spent() - 1_234.750_000_1).abs() < 1e-9);
        later.add_spent(1.0);
        assert!((spending.spent() - 1_235.750_000_1).abs() < 1e-9);
        assert_eq!(
            std::fs::metadata(folder.path().join(FILE)).unwrap().len(),
            length
        );
    }

    #[test]
    fn what_was_in_flight_at_a_kill_counts_as_spent() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new();
        let spending = Spending::open(folder.path(), &ledger).unwrap();
        ledger.add_spent(0.5);
        let promise = futures_lite_block(ledger.promise(0.125)).unwrap();
        let file = read(folder.path());
        assert_eq!(
            (&file["dollars"], &file["in_flight"]),
            (&0.5.into(), &0.125.into())
        );
        // The process dies here: nobody gives anything back.
        std::mem::forget(promise);
        std::mem::forget(spending);
        let later = Ledger::new();
        let spending = Spending::open(folder.path(), &later).unwrap();
        assert_eq!(spending.spent(), 0.625);
        later.add_spent(0.25);
        let file = read(folder.path());
        assert_eq!(
            (&file["dollars"], &file["unsure"]),
            (&0.75.into(), &0.125.into())
        );
    }

    /// A future that is ready at once.
    fn futures_lite_block<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(value) => value,
            std::task::Poll::Pending => unreachable!("nothing is under way"),
        }
    }

    #[test]
    fn runs_that_share_a_ledger_keep_their_own_books() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ledger = Ledger::new();
        let first = Spending::open(one.path(), &ledger).unwrap();
        ledger.add_spent(1.0);
        drop(first);
        let second = Spending::open(two.path(), &ledger).unwrap();
        ledger.add_spent(0.5);
        assert_eq!((second.spent(), ledger.spent()), (0.5, 1.5));
        assert_eq!(read(one.path())["dollars"], 1.0);
        assert_eq!(read(two.path())["dollars"], 0.5);
    }

    #[test]
    fn old_files_are_read_and_damaged_ones_are_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "{\"dollars\":  1.5}\n").unwrap();
        let spending = Spending::open(folder.path(), &Ledger::new()).unwrap();
        assert_eq!(spending.spent(), 1.5);
        std::fs::write(folder.path().join(FILE), "{\"dollars\": }").unwrap();
        let error = Spending::open(folder.path(), &Ledger::new()).err().unwrap();
        assert!(error.to_string().contains("spent.json"), "{error}");
    }
}
