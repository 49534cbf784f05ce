//! A made-up repository: commits with their files, and the names that point to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::Digest as _;

#[derive(Debug, Clone)]
pub(super) struct Content {
    pub(super) bytes: Arc<Vec<u8>>,
    /// The ETag: SHA-256 of what lies in the storage, git's name of what does not.
    pub(super) etag: String,
    pub(super) stored: bool,
}

#[derive(Debug, Clone)]
pub struct HubRepository {
    id: String,
    /// Token that opens it, where not everybody may have it.
    pub(super) gate: Option<String>,
    pub(super) commits: BTreeMap<String, BTreeMap<String, Content>>,
    pub(super) branches: BTreeMap<String, String>,
    pub(super) tags: BTreeMap<String, String>,
}

pub(super) fn hex(digits: impl AsRef<[u8]>) -> String {
    digits.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

impl HubRepository {
    /// An empty repository called `owner/name`.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            gate: None,
            commits: BTreeMap::new(),
            branches: BTreeMap::new(),
            tags: BTreeMap::new(),
        }
    }

    /// `owner/name`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Only whoever has accepted the terms and shows this token gets files.
    pub fn gated(mut self, token: &str) -> Self {
        self.gate = Some(token.to_owned());
        self
    }

    /// A branch with these files. Files of weights, and large ones, lie in the storage.
    pub fn branch(mut self, name: &str, files: &[(&str, &[u8])]) -> Self {
        let commit = self.commit(files);
        self.branches.insert(name.to_owned(), commit);
        self
    }

    /// A branch that is listed and cannot be had: its commit is gone.
    pub fn lost(mut self, name: &str) -> Self {
        self.branches.insert(name.to_owned(), "0".repeat(40));
        self
    }

    pub fn tag(mut self, name: &str, files: &[(&str, &[u8])]) -> Self {
        let commit = self.commit(files);
        self.tags.insert(name.to_owned(), commit);
        self
    }

    fn commit(&mut self, files: &[(&str, &[u8])]) -> String {
        let mut tree = sha1::Sha1::new();
        tree.update(&self.id);
        let mut commit = BTreeMap::new();
        for (path, bytes) in files {
            let stored = path.ends_with(".safetensors")
                || path.ends_with(".bin")
                || path.ends_with(".gguf")
                || bytes.len() > 10 << 20;
            let etag = if stored {
                hex(sha2::Sha256::digest(bytes))
            } else {
                let mut hasher = sha1::Sha1::new();
                hasher.update(format!("blob {}\0", bytes.len()));
                hasher.update(bytes);
                hex(hasher.finalize())
            };
            tree.update(path);
            tree.update(&etag);
            let content = Content {
                bytes: Arc::new(bytes.to_vec()),
                etag,
                stored,
            };
            commit.insert((*path).to_owned(), content);
        }
        let name = hex(tree.finalize());
        self.commits.insert(name.clone(), commit);
        name
    }

    pub(super) fn files_at(&self, revision: &str) -> Option<(&str, &BTreeMap<String, Content>)> {
        let commit = self.commit_of(revision)?;
        Some((commit, self.commits.get(commit)?))
    }

    /// The commit that a branch, a tag or a commit's own name means.
    pub fn commit_of(&self, revision: &str) -> Option<&str> {
        self.branches
            .get(revision)
            .or_else(|| self.tags.get(revision))
            .filter(|commit| self.commits.contains_key(*commit))
            .map(String::as_str)
            .or_else(|| {
                self.commits
                    .get_key_value(revision)
                    .map(|(k, _)| k.as_str())
            })
    }
}
