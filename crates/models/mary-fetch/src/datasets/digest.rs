//! SHA-256 of files and of listings of files.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::Sha256;

use crate::client::hash;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

fn of_reader(reader: impl Read) -> io::Result<Content> {
    let (bytes, sha256) = hash::<Sha256>(b"", reader)?;
    Ok(Content { bytes, sha256 })
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
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let inner = match folder.as_str() {
                "" => name,
                folder => format!("{folder}/{name}"),
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
pub(crate) fn of_listing<'a>(
    lines: impl Iterator<Item = (&'a str, &'a str)>,
) -> io::Result<String> {
    let text: String = lines
        .map(|(hash, path)| format!("{hash}  {path}\n"))
        .collect();
    Ok(of_reader(text.as_bytes())?.sha256)
}
