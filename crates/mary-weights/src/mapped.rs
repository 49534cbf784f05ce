//! A weight file as bytes: mapped from disk, or compiled into the binary.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use mary_contract::{ModelError, open_plain};
use memmap2::Mmap;

use crate::fault;

enum Bytes {
    Mapped(Mmap),
    Compiled(&'static [u8]),
}

/// A weight file.
pub(crate) struct Mapped {
    pub path: PathBuf,
    bytes: Bytes,
}

impl Mapped {
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        if path.is_dir() {
            return Err(fault::bad(path, "is a folder where a file was expected"));
        }
        let file = open_plain(path).map_err(|e| fault::io(path, &e))?;
        // SAFETY: the mapping is read-only and private to this process. Another process that
        // truncates a weight file while we read it would end us with SIGBUS; that is the price
        // every runtime that maps weights pays, and no write of ours touches such a file.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| fault::io(path, &e))?;
        Ok(Self {
            path: path.to_owned(),
            bytes: Bytes::Mapped(map),
        })
    }

    pub fn compiled(name: &str, bytes: &'static [u8]) -> Self {
        Self {
            path: PathBuf::from(name),
            bytes: Bytes::Compiled(bytes),
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(map) => map,
            Bytes::Compiled(bytes) => bytes,
        }
    }
}
