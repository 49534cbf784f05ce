//! Numbers by digests, for more than memory should hold: the latest in memory, the others sorted in temporary
//! files. A plain table of millions of rows would take 30 to 60 bytes for each.

use std::collections::{BinaryHeap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Entries in memory, at most: about 35 MB of them.
const IN_MEMORY: usize = 900_000;
/// Sorted files, at most; beyond that they are merged into one.
const FILES: usize = 8;
/// Bytes of an entry in a file.
const ENTRY: usize = 24;
/// Entries that are read at once.
const BLOCK: usize = 170;

/// Numbers by 128-bit digests. Beyond some 35 MB, memory grows by about a byte and a half for each.
pub struct DigestMap {
    recent: HashMap<u128, u64>,
    /// From the oldest to the newest.
    files: Vec<SortedFile>,
    in_memory: usize,
    len: usize,
}

impl Default for DigestMap {
    fn default() -> Self {
        Self::with_room(IN_MEMORY)
    }
}

impl std::fmt::Debug for DigestMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let files = self.files.len();
        write!(f, "DigestMap of {} in memory and {files} files", self.len)
    }
}

impl DigestMap {
    pub fn digest(id: &str) -> u128 {
        let mut short = [0; 16];
        short.copy_from_slice(blake3::hash(id.as_bytes()).as_bytes().split_at(16).0);
        u128::from_le_bytes(short)
    }

