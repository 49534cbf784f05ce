//! Reading a log from end to end in constant memory.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::line::{self, Verdict};
use mary_contract::{Sample, StoreError};
use mary_platform::open_plain;
use rayon::prelude::*;

use crate::fault::{Result, io_at, open_if_there};
use crate::index::{Index, READ_BUFFER, unreadable};

/// Whole lines of a log up to the end of its index, replaced failures left out.
struct Lines {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    replaced: Arc<HashSet<u64>>,
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

/// Some lines of a log.
#[derive(Default)]
struct Group {
    bytes: Vec<u8>,
    /// Where each line begins in the log and ends in `bytes`, and its number.
    found: Vec<(u64, usize, usize)>,
    /// What ended the lines before their time.
    fault: Option<StoreError>,
}

impl Group {
    fn fill(&mut self, lines: &mut Lines, most: usize) {
        self.bytes.clear();
        self.found.clear();
        while self.found.len() < most && self.bytes.len() < MOST_BYTES {
            match lines.advance(&mut self.bytes) {
                Ok(Some(at)) => self.found.push((at, self.bytes.len(), lines.number)),
                Ok(None) => break,
                Err(e) => {
                    // After an I/O error the place in the file is unknown: say it once and end.
                    lines.reader = None;
                    self.fault = Some(e);
                    break;
                }
            }
        }
    }
}

/// What lines hold, in their order. They are taken in groups, each twice as large as the one before it up to a limit, and
/// read by all threads while the next are fetched: who wants the first alone does not wait for the rest.
pub struct InGroups<T> {
    lines: Lines,
    read: fn(&[u8], u64) -> Result<T, serde_json::Error>,
    size: usize,
    now: Group,
    next: Group,
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

impl<T: Send> InGroups<T> {
    fn new(
        path: &Path,
        index: &Index,
        read: fn(&[u8], u64) -> Result<T, serde_json::Error>,
    ) -> Result<Self> {
        let (mut lines, mut now, size) = (Lines::open(path, index)?, Group::default(), 16);
        now.fill(&mut lines, size);
        Ok(Self {
            lines,
            read,
            size,
            now,
            next: Group::default(),
            ready: VecDeque::new(),
        })
    }

    fn read_group(&mut self) {
        self.size = (self.size * 2).min(MOST_LINES);
        let (now, next, lines) = (&self.now, &mut self.next, &mut self.lines);
        let (path, read, size) = (lines.path.clone(), self.read, self.size);
        let read = |i: usize| {
            let (at, end, number) = now.found[i];
            let start = i.checked_sub(1).map_or(0, |before| now.found[before].1);
            read(&now.bytes[start..end], at).map_err(|e| unreadable(&path, number, &e))
        };
        let all = (0..now.found.len()).into_par_iter().with_min_len(64);
        let all = || all.map(read).collect::<Vec<_>>();
        let (all, ()) = rayon::join(all, || next.fill(lines, size));
        self.ready.extend(all);
        self.ready.extend(self.now.fault.take().map(Err));
        std::mem::swap(&mut self.now, &mut self.next);
    }
}

impl<T: Send> Iterator for InGroups<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() {
            self.read_group();
        }
        self.ready.pop_front()
    }
}
