//! Models of the hub: which files of a repository make a model, whether a folder of the cache has
//! them all, and what the hub's refusals mean for somebody who named a model.

use std::path::{Path, PathBuf};

use crate::fault::{Result, internal};
use crate::gguf::parts::Part;
use mary_contract::{ErrorKind, ModelError, ModelRef};
use mary_fetch::hub::{Entry, Hub, HubError, Listing, Names, Repository};

pub(crate) enum NeededFiles {
    Model,
    /// The small files without the weights.
    Tokenizer,
    File(String),
}

pub(crate) fn from_hub(
    owner: &str,
    repository: &str,
    revision: Option<&str>,
    wanted: NeededFiles,
) -> Result<PathBuf> {
    let repository = Repository {
        id: format!("{owner}/{repository}"),
        revision: revision.map(str::to_owned),
    };
    apart(&repository.id, || fetch(&repository, &wanted))
}

/// The branches and tags of a repository, as the hub lists them; nothing when the hub may not be
/// asked.
pub fn names(id: &str) -> Result<Option<Names>> {
    apart(id, || {
        let hub = Hub::from_env()?;
        if hub.offline {
            return Ok(None);
        }
        hub.names(id).map(Some)
    })
}

/// The snapshot of a hub model, where the cache has all of it; nothing is asked of the hub.
pub fn cached(model: &ModelRef) -> Option<PathBuf> {
    let hub = Hub::from_env().ok()?;
    let repository = Repository {
        id: model.name.clone(),
        revision: model.revision.clone(),
    };
    hub.cache.found(&repository).filter(|f| is_whole(f))
}

/// The hub's client waits in its own runtime, which must not be started inside another one.
fn apart<T: Send>(id: &str, work: impl FnOnce() -> Result<T, HubError> + Send) -> Result<T> {
    match std::thread::scope(|scope| scope.spawn(work).join()) {
        Ok(done) => done.map_err(|error| explain(&error)),
        Err(_) => Err(internal(format!("fetching {id} from the hub broke down"))),
    }
}

fn fetch(repository: &Repository, wanted: &NeededFiles) -> Result<PathBuf, HubError> {
    let hub = Hub::from_env()?;
    if let NeededFiles::File(file) = wanted {
        // A part is of no use without its fellows.
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file.as_str()));
        if let Some(part) = Part::read(name) {
            for name in part.names() {
                let path = match folder {
                    "" => name,
                    folder => format!("{folder}/{name}"),
                };
                hub.file(repository, &path)?;
            }
        }
        return hub.file(repository, file);
    }
    let enough = |folder: &Path| match wanted {
        NeededFiles::Tokenizer => has_tokenizer(folder),
        _ => is_whole(folder),
    };
    if let Some(folder) = hub.cache.found(repository).filter(|f| enough(f)) {
        return Ok(folder);
    }
    if hub.offline {
        return Err(HubError::Offline {
            id: repository.id.clone(),
            revision: repository.revision.clone(),
        });
    }
    let listing = hub.list(repository)?;
    let mut files = chosen(&listing);
    if matches!(wanted, NeededFiles::Tokenizer) {
        files.retain(|entry| is_small(&entry.path));
    }
    hub.snapshot(repository, &listing, &files)
}

fn is_small(path: &str) -> bool {
    let ends = [".json", ".txt", ".model", ".jinja", ".tiktoken"];
    ends.iter().any(|end| path.ends_with(end))
}

fn has_tokenizer(folder: &Path) -> bool {
    [
        "tokenizer.json",
        "tokenizer.model",
        "vocab.txt",
        "vocab.json",
    ]
    .iter()
    .any(|name| folder.join(name).is_file())
}