    fn with_room(in_memory: usize) -> Self {
        Self {
            recent: HashMap::new(),
            files: Vec::new(),
            in_memory,
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn get(&self, digest: u128) -> io::Result<Option<u64>> {
        if let Some(&found) = self.recent.get(&digest) {
            return Ok(Some(found));
        }
        for file in self.files.iter().rev() {
            if let Some(found) = file.get(digest)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Sets the number of a digest; the one it had before comes back.
    pub fn insert(&mut self, digest: u128, number: u64) -> io::Result<Option<u64>> {
        let before = self.get(digest)?;
        self.len += usize::from(before.is_none());
        self.recent.insert(digest, number);
        // Where no file can be made, memory has to do.
        if self.recent.len() >= self.in_memory && self.spill().is_err() {
            self.in_memory = usize::MAX;
        }
        Ok(before)
    }

    fn spill(&mut self) -> io::Result<()> {
        let mut entries: Vec<(u128, u64)> = self.recent.iter().map(|(d, n)| (*d, *n)).collect();
        entries.sort_unstable();
        let mut writer = SortedWriter::begin(entries.len())?;
        for (digest, number) in entries {
            writer.put(digest, number)?;
        }
        self.files.push(writer.finish()?);
        self.recent.clear();
        if self.files.len() > FILES {
            let merged = merge(&self.files)?;
            self.files = vec![merged];
        }
        Ok(())
    }
}

/// Entries by digest, in a temporary file.
struct SortedFile {
    file: Mutex<File>,
    /// Where it has to be removed at the end: where open files cannot be removed.
    left: Option<PathBuf>,
    /// The first digest of each block.
    fences: Vec<u128>,
    filter: Filter,
    len: usize,
}

impl SortedFile {
    fn get(&self, digest: u128) -> io::Result<Option<u64>> {
        if !self.filter.may_hold(digest) {
            return Ok(None);
        }
        let Some(block) = self.fences.partition_point(|f| *f <= digest).checked_sub(1) else {
            return Ok(None);
        };
        let entries = BLOCK.min(self.len - block * BLOCK);
        let mut bytes = vec![0; entries * ENTRY];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start((block * BLOCK * ENTRY) as u64))?;
            file.read_exact(&mut bytes)?;
        }
        let mut found = bytes.chunks_exact(ENTRY).map(entry);
        Ok(found.find_map(|(d, n)| (d == digest).then_some(n)))
    }
}

impl Drop for SortedFile {
    fn drop(&mut self) {
        if let Some(path) = &self.left {
            let _ = fs::remove_file(path);
        }
    }
}

fn entry(bytes: &[u8]) -> (u128, u64) {
    let (digest, number) = bytes.split_at(16);
    let digest = digest.try_into().map_or(0, u128::from_le_bytes);
    (digest, number.try_into().map_or(0, u64::from_le_bytes))
}

struct SortedWriter {
    out: BufWriter<File>,
    made: SortedFile,
}

impl SortedWriter {
    fn begin(entries: usize) -> io::Result<Self> {
        let (file, left) = temporary()?;
        Ok(Self {
            out: BufWriter::with_capacity(1 << 16, file.try_clone()?),
            made: SortedFile {
                file: Mutex::new(file),
                left,
                fences: Vec::with_capacity(entries.div_ceil(BLOCK)),
                filter: Filter::of(entries),
                len: 0,
            },
        })
    }

    fn put(&mut self, digest: u128, number: u64) -> io::Result<()> {
        if self.made.len.is_multiple_of(BLOCK) {
            self.made.fences.push(digest);
        }
        self.made.filter.add(digest);
        self.made.len += 1;
        self.out.write_all(&digest.to_le_bytes())?;
        self.out.write_all(&number.to_le_bytes())
    }

    fn finish(mut self) -> io::Result<SortedFile> {
        self.out.flush()?;
        Ok(self.made)
    }
}

/// A file that nobody else can open, and its path where it has to be removed later.
fn temporary() -> io::Result<(File, Option<PathBuf>)> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let (process, count) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(format!("mary-ids-{process}-{count}"));
    // What a killed process of the same number left goes.
    let _ = fs::remove_file(&path);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    match fs::remove_file(&path) {
        Ok(()) => Ok((file, None)),
        Err(_) => Ok((file, Some(path))),
    }
}

/// One file of several; of one digest in two, the newer entry stays.
fn merge(files: &[SortedFile]) -> io::Result<SortedFile> {
    let mut locks: Vec<_> = files
        .iter()
        .map(|f| f.file.lock().unwrap_or_else(PoisonError::into_inner))
        .collect();
    let mut readers = Vec::new();
    for lock in &mut locks {
        lock.seek(SeekFrom::Start(0))?;
        readers.push(BufReader::with_capacity(1 << 16, &**lock));
    }
    let mut heap = BinaryHeap::new();
    let mut next = |at: usize, heap: &mut BinaryHeap<_>| -> io::Result<()> {
        let mut bytes = [0; ENTRY];
        let Some(reader) = readers.get_mut(at) else {
            return Ok(());
        };
        match reader.read_exact(&mut bytes) {
            Ok(()) => {
                let (digest, number) = entry(&bytes);
                // The smallest digest first, and of equal ones that of the newest file.
                heap.push((std::cmp::Reverse(digest), at, number));
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(e) => Err(e),
        }
    };
    for at in 0..files.len() {
        next(at, &mut heap)?;
    }
    let mut writer = SortedWriter::begin(files.iter().map(|f| f.len).sum())?;
    let mut last = None;
    while let Some((std::cmp::Reverse(digest), at, number)) = heap.pop() {
        if last != Some(digest) {
            writer.put(digest, number)?;
        }
        last = Some(digest);
        next(at, &mut heap)?;
    }
    writer.finish()
}

/// Ten bits for each digest, which say that it is certainly not there, or perhaps.
struct Filter {
    bits: Vec<u64>,
}

impl Filter {
    fn of(entries: usize) -> Self {
        Self {
            bits: vec![0; (entries * 10).div_ceil(64).max(1)],
        }
    }

    /// Six places: multiples of one half of the digest from the other on.
    fn places(&self, digest: u128) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (from, step) = (digest as u64, (digest >> 64) as u64 | 1);
        let all = self.bits.len() as u64 * 64;
        (0..6u64).map(move |k| {
            let bit = from.wrapping_add(k.wrapping_mul(step)) % all;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    fn add(&mut self, digest: u128) {
        for (word, bit) in self.places(digest) {
            if let Some(word) = self.bits.get_mut(word) {
                *word |= bit;
            }
        }
    }

    fn may_hold(&self, digest: u128) -> bool {
        self.places(digest)
            .all(|(word, bit)| self.bits.get(word).is_some_and(|w| w & bit != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_memory_is_found_as_in_a_plain_table() {
        let mut ours = DigestMap::with_room(100);
        let mut plain = HashMap::new();
        // 3,000 distinct ids, each set about three times, over more than two rounds of merging.
        for step in 0..9_000u64 {
            let id = step.wrapping_mul(2_654_435_761) % 3_000;
            let digest = DigestMap::digest(&id.to_string());
            let before = ours.insert(digest, step).unwrap();
            assert_eq!(before, plain.insert(digest, step));
        }
        assert_eq!(ours.len(), plain.len());
        assert!(!ours.files.is_empty() && ours.files.len() <= FILES);
        for (digest, number) in &plain {
            assert_eq!(ours.get(*digest).unwrap(), Some(*number));
        }
        for id in 3_000..6_000 {
            let digest = DigestMap::digest(&id.to_string());
            assert_eq!(ours.get(digest).unwrap(), None);
        }
    }

    #[test]
    fn the_ends_of_blocks_and_files_are_found() {
        let mut writer = SortedWriter::begin(BLOCK * 2 + 1).unwrap();
        for n in 0..(BLOCK as u64 * 2 + 1) {
            writer.put(u128::from(n) * 2 + 2, n).unwrap();
        }
        let file = writer.finish().unwrap();
        for n in 0..(BLOCK as u64 * 2 + 1) {
            assert_eq!(file.get(u128::from(n) * 2 + 2).unwrap(), Some(n));
            assert_eq!(file.get(u128::from(n) * 2 + 1).unwrap(), None);
        }
        assert_eq!(file.get(u128::MAX).unwrap(), None);
    }
}
