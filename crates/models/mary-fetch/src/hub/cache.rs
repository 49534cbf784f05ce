//! The cache's layout on disk, as the hub's own library lays it out: `blobs/` holds contents under
//! their ETags, `snapshots/COMMIT/` links names to them, `refs/NAME` says which commit a branch or
//! tag was. A file is in `blobs/` only when it is whole.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

use super::fault::io_at;
use super::{HubError, Repository};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// Whether a word from outside (commit, ETag) may be a file's name.
pub(super) fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 128
        && !word.starts_with('.')
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Whether a path from outside stays below the folder it is joined to.
pub(super) fn stays_below(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', '\0'])
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

impl Cache {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn repository(&self, id: &str) -> PathBuf {
        self.root.join(format!("models--{}", id.replace('/', "--")))
    }

    pub fn snapshot(&self, id: &str, commit: &str) -> PathBuf {
        self.repository(id).join("snapshots").join(commit)
    }

    /// The snapshot that a revision names here, if there is one.
    pub fn found(&self, repository: &Repository) -> Option<PathBuf> {
        let revision = repository.revision();
        if !stays_below(revision) {
            return None;
        }
        let name = self.repository(&repository.id).join("refs").join(revision);
        let commit = match mary_platform::read_plain_text(&name, mary_platform::LARGEST_SETTINGS) {
            Ok(commit) if is_name(commit.trim()) => commit.trim().to_owned(),
            // A commit may be named itself.
            _ if is_name(revision) => revision.to_owned(),
            _ => return None,
        };
        let folder = self.snapshot(&repository.id, &commit);
        folder.is_dir().then_some(folder)
    }

    /// A file of a revision, if it is here.
    pub fn file(&self, repository: &Repository, path: &str) -> Option<PathBuf> {
        if !stays_below(path) {
            return None;
        }
        let file = self.found(repository)?.join(path);
        file.is_file().then_some(file)
    }

    /// Writes down which commit a branch or tag is.
    pub(super) fn name(&self, repository: &Repository, commit: &str) -> Result<(), HubError> {
        let revision = repository.revision();
        if revision == commit || !stays_below(revision) {
            return Ok(());
        }
        let file = self.repository(&repository.id).join("refs").join(revision);
        if mary_platform::read_plain_text(&file, mary_platform::LARGEST_SETTINGS)
            .is_ok_and(|known| known.trim() == commit)
        {
            return Ok(());
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(io_at(folder))?;
        }
        // Another process may be writing the same name.
        mary_platform::replace_file(&file, commit.as_bytes()).map_err(io_at(&file))
    }

    /// Where a content lies, or will.
    pub(super) fn blob(&self, id: &str, etag: &str) -> PathBuf {
        self.repository(id).join("blobs").join(etag)
    }

    /// Waits for whoever is fetching the same content, in this process or another; let go when
    /// dropped.
    pub(super) fn lock(&self, id: &str, etag: &str) -> Result<File, HubError> {
        let folder = self
            .root
            .join(".locks")
            .join(format!("models--{}", id.replace('/', "--")));
        fs::create_dir_all(&folder).map_err(io_at(&folder))?;
        let path = folder.join(format!("{etag}.lock"));
        let file = File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(io_at(&path))?;
        // A file system without locks is used as it is: the content is checked in any case.
        let _ = file.lock();
        Ok(file)
    }

    /// Links a name in a snapshot to a content that is here.
    pub(super) fn link(
        &self,
        id: &str,
        commit: &str,
        path: &str,
        etag: &str,
    ) -> Result<PathBuf, HubError> {
        let file = self.snapshot(id, commit).join(path);
        let folder = file.parent().unwrap_or(&file);
        fs::create_dir_all(folder).map_err(io_at(folder))?;
        if file.is_file() {
            return Ok(file);
        }
        let up = path.split('/').count() + 1;
        let target: PathBuf = std::iter::repeat_n("..", up)
            .chain(["blobs", etag])
            .collect();
        match link(&target, &file) {
            Ok(()) => Ok(file),
            Err(_) if file.is_file() => Ok(file),
            Err(_) => {
                // A dangling link of an evicted content, or a file system without links.
                let _ = fs::remove_file(&file);
                let blob = self.blob(id, etag);
                link(&target, &file)
                    .or_else(|_| fs::copy(&blob, &file).map(drop))
                    .map_err(io_at(&file))?;
                Ok(file)
            }
        }
    }
}

#[cfg(unix)]
fn link(target: &Path, file: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, file)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_from_outside_stay_in_their_folder() {
        for good in ["model.safetensors", "a/b.json", "step1000"] {
            assert!(stays_below(good), "{good}");
        }
        for bad in ["", "..", "../x", "a/../b", "/etc/passwd", "./x", "a\\b"] {
            assert!(!stays_below(bad), "{bad}");
        }
        assert!(is_name("0123abc") && is_name("5d41-W.x"));
        for bad in ["", ".hidden", "a/b", "..", "a b"] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_snapshot_is_found_by_name_and_by_commit() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path().to_owned());
        let at = |revision: &str| Repository {
            id: "me/small".into(),
            revision: Some(revision.into()),
        };
        let blob = cache.blob("me/small", "e1");
        fs::create_dir_all(blob.parent().unwrap()).unwrap();
        fs::write(&blob, "content").unwrap();
        let linked = cache
            .link("me/small", "c0ffee", "sub/x.json", "e1")
            .unwrap();
        assert_eq!(fs::read_to_string(&linked).unwrap(), "content");
        cache.name(&at("refs/pr/1"), "c0ffee").unwrap();
        for revision in ["refs/pr/1", "c0ffee"] {
            let found = cache.file(&at(revision), "sub/x.json").unwrap();
            assert_eq!(found, linked);
        }
        assert_eq!(cache.file(&at("main"), "sub/x.json"), None);
        // An evicted content leaves a dangling link; the next fetch mends it.
        fs::remove_file(&blob).unwrap();
        assert_eq!(cache.file(&at("c0ffee"), "sub/x.json"), None);
        fs::write(cache.blob("me/small", "e2"), "new").unwrap();
        cache
            .link("me/small", "c0ffee", "sub/x.json", "e2")
            .unwrap();
        assert_eq!(fs::read_to_string(&linked).unwrap(), "new");
    }
}
