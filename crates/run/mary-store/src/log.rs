//! The pen of a run: appends lines, keeps what the disk refuses, heals a torn end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mary_contract::{Sample, StoreError, line};
use mary_platform::writable_place;

use crate::fault::{Result, corrupt, io_at};
use crate::finite::sample_is_finite;
use crate::folder::Healed;

const FLUSH_BYTES: usize = 64 * 1024;
const FLUSH_AGE: Duration = Duration::from_millis(100);

/// Where lines go. A file; in tests, a disk that fills up.
pub(crate) trait Medium: Send + Sync {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    fn sync(&mut self) -> io::Result<()>;
}

impl Medium for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Appends samples. Whatever happens, the file ends with a whole line after every call.
pub(crate) struct LogWriter {
    path: PathBuf,
    run: String,
    medium: Box<dyn Medium>,
    /// Whole lines that are not in the file yet.
    buffer: Vec<u8>,
    /// Bytes of whole lines in the file.
    len: u64,
    /// The file may hold half a line after `len`.
    ragged: bool,
    flushed: Instant,
    /// Every line is handed to the operating system before the next.
    at_once: bool,
}

impl LogWriter {
    pub(crate) fn open(path: &Path, run: &str) -> Result<Self> {
        writable_place(path).map_err(io_at(path))?;
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(io_at(path))?;
        let len = file.metadata().map_err(io_at(path))?.len();
        Ok(Self::onto(path, run, Box::new(file), len))
    }

    pub(crate) fn onto(path: &Path, run: &str, medium: Box<dyn Medium>, len: u64) -> Self {
        Self {
            path: path.to_owned(),
            run: run.to_owned(),
            medium,
            buffer: Vec::with_capacity(FLUSH_BYTES * 2),
            len,
            ragged: false,
            flushed: Instant::now(),
            at_once: false,
        }
    }

    /// From now on every line is in the file when `append` returns.
    pub(crate) fn write_at_once(&mut self) {
        self.at_once = true;
    }

    pub(crate) fn append(&mut self, sample: &Sample) -> Result<()> {
        let name = || {
            let id = &sample.id;
            line::describe(&id.model, &id.task, &id.item, id.trial)
        };
        if !sample_is_finite(sample) {
            return Err(StoreError::Mismatch(format!(
                "sample {} holds a number that is not one (NaN or infinite); \
                 it must be recorded as a failure of kind not_finite",
                name()
            )));
        }
        line::write_sealed(sample, &self.run, &mut self.buffer).map_err(|e| {
            corrupt(
                &self.path,
                0,
                format!("sample {} cannot be written as JSON: {e}", name()),
                "this is a fault in Mary; please report it",
            )
        })?;
        if self.at_once || self.buffer.len() >= FLUSH_BYTES || self.flushed.elapsed() >= FLUSH_AGE {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands everything to the operating system: from here on it survives `kill -9`. When the disk
    /// is full, what fits stays as whole lines, the rest stays here for the next try.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.flushed = Instant::now();
        if self.ragged {
            self.medium.truncate(self.len).map_err(io_at(&self.path))?;
            self.ragged = false;
        }
        let mut written = 0;
        while let Some(rest) = self.buffer.get(written..).filter(|r| !r.is_empty()) {
            let error = match self.medium.append(rest) {
                Ok(0) => io::Error::from(io::ErrorKind::WriteZero),
                Ok(n) => {
                    written += n;
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => e,
            };
            self.keep_whole_lines(written);
            return Err(io_at(&self.path)(error));
        }
        self.len += written as u64;
        self.buffer.clear();
        Ok(())
    }

    fn keep_whole_lines(&mut self, written: usize) {
        let done = self.buffer.get(..written).unwrap_or_default();
        let whole = done.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        self.buffer.drain(..whole);
        self.len += whole as u64;
        if written > whole {
            // A failed truncation is tried again before the next write.
            self.ragged = self.medium.truncate(self.len).is_err();
        }
    }

    /// Also survives a power cut.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.medium.sync().map_err(io_at(&self.path))
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        // The last chance; whoever needs to know calls `flush` and gets the error.
        let _ = self.flush();
    }
}

/// Makes the file end with a whole line. A last line without its newline that is a whole sample
/// gets its newline; anything else torn is moved to `samples.jsonl.torn`.
pub(crate) fn heal(path: &Path) -> Result<Option<Healed>> {
    let at = io_at(path);
    writable_place(path).map_err(&at)?;
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(at(e)),
    };
    let len = file.metadata().map_err(&at)?.len();
    let (start, tail) = last_line(&mut file, len).map_err(&at)?;
    let readable = line::read(&tail).is_ok();
    match (tail.ends_with(b"\n"), readable) {
        _ if tail.is_empty() => Ok(None),
        (true, true) => Ok(None),
        (false, true) => {
            file.seek(SeekFrom::End(0)).map_err(&at)?;
            file.write_all(b"\n").map_err(&at)?;
            file.sync_data().map_err(&at)?;
            Ok(None)
        }
        (_, false) => {
            let torn = path.with_extension("jsonl.torn");
            writable_place(&torn).map_err(io_at(&torn))?;
            let kept = OpenOptions::new()
                .append(true)
                .create(true)
                .open(&torn)
                .and_then(|mut f| {
                    f.write_all(&tail)?;
                    if !tail.ends_with(b"\n") {
                        f.write_all(b"\n")?;
                    }
                    f.sync_data()
                });
            kept.map_err(io_at(&torn))?;
            file.set_len(start).map_err(&at)?;
            file.sync_data().map_err(&at)?;
            Ok(Some(Healed {
                bytes: tail.len() as u64,
                kept_in: torn,
            }))
        }
    }
}

/// Start and bytes of the last line, with its newline if it has one.
fn last_line(file: &mut File, len: u64) -> io::Result<(u64, Vec<u8>)> {
    const STEP: u64 = 64 * 1024;
    let mut start = len;
    let mut tail = Vec::new();
    while start > 0 {
        let from = start.saturating_sub(STEP);
        let mut piece = vec![0; usize::try_from(start - from).unwrap_or(0)];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut piece)?;
        let searched = if start == len && piece.ends_with(b"\n") {
            piece.len() - 1
        } else {
            piece.len()
        };
        let newline = piece
            .get(..searched)
            .and_then(|p| p.iter().rposition(|&b| b == b'\n'));
        let keep = newline.map_or(0, |i| i + 1);
        let mut joined = piece.split_off(keep);
        joined.append(&mut tail);
        tail = joined;
        start = from + keep as u64;
        if newline.is_some() {
            break;
        }
    }
    Ok((start, tail))
}

#[cfg(test)]
mod tests;
