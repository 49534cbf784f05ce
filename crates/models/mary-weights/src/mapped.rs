//! A weight file as bytes: mapped from disk, or compiled into the binary.

use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_platform::open_plain;
use memmap2::Mmap;

use crate::fault;
use crate::fault::Result;

#[derive(Clone)]
enum Bytes {
    Mapped(Arc<Mmap>),
    Compiled(&'static [u8]),
    Owned(Arc<Vec<u8>>),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Compiled(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// The bytes of a tensor: where they lie in the mapped file, or rearranged in memory. Clones share them.
#[derive(Clone)]
pub struct RawBytes {
    bytes: Bytes,
    range: Range<usize>,
}

impl From<Vec<u8>> for RawBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            range: 0..bytes.len(),
            bytes: Bytes::Owned(Arc::new(bytes)),
        }
    }
}

impl Deref for RawBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.all().get(self.range.clone()).unwrap_or_default()
    }
}

impl RawBytes {
    /// A plain file, mapped: a large or hostile one costs no memory before somebody reads it.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let bytes = map(path)?;
        let range = 0..bytes.all().len();
        Ok(Self { bytes, range })
    }

    /// Some of these bytes, which need no memory of their own.
    pub fn part(&self, part: Range<usize>) -> Self {
        let at = |place: usize| self.range.end.min(self.range.start + place);
        Self {
            bytes: self.bytes.clone(),
            range: at(part.start)..at(part.end),
        }
    }
}

fn map(path: &Path) -> io::Result<Bytes> {
    let file = open_plain(path)?;
    // SAFETY: the mapping is read-only and private to this process. Another process that
    // truncates a weight file while we read it would end us with SIGBUS; that is the price
    // every runtime that maps weights pays, and no write of ours touches such a file.
    let map = unsafe { Mmap::map(&file) }?;
    Ok(Bytes::Mapped(Arc::new(map)))
}

pub(crate) struct Mapped {
    pub path: PathBuf,
    bytes: Bytes,
}

impl Mapped {
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Err(fault::bad(path, "is a folder where a file was expected"));
        }
        let bytes = map(path).map_err(|e| fault::io(path, &e))?;
        Ok(Self {
            path: path.to_owned(),
            bytes,
        })
    }

    pub fn compiled(name: &str, bytes: &'static [u8]) -> Self {
        Self {
            path: PathBuf::from(name),
            bytes: Bytes::Compiled(bytes),
        }
    }

    /// Gives the pages back; who reads them again gets them from the file.
    pub fn let_go(&self) {
        #[cfg(unix)]
        if let Bytes::Mapped(map) = &self.bytes {
            // SAFETY: nobody ever writes to the mapping, so that a page that is read again has the same bytes. If it
            // fails, the pages stay, and nothing else is lost.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// A part of the file, which stays mapped as long as somebody has it.
    pub fn share(&self, range: Range<usize>) -> RawBytes {
        RawBytes {
            bytes: self.bytes.clone(),
            range,
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.all()
    }
}
