//! Sorting more lines than memory should hold: an external merge sort. Every file is read and
//! written from its beginning to its end, which suits network file systems, where reading at random
//! places would cost a round trip for each sample.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::fault::{Result, io_at};
use crate::index::READ_BUFFER;

/// Bytes of lines that are sorted at once.
const CHUNK: usize = 48 << 20;
/// Sorted files that are merged at once; more are merged in rounds.
const FAN_IN: usize = 128;

/// One line on its way through the sort.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Model, task, item and trial, in an order that is that of the ids.
    pub(crate) key: Vec<u8>,
    /// Which log, in the order they were given.
    pub(crate) source: u32,
    pub(crate) number: u64,
    pub(crate) failed: bool,
    /// It had a checksum that held.
    pub(crate) checked: bool,
    /// Without its checksum.
    pub(crate) line: Vec<u8>,
}

impl Entry {
    fn rank(&self) -> (&[u8], u32, u64) {
        (&self.key, self.source, self.number)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Merges sorted files until few enough are left.
pub(crate) fn fold(runs: &mut Vec<PathBuf>, scratch: &Scratch) -> Result<()> {
    while runs.len() > FAN_IN {
        let rest = runs.split_off(FAN_IN);
        let merged = scratch.next();
        let mut out = BufWriter::new(File::create(&merged).map_err(io_at(&merged))?);
        merge_runs(runs, |entry| {
            write_entry(&mut out, &entry).map_err(io_at(&merged))
        })?;
        out.flush().map_err(io_at(&merged))?;
        for run in runs.iter() {
            fs::remove_file(run).map_err(io_at(run))?;
        }
        *runs = rest;
        runs.push(merged);
    }
    Ok(())
}

#[derive(Default)]
pub(crate) struct Sorter {
    entries: Vec<Entry>,
    bytes: usize,
}

impl Sorter {
    pub(crate) fn take(
        &mut self,
        entry: Entry,
        scratch: &Scratch,
        runs: &mut Vec<PathBuf>,
    ) -> Result<()> {
        self.bytes += entry.line.capacity() + entry.key.capacity() + size_of::<Entry>();
        self.entries.push(entry);
        if self.bytes >= CHUNK {
            self.spill(scratch, runs)?;
        }
        Ok(())
    }

    pub(crate) fn spill(&mut self, scratch: &Scratch, runs: &mut Vec<PathBuf>) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        self.entries.sort_unstable();
        let path = scratch.next();
        let mut out =
            BufWriter::with_capacity(READ_BUFFER, File::create(&path).map_err(io_at(&path))?);
        for entry in self.entries.drain(..) {
            write_entry(&mut out, &entry).map_err(io_at(&path))?;
        }
        out.flush().map_err(io_at(&path))?;
        self.bytes = 0;
        runs.push(path);
        Ok(())
    }
}

/// Hands over the entries of sorted files in order.
pub(crate) fn merge_runs(
    runs: &[PathBuf],
    mut take: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let mut readers = Vec::new();
    let mut heap = BinaryHeap::new();
    for (place, path) in runs.iter().enumerate() {
        let file = File::open(path).map_err(io_at(path))?;
        let mut reader = BufReader::with_capacity(128 << 10, file);
        if let Some(entry) = read_entry(&mut reader).map_err(io_at(path))? {
            heap.push(Reverse((entry, place)));
        }
        readers.push(reader);
    }
    while let Some(Reverse((entry, place))) = heap.pop() {
        if let (Some(reader), Some(path)) = (readers.get_mut(place), runs.get(place))
            && let Some(next) = read_entry(reader).map_err(io_at(path))?
        {
            heap.push(Reverse((next, place)));
        }
        take(entry)?;
    }
    Ok(())
}

fn write_entry(out: &mut impl Write, entry: &Entry) -> io::Result<()> {
    let length = |bytes: &[u8]| {
        u32::try_from(bytes.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a line of over 4 GB"))
    };
    out.write_all(&length(&entry.key)?.to_le_bytes())?;
    out.write_all(&length(&entry.line)?.to_le_bytes())?;
    out.write_all(&entry.source.to_le_bytes())?;
    out.write_all(&entry.number.to_le_bytes())?;
    out.write_all(&[u8::from(entry.failed) | u8::from(entry.checked) << 1])?;
    out.write_all(&entry.key)?;
    out.write_all(&entry.line)
}

fn read_entry(reader: &mut impl Read) -> io::Result<Option<Entry>> {
    let mut four = [0; 4];
    match reader.read_exact(&mut four) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(e) => return Err(e),
    }
    let mut key = vec![0; u32::from_le_bytes(four) as usize];
    reader.read_exact(&mut four)?;
    let mut line = vec![0; u32::from_le_bytes(four) as usize];
    reader.read_exact(&mut four)?;
    let mut eight = [0; 8];
    reader.read_exact(&mut eight)?;
    let mut one = [0; 1];
    reader.read_exact(&mut one)?;
    reader.read_exact(&mut key)?;
    reader.read_exact(&mut line)?;
    Ok(Some(Entry {
        key,
        source: u32::from_le_bytes(four),
        number: u64::from_le_bytes(eight),
        failed: one[0] & 1 != 0,
        checked: one[0] & 2 != 0,
        line,
    }))
}

/// A folder for sorted files, gone when the join is.
pub(crate) struct Scratch {
    pub(crate) folder: PathBuf,
    made: std::cell::Cell<usize>,
}

impl Scratch {
    pub(crate) fn beside(target: &Path) -> Result<Self> {
        let folder = target.with_file_name(format!(".joining.{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(io_at(&folder))?;
        Ok(Self {
            folder,
            made: std::cell::Cell::new(0),
        })
    }

    fn next(&self) -> PathBuf {
        let n = self.made.get();
        self.made.set(n + 1);
        self.folder.join(format!("{n:05}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left takes room and is in nobody's way.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
