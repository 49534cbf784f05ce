//! Reading a log from end to end in constant memory.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use mary_contract::Sample;
use mary_contract::line::{self, Verdict};
use mary_platform::open_plain;
use rayon::prelude::*;

use crate::fault::{Result, io_at, open_if_there};
use crate::index::{Index, READ_BUFFER, unreadable};

/// Whole lines of a log up to the end of its index, replaced failures left out.
struct Lines {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    replaced: Arc<HashSet<u64>>,
    /// Room for a group.
    bytes: Vec<u8>,
    offset: u64,
    end: u64,
    number: usize,
}

impl Lines {
    fn open(path: &Path, index: &Index) -> Result<Self> {
        let file = open_if_there(path)?;
        let reader = file.map(|file| BufReader::with_capacity(READ_BUFFER, file));
        Ok(Self {
            path: path.to_owned(),
            reader,
            replaced: Arc::clone(&index.replaced),
            bytes: Vec::new(),
            offset: 0,
            end: index.end,
            number: 0,
        })
    }

    /// Moves to the next line and appends it; its place, or `None` at the end.
    fn advance(&mut self, bytes: &mut Vec<u8>) -> Result<Option<u64>> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        while self.offset < self.end {
            let start = bytes.len();
            let read = reader.read_until(b'\n', bytes);
            let n = read.map_err(io_at(&self.path))?;
            if n == 0 {
                return Ok(None);
            }
            let at = self.offset;
            self.offset += n as u64;
            self.number += 1;
            if !self.replaced.contains(&at) && !bytes[start..].trim_ascii().is_empty() {
                return Ok(Some(at));
            }
            bytes.truncate(start);
        }
        Ok(None)
    }

    /// What up to so many lines hold, read by all threads.
    fn group<T: Send>(mut self, most: usize, read: Reading<T>) -> Group<T> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        // Where each line begins in the log and ends in `bytes`, and its number.
        let (mut found, mut fault) = (Vec::<(u64, usize, usize)>::new(), None);
        while found.len() < most && bytes.len() < MOST_BYTES {
            match self.advance(&mut bytes) {
                Ok(Some(at)) => found.push((at, bytes.len(), self.number)),
                Ok(None) => break,
                Err(e) => {
                    // After an I/O error the place in the file is unknown: say it once and end.
                    self.reader = None;
                    fault = Some(Err(e));
                    break;
                }
            }
        }
        let read = |i: usize| {
            let (at, end, number) = found[i];
            let start = i.checked_sub(1).map_or(0, |before| found[before].1);
            read(&bytes[start..end], at).map_err(|e| unreadable(&self.path, number, &e))
        };
        let all = (0..found.len()).into_par_iter().with_min_len(64).map(read);
        let mut all: Vec<_> = all.collect();
        all.extend(fault);
        self.bytes = bytes;
        (all, self)
    }
}

/// Samples by place, from one open file.
pub struct Seeker {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
}

impl Seeker {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = open_plain(path).map_err(io_at(path))?;
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(32 * 1024, file),
            line: Vec::new(),
        })
    }

    pub fn sample(&mut self, offset: u64) -> Result<Sample> {
        let at = io_at(&self.path);
        // Relative, so that a step within the buffer costs nothing.
        let here = self.reader.stream_position().map_err(&at)?;
        let step = i64::try_from(offset).unwrap_or(i64::MAX) - i64::try_from(here).unwrap_or(0);
        self.reader.seek_relative(step).map_err(&at)?;
        self.line.clear();
        self.reader.read_until(b'\n', &mut self.line).map_err(&at)?;
        line::read(&self.line).map_err(|e| {
            // Only now is it worth counting lines.
            let number = line_number(&self.path, offset).unwrap_or(0);
            unreadable(&self.path, number, &e)
        })
    }
}

/// The line, from 1, that begins at this byte.
pub(crate) fn line_number(path: &Path, offset: u64) -> io::Result<usize> {
    let mut reader = BufReader::new(open_plain(path)?.take(offset));
    let mut lines = 1;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(lines);
        }
        lines += buffer.iter().filter(|&&b| b == b'\n').count();
        let n = buffer.len();
        reader.consume(n);
    }
}

/// Lines read by all threads at once, at most, and their bytes.
const MOST_LINES: usize = 8_192;
const MOST_BYTES: usize = 8 << 20;

/// How a line is read that begins at this byte of the log.
type Reading<T> = fn(&[u8], u64) -> Result<T, serde_json::Error>;
/// What some lines hold, and the lines that come after them.
type Group<T> = (Vec<Result<T>>, Lines);

/// What lines hold, in their order. They are taken in groups, each twice as large as the one before it up to a limit, and
/// read by all threads while the group before them is used: who wants the first alone does not wait for the rest.
pub struct InGroups<T> {
    read: Reading<T>,
    size: usize,
    /// Lines that nobody reads yet, or a thread that reads them.
    next: Option<Result<Lines, JoinHandle<Group<T>>>>,
    ready: VecDeque<Result<T>>,
}

/// All samples of a run.
pub type Samples = InGroups<Sample>;
/// All verdicts of a run, without prompts and answers.
pub type Verdicts = InGroups<Verdict>;

impl Samples {
    pub(crate) fn open(path: &Path, index: &Index) -> Result<Self> {
        Self::new(path, index, |bytes, _| line::read(bytes))
    }
}

impl Verdicts {
    pub(crate) fn open(path: &Path, index: &Index) -> Result<Self> {
        Self::new(path, index, line::read_verdict)
    }
}

impl<T: Send + 'static> InGroups<T> {
    fn new(path: &Path, index: &Index, read: Reading<T>) -> Result<Self> {
        let next = Some(Ok(Lines::open(path, index)?));
        Ok(Self {
            read,
            size: 16,
            next,
            ready: VecDeque::new(),
        })
    }

    fn read_group(&mut self) {
        let (found, lines) = match self.next.take() {
            Some(Ok(lines)) => lines.group(self.size, self.read),
            Some(Err(thread)) => thread.join().unwrap_or_else(|e| resume_unwind(e)),
            None => return,
        };
        self.size = (self.size * 2).min(MOST_LINES);
        let (size, read) = (self.size, self.read);
        // A thread of the pool does not wait for one that may wait for the pool.
        self.next = match rayon::current_thread_index() {
            _ if found.is_empty() => None,
            Some(_) => Some(Ok(lines)),
            None => Some(Err(spawn(move || lines.group(size, read)))),
        };
        self.ready.extend(found);
    }
}

impl<T: Send + 'static> Iterator for InGroups<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() {
            self.read_group();
        }
        self.ready.pop_front()
    }
}
