//! Is what is there what should be there?

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::datasets::catalogue::{DatasetCard, FileCard, FileOrigin, FolderCard};
use crate::datasets::digest::{self, Content};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub dataset: String,
    pub folder: PathBuf,
    /// One entry for each file, and for each folder of many files.
    pub files: Vec<FileReport>,
}

impl Report {
    pub fn is_good(&self) -> bool {
        self.files.iter().all(|f| f.state == FileState::Good)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileReport {
    pub path: String,
    pub state: FileState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    Good,
    Missing,
    Different { expected: String, found: String },
    Unreadable(String),
}

pub(crate) fn describe(bytes: u64, sha256: &str) -> String {
    format!("{bytes} bytes with SHA-256 {sha256}")
}

pub(crate) fn dataset(card: &DatasetCard, folder: &Path) -> Report {
    let files = card.files.iter().map(|f| FileReport {
        path: f.path.clone(),
        state: file(f, folder),
    });
    let folders = card.folders.iter().map(|f| FileReport {
        path: format!("{}/ ({} files)", f.path, f.files),
        state: folder_state(f, folder),
    });
    Report {
        dataset: card.id.clone(),
        folder: folder.to_owned(),
        files: files.chain(folders).collect(),
    }
}

pub(crate) fn content(card: &FileCard, folder: &Path) -> io::Result<Content> {
    let path = folder.join(&card.path);
    match &card.source {
        FileOrigin::Gzipped(_) => digest::of_gzipped(&path, card.bytes),
        _ => digest::of_file(&path),
    }
}

pub(crate) fn file(card: &FileCard, folder: &Path) -> FileState {
    match content(card, folder) {
        Ok(found) if found.sha256 == card.sha256 => FileState::Good,
        Ok(found) => FileState::Different {
            expected: describe(card.bytes, &card.sha256),
            found: describe(found.bytes, &found.sha256),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => FileState::Missing,
        Err(e) => FileState::Unreadable(e.to_string()),
    }
}

pub(crate) fn folder_content(card: &FolderCard, root: &Path) -> io::Result<(usize, Content)> {
    let paths = digest::files_below(root, &card.path)?;
    let mut bytes = 0;
    let mut lines = Vec::with_capacity(paths.len());
    for path in &paths {
        let content = digest::of_file(&root.join(path))?;
        bytes += content.bytes;
        lines.push((content.sha256, path.as_str()));
    }
    let sha256 = digest::of_listing(lines.iter().map(|(h, p)| (h.as_str(), *p)))?;
    Ok((paths.len(), Content { bytes, sha256 }))
}

pub(crate) fn folder_state(card: &FolderCard, root: &Path) -> FileState {
    match folder_content(card, root) {
        Ok((_, found)) if found.sha256 == card.sha256 => FileState::Good,
        Ok((files, found)) => FileState::Different {
            expected: format!(
                "{} files, {}",
                card.files,
                describe(card.bytes, &card.sha256)
            ),
            found: format!("{files} files, {}", describe(found.bytes, &found.sha256)),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => FileState::Missing,
        Err(e) => FileState::Unreadable(e.to_string()),
    }
}
