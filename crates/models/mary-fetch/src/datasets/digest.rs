//! SHA-256 of files and of listings of files.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};

/// Size and hash of some content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn of_reader(mut reader: impl Read) -> io::Result<Content> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut bytes = 0;
    loop {
        let n = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        hasher.update(buffer.get(..n).unwrap_or_default());
        bytes += n as u64;
    }
    Ok(Content {
        bytes,
        sha256: hex(&hasher.finalize()),
    })
}

pub(crate) fn of_file(path: &Path) -> io::Result<Content> {
    of_reader(mary_platform::open_plain(path)?)
}

/// Of what a gzipped file holds, but of no more than `at_most` bytes.
pub(crate) fn of_gzipped(path: &Path, at_most: u64) -> io::Result<Content> {
    let plain = MultiGzDecoder::new(BufReader::new(mary_platform::open_plain(path)?));
    of_reader(plain.take(at_most.saturating_add(1)))
}

/// The files below `root/folder`, as paths relative to `root`, sorted by their bytes. Links are not
/// followed.
pub(crate) fn files_below(root: &Path, folder: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let path = if folder.is_empty() {
            root.to_owned()
        } else {
            root.join(&folder)
        };
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let inner = if folder.is_empty() {
                name
            } else {
                format!("{folder}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(inner);
            } else if kind.is_file() {
                found.push(inner);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Hash of the lines `<sha256>  <path>\n`.
pub(crate) fn of_listing<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut hasher = Sha256::new();
    for (sha256, path) in lines {
        hasher.update(format!("{sha256}  {path}\n"));
    }
    hex(&hasher.finalize())
}
