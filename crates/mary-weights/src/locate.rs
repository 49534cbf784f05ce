//! Where a model named by the user lies on this machine.
//!
//! In this order: a path, a model of the catalogue that was pulled before, the hub's cache, the
//! hub itself. What is fetched from the hub goes into the ordinary hub cache, so that it is shared
//! with every other program that uses it.

use std::path::{Path, PathBuf};

use hf_hub::{HFClientBuilder, HFError};
use mary_contract::{ErrorKind, ModelError, ModelRef};

use crate::{catalogue, fault};

/// Files of a hub repository that make a model; sub-folders (other formats) are left out.
const MODEL_FILES: [&str; 5] = [
    "*.json",
    "*.txt",
    "*.model",
    "*.jinja",
    "model*.safetensors",
];
const TORCH_FILES: [&str; 1] = ["pytorch_model*.bin"];

/// The file or folder of a model: a local path, a catalogue model pulled before, or a hub id
/// (fetched into the ordinary hub cache when it is not there yet).
pub fn locate(model: &ModelRef) -> Result<PathBuf, ModelError> {
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
            None => Err(ModelError::new(
                ErrorKind::NotFound,
                format!("`{name}` is in the catalogue but not on this machine"),
            )
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
        ("hf" | "gguf", [owner, repository]) => {
            from_hub(owner, repository, model.revision.as_deref(), Wanted::Model)
        }
        ("gguf" | "vectors", [owner, repository, file @ ..]) if !file.is_empty() => {
            let file = Wanted::File(file.join("/"));
            from_hub(owner, repository, model.revision.as_deref(), file)
        }
        _ => Err(ModelError::new(
            ErrorKind::NotFound,
            format!("`{model}` is neither a path, nor in the catalogue, nor a hub id"),
        )
        .hint(format!(
            "a path, owner/repository on the hub, or one of: {}",
            catalogue::names(&model.provider).join(", ")
        ))),
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

pub(crate) enum Wanted {
    /// Configuration, tokenizer and weights.
    Model,
    /// One file of the repository.
    File(String),
}

/// From the hub's cache, or from the hub.
pub(crate) fn from_hub(
    owner: &str,
    repository: &str,
    revision: Option<&str>,
    wanted: Wanted,
) -> Result<PathBuf, ModelError> {
    let id = format!("{owner}/{repository}");
    let fetch = Fetch {
        owner,
        repository,
        revision,
        wanted,
    };
    // The hub's client runs its own runtime, which must not be started inside another one.
    let done = std::thread::scope(|scope| scope.spawn(|| fetch.run()).join());
    match done {
        Ok(Ok(path)) => Ok(path),
        Ok(Err(error)) => Err(explain(&id, revision, &error)),
        Err(_) => Err(ModelError::new(
            ErrorKind::Internal,
            format!("fetching {id} from the hub broke down"),
        )),
    }
}

struct Fetch<'a> {
    owner: &'a str,
    repository: &'a str,
    revision: Option<&'a str>,
    wanted: Wanted,
}

impl Fetch<'_> {
    fn run(&self) -> Result<PathBuf, HFError> {
        let client = HFClientBuilder::new().retry_max_attempts(2).build_sync()?;
        let repository = client.model(self.owner, self.repository);
        let offline = std::env::var("HF_HUB_OFFLINE").is_ok_and(|v| v != "0" && !v.is_empty());
        if let Wanted::File(file) = &self.wanted {
            let get = |local: bool| {
                repository
                    .download_file()
                    .filename(file.clone())
                    .maybe_revision(self.revision.map(str::to_owned))
                    .local_files_only(local)
                    .send()
            };
            return match get(true) {
                Ok(path) => Ok(path),
                Err(error) if offline => Err(error),
                Err(_) => get(false),
            };
        }
        let get = |local: bool, patterns: &[&str]| {
            repository
                .snapshot_download()
                .maybe_revision(self.revision.map(str::to_owned))
                .allow_patterns(patterns.iter().map(|p| (*p).to_owned()).collect())
                .ignore_patterns(vec!["*/*".to_owned()])
                .local_files_only(local)
                .send()
        };
        match get(true, &MODEL_FILES) {
            Ok(path) if has_weights(&path) => return Ok(path),
            Err(error) if offline => return Err(error),
            _ => {}
        }
        let path = get(false, &MODEL_FILES)?;
        if has_weights(&path) {
            return Ok(path);
        }
        get(false, &TORCH_FILES)
    }
}

fn has_weights(folder: &Path) -> bool {
    [
        "model.safetensors",
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "pytorch_model.bin.index.json",
    ]
    .iter()
    .any(|name| folder.join(name).exists())
}

/// What the hub's answer means for the user.
fn explain(id: &str, revision: Option<&str>, error: &HFError) -> ModelError {
    let at = revision
        .map(|r| format!(" at revision `{r}`"))
        .unwrap_or_default();
    match error {
        HFError::RepoNotFound { .. } => {
            ModelError::new(ErrorKind::NotFound, format!("the hub has no model `{id}`")).hint(
                "check the spelling; a private or gated model needs HF_TOKEN in the environment",
            )
        }
        HFError::RevisionNotFound { .. } => {
            ModelError::new(ErrorKind::NotFound, format!("the hub has no `{id}`{at}"))
                .hint("the model's page lists its branches and tags")
        }
        HFError::EntryNotFound { path, .. } => ModelError::new(
            ErrorKind::NotFound,
            format!("`{id}`{at} has no file `{path}`"),
        ),
        HFError::AuthRequired { .. } | HFError::Forbidden { .. } => ModelError::new(
            ErrorKind::Auth,
            format!("the hub does not give `{id}` to everybody"),
        )
        .hint("accept the model's terms on its page and put your token into HF_TOKEN"),
        HFError::LocalEntryNotFound { .. } => ModelError::new(
            ErrorKind::NotFound,
            format!("`{id}`{at} is not in the hub's cache, and HF_HUB_OFFLINE is set"),
        )
        .hint("unset HF_HUB_OFFLINE, or give the path of a folder"),
        HFError::Request { .. } => ModelError::new(
            ErrorKind::NotFound,
            format!("`{id}`{at} is not on this machine, and the hub cannot be reached: {error}"),
        )
        .hint(
            "without a network: give the path of a folder or file (hf/./my-model, \
             gguf/./model.gguf), copy a hub cache here, or see mary models for what can be pulled \
             elsewhere",
        ),
        other => ModelError::new(ErrorKind::NotFound, format!("fetching `{id}`{at}: {other}")),
    }
}
