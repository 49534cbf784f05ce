//! What a run has spent, on disk while it goes on, so that a budget holds over interruptions.
//!
//! The log cannot tell: cached answers carry an old price, and broken answers that were paid for are not in
//! it. `spent.json` has three numbers at a fixed length, overwritten in place, so that a kill leaves whole
//! ones: `dollars` for answers that are kept (made again from [`PaidAnswers`] after a kill), `in_flight`,
//! written *before* a request leaves, for what may have been paid without an answer, and `unsure` for what
//! was in flight at earlier kills or came broken, which counts as spent.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mary_contract::{Account, Balance, Event, EventObserver, StoreError};
use mary_platform::{read_plain, writable_place};
use mary_store::PaidAnswers;
use serde_json::Value;

const FILE: &str = "spent.json";
/// The file is a few numbers.
const LARGEST: u64 = 1 << 16;

/// What a run has spent.
pub struct Spending<'a> {
    path: PathBuf,
    account: Option<&'a dyn Account>,
    book: SharedBook,
}

/// The file while the run goes on.
struct Book {
    path: PathBuf,
    file: Option<File>,
    /// What the account held for others before this run.
    others: Balance,
    now: Balance,
    /// Spent on answers that are kept.
    kept: f64,
    /// What was in flight at earlier kills, or lost before.
    unsure: f64,
    error: Option<io::Error>,
}

/// The file, for whoever keeps answers.
#[derive(Clone)]
pub struct SharedBook(Arc<Mutex<Book>>);

impl SharedBook {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer is kept that cost this much.
    pub fn kept(&self, dollars: f64) {
        let mut book = self.lock();
        book.kept += dollars;
        book.note();
    }
}

impl<'a> Spending<'a> {
    /// Takes earlier spending into the account and notes every change from now on; returns the paid answers.
    pub fn open(
        run: &Path,
        account: Option<&'a dyn Account>,
    ) -> Result<(Self, PaidAnswers), StoreError> {
        let path = run.join(FILE);
        let others = account.map_or_else(Balance::default, Account::balance);
        let noted = before(&path)?;
        let paid = PaidAnswers::open(run, noted.dollars)?;
        let kept = paid.dollars();
        // An answer that arrived and was not kept is asked again; its price is spent all the same.
        let unsure = noted.unsure + (noted.dollars + noted.in_flight - kept).max(0.0);
        let spent = kept + unsure;
        if let Some(account) = account.filter(|_| spent > 0.0) {
            account.add_spent(spent);
        }
        let mut book = Book {
            path: path.clone(),
            file: None,
            others,
            now: Balance {
                spent: others.spent + spent,
                ..others
            },
            kept,
            unsure,
            error: None,
        };
        book.note();
        let book = SharedBook(Arc::new(Mutex::new(book)));
        let watching = book.clone();
        if let Some(account) = account {
            account.watch(Some(Box::new(move |balance| {
                let mut book = watching.lock();
                book.now = balance;
                book.note();
            })));
        }
        let spending = Self {
            path,
            account,
            book,
        };
        Ok((spending, paid))
    }

    /// Where kept answers are noted.
    pub fn book(&self) -> SharedBook {
        self.book.clone()
    }

    /// Dollars spent so far, by this command and those before it.
    pub fn spent(&self) -> f64 {
        let book = self.book.lock();
        book.now.spent - book.others.spent
    }

    /// Says whether every change could be written down.
    pub fn note(&mut self) -> Result<(), StoreError> {
        self.said(|book| book.error.take().map_or(Ok(()), Err))
    }

    /// What was written down survives a power cut.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.said(|book| book.file.as_ref().map_or(Ok(()), File::sync_data))
    }

    fn said(&self, what: impl Fn(&mut Book) -> io::Result<()>) -> Result<(), StoreError> {
        what(&mut self.book.lock()).map_err(|source| StoreError::Io {
            path: self.path.clone(),
            source,
        })
    }
}

