//! Where a model named by the user lies on this machine.
//!
//! In this order: a path, a model of the catalogue that was pulled before, the hub's cache, the
//! hub itself. What is fetched from the hub goes into the ordinary hub cache, so that it is shared
//! with every other program that uses it.

use std::path::{Path, PathBuf};

use mary_contract::ModelRef;

use crate::fault::{Result, not_found};
use crate::hub::{NeededFiles, from_hub};
use crate::{catalogue, fault};

pub fn locate(model: &ModelRef) -> Result<PathBuf> {
    let name = &model.name;
    let path = expand_home(name);
    if path.exists() && model.revision.is_none() {
        return Ok(path);
    }
    // `./model@v2` is a folder name that only looks like a revision.
    if let Some(revision) = &model.revision {
        let whole = expand_home(&format!("{name}@{revision}"));
        if whole.exists() {
            return Ok(whole);
        }
    }
    if let Some(entry) = catalogue::find(name) {
        return match entry.located(&catalogue::models_dir()?) {
            Some(path) => Ok(path),
            None => Err(not_found(format!(
                "`{name}` is in the catalogue but not on this machine"
            ))
            .hint(format!("fetch it with: mary models pull {name}"))),
        };
    }
    if looks_like_a_path(name) {
        return Err(fault::missing(&path, "no such file or folder"));
    }
    match (
        model.provider.as_str(),
        &name.split('/').collect::<Vec<_>>()[..],
    ) {
        ("hf" | "gguf", [owner, repository]) => from_hub(
            owner,
            repository,
            model.revision.as_deref(),
            NeededFiles::Model,
        ),
        ("gguf" | "vectors", [owner, repository, file @ ..]) if !file.is_empty() => {
            let file = NeededFiles::File(file.join("/"));
            from_hub(owner, repository, model.revision.as_deref(), file)
        }
        _ => Err(not_found(format!(
            "`{model}` is neither a path, nor in the catalogue, nor a hub id"
        ))
        .hint(format!(
            "a path, owner/repository on the hub, or one of: {}",
            catalogue::names(&model.provider).join(", ")
        ))),
    }
}

/// The folder of a tokenizer that is named apart from its model: a folder or a file in it, a model of
/// the catalogue, or a hub id, of which only the small files are fetched.
pub fn locate_tokenizer(name: &str) -> Result<PathBuf> {
    let path = expand_home(name);
    if path.is_dir() {
        return Ok(path);
    }
    if path.is_file() {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        return Ok(folder.unwrap_or(Path::new(".")).to_owned());
    }
    let missing = || {
        fault::missing(&path, "no such file or folder")
            .hint("a tokenizer is named by a folder or by owner/repository on the hub")
    };
    let model: ModelRef = format!("hf/{name}").parse().map_err(|_| missing())?;
    match model.name.split('/').collect::<Vec<_>>()[..] {
        _ if catalogue::find(name).is_some() => locate(&model),
        [owner, repository] if !looks_like_a_path(name) => {
            let revision = model.revision.as_deref();
            from_hub(owner, repository, revision, NeededFiles::Tokenizer)
        }
        _ => Err(missing()),
    }
}

fn looks_like_a_path(name: &str) -> bool {
    name.starts_with(['/', '.', '~']) || name.contains('\\') || Path::new(name).is_absolute()
}

fn expand_home(name: &str) -> PathBuf {
    match name.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(name),
    }
}
