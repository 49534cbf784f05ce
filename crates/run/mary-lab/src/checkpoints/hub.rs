//! Room on the disk: a sweep evicts what it has done with, and only what it fetched itself.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use mary_contract::ModelRef;

/// A checkpoint in the hub's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its snapshot folder.
    pub snapshot: PathBuf,
    /// Bytes of its files.
    pub bytes: u64,
}

/// What this sweep fetched, one model a line, written before each fetch so that a kill loses none.
pub struct Log {
    path: PathBuf,
    /// What earlier processes fetched.
    pub earlier: Vec<ModelRef>,
}

impl Log {
    /// The log at this path, with what earlier processes wrote.
    pub fn at(path: &Path) -> Self {
        let text = mary_platform::read_plain_text(path, mary_platform::LARGEST_SETTINGS)
            .unwrap_or_default();
        Self {
            path: path.to_owned(),
            earlier: text.lines().filter_map(|l| l.parse().ok()).collect(),
        }
    }

    /// Whether a model that is about to be opened is (or will be) here because of this sweep.
    pub fn is_ours(&self, model: &ModelRef) -> bool {
        if self.earlier.contains(model) {
            return true;
        }
        if mary_weights::hub::cached(model).is_some() {
            return false;
        }
        let line = format!("{model}\n");
        let file = mary_platform::append_plain(&self.path);
        // A log that cannot be written costs room on the disk, not the sweep.
        let _ = file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()));
        true
    }
}

/// A snapshot of the hub's cache and its size.
pub fn held(snapshot: &Path) -> Option<Held> {
    let inside = snapshot
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|n| n == "snapshots");
    inside.then(|| Held {
        snapshot: snapshot.to_owned(),
        bytes: size(snapshot),
    })
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|e| std::fs::metadata(e.path()).ok())
        .map(|m| m.len())
        .sum()
}

/// Removes a snapshot, the files that no other snapshot uses, and the names that point to it.
pub fn evict(held: &Held) -> std::io::Result<()> {
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|e| std::fs::canonicalize(e.path()).ok())
            .collect()
    };
    let Some(model) = held.snapshot.parent().and_then(Path::parent) else {
        return Ok(());
    };
    let blobs = std::fs::canonicalize(model)?.join("blobs");
    let siblings = std::fs::read_dir(model.join("snapshots"))?
        .flatten()
        .map(|e| e.path());
    let used: HashSet<PathBuf> = siblings
        .filter(|s| *s != held.snapshot)
        .flat_map(|s| files(&s))
        .collect();
    // The large files go first: a process killed here leaves links to nothing, which the next one fetches
    // again, and not files that no snapshot accounts for.
    for file in files(&held.snapshot) {
        // Files outside the cache (a link of the user's own) are not ours.
        if file.starts_with(&blobs) && !used.contains(&file) {
            std::fs::remove_file(file)?;
        }
    }
    std::fs::remove_dir_all(&held.snapshot)?;
    let commit = held
        .snapshot
        .file_name()
        .map(|n| n.to_string_lossy().into_owned());
    for name in std::fs::read_dir(model.join("refs"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let points_here =
            mary_platform::read_plain_text(&name.path(), mary_platform::LARGEST_SETTINGS)
                .is_ok_and(|text| Some(text.trim()) == commit.as_deref());
        if points_here {
            std::fs::remove_file(name.path())?;
        }
    }
    Ok(())
}

/// What this sweep holds on the disk, oldest first.
#[derive(Debug)]
pub struct Fetched {
    limit: u64,
    held: Vec<(Held, bool)>,
    largest: u64,
}

impl Fetched {
    /// Room for this many bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            held: Vec::new(),
            largest: 0,
        }
    }

    /// Takes in what was fetched.
    pub fn put(&mut self, held: Held) {
        self.largest = self.largest.max(held.bytes);
        self.held.push((held, false));
    }

    /// Nothing more is wanted of what was fetched so far.
    pub fn all_done(&mut self) {
        for (_, done) in &mut self.held {
            *done = true;
        }
    }

    /// Makes room for one more of the largest seen, removing what is done; false if too little is left.
    pub fn make_room(&mut self, mut remove: impl FnMut(&Held)) -> bool {
        loop {
            let total: u64 = self.held.iter().map(|(h, _)| h.bytes).sum();
            if total + self.largest <= self.limit || self.held.is_empty() {
                return true;
            }
            let Some(at) = self.held.iter().position(|(_, done)| *done) else {
                return false;
            };
            let (held, _) = self.held.remove(at);
            remove(&held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of two revisions that share a tokenizer, as the hub's client lays it out.
    #[cfg(unix)]
    fn small_cache(root: &Path) -> PathBuf {
        let model = root.join("models--me--small");
        for folder in ["blobs", "refs", "snapshots/aaa", "snapshots/bbb"] {
            std::fs::create_dir_all(model.join(folder)).unwrap();
        }
        for (blob, text) in [
            ("w1", "weights one"),
            ("w2", "weights two"),
            ("t", "tokenizer"),
        ] {
            std::fs::write(model.join("blobs").join(blob), text).unwrap();
        }
        let link = |snapshot: &str, name: &str, blob: &str| {
            let target = Path::new("../../blobs").join(blob);
            std::os::unix::fs::symlink(target, model.join("snapshots").join(snapshot).join(name))
                .unwrap();
        };
        link("aaa", "model.safetensors", "w1");
        link("aaa", "tokenizer.json", "t");
        link("bbb", "model.safetensors", "w2");
        link("bbb", "tokenizer.json", "t");
        std::fs::write(model.join("refs/step1"), "aaa").unwrap();
        std::fs::write(model.join("refs/step2"), "bbb").unwrap();
        model
    }

    #[cfg(unix)]
    #[test]
    fn only_what_nobody_else_uses_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let model = small_cache(root.path());
        let snapshot = model.join("snapshots/aaa");
        let held = held(&snapshot).unwrap();
        assert_eq!(
            held.bytes,
            "weights one".len() as u64 + "tokenizer".len() as u64
        );
        evict(&held).unwrap();
        let there = |path: &str| model.join(path).exists();
        assert!(!there("snapshots/aaa") && !there("blobs/w1") && !there("refs/step1"));
        assert!(there("snapshots/bbb/tokenizer.json") && there("blobs/w2") && there("refs/step2"));
    }

    #[test]
    fn room_is_made_by_removing_what_is_done() {
        let held = |name: &str| Held {
            snapshot: name.into(),
            bytes: 10,
        };
        let mut fetched = Fetched::new(25);
        let removed = std::cell::RefCell::new(Vec::new());
        let note = |h: &Held| removed.borrow_mut().push(h.snapshot.display().to_string());
        fetched.put(held("a"));
        assert!(fetched.make_room(note), "two fit");
        fetched.put(held("b"));
        assert!(!fetched.make_room(note), "both are in use");
        fetched.all_done();
        fetched.put(held("c"));
        assert!(fetched.make_room(note));
        assert_eq!(*removed.borrow(), ["a", "b"]);
    }
}