impl Drop for Spending<'_> {
    fn drop(&mut self) {
        if let Some(account) = self.account {
            account.watch(None);
        }
        // What arrived and was not kept until now never will be.
        let mut book = self.book.lock();
        let arrived = book.arrived();
        if arrived > 0.0 {
            book.unsure += arrived;
            book.note();
        }
    }
}

impl Book {
    fn unsure(&self) -> f64 {
        self.unsure + (self.now.lost - self.others.lost).max(0.0)
    }

    /// The price of answers that have arrived and are not kept.
    fn arrived(&self) -> f64 {
        let arrived = self.now.spent - self.others.spent - self.unsure() - self.kept;
        // Sums of fractions leave crumbs.
        if arrived < 5e-10 { 0.0 } else { arrived }
    }

    fn note(&mut self) {
        let in_flight = self.now.promised + self.arrived();
        // Models that cost nothing leave no file.
        if self.file.is_none() && self.kept + self.unsure() + in_flight <= 0.0 {
            return;
        }
        if let Err(error) = self.write(in_flight) {
            self.error.get_or_insert(error);
        }
    }

    fn write(&mut self, in_flight: f64) -> io::Result<()> {
        let text = format!(
            "{{\"dollars\": {:20.9}, \"in_flight\": {in_flight:20.9}, \"unsure\": {:20.9}}}\n",
            self.kept,
            self.unsure()
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

/// The three numbers of the file.
#[derive(Default)]
struct Noted {
    dollars: f64,
    in_flight: f64,
    unsure: f64,
}

fn before(path: &Path) -> Result<Noted, StoreError> {
    let bytes = match read_plain(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Noted::default()),
        Err(source) => {
            return Err(StoreError::Io {
                path: path.to_owned(),
                source,
            });
        }
    };
    // Killed between making the file and its first number.
    if bytes.is_empty() {
        return Ok(Noted::default());
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
    Ok(Noted {
        dollars,
        in_flight: more("in_flight"),
        unsure: more("unsure"),
    })
}

impl EventObserver for Spending<'_> {
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
    use mary_remote::Ledger;

    fn read(folder: &Path) -> Value {
        serde_json::from_slice(&std::fs::read(folder.join(FILE)).unwrap()).unwrap()
    }

    fn open<'a>(folder: &Path, ledger: &'a Ledger) -> Spending<'a> {
        Spending::open(folder, Some(ledger)).unwrap().0
    }

    /// An answer that arrives and is kept.
    fn answered(ledger: &Ledger, spending: &Spending<'_>, cost: f64) {
        ledger.add_spent(cost);
        spending.book().kept(cost);
    }

