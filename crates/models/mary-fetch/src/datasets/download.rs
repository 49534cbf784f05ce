//! One file over HTTP: continued where it broke off, checked, and put in place whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::Client;
use reqwest::header::RANGE;

use crate::client::{chain, receive};
use crate::datasets::catalogue::Upstream;
use crate::datasets::digest::{self, Content};
use crate::datasets::fault::{PullError, Result, io_at};
use crate::datasets::verify::describe;

const ATTEMPTS: u32 = 3;

/// The servers that files come from; a mirror of them can stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// Serves `/OWNER/NAME/COMMIT/PATH`.
    pub raw: String,
    /// Serves `/OWNER/NAME/tar.gz/COMMIT`.
    pub archive: String,
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            raw: "https://raw.githubusercontent.com".into(),
            archive: "https://codeload.github.com".into(),
        }
    }
}

impl Hosts {
    pub(crate) fn file(&self, upstream: &Upstream) -> String {
        let Upstream {
            repository,
            commit,
            path,
        } = upstream;
        let path = path
            .replace('%', "%25")
            .replace(' ', "%20")
            .replace('#', "%23");
        format!("{}/{repository}/{commit}/{path}", self.raw)
    }

    pub(crate) fn archive(&self, repository: &str, commit: &str) -> String {
        format!("{}/{repository}/tar.gz/{commit}", self.archive)
    }
}

pub(crate) struct Download<'a> {
    pub(crate) url: &'a str,
    /// Size and hash, where known beforehand.
    pub(crate) content: Option<Content>,
    /// Never take more than this.
    pub(crate) at_most: u64,
    pub(crate) hint: &'a str,
}

pub(crate) fn client() -> Result<Client> {
    crate::blocking()
        .connect_timeout(Duration::from_secs(15))
        .timeout(Duration::from_secs(600))
        .redirect(reqwest::redirect::Policy::limited(5))
        .build()
        .map_err(|e| PullError::Unreachable {
            url: "(none)".into(),
            cause: format!("no HTTP client: {}", chain(&e)),
            hint: "this is a fault in Mary; please report it".into(),
        })
}

/// Fetches into `target`. A `.part` file beside it is continued; it stays when this fails, and goes
/// when its content is wrong.
pub(crate) fn fetch(
    client: &Client,
    wanted: &Download<'_>,
    target: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let part = beside(target, "part");
    let mut attempt = 1;
    loop {
        match fetch_once(client, wanted, &part, progress) {
            Ok(()) => break,
            Err(e) if attempt < ATTEMPTS && is_passing(&e) => {
                std::thread::sleep(Duration::from_millis(300) * attempt * attempt);
                attempt += 1;
            }
            Err(e) => return Err(e),
        }
    }
    mary_platform::move_into_place(&part, target).map_err(io_at(target))
}

/// The same path with one more extension.
pub(crate) fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

/// Whether trying again may help. A wrong content may be half of an older download.
fn is_passing(error: &PullError) -> bool {
    match error {
        PullError::Unreachable { .. } | PullError::WrongContent { .. } => true,
        PullError::Status { status, .. } => *status >= 500 || *status == 429 || *status == 416,
        _ => false,
    }
}

fn fetch_once(
    client: &Client,
    wanted: &Download<'_>,
    part: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let have = fs::metadata(part).map_or(0, |m| m.len());
    let complete = wanted.content.as_ref().is_some_and(|c| c.bytes == have);
    if !complete {
        continue_part(client, wanted, part, have, progress)?;
    }
    check(wanted, part)
}

fn continue_part(
    client: &Client,
    wanted: &Download<'_>,
    part: &Path,
    have: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut request = client.get(wanted.url);
    if have > 0 {
        request = request.header(RANGE, format!("bytes={have}-"));
    }
    let response = request
        .send()
        .map_err(|e| unreachable(wanted, &chain(&e)))?;
    if !response.status().is_success() {
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            fs::remove_file(part).map_err(io_at(part))?;
        }
        return Err(PullError::Status {
            url: wanted.url.to_owned(),
            status: response.status().as_u16(),
            hint: wanted.hint.to_owned(),
        });
    }
    let received =
        receive(response, part, (have, wanted.at_most), progress).map_err(io_at(part))?;
    if received.total > wanted.at_most {
        let most = format!("at most {} bytes", wanted.at_most);
        return wrong(wanted, part, most, "more".into());
    }
    match received.broke {
        None => Ok(()),
        Some(cause) => {
            let cause = format!("broke off after {} bytes: {cause}", received.total);
            Err(unreachable(wanted, &cause))
        }
    }
}

fn check(wanted: &Download<'_>, part: &Path) -> Result<()> {
    let Some(expected) = &wanted.content else {
        return Ok(());
    };
    let found = digest::of_file(part).map_err(io_at(part))?;
    if found == *expected {
        return Ok(());
    }
    if found.bytes < expected.bytes {
        // A body that ended early without an error; what came so far may be good.
        let (came, all) = (found.bytes, expected.bytes);
        let cause = format!("broke off after {came} of {all} bytes");
        return Err(unreachable(wanted, &cause));
    }
    let said = |content: &Content| describe(content.bytes, &content.sha256);
    wrong(wanted, part, said(expected), said(&found))
}

/// Removes what is not what it should be, and says so.
fn wrong(wanted: &Download<'_>, part: &Path, expected: String, found: String) -> Result<()> {
    fs::remove_file(part).map_err(io_at(part))?;
    Err(PullError::WrongContent {
        url: wanted.url.to_owned(),
        expected,
        found,
        hint: wanted.hint.to_owned(),
    })
}

fn unreachable(wanted: &Download<'_>, cause: &str) -> PullError {
    PullError::Unreachable {
        url: wanted.url.to_owned(),
        cause: cause.to_owned(),
        hint: wanted.hint.to_owned(),
    }
}
