//! A run as a folder: `manifest.json`, `samples.jsonl`, `summary.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use mary_contract::{RunManifest, RunSummary, Sample, StoreError};
use mary_platform::read_plain;
use serde::de::DeserializeOwned;

use crate::atomic;
use crate::fault::{Result, corrupt, io_at};
use crate::index::{Ascending, FinishedIds, Index};
use crate::lease::{Lock, taken_over};
use crate::log::{LogWriter, heal};
use crate::manifest::{SCHEMA, difference};
use crate::paid::PAID;
use crate::read::{Samples, Seeker, Verdicts};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const SAMPLES: &str = "samples.jsonl";
const SUMMARY: &str = "summary.json";
/// No manifest and no summary is larger.
const LARGEST_JSON: u64 = 1 << 30;

/// What was cut from the end of a torn log when it was opened for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Healed {
    pub bytes: u64,
    pub kept_in: PathBuf,
}

/// A run folder, open for reading, or for reading and appending.
pub struct RunFolder {
    path: PathBuf,
    manifest: RunManifest,
    healed: Option<Healed>,
    index: Mutex<Index>,
    ascending: Mutex<Ascending>,
    // The writer goes before the lock: its last lines are written while the folder is still ours.
    writer: Option<LogWriter>,
    lock: Option<Lock>,
}

impl RunFolder {
    /// Opens the folder named by the manifest's id under `root` for appending, making it when it
    /// is not there. A folder that is there is continued, after its torn end was healed; when its
    /// manifest differs in something that decides answers, [`StoreError::Mismatch`] names it.
    pub fn create_or_open(root: &Path, manifest: &RunManifest) -> Result<Self> {
        Self::create_or_open_at(&root.join(folder_name(&manifest.id)?), manifest)
    }

    /// As [`RunFolder::create_or_open`], at this very place whatever the manifest's id.
    pub fn create_or_open_at(path: &Path, manifest: &RunManifest) -> Result<Self> {
        let path = path.to_owned();
        fs::create_dir_all(&path).map_err(io_at(&path))?;
        let lock = Lock::take(&path)?;
        let log = path.join(SAMPLES);
        if !path.join(MANIFEST).exists() {
            // A kill between making the folder and its manifest leaves no samples behind.
            if fs::metadata(&log).is_ok_and(|m| m.len() > 0) {
                return Err(corrupt(
                    &path.join(MANIFEST),
                    0,
                    "the manifest is missing, but there are samples",
                    "restore manifest.json from a copy, or choose another folder with --output-path",
                ));
            }
            atomic::write_json(&path.join(MANIFEST), manifest)?;
        }
        Self::matching(path, manifest, lock)
    }

    /// Opens this very folder for appending, whatever it is called, if what is to be run is what it
    /// holds; [`StoreError::Mismatch`] names the first difference otherwise.
    pub fn continue_at(path: &Path, manifest: &RunManifest) -> Result<Self> {
        read_manifest(path)?;
        let lock = Lock::take(path)?;
        Self::matching(path.to_owned(), manifest, lock)
    }

    fn matching(path: PathBuf, manifest: &RunManifest, lock: Lock) -> Result<Self> {
        let found: RunManifest = read_manifest(&path)?;
        if let Some(field) = difference(&found, manifest)? {
            return Err(StoreError::Mismatch(format!(
                "{}: this folder belongs to another run; {field}\n\
                 hint: choose another folder with --output-path, or repeat the command it was made with: {}",
                path.display(),
                found.command.join(" ")
            )));
        }
        Self::writing(path, found, lock)
    }

    /// Opens an existing folder for reading. Takes no lock and changes nothing, so that a run can
    /// be looked at while it goes on.
    pub fn open(path: &Path) -> Result<Self> {
        let manifest = read_manifest(path)?;
        Ok(Self {
            path: path.to_owned(),
            manifest,
            healed: None,
            index: Mutex::default(),
            ascending: Mutex::default(),
            writer: None,
            lock: None,
        })
    }