/// The files of a revision that make a model: configuration, tokenizer, chat template, and weights in
/// one form. Sub-folders (other formats) are left out.
fn chosen(listing: &Listing) -> Vec<&Entry> {
    let weights = |stem: &str, extension: &str| -> Vec<&Entry> {
        let whole = format!("{stem}.{extension}");
        let shard = format!("{stem}-");
        let named = |entry: &&Entry, exact: bool| {
            entry.path == whole
                || (entry.path.starts_with(if exact { &shard } else { stem })
                    && entry.path.ends_with(&format!(".{extension}"))
                    && !entry.path.contains('/'))
        };
        let all = || listing.files.iter();
        let exact: Vec<&Entry> = all().filter(|e| named(e, true)).collect();
        if exact.is_empty() {
            all().filter(|e| named(e, false)).collect()
        } else {
            exact
        }
    };
    let mut files: Vec<&Entry> = listing
        .files
        .iter()
        .filter(|entry| !entry.path.contains('/') && is_small(&entry.path))
        .collect();
    let safetensors = weights("model", "safetensors");
    files.extend(if safetensors.is_empty() {
        weights("pytorch_model", "bin")
    } else {
        safetensors
    });
    files
}

/// Whether all weights are there: one file, or an index and all files it names. What is fetched ends
/// with the weights, so that nothing else is missing then.
fn is_whole(folder: &Path) -> bool {
    let there = |name: &str| folder.join(name).is_file();
    let shards = |index: &str| -> Option<bool> {
        let bytes = mary_platform::read_plain(&folder.join(index), 512 << 20).ok()?;
        let index: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        let files = index.get("weight_map")?.as_object()?;
        Some(!files.is_empty() && files.values().all(|file| file.as_str().is_some_and(there)))
    };
    let whole = |name: &&str| there(name) || shards(&format!("{name}.index.json")) == Some(true);
    ["model.safetensors", "pytorch_model.bin"].iter().any(whole)
}

/// What the hub's answer means for the user. The kinds tell whoever asks for many models which causes
/// concern one of them: a missing revision or a damaged file does, an unreachable hub does not.
fn explain(error: &HubError) -> ModelError {
    let kind = match error {
        HubError::NoRepository { .. }
        | HubError::NoRevision { .. }
        | HubError::NoFile { .. }
        | HubError::Offline { .. }
        | HubError::NoHome => ErrorKind::NotFound,
        HubError::Gated { .. } => ErrorKind::Auth,
        HubError::WrongContent { .. } => ErrorKind::BadModel,
        HubError::Busy { .. } => ErrorKind::Overloaded,
        HubError::Unreachable { .. } | HubError::Strange { .. } | HubError::Io { .. } => {
            ErrorKind::Transport
        }
    };
    let plain = ModelError::new(kind, error.to_string());
    match error.hint() {
        Some(hint) => plain.hint(hint),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(files: &[&str]) -> Listing {
        let entry = |path: &&str| Entry {
            path: (*path).to_owned(),
            bytes: None,
        };
        Listing {
            commit: "c0ffee".into(),
            files: files.iter().map(entry).collect(),
        }
    }

    #[test]
    fn weights_are_taken_in_one_form_and_other_formats_are_left() {
        let names = |files: &[&str]| -> Vec<String> {
            let listing = listing(files);
            chosen(&listing).iter().map(|e| e.path.clone()).collect()
        };
        let small = [
            "config.json",
            "tokenizer.json",
            "onnx/config.json",
            "README.md",
        ];
        let both = [
            "model.safetensors",
            "pytorch_model.bin",
            "model.fp16.safetensors",
        ];
        assert_eq!(
            names(&[&small[..], &both].concat()),
            ["config.json", "tokenizer.json", "model.safetensors"]
        );
        assert_eq!(
            names(&[
                "config.json",
                "pytorch_model-00001-of-00002.bin",
                "pytorch_model-00002-of-00002.bin"
            ])
            .len(),
            3
        );
        assert_eq!(names(&["config.json", "model.fp16.safetensors"]).len(), 2);
    }

    #[test]
    fn a_folder_is_whole_when_every_shard_of_its_index_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        assert!(!is_whole(folder.path()));
        write(
            "model.safetensors.index.json",
            r#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#,
        );
        write("model-1.safetensors", "");
        assert!(!is_whole(folder.path()));
        write("model-2.safetensors", "");
        assert!(is_whole(folder.path()));
    }
}
