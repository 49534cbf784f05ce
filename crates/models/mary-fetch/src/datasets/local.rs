//! Datasets on this machine: a mirror the user names, then the cache that `pull` fills.

use std::path::{Path, PathBuf};

use mary_contract::{DataError, DataSource};

use crate::datasets::catalogue::{DatasetCard, FileOrigin, card, catalogue};
use crate::datasets::digest;
use crate::datasets::download::Hosts;
use crate::datasets::fault::{PullError, Result};
use crate::datasets::pull::{Progress, Pulled, Puller, by_hand};
use crate::datasets::verify::{self, Report};

#[derive(Debug, Clone)]
pub struct LocalData {
    mirror: Option<PathBuf>,
    cache: PathBuf,
    hosts: Hosts,
}

impl LocalData {
    /// Looks into the mirror (`--data-dir` or `MARY_DATA_DIR`, one folder per dataset in the
    /// layout of docs/data.md) and then into the cache.
    pub fn new(mirror: Option<PathBuf>, cache: PathBuf) -> Self {
        Self {
            mirror,
            cache,
            hosts: Hosts::default(),
        }
    }

    #[must_use]
    pub fn with_hosts(mut self, hosts: Hosts) -> Self {
        self.hosts = hosts;
        self
    }

    /// Every dataset, and where it is if it is here.
    pub fn list(&self) -> Vec<(&'static DatasetCard, Option<PathBuf>)> {
        catalogue()
            .iter()
            .map(|card| (card, self.find(&card.id)))
            .collect()
    }

    /// Fetches a dataset into the cache and checks every file. What an interrupted pull has
    /// brought is not fetched again.
    pub fn pull(&self, id: &str, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Pulled> {
        let card = card(id).ok_or_else(|| PullError::Unknown {
            id: id.to_owned(),
            known: known(),
        })?;
        self.pull_card(card, progress)
    }

    pub(crate) fn pull_card(
        &self,
        card: &'static DatasetCard,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Pulled> {
        Puller {
            card,
            cache: &self.cache,
            hosts: &self.hosts,
        }
        .pull(progress)
    }

    pub fn verify(&self, id: &str) -> Result<Report, DataError> {
        let folder = self.folder(id)?;
        let card = card(id).ok_or_else(|| missing(id, unknown(id)))?;
        Ok(verify::dataset(card, &folder))
    }

    fn find(&self, id: &str) -> Option<PathBuf> {
        let roots = self.mirror.iter().chain([&self.cache]);
        roots.map(|root| root.join(id)).find(|path| path.is_dir())
    }
}

impl DataSource for LocalData {
    fn folder(&self, dataset: &str) -> Result<PathBuf, DataError> {
        let card = card(dataset).ok_or_else(|| missing(dataset, unknown(dataset)))?;
        self.find(dataset).ok_or_else(|| {
            let pull = if card.is_published() {
                format!("`mary data pull {dataset}` fetches it; ")
            } else {
                String::new()
            };
            missing(dataset, pull + &by_hand(card, &self.hosts))
        })
    }

    /// `sha256:` and the hash of the lines `<sha256>  <path>\n` of the files that are there; files
    /// that upstream offers must be.
    fn hash(&self, dataset: &str) -> Result<String, DataError> {
        let folder = self.folder(dataset)?;
        let card = card(dataset).ok_or_else(|| missing(dataset, unknown(dataset)))?;
        hash_card(card, &folder)
    }
}

fn hash_card(card: &DatasetCard, folder: &Path) -> Result<String, DataError> {
    let damaged = |path: &str, e: std::io::Error| {
        DataError::damaged(
            folder.join(path),
            format!(
                "cannot be read: {e}\nhint: `mary data verify {id}` says what is wrong, `mary data pull {id}` mends it",
                id = card.id
            ),
        )
    };
    let mut lines = Vec::new();
    for file in &card.files {
        match verify::content(file, folder) {
            Ok(content) => lines.push((file.path.clone(), content.sha256)),
            Err(e)
                if e.kind() == std::io::ErrorKind::NotFound
                    && file.source == FileOrigin::Derived => {}
            Err(e) => return Err(damaged(&file.path, e)),
        }
    }
    for part in &card.folders {
        let (_, content) =
            verify::folder_content(part, folder).map_err(|e| damaged(&part.path, e))?;
        lines.push((format!("{}/", part.path), content.sha256));
    }
    if card.files.is_empty() && card.folders.is_empty() {
        for path in digest::files_below(folder, "").map_err(|e| damaged("", e))? {
            let content = digest::of_file(&folder.join(&path)).map_err(|e| damaged(&path, e))?;
            lines.push((path, content.sha256));
        }
    }
    lines.sort_unstable();
    let hash = digest::of_listing(lines.iter().map(|(p, h)| (h.as_str(), p.as_str())))
        .map_err(|e| damaged("", e))?;
    Ok(format!("sha256:{hash}"))
}

fn missing(id: &str, hint: String) -> DataError {
    DataError::Missing {
        id: id.to_owned(),
        hint,
    }
}

fn unknown(id: &str) -> String {
    format!("there is no dataset `{id}`; there are: {}", known())
}

fn known() -> String {
    let names: Vec<_> = catalogue().iter().map(|c| c.id.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