    /// Opens an existing folder in order to write its summary: nobody else writes meanwhile, nothing can be
    /// appended, and nothing is remembered of its samples.
    pub fn hold(path: &Path) -> Result<Self> {
        let mut folder = Self::open(path)?;
        folder.lock = Some(Lock::take(path)?);
        Ok(folder)
    }

    pub fn resume(path: &Path) -> Result<Self> {
        let manifest = read_manifest(path)?;
        let lock = Lock::take(path)?;
        Self::writing(path.to_owned(), manifest, lock)
    }

    fn writing(path: PathBuf, manifest: RunManifest, lock: Lock) -> Result<Self> {
        let log = path.join(SAMPLES);
        let healed = heal(&log)?;
        let mut index = Index::default();
        index.extend(&log)?;
        let writer = LogWriter::open(&log, &manifest.id)?;
        Ok(Self {
            path,
            manifest,
            healed,
            index: Mutex::new(index),
            ascending: Mutex::default(),
            writer: Some(writer),
            lock: Some(lock),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes a folder in which nothing was answered. What is not ours stays, and the folder with it.
    pub fn discard(&mut self) -> Result<()> {
        if !self.finished_ids()?.is_empty() || self.path.join(PAID).exists() {
            return Ok(());
        }
        self.writer = None;
        for name in [SAMPLES, SUMMARY, MANIFEST, crate::lease::FILE] {
            if name == crate::lease::FILE {
                // Given back before its file goes.
                drop(self.lock.take());
            }
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io_at(&self.path.join(name))(error));
                }
                _ => {}
            }
        }
        // Refused where something else lies there: then it is somebody's.
        let _ = fs::remove_dir(&self.path);
        Ok(())
    }

    /// What was decided before the first question.
    pub fn manifest(&self) -> &RunManifest {
        &self.manifest
    }

    /// Whether opening it had to cut a torn end off the log.
    pub fn healed(&self) -> Option<&Healed> {
        self.healed.as_ref()
    }

    /// Appends a sample. It is on its way to the file within 64 KiB or the first append after
    /// 100 ms, or at the next [`RunFolder::flush`]. When the disk refuses, the sample is kept in
    /// memory and written by the next try.
    pub fn append(&mut self, sample: &Sample) -> Result<()> {
        self.pen()?.append(sample)
    }

    /// From now on every sample survives the process as soon as it is appended: for runs without a
    /// cache, where the log is the only place that knows what was paid for.
    pub fn write_at_once(&mut self) -> Result<()> {
        self.pen()?.write_at_once();
        Ok(())
    }

    /// Everything appended so far survives the process.
    pub fn flush(&mut self) -> Result<()> {
        self.pen()?.flush()
    }

    fn pen(&mut self) -> Result<&mut LogWriter> {
        if self.lock.as_ref().is_some_and(Lock::is_lost) {
            return Err(taken_over(&self.path));
        }
        self.writer.as_mut().ok_or_else(|| {
            StoreError::Mismatch(format!(
                "{} was opened for reading only",
                self.path.display()
            ))
        })
    }

