//! Archives from strangers: nothing is written outside the folder, nothing but plain files, and no
//! more than was agreed.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries, wanted or not.
    pub entries: usize,
    /// Bytes of all unpacked content together, wanted or not.
    pub bytes: u64,
}

/// No honest archive unpacks to more than this many times its own size, beside what is small anyway.
const RATIO: u64 = 200;
const SMALL: u64 = 64 << 20;

impl Limits {
    /// The same for an archive of this size: by ratio, too.
    fn of_archive(self, size: u64) -> Self {
        let by_ratio = size.saturating_mul(RATIO).saturating_add(SMALL);
        Self {
            bytes: self.bytes.min(by_ratio),
            ..self
        }
    }
}

/// Opens an archive that is a plain file, with the limits that fit its size.
fn open(archive: &Path, limits: Limits) -> Result<(File, Limits)> {
    let file = mary_platform::open_plain(archive).map_err(io_at(archive))?;
    let size = file.metadata().map_err(io_at(archive))?.len();
    Ok((file, limits.of_archive(size)))
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 200_000,
            bytes: 2 << 30,
        }
    }
}

#[derive(Debug, Error)]
pub enum UnpackError {
    #[error("the archive is damaged or incomplete ({0})\nhint: fetch it again")]
    Damaged(String),
    /// An entry would be written outside the folder.
    #[error(
        "the archive is hostile: entry `{0}` leads out of its folder\nhint: do not use this file"
    )]
    Escape(String),
    /// An entry is a link or a device.
    #[error("the archive is hostile: entry `{0}` is not a plain file\nhint: do not use this file")]
    NotAFile(String),
    #[error("the archive unpacks to more than {0}\nhint: do not use this file")]
    TooLarge(String),
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// What unpacking gives, or why not.
type Result<T, E = UnpackError> = std::result::Result<T, E>;

/// Where an entry goes below the target folder; `None` leaves it out.
type Choose<'a> = &'a dyn Fn(&Path) -> Option<PathBuf>;

pub fn unpack_tar_gz(
    archive: &Path,
    into: &Path,
    limits: Limits,
    choose: Choose<'_>,
) -> Result<usize> {
    let (file, limits) = open(archive, limits)?;
    let mut budget = Budget::new(limits);
    // Bounded before it is decoded: headers and unwanted entries count too.
    let plain = GzDecoder::new(BufReader::new(file)).take(limits.bytes.saturating_add(1 << 20));
    let mut tar = tar::Archive::new(plain);
    let mut written = 0;
    for entry in tar.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let bytes = entry.path_bytes().into_owned();
        let name = String::from_utf8_lossy(&bytes).into_owned();
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            continue;
        }
        budget.entry(entry.size())?;
        let path = inside(&name)?;
        let Some(target) = choose(&path).filter(|_| !kind.is_dir()) else {
            continue;
        };
        if !kind.is_file() {
            return Err(UnpackError::NotAFile(name));
        }
        write(&mut entry, into, &target, &mut budget)?;
        written += 1;
    }
    // A tar may end before its gzip does; reading on finds a truncated or damaged tail.
    let mut rest = tar.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(damaged)?;
    Ok(written)
}

pub fn unpack_zip(
    archive: &Path,
    into: &Path,
    limits: Limits,
    choose: Choose<'_>,
) -> Result<usize> {
    let (file, limits) = open(archive, limits)?;
    let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let mut budget = Budget::new(limits);
    let mut written = 0;
    for i in 0..zip.len() {
        let mut entry = zip.by_index(i).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.into_owned();
        // The stated size may lie; the budget counts again while writing.
        budget.entry(0)?;
        let path = inside(&name)?;
        let Some(target) = choose(&path).filter(|_| !entry.is_dir()) else {
            continue;
        };
        if !entry.is_file() {
            return Err(UnpackError::NotAFile(name));
        }
        budget.reserve(entry.size())?;
        write(&mut entry, into, &target, &mut budget)?;
        written += 1;
    }
    Ok(written)
}

/// An entry's name as a path below its folder, or a refusal.
fn inside(name: &str) -> Result<PathBuf> {
    let escape = || UnpackError::Escape(name.to_owned());
    // A backslash is a separator on Windows and a drive letter leads anywhere.
    if name.contains('\\') || name.contains('\0') || name.get(1..2) == Some(":") {
        return Err(escape());
    }
    let mut path = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(escape());
            }
        }
    }
    Ok(path)
}

fn write(from: &mut impl Read, into: &Path, target: &Path, budget: &mut Budget) -> Result<()> {
    // The chooser is ours, but a mistake there must not become an escape either.
    let path = into.join(inside(&target.to_string_lossy())?);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io_at(parent))?;
    }
    // `create_new` follows no link and overwrites nothing, not even an earlier entry.
    let mut file = File::create_new(&path).map_err(io_at(&path))?;
    let mut limited = from.take(budget.left.saturating_add(1));
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = limited.read(&mut buffer).map_err(damaged)?;
        if n == 0 {
            return Ok(());
        }
        budget.reserve(n as u64)?;
        budget.left -= n as u64;
        io::Write::write_all(&mut file, buffer.get(..n).unwrap_or_default())
            .map_err(io_at(&path))?;
    }
}

struct Budget {
    limits: Limits,
    entries: usize,
    left: u64,
}

impl Budget {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: 0,
            left: limits.bytes,
        }
    }

    fn entry(&mut self, size: u64) -> Result<()> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            let most = format!("{} entries", self.limits.entries);
            return Err(UnpackError::TooLarge(most));
        }
        self.reserve(size)
    }

    fn reserve(&self, size: u64) -> Result<()> {
        if size > self.left {
            let most = format!("{} bytes", self.limits.bytes);
            return Err(UnpackError::TooLarge(most));
        }
        Ok(())
    }
}

fn damaged(error: impl std::fmt::Display) -> UnpackError {
    UnpackError::Damaged(error.to_string())
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> UnpackError + '_ {
    move |source| UnpackError::Io {
        path: path.to_owned(),
        source,
    }
}
