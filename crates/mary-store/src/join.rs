//! Joining logs in memory that does not grow with them: an external merge sort.
//!
//! Lines are read in chunks of bounded size, sorted by id, written to temporary files and merged from
//! there, so that copies of one sample meet side by side with their content at hand. Every file is
//! read and written from its beginning to its end, which suits network file systems, where reading at
//! random places would cost a round trip for each sample.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use mary_contract::{Replacement, RunManifest, Sample, StoreError, open_plain};

use crate::fault::io_at;
use crate::index::{READ_BUFFER, unreadable};
use crate::line;

/// Bytes of lines that are sorted at once.
const CHUNK: usize = 48 << 20;
/// Sorted files that are merged at once; more are merged in rounds.
const FAN_IN: usize = 128;
/// Conflicts that are named one by one.
const NAMED: usize = 10;

/// What to do when one sample has different answers in two logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Differing {
    /// Say so and write nothing: the logs were made apart and may not belong together.
    Refuse,
    /// The answer of the earlier log stays: both were made by the same run, which asked twice.
    KeepFirst,
}

/// What came of joining logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) samples: usize,
    pub(crate) failed: usize,
    pub(crate) duplicates: usize,
    pub(crate) replaced: usize,
    pub(crate) differing: usize,
    pub(crate) torn: usize,
}

/// One line on its way through the sort.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// Model, task, item and trial, in an order that is that of the ids.
    key: Vec<u8>,
    /// Which log, in the order they were given.
    source: u32,
    /// Which line of it.
    number: u64,
    failed: bool,
    line: Vec<u8>,
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

/// Joins logs into one at `target`, sorted by id: the whole of it or nothing. `target` may be one of
/// the sources. Lines of models or tasks that the manifest does not name are refused.
pub(crate) fn join(
    manifest: &RunManifest,
    sources: &[PathBuf],
    target: &Path,
    differing: Differing,
) -> Result<Counts, StoreError> {
    let scratch = Scratch::beside(target)?;
    let mut counts = Counts::default();
    let mut runs = Vec::new();
    let mut sorter = Sorter::default();
    for (source, path) in sources.iter().enumerate() {
        let source = u32::try_from(source).unwrap_or(u32::MAX);
        read_log(manifest, path, source, &mut counts, |entry| {
            sorter.take(entry, &scratch, &mut runs)
        })?;
    }
    sorter.spill(&scratch, &mut runs)?;
    while runs.len() > FAN_IN {
        let rest = runs.split_off(FAN_IN);
        let merged = scratch.next();
        let mut out = BufWriter::new(File::create(&merged).map_err(io_at(&merged))?);
        merge_runs(&runs, |entry| {
            write_entry(&mut out, &entry).map_err(io_at(&merged))
        })?;
        out.flush().map_err(io_at(&merged))?;
        for run in &runs {
            fs::remove_file(run).map_err(io_at(run))?;
        }
        runs = rest;
        runs.push(merged);
    }
    let mut out = Replacement::begin(target).map_err(io_at(target))?;
    let mut group: Vec<Entry> = Vec::new();
    let mut conflicts: Vec<String> = Vec::new();
    let mut settle = |group: &mut Vec<Entry>, counts: &mut Counts| -> Result<(), StoreError> {
        if let Some(chosen) = choose(group, sources, counts, &mut conflicts)? {
            out.write_all(&chosen.line).map_err(io_at(target))?;
            counts.samples += 1;
            counts.failed += usize::from(chosen.failed);
        }
        group.clear();
        Ok(())
    };
    merge_runs(&runs, |entry| {
        if group.first().is_some_and(|first| first.key != entry.key) {
            settle(&mut group, &mut counts)?;
        }
        group.push(entry);
        Ok(())
    })?;
    settle(&mut group, &mut counts)?;
    if counts.differing > 0 && differing == Differing::Refuse {
        return Err(conflict(&counts, &conflicts));
    }
    out.commit().map_err(io_at(target))?;
    Ok(counts)
}

fn conflict(counts: &Counts, named: &[String]) -> StoreError {
    StoreError::Mismatch(format!(
        "{} samples have different content in two shards; nothing was written:{}\n\
         hint: these are not shards of one run; merge only one of the folders",
        counts.differing,
        named.concat()
    ))
}

