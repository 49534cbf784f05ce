//! One file from the hub into the cache: continued where it broke off, checked, put in place whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, ETAG, RANGE};
use reqwest::{StatusCode, Url};
use sha2::Sha256;

use super::fault::io_at;
use super::wire::{Attempt, Retryable, Tries, escaped};
use super::{Entry, Hub, HubError, Listing, Progress, Repository, cache, tell};
use crate::client::{hash, receive};

/// Files below this size come first and one by one.
const SMALL: u64 = 16 << 20;
/// Large files fetched at a time.
const TOGETHER: usize = 4;

/// Most that is taken of a file whose size the hub does not tell.
const UNDECLARED: u64 = 1 << 30;

/// What the hub says about a file before it is fetched.
struct Told {
    commit: String,
    etag: String,
    bytes: Option<u64>,
}

pub(super) fn all(
    hub: &Hub,
    repository: &Repository,
    listing: &Listing,
    wanted: &[&Entry],
) -> Result<(), HubError> {
    let folder = hub.cache.snapshot(&repository.id, &listing.commit);
    let missing = wanted
        .iter()
        .filter(|e| !(cache::stays_below(&e.path) && folder.join(&e.path).is_file()));
    let (small, large): (Vec<&Entry>, Vec<&Entry>) = missing
        .copied()
        .partition(|e| e.bytes.is_some_and(|b| b < SMALL));
    for entry in small {
        hub.fetch(repository, &listing.commit, &entry.path)?;
    }
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<HubError>> = Mutex::new(None);
    let work = || {
        while let Some(entry) = large.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = hub.fetch(repository, &listing.commit, &entry.path) {
                // Whoever is at work finishes; nothing more is begun.
                next.store(large.len(), Ordering::Relaxed);
                if let Ok(mut first) = failed.lock() {
                    first.get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..TOGETHER.min(large.len()) {
            scope.spawn(work);
        }
        work();
    });
    match failed.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

impl Hub {
    pub(super) fn fetch(
        &self,
        repository: &Repository,
        revision: &str,
        path: &str,
    ) -> Result<PathBuf, HubError> {
        if !cache::stays_below(path) {
            return Err(self.strange(repository, format!("`{path}` is no path of a file")));
        }
        let told = self.tell(repository, revision, path)?;
        let blob = self.cache.blob(&repository.id, &told.etag);
        {
            let _alone = self.cache.lock(&repository.id, &told.etag)?;
            if !blob.is_file() {
                self.download(repository, (revision, path), &told, &blob)?;
            }
        }
        let file = self
            .cache
            .link(&repository.id, &told.commit, path, &told.etag)?;
        if revision == repository.revision() {
            self.cache.name(repository, &told.commit)?;
        }
        Ok(file)
    }

    fn tell(&self, repository: &Repository, revision: &str, path: &str) -> Result<Told, HubError> {
        let url = self.url(repository, &resolve(repository, revision, path))?;
        let mut tries = Tries::new(self, repository);
        let headers = loop {
            let asked = self.attempt(&url, true, |client, url| {
                client.head(url).header(ACCEPT_ENCODING, "identity")
            })?;
            match asked {
                Attempt::Answer(answer) if answer.status().is_success() => {
                    break answer.headers().clone();
                }
                Attempt::Answer(answer) => {
                    return Err(self.refusal(repository, Some(path), &answer));
                }
                Attempt::Elsewhere(headers, _) => break headers,
                Attempt::Broken(trouble) => tries.wait(trouble)?,
            }
        };
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        let etag = text("x-linked-etag").or_else(|| text(ETAG.as_str()));
        let etag = etag
            .unwrap_or_default()
            .trim_start_matches("W/")
            .trim_matches('"')
            .to_owned();
        let commit = text("x-repo-commit").unwrap_or_default().to_owned();
        for (what, word) in [("an ETag", &etag), ("a commit", &commit)] {
            if !cache::is_name(word) {
                return Err(self.strange(
                    repository,
                    format!("{path}: expected {what}, found `{word}`"),
                ));
            }
        }
        Ok(Told {
            commit,
            etag,
            bytes: text("x-linked-size")
                .or_else(|| text(CONTENT_LENGTH.as_str()))
                .and_then(|size| size.parse().ok()),
        })
    }

    /// Until the content is whole and right. The part that is there already is kept from attempt to
    /// attempt and from process to process; the signed link is asked for anew each time.
    fn download(
        &self,
        repository: &Repository,
        (revision, path): (&str, &str),
        told: &Told,
        blob: &Path,
    ) -> Result<(), HubError> {
        let folder = blob.parent().unwrap_or(blob);
        fs::create_dir_all(folder).map_err(io_at(folder))?;
        let part = folder.join(format!("{}.incomplete", told.etag));
        let url = self.url(repository, &resolve(repository, revision, path))?;
        let mut tries = Tries::new(self, repository);
        let mut wrong = 0;
        loop {
            let mut have = fs::metadata(&part).map_or(0, |m| m.len());
            if told.bytes.is_some_and(|bytes| have > bytes) {
                fs::remove_file(&part).map_err(io_at(&part))?;
                have = 0;
            }
            let mut differs = None;
            if told.bytes != Some(have) || have == 0 {
                match self.continue_part(repository, (&url, path), told, (&part, have))? {
                    Continued::Whole => {}
                    Continued::Broken { total, cause } => {
                        if total > have {
                            // Something came: the count begins anew.
                            tries.failed = 0;
                        }
                        tries.wait(cause)?;
                        continue;
                    }
                    Continued::TooLong { most } => differs = Some((most, "more".into())),
                }
            }
            if differs.is_none() {
                differs = check(told, &part)?;
            }
            let Some((expected, found)) = differs else {
                break;
            };
            fs::remove_file(&part).map_err(io_at(&part))?;
            wrong += 1;
            if wrong >= 2 {
                return Err(HubError::WrongContent {
                    id: repository.id.clone(),
                    path: path.to_owned(),
                    expected,
                    found,
                });
            }
        }
        mary_platform::move_into_place(&part, blob).map_err(io_at(blob))
    }

    /// Asks once for what is missing behind the `have` bytes of a part.
    fn continue_part(
        &self,
        repository: &Repository,
        (url, path): (&Url, &str),
        told: &Told,
        (part, have): (&Path, u64),
    ) -> Result<Continued, HubError> {
        let broken = |cause| Ok(Continued::Broken { total: have, cause });
        let asked = self.attempt(url, false, |client, url| {
            let request = client.get(url).header(ACCEPT_ENCODING, "identity");
            if have > 0 {
                request.header(RANGE, format!("bytes={have}-"))
            } else {
                request
            }
        })?;
        let answer = match asked {
            Attempt::Answer(answer) => answer,
            Attempt::Elsewhere(_, to) => {
                return Err(self.strange(repository, format!("{path} lies at {to}")));
            }
            Attempt::Broken(cause) => return broken(cause),
        };
        if answer.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            fs::remove_file(part).map_err(io_at(part))?;
            return broken(Retryable::Passing("it has less than was fetched".into()));
        }
        if !answer.status().is_success() {
            return Err(self.refusal(repository, Some(path), &answer));
        }
        let mut watch = |done| {
            tell(Progress {
                id: &repository.id,
                file: path,
                done,
                total: told.bytes,
            });
        };
        let most = told.bytes.unwrap_or(UNDECLARED);
        let received = receive(answer, part, (have, most), &mut watch).map_err(io_at(part))?;
        let total = received.total;
        if total > most {
            let bound = if told.bytes.is_some() { "" } else { "at most " };
            return Ok(Continued::TooLong {
                most: format!("{bound}{most} bytes"),
            });
        }
        let short = told.bytes.is_some_and(|bytes| total < bytes);
        if !short && received.broke.is_none() {
            return Ok(Continued::Whole);
        }
        let cause = received.broke.unwrap_or_else(|| "it ended early".into());
        let cause = Retryable::Passing(format!("broke off after {total} bytes: {cause}"));
        Ok(Continued::Broken { total, cause })
    }
}

enum Continued {
    Whole,
    Broken { total: u64, cause: Retryable },
    TooLong { most: String },
}

fn resolve(repository: &Repository, revision: &str, path: &str) -> String {
    format!(
        "/{}/resolve/{}/{}",
        escaped(&repository.id, true),
        escaped(revision, false),
        escaped(path, true)
    )
}

/// What was expected and what was found, where they differ. An ETag of 64 digits is the SHA-256 of
/// the content, one of 40 the name git gives it; of any other only the size can be held.
fn check(told: &Told, part: &Path) -> Result<Option<(String, String)>, HubError> {
    let bytes = fs::metadata(part).map_err(io_at(part))?.len();
    if let Some(expected) = told.bytes.filter(|expected| *expected != bytes) {
        return Ok(Some((
            format!("{expected} bytes"),
            format!("{bytes} bytes"),
        )));
    }
    let hex = told.etag.bytes().all(|b| b.is_ascii_hexdigit());
    let found = match told.etag.len() {
        64 if hex => digest::<Sha256>(part, b"")?,
        40 if hex => digest::<sha1::Sha1>(part, format!("blob {bytes}\0").as_bytes())?,
        _ => return Ok(None),
    };
    Ok((!found.eq_ignore_ascii_case(&told.etag))
        .then(|| (format!("the hash {}", told.etag), found)))
}

fn digest<D: sha2::Digest>(path: &Path, head: &[u8]) -> Result<String, HubError> {
    let file = mary_platform::open_plain(path).map_err(io_at(path))?;
    Ok(hash::<D>(head, file).map_err(io_at(path))?.1)
}
