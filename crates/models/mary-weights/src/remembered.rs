//! Hashes of weight files that were computed before. A file is taken to be the one that was hashed when
//! its device, inode, size and both times (contents, entry) are unchanged, and when it had been left alone
//! for a while before it was hashed, so that a change within the clock's grain cannot hide.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mary_platform::replace_file;
use serde::{Deserialize, Serialize};

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Smaller files are hashed in no time.
const WORTH_IT: u64 = 64 << 20;
/// Nanoseconds that a file must have been left alone before its hash is kept.
const SETTLED: i64 = 2_000_000_000;

/// Keeps hashes of large weight files in this folder from now on, for the whole process. Nothing is kept
/// before; the first call counts.
pub fn remember_hashes_in(folder: PathBuf) {
    // A second folder would only mean that some hashes are computed again.
    let _ = FOLDER.set(folder);
}

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    /// When the contents changed, in nanoseconds since 1970.
    changed: i64,
    /// When the entry changed; a program can set the other time, not this one.
    entry_changed: i64,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    file: PathBuf,
    #[serde(flatten)]
    identity: Identity,
    blake3: String,
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(path).ok()?;
    let nanos = |s: i64, n: i64| s.saturating_mul(1_000_000_000).saturating_add(n);
    meta.is_file().then(|| Identity {
        device: meta.dev(),
        inode: meta.ino(),
        size: meta.size(),
        changed: nanos(meta.mtime(), meta.mtime_nsec()),
        entry_changed: nanos(meta.ctime(), meta.ctime_nsec()),
    })
}

/// Elsewhere there is no time that a program cannot set: nothing is remembered.
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    None
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

/// The hash of a file: the one remembered, or the one that `compute` gives, which is remembered then.
pub(crate) fn hash(path: &Path, compute: impl FnOnce() -> blake3::Hash) -> blake3::Hash {
    match FOLDER.get() {
        Some(folder) => hash_in(folder, path, WORTH_IT, compute),
        None => compute(),
    }
}

fn hash_in(
    folder: &Path,
    path: &Path,
    worth_it: u64,
    compute: impl FnOnce() -> blake3::Hash,
) -> blake3::Hash {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let before = identity(&whole).filter(|i| i.size >= worth_it);
    let Some(before) = before else {
        return compute();
    };
    let name = blake3::hash(whole.as_os_str().as_encoded_bytes());
    let place = folder.join(format!("{}.json", &name.to_hex()[..32]));
    let known = mary_platform::read_plain(&place, mary_platform::LARGEST_SETTINGS).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    if let Some(kept) = known
        && kept.file == whole
        && kept.identity == before
        && let Ok(hash) = blake3::Hash::from_hex(&kept.blake3)
    {
        return hash;
    }
    let started = now();
    let hash = compute();
    let last = before.changed.max(before.entry_changed);
    if started - last >= SETTLED && identity(&whole).as_ref() == Some(&before) {
        let kept = Kept {
            file: whole,
            identity: before,
            blake3: hash.to_hex().to_string(),
        };
        // A hash that cannot be kept is computed again next time.
        if std::fs::create_dir_all(folder).is_ok()
            && let Ok(bytes) = serde_json::to_vec(&kept)
        {
            let _ = replace_file(&place, &bytes);
        }
    }
    hash
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::{Duration, SystemTime};

    /// A file whose contents are a minute old; its entry is as new as the test, so the test waits until
    /// that has settled too.
    fn settled(path: &Path, bytes: &[u8]) {
        std::fs::write(path, bytes).unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(old).unwrap();
        let last = identity(path).unwrap().entry_changed;
        while now() - last < SETTLED {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_file_left_alone_is_hashed_once_and_a_changed_one_again() {
        let home = tempfile::tempdir().unwrap();
        let (kept, file) = (home.path().join("hashes"), home.path().join("w"));
        let counted = Cell::new(0);
        let ask = || {
            hash_in(&kept, &file, 0, || {
                counted.set(counted.get() + 1);
                blake3::hash(&std::fs::read(&file).unwrap())
            })
        };
        // Written just now: a change in the same instant could not be told, so nothing is kept.
        std::fs::write(&file, b"fresh").unwrap();
        ask();
        ask();
        assert_eq!(counted.get(), 2);

        settled(&file, b"weights");
        assert_eq!(ask(), blake3::hash(b"weights"));
        assert_eq!(ask(), blake3::hash(b"weights"));
        assert_eq!(counted.get(), 3);

        // Same size, and the time of the contents set back to what it was.
        let before = std::fs::metadata(&file).unwrap().modified().unwrap();
        std::fs::write(&file, b"WEIGHTS").unwrap();
        let handle = std::fs::File::options().write(true).open(&file).unwrap();
        handle.set_modified(before).unwrap();
        assert_eq!(ask(), blake3::hash(b"WEIGHTS"));
        assert_eq!(counted.get(), 4);
    }

    #[test]
    fn a_damaged_note_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        let (kept, file) = (home.path().join("hashes"), home.path().join("w"));
        settled(&file, b"weights");
        let ask = || hash_in(&kept, &file, 0, || blake3::hash(b"weights"));
        ask();
        let note = std::fs::read_dir(&kept).unwrap().next().unwrap().unwrap();
        std::fs::write(note.path(), b"{\"file\":").unwrap();
        assert_eq!(ask(), blake3::hash(b"weights"));
    }
}