/// Which line of a sample stays. An answer goes before a failure, the earlier log before the later.
fn choose<'g>(
    group: &'g [Entry],
    sources: &[PathBuf],
    counts: &mut Counts,
    conflicts: &mut Vec<String>,
) -> Result<Option<&'g Entry>, StoreError> {
    let answered = group.iter().find(|entry| !entry.failed);
    // A log's last failure is the one that counts in it; among logs, none has more to say.
    let failed = || group.iter().rev().min_by_key(|entry| &entry.line);
    let Some(mut chosen) = answered.or_else(failed) else {
        return Ok(None);
    };
    let kept = (chosen.source, chosen.number);
    for entry in group {
        if (entry.source, entry.number) == kept {
            continue;
        }
        let foreign = entry.source != kept.0;
        if entry.line == chosen.line || entry.failed != chosen.failed {
            if entry.failed == chosen.failed {
                counts.duplicates += usize::from(foreign);
            } else {
                counts.replaced += usize::from(foreign);
            }
            continue;
        }
        if entry.failed {
            counts.replaced += usize::from(foreign);
        } else if canonical(&entry.line) == canonical(&chosen.line) {
            counts.duplicates += usize::from(foreign);
            // The order of the logs must not decide the bytes.
            if entry.line < chosen.line {
                chosen = entry;
            }
        } else {
            counts.differing += 1;
            if conflicts.len() < NAMED {
                let name = line::read_id(&entry.line)
                    .map(|(id, _)| id.describe())
                    .unwrap_or_default();
                let place = |entry: &Entry| {
                    let path = sources.get(entry.source as usize);
                    let folder = path.and_then(|p| p.parent());
                    folder.map_or_else(String::new, |p| p.display().to_string())
                };
                conflicts.push(format!(
                    "\n  {name} in {} and {}",
                    place(chosen),
                    place(entry)
                ));
            }
        }
    }
    Ok(Some(chosen))
}

/// A line in our own form: the order of keys or spaces is not content. `None` for what is no sample.
fn canonical(bytes: &[u8]) -> Option<Vec<u8>> {
    let sample: Sample = serde_json::from_slice(bytes).ok()?;
    let mut out = Vec::new();
    line::write(&sample, &mut out).ok()?;
    Some(out)
}

/// Hands over the whole lines of a log. A torn or unreadable last line is left out, as everywhere.
fn read_log(
    manifest: &RunManifest,
    path: &Path,
    source: u32,
    counts: &mut Counts,
    mut take: impl FnMut(Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let file = match open_plain(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(io_at(path)(e)),
    };
    let models: Vec<String> = manifest
        .models
        .iter()
        .map(|card| card.model.to_string())
        .collect();
    let mut reader = BufReader::with_capacity(READ_BUFFER, file);
    let mut number = 0;
    loop {
        let mut bytes = Vec::new();
        let n = reader.read_until(b'\n', &mut bytes).map_err(io_at(path))?;
        if n == 0 {
            return Ok(());
        }
        if !bytes.ends_with(b"\n") {
            counts.torn += 1;
            return Ok(());
        }
        number += 1;
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let (key, failed) = match line::read_id(&bytes) {
            Ok((id, failed)) => {
                belongs(&id, &models, manifest, path)?;
                (id.key(), failed)
            }
            Err(error) => {
                if reader.fill_buf().map_err(io_at(path))?.is_empty() {
                    counts.torn += 1;
                    return Ok(());
                }
                let at = usize::try_from(number).unwrap_or(usize::MAX);
                return Err(unreadable(path, at, &error));
            }
        };
        take(Entry {
            key,
            source,
            number,
            failed,
            line: bytes,
        })?;
    }
}

fn belongs(
    id: &line::BorrowedId<'_>,
    models: &[String],
    manifest: &RunManifest,
    path: &Path,
) -> Result<(), StoreError> {
    let known =
        models.iter().any(|m| m == id.model()) && manifest.tasks.iter().any(|t| t.id == id.task());
    if known {
        return Ok(());
    }
    Err(StoreError::Mismatch(format!(
        "{}: holds answers of {} on {}, which the manifest does not name; nothing was written\n\
         hint: the folder was put together from several runs; take manifest.json and samples.jsonl \
         from the same one",
        path.display(),
        id.model(),
        id.task()
    )))
}

/// Lines that wait to be sorted.
#[derive(Default)]
struct Sorter {
    entries: Vec<Entry>,
    bytes: usize,
}

impl Sorter {
    fn take(
        &mut self,
        entry: Entry,
        scratch: &Scratch,
        runs: &mut Vec<PathBuf>,
    ) -> Result<(), StoreError> {
        self.bytes += entry.line.capacity() + entry.key.capacity() + size_of::<Entry>();
        self.entries.push(entry);
        if self.bytes >= CHUNK {
            self.spill(scratch, runs)?;
        }
        Ok(())
    }

    fn spill(&mut self, scratch: &Scratch, runs: &mut Vec<PathBuf>) -> Result<(), StoreError> {
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
fn merge_runs(
    runs: &[PathBuf],
    mut take: impl FnMut(Entry) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
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
    out.write_all(&[u8::from(entry.failed)])?;
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
        failed: one != [0],
        line,
    }))
}

/// A folder for sorted files, gone when the join is.
struct Scratch {
    folder: PathBuf,
    made: std::cell::Cell<usize>,
}

impl Scratch {
    fn beside(target: &Path) -> Result<Self, StoreError> {
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
