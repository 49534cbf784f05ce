//! Fetching a dataset: everything is gathered and checked beside its place, then moved in whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::blocking::Client;

use crate::datasets::catalogue::{DatasetCard, FileCard, FileOrigin, FolderCard};
use crate::datasets::digest::Content;
use crate::datasets::download::{self, Download, Hosts};
use crate::datasets::fault::{PullError, Result, io_at};
use crate::datasets::unpack::{Limits, unpack_tar_gz};
use crate::datasets::verify::{self, FileState};

/// No repository we fetch from comes near this.
const LARGEST_ARCHIVE: u64 = 512 << 20;

#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    pub file: &'a str,
    /// Bytes of the dataset that are here.
    pub done: u64,
    /// Bytes of the dataset that can be fetched. An archive may bring more.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    pub folder: PathBuf,
    /// Whether it was there already, whole.
    pub already: bool,
    /// Files that are published nowhere and not there; they come from a mirror.
    pub absent: Vec<&'static str>,
}

pub(crate) struct Puller<'a> {
    pub(crate) card: &'static DatasetCard,
    pub(crate) cache: &'a Path,
    pub(crate) hosts: &'a Hosts,
}

impl Puller<'_> {
    pub(crate) fn pull(&self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Pulled> {
        let card = self.card;
        if !card.is_published() {
            return Err(PullError::NotPublished {
                id: &card.id,
                why: card.note.clone(),
                hint: self.by_hand(),
            });
        }
        let place = self.cache.join(&card.id);
        fs::create_dir_all(self.cache).map_err(io_at(self.cache))?;
        // Two pulls of one dataset take turns; the second finds it there.
        let path = self.cache.join(format!(".{}.lock", card.id));
        let lock = File::create(&path).map_err(io_at(&path))?;
        match lock.lock() {
            Err(e) if e.kind() != io::ErrorKind::Unsupported => return Err(io_at(&path)(e)),
            _ => {}
        }
        let already = self.absent_in(&place).is_some();
        if !already {
            let stage = self.gather(&place, progress)?;
            replace(&stage, &place)?;
        }
        Ok(Pulled {
            absent: self.absent_in(&place).unwrap_or_default(),
            folder: place,
            already,
        })
    }

    /// The derived files that are not there, if everything else is there and good.
    fn absent_in(&self, place: &Path) -> Option<Vec<&'static str>> {
        let mut absent = Vec::new();
        for file in &self.card.files {
            match (verify::file(file, place), &file.source) {
                (FileState::Good, _) => {}
                (FileState::Missing, FileOrigin::Derived) => absent.push(file.path.as_str()),
                _ => return None,
            }
        }
        let whole = |f: &FolderCard| verify::folder_state(f, place) == FileState::Good;
        self.card.folders.iter().all(whole).then_some(absent)
    }

    /// Gathers everything in a folder beside the place. What an interrupted pull left there, and
    /// what is good in the place, is used again.
    fn gather(&self, place: &Path, progress: &mut dyn FnMut(Progress<'_>)) -> Result<PathBuf> {
        let card = self.card;
        let stage = self.cache.join(format!(".{}.pulling", card.id));
        fs::create_dir_all(&stage).map_err(io_at(&stage))?;
        let client = download::client()?;
        let published = card
            .files
            .iter()
            .filter(|f| f.source != FileOrigin::Derived);
        let total = published.map(|f| f.bytes).sum::<u64>()
            + card.folders.iter().map(|f| f.bytes).sum::<u64>();
        let mut done = 0;
        for file in &card.files {
            if verify::file(file, &stage) != FileState::Good {
                let mut tell = |bytes| {
                    progress(Progress {
                        file: &file.path,
                        done: done + bytes,
                        total,
                    });
                };
                if verify::file(file, place) == FileState::Good {
                    copy(&file.path, place, &stage)?;
                } else {
                    self.file(&client, file, &stage, &mut tell)?;
                }
            }
            if file.source != FileOrigin::Derived {
                done += file.bytes;
            }
        }
        if card
            .folders
            .iter()
            .any(|f| verify::folder_state(f, &stage) != FileState::Good)
        {
            let mut tell = |bytes| {
                progress(Progress {
                    file: "archive of the repository",
                    done: done + bytes,
                    total,
                });
            };
            self.folders(&client, &stage, &mut tell)?;
        }
        Ok(stage)
    }

    fn file(
        &self,
        client: &Client,
        file: &FileCard,
        stage: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let (FileOrigin::Raw(upstream) | FileOrigin::Gzipped(upstream)) = &file.source else {
            return Ok(());
        };
        let target = stage.join(&file.path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(io_at(parent))?;
        }
        let url = self.hosts.file(upstream);
        let wanted = Download {
            url: &url,
            content: Some(Content {
                bytes: file.bytes,
                sha256: file.sha256.clone(),
            }),
            at_most: file.bytes,
            hint: &self.by_hand(),
        };
        if matches!(file.source, FileOrigin::Gzipped(_)) {
            let plain = download::beside(&target, "plain");
            download::fetch(client, &wanted, &plain, progress)?;
            gzip(&plain, &target)?;
            fs::remove_file(&plain).map_err(io_at(&plain))
        } else {
            download::fetch(client, &wanted, &target, progress)
        }
    }

    fn folders(&self, client: &Client, stage: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
        for folder in &self.card.folders {
            // One archive may have brought several folders.
            if verify::folder_state(folder, stage) == FileState::Good {
                continue;
            }
            let url = self.hosts.archive(&folder.repository, &folder.commit);
            let archive = stage.join(".archive.tar.gz");
            let wanted = Download {
                url: &url,
                content: None,
                at_most: LARGEST_ARCHIVE,
                hint: &self.by_hand(),
            };
            download::fetch(client, &wanted, &archive, progress)?;
            let unpacked = self.unpack(folder, &archive, stage, &url);
            fs::remove_file(&archive).map_err(io_at(&archive))?;
            unpacked?;
        }
        Ok(())
    }

    /// Takes the folders that come from this archive, and checks them.
    fn unpack(&self, like: &FolderCard, archive: &Path, stage: &Path, url: &str) -> Result<()> {
        let same = |f: &&FolderCard| f.repository == like.repository && f.commit == like.commit;
        let folders: Vec<&FolderCard> = self.card.folders.iter().filter(same).collect();
        for folder in &folders {
            let old = stage.join(&folder.path);
            if old.exists() {
                fs::remove_dir_all(&old).map_err(io_at(&old))?;
            }
        }
        let choose = |path: &Path| {
            // GitHub puts everything below NAME-COMMIT/.
            let mut components = path.components();
            components.next()?;
            let inner = components.as_path();
            folders
                .iter()
                .any(|f| inner.starts_with(&f.path))
                .then(|| inner.to_owned())
        };
        unpack_tar_gz(archive, stage, Limits::default(), &choose).map_err(|source| {
            PullError::Archive {
                url: url.to_owned(),
                source,
            }
        })?;
        for folder in folders {
            if let FileState::Different { expected, found } = verify::folder_state(folder, stage) {
                return Err(PullError::WrongContent {
                    url: format!("{url} ({})", folder.path),
                    expected,
                    found,
                    hint: self.by_hand(),
                });
            }
        }
        Ok(())
    }

    fn by_hand(&self) -> String {
        by_hand(self.card, self.hosts)
    }
}

