//! What a run has spent, on disk while it goes on, so that a budget holds over interruptions.
//!
//! The log cannot tell: answers that came from the cache carry the price somebody paid for them
//! once, and answers that were paid for and came broken are not in it. The file holds one number and
//! is overwritten in place after every paid answer; it has the same length whatever the number is,
//! so that a kill leaves a whole one.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use mary_contract::{Event, EventObserver, StoreError};
use mary_remote::Ledger;
use serde_json::Value;

const FILE: &str = "spent.json";

/// What a run has spent.
pub struct Spending {
    path: PathBuf,
    file: Option<File>,
    ledger: Ledger,
    written: f64,
}

impl Spending {
    /// Takes what the run spent before into the ledger.
    pub fn open(run: &Path, ledger: &Ledger) -> Result<Self, StoreError> {
        let path = run.join(FILE);
        let mut spending = Self {
            path,
            file: None,
            ledger: ledger.clone(),
            written: 0.0,
        };
        if spending.path.exists() {
            spending.written = spending.before()?;
            ledger.add_spent(spending.written);
        }
        Ok(spending)
    }

    /// Dollars spent so far, by this command and those before it.
    pub fn spent(&self) -> f64 {
        self.ledger.spent()
    }

    fn before(&self) -> Result<f64, StoreError> {
        let mut text = String::new();
        File::open(&self.path)
            .and_then(|mut file| file.read_to_string(&mut text))
            .map_err(|e| self.io(e))?;
        // Killed between making the file and its first number.
        if text.is_empty() {
            return Ok(0.0);
        }
        let value: Option<Value> = serde_json::from_str(&text).ok();
        let dollars = value.as_ref().and_then(|v| v.get("dollars")?.as_f64());
        dollars
            .filter(|d| d.is_finite() && *d >= 0.0)
            .ok_or_else(|| StoreError::Corrupt {
                path: self.path.clone(),
                line: 1,
                message: "expected {\"dollars\": …}, what this run has spent".into(),
                hint: "correct the number, or delete the file to count from nothing".into(),
            })
    }

    /// Notes what is spent by now.
    pub fn note(&mut self) -> Result<(), StoreError> {
        let spent = self.ledger.spent();
        // Models that cost nothing leave no file.
        if spent == self.written {
            return Ok(());
        }
        let text = format!("{{\"dollars\": {spent:20.9}}}\n");
        let write = || -> std::io::Result<File> {
            let mut file = match &self.file {
                Some(file) => file.try_clone()?,
                None => OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(&self.path)?,
            };
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())?;
            Ok(file)
        };
        self.file = Some(write().map_err(|e| self.io(e))?);
        self.written = spent;
        Ok(())
    }

    fn io(&self, source: std::io::Error) -> StoreError {
        StoreError::Io {
            path: self.path.clone(),
            source,
        }
    }
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

    #[test]
    fn what_was_spent_is_found_again_and_free_runs_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new();
        let mut spending = Spending::open(folder.path(), &ledger).unwrap();
        spending.note().unwrap();
        assert!(!folder.path().join(FILE).exists());
        for cost in [0.25, 1234.5, 1e-7] {
            ledger.add_spent(cost);
            spending.note().unwrap();
        }
        let length = std::fs::metadata(folder.path().join(FILE)).unwrap().len();
        let later = Ledger::new();
        let mut spending = Spending::open(folder.path(), &later).unwrap();
        assert!((later.spent() - 1_234.750_000_1).abs() < 1e-9);
        later.add_spent(1.0);
        spending.note().unwrap();
        assert_eq!(
            std::fs::metadata(folder.path().join(FILE)).unwrap().len(),
            length
        );
    }

    #[test]
    fn a_damaged_file_is_said_and_not_taken_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "{\"dollars\": }").unwrap();
        let error = Spending::open(folder.path(), &Ledger::new()).err().unwrap();
        assert!(error.to_string().contains("spent.json"), "{error}");
    }
}