    #[test]
    fn what_was_spent_is_found_again_and_free_runs_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new();
        let mut spending = open(folder.path(), &ledger);
        answered(&ledger, &spending, 0.0);
        spending.note().unwrap();
        assert!(!folder.path().join(FILE).exists());
        for cost in [0.25, 1234.5, 1e-7] {
            answered(&ledger, &spending, cost);
            spending.note().unwrap();
        }
        let length = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        drop(spending);
        let later = Ledger::new();
        let spending = open(folder.path(), &later);
        assert!((later.spent() - 1_234.750_000_1).abs() < 1e-9);
        answered(&later, &spending, 1.0);
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
        let spending = open(folder.path(), &ledger);
        answered(&ledger, &spending, 0.5);
        let promise = futures_lite_block(ledger.promise(0.125)).unwrap();
        assert_eq!(numbers(folder.path()), (0.5, 0.125, 0.0));
        // The process dies here: nobody gives anything back.
        std::mem::forget(promise);
        std::mem::forget(spending);
        let later = Ledger::new();
        let spending = open(folder.path(), &later);
        assert_eq!(spending.spent(), 0.625);
        answered(&later, &spending, 0.25);
        assert_eq!(numbers(folder.path()), (0.75, 0.0, 0.125));
    }

    /// At every moment of a kill `dollars` is made again from the answers that are kept, and nothing
    /// that was paid is forgotten.
    #[test]
    fn an_answer_that_arrived_and_was_not_kept_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new();
        let (spending, mut paid) = Spending::open(folder.path(), Some(&ledger)).unwrap();
        paid.keep(&key("a"), &reply(0.5)).unwrap();
        answered(&ledger, &spending, 0.5);
        ledger.add_spent(0.25);
        assert_eq!(numbers(folder.path()), (0.5, 0.25, 0.0));
        // Killed before it was kept.
        std::mem::forget(spending);
        let ledger = Ledger::new();
        let (spending, mut paid) = Spending::open(folder.path(), Some(&ledger)).unwrap();
        assert_eq!(
            (ledger.spent(), numbers(folder.path())),
            (0.75, (0.5, 0.0, 0.25))
        );
        // The next is killed after its answer was kept and before that was noted.
        ledger.add_spent(0.125);
        paid.keep(&key("b"), &reply(0.125)).unwrap();
        assert_eq!(numbers(folder.path()), (0.5, 0.125, 0.25));
        std::mem::forget(spending);
        let ledger = Ledger::new();
        let (spending, mut paid) = Spending::open(folder.path(), Some(&ledger)).unwrap();
        assert_eq!(
            (ledger.spent(), numbers(folder.path())),
            (0.875, (0.625, 0.0, 0.25))
        );
        assert_eq!(paid.recall(&key("b")).unwrap(), Some(reply(0.125)));
        // An orderly end: what came and was not kept is not in flight any more.
        ledger.add_spent(1.0);
        drop(spending);
        assert_eq!(numbers(folder.path()), (0.625, 0.0, 1.25));
        // Once everything is in the log, the file of answers goes and the sum stays.
        paid.forget().unwrap();
        let spending = Spending::open(folder.path(), None).unwrap().0;
        assert_eq!(spending.spent(), 1.875, "also where nobody spends any more");
    }

    #[test]
    fn what_is_lost_stands_apart_from_answers() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new();
        let spending = open(folder.path(), &ledger);
        let promise = futures_lite_block(ledger.promise(0.5)).unwrap();
        promise.lost();
        assert_eq!(numbers(folder.path()), (0.0, 0.5, 0.5));
        promise.settle(0.25);
        spending.book().kept(0.25);
        assert_eq!(numbers(folder.path()), (0.25, 0.0, 0.5));
    }

    fn numbers(folder: &Path) -> (f64, f64, f64) {
        let file = read(folder);
        let number = |name: &str| file[name].as_f64().unwrap();
        (number("dollars"), number("in_flight"), number("unsure"))
    }

    fn key(name: &str) -> mary_contract::Key {
        serde_json::from_value(name.into()).unwrap()
    }

    fn reply(cost: f64) -> mary_contract::Reply {
        let scored = mary_contract::Scored {
            continuations: Vec::new(),
        };
        let mut reply = mary_contract::Reply::bare(mary_contract::Response::Scored(scored));
        reply.meta.usage.cost = Some(cost);
        reply
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
        let first = open(one.path(), &ledger);
        answered(&ledger, &first, 1.0);
        drop(first);
        let second = open(two.path(), &ledger);
        answered(&ledger, &second, 0.5);
        assert_eq!((second.spent(), ledger.spent()), (0.5, 1.5));
        assert_eq!(read(one.path())["dollars"], 1.0);
        assert_eq!(read(two.path())["dollars"], 0.5);
    }

    #[test]
    fn old_files_are_read_and_damaged_ones_are_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "{\"dollars\":  1.5}\n").unwrap();
        let spending = Spending::open(folder.path(), None).unwrap().0;
        assert_eq!(spending.spent(), 1.5);
        std::fs::write(folder.path().join(FILE), "{\"dollars\": }").unwrap();
        let error = Spending::open(folder.path(), None).err().unwrap();
        assert!(error.to_string().contains("spent.json"), "{error}");
    }
}