/// How a user gets a dataset where this machine cannot.
pub(crate) fn by_hand(card: &DatasetCard, hosts: &Hosts) -> String {
    let id = &card.id;
    let mut text = format!(
        "without network, get the files elsewhere, put them under DIR/{id}/ and say `--data-dir DIR` \
         or set MARY_DATA_DIR=DIR:"
    );
    const SHOWN: usize = 6;
    for file in card.files.iter().take(SHOWN) {
        let from = match &file.source {
            FileOrigin::Raw(upstream) => hosts.file(upstream),
            FileOrigin::Gzipped(upstream) => format!("{} (gzipped)", hosts.file(upstream)),
            FileOrigin::Derived => "a mirror; see docs/data.md".into(),
        };
        text.push_str(&format!("\n  DIR/{id}/{} from {from}", file.path));
    }
    if card.files.len() > SHOWN {
        text.push_str(&format!(
            "\n  and {} more files of {}; `mary data list {id}` names them all",
            card.files.len() - SHOWN,
            card.homepage
        ));
    }
    for folder in &card.folders {
        text.push_str(&format!(
            "\n  DIR/{id}/{}/ ({} files) from {}",
            folder.path,
            folder.files,
            hosts.archive(&folder.repository, &folder.commit)
        ));
    }
    if card.files.is_empty() && card.folders.is_empty() {
        text.push_str(&format!("\n  {}", card.note));
    }
    text
}

fn copy(path: &str, from: &Path, to: &Path) -> Result<()> {
    let target = to.join(path);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(io_at(parent))?;
    }
    fs::copy(from.join(path), &target).map_err(io_at(&target))?;
    Ok(())
}

fn gzip(plain: &Path, target: &Path) -> Result<()> {
    let mut from = mary_platform::open_plain(plain).map_err(io_at(plain))?;
    let to = File::create(target).map_err(io_at(target))?;
    let mut encoder = GzEncoder::new(to, Compression::default());
    io::copy(&mut from, &mut encoder)
        .and_then(|_| encoder.finish())
        .and_then(|file| file.sync_data())
        .map_err(io_at(target))
}

/// Moves the gathered folder to its place; an older one steps aside first and is removed last.
fn replace(stage: &Path, place: &Path) -> Result<()> {
    let aside = stage.with_extension("old");
    if aside.exists() {
        fs::remove_dir_all(&aside).map_err(io_at(&aside))?;
    }
    let had = place.exists();
    if had {
        fs::rename(place, &aside).map_err(io_at(place))?;
    }
    fs::rename(stage, place).map_err(io_at(place))?;
    if had {
        fs::remove_dir_all(&aside).map_err(io_at(&aside))?;
    }
    Ok(())
}