    /// Writes the summary: the whole of it or nothing, after everything appended has reached the
    /// disk.
    pub fn write_summary(&mut self, summary: &RunSummary) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            writer.sync()?;
        }
        atomic::write_json(&self.path.join(SUMMARY), summary)
    }

    pub fn summary(&self) -> Result<Option<RunSummary>> {
        let path = self.path.join(SUMMARY);
        if path.exists() {
            let hint = "delete it; `mary report` makes it again from the samples";
            read_json(&path, hint).map(Some)
        } else {
            Ok(None)
        }
    }

    pub fn finished_ids(&self) -> Result<FinishedIds> {
        Ok(self.index()?.finished)
    }

    pub fn count(&self) -> Result<usize> {
        match self.in_order()? {
            Some(ascending) => Ok(ascending.samples),
            None => Ok(self.index()?.finished.len()),
        }
    }

    /// All samples in the order of the log. A failure that was answered later is left out.
    pub fn samples(&self) -> Result<Samples> {
        Samples::open(&self.path.join(SAMPLES), &self.reading()?)
    }

    /// All verdicts in the order of the log, without prompts and answers: several times as quick.
    pub fn verdicts(&self) -> Result<Verdicts> {
        Verdicts::open(&self.path.join(SAMPLES), &self.reading()?)
    }

    /// The sample whose line begins at this byte (see [`crate::Verdict::offset`]).
    pub fn sample_at(&self, offset: u64) -> Result<Sample> {
        self.seeker()?.sample(offset)
    }

    pub fn seeker(&self) -> Result<Seeker> {
        Seeker::open(&self.path.join(SAMPLES))
    }

    /// What reading from end to end needs to know. Of a log in ascending order, which is what joining makes,
    /// that is its length alone; of any other, which lines were replaced.
    fn reading(&self) -> Result<Index> {
        match self.in_order()? {
            Some(ascending) => Ok(Index::upto(ascending.end)),
            None => self.index(),
        }
    }

    /// The log, if its ids stand in ascending order. A folder that is written to has its index already.
    fn in_order(&self) -> Result<Option<Ascending>> {
        if self.writer.is_some() {
            return Ok(None);
        }
        let mut ascending = self
            .ascending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        ascending.extend(&self.path.join(SAMPLES))?;
        Ok((!ascending.broken).then(|| ascending.clone()))
    }

    fn index(&self) -> Result<Index> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.extend(&self.path.join(SAMPLES))?;
        Ok(index.clone())
    }

    #[cfg(test)]
    pub(crate) fn on_medium(&mut self, medium: Box<dyn crate::log::Medium>) {
        let len = fs::metadata(self.path.join(SAMPLES)).map_or(0, |m| m.len());
        let log = self.path.join(SAMPLES);
        self.writer = Some(LogWriter::onto(&log, &self.manifest.id, medium, len));
    }
}

pub(crate) fn folder_name(id: &str) -> Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if id.is_empty() || id.starts_with('.') || !id.chars().all(plain) {
        return Err(StoreError::Mismatch(format!(
            "`{id}` cannot name a run folder: expected letters, digits, `.`, `_` and `-`, not starting with a dot"
        )));
    }
    Ok(id)
}

fn read_manifest(path: &Path) -> Result<RunManifest> {
    let file = path.join(MANIFEST);
    if !file.exists() {
        return Err(StoreError::Mismatch(format!(
            "{} is not a run folder: it has no {MANIFEST}\n\
             hint: name the folder that `mary run` printed at its end",
            path.display()
        )));
    }
    let manifest: RunManifest = read_json(
        &file,
        "restore the file from a copy; the samples are untouched",
    )?;
    // It names files and folders elsewhere: of exports, of what is merged.
    if folder_name(&manifest.id).is_err() {
        return Err(corrupt(
            &file,
            0,
            format!(
                "`{}` cannot name a run: expected letters, digits, `.`, `_` and `-`",
                manifest.id
            ),
            "restore the file from a copy; no run of Mary's has such a name",
        ));
    }
    if manifest.schema != SCHEMA {
        return Err(StoreError::Mismatch(format!(
            "{}: the folder has form {}, this version of Mary reads form {SCHEMA}\n\
             hint: use the version that made it ({})",
            file.display(),
            manifest.schema,
            manifest.version
        )));
    }
    Ok(manifest)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, hint: &str) -> Result<T> {
    let bytes = read_plain(path, LARGEST_JSON).map_err(io_at(path))?;
    serde_json::from_slice(&bytes).map_err(|e| corrupt(path, e.line(), e.to_string(), hint))
}
