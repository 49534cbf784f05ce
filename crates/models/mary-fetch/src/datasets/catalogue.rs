//! Every upstream dataset that a task reads. The cards are data, `catalogue.json`; `tools/catalogue_files.py` writes
//! the paths, hashes and sizes in it.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    pub repository: String,
    pub commit: String,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOrigin {
    Raw(Upstream),
    /// Kept here gzipped; hash and size are of the plain file.
    Gzipped(Upstream),
    /// Made from upstream material (docs/data.md says how); published nowhere, so it comes from a
    /// mirror.
    Derived,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCard {
    /// Path within the dataset's folder.
    pub path: String,
    pub bytes: u64,
    /// SHA-256 of its content, lower-case hex.
    pub sha256: String,
    pub source: FileOrigin,
}

/// A folder of many files, checked as one: `sha256` is that of the lines `<sha256>  <path>\n`,
/// sorted by path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderCard {
    /// Path within the dataset's folder, and within its repository.
    pub path: String,
    pub files: usize,
    pub bytes: u64,
    pub sha256: String,
    pub repository: String,
    pub commit: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    pub text: String,
    /// DOI or arXiv id.
    pub link: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetCard {
    pub id: String,
    pub title: String,
    /// As far as upstream states one.
    pub licence: String,
    pub homepage: String,
    pub citation: Citation,
    pub files: Vec<FileCard>,
    pub folders: Vec<FolderCard>,
    pub tasks: Vec<String>,
    /// What a user must know before fetching or using it.
    pub note: String,
}

impl DatasetCard {
    pub fn bytes(&self) -> u64 {
        let files = self.files.iter().map(|f| f.bytes);
        files.chain(self.folders.iter().map(|f| f.bytes)).sum()
    }

    /// Whether anything of it can be fetched.
    pub fn is_published(&self) -> bool {
        let published = |f: &FileCard| f.source != FileOrigin::Derived;
        !self.folders.is_empty() || self.files.iter().any(published)
    }
}

pub fn catalogue() -> &'static [DatasetCard] {
    static CATALOGUE: LazyLock<Vec<DatasetCard>> = LazyLock::new(|| read().unwrap_or_default());
    &CATALOGUE
}

fn read() -> serde_json::Result<Vec<DatasetCard>> {
    serde_json::from_str(include_str!("catalogue.json"))
}

pub fn card(id: &str) -> Option<&'static DatasetCard> {
    catalogue().iter().find(|card| card.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_complete_and_every_hash_is_one() {
        assert_eq!(read().unwrap().len(), 13);
        for card in catalogue() {
            for text in [
                &card.title,
                &card.licence,
                &card.homepage,
                &card.citation.text,
            ] {
                assert!(!text.is_empty(), "{}", card.id);
            }
            assert!(!card.tasks.is_empty(), "{}", card.id);
            let hashes = card.files.iter().map(|f| &f.sha256);
            for hash in hashes.chain(card.folders.iter().map(|f| &f.sha256)) {
                assert!(hash.len() == 64 && hash.chars().all(|c| c.is_ascii_hexdigit()));
            }
            for file in &card.files {
                assert!(file.bytes > 0 && !file.path.contains(".."), "{}", file.path);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = catalogue().iter().map(|c| &c.id).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), catalogue().len());
    }
}
