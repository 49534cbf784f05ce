//! Why the hub did not give what was asked: one kind for each cause, so that whoever asks for many
//! things knows which causes concern one of them and which concern all.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum HubError {
    /// No such repository, or none that this token may see.
    #[error("the hub has no model `{id}`")]
    NoRepository { id: String },
    /// The repository has no such branch, tag or commit.
    #[error("the hub has no `{id}` at revision `{revision}`")]
    NoRevision { id: String, revision: String },
    #[error("`{id}` at revision `{revision}` has no file `{path}`")]
    NoFile {
        id: String,
        revision: String,
        path: String,
    },
    /// Gated or private, and the token (if any) does not open it.
    #[error("the hub does not give `{id}` to everybody{}", said(message))]
    Gated { id: String, message: String },
    /// It is not in the cache, and the hub may not be asked.
    #[error(
        "`{id}`{} is not in the hub's cache, and HF_HUB_OFFLINE is set",
        at(revision)
    )]
    Offline {
        id: String,
        revision: Option<String>,
    },
    /// The hub, or the storage it points to, cannot be reached or keeps breaking off.
    #[error("`{id}`: the hub at {endpoint} cannot be reached: {cause}")]
    Unreachable {
        id: String,
        endpoint: String,
        cause: String,
    },
    #[error(
        "`{id}`: the hub limits the rate of requests, after {attempts} attempts{}",
        waiting(*asked)
    )]
    Busy {
        id: String,
        attempts: u32,
        /// How long it asks to wait, where that is longer than anybody waits.
        asked: Option<Duration>,
    },
    /// What came is not what the hub says it is, twice.
    #[error("`{id}`: {path}: expected {expected}, found {found}")]
    WrongContent {
        id: String,
        path: String,
        /// Size or hash as the hub gives it.
        expected: String,
        /// Size or hash of what came.
        found: String,
    },
    #[error("`{id}`: the hub's answer makes no sense: {what}")]
    Strange { id: String, what: String },
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("there is no home folder to keep the hub's cache in")]
    NoHome,
}

fn said(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

fn waiting(asked: Option<Duration>) -> String {
    asked.map_or_else(String::new, |asked| {
        format!("; it asks to wait {}", in_words(asked))
    })
}

pub(super) fn in_words(wait: Duration) -> String {
    match wait.as_secs() {
        seconds @ 0..=120 => format!("{seconds} s"),
        seconds @ ..=7_200 => format!("{} min", seconds.div_ceil(60)),
        seconds @ ..=172_800 => format!("{} h", seconds.div_ceil(3_600)),
        seconds => format!("{} days", seconds.div_ceil(86_400)),
    }
}

fn at(revision: &Option<String>) -> String {
    revision
        .as_ref()
        .map(|r| format!(" at revision `{r}`"))
        .unwrap_or_default()
}

impl HubError {
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoRepository { .. } => {
                "check the spelling; a private or gated model needs HF_TOKEN in the environment"
            }
            Self::NoRevision { .. } => "the model's page lists its branches and tags",
            Self::Gated { .. } => {
                "accept the model's terms on its page and put your token into HF_TOKEN"
            }
            Self::Offline { .. } => "unset HF_HUB_OFFLINE, or give the path of a folder",
            Self::Unreachable { .. } => {
                "without a network: give the path of a folder or file (hf/./my-model, \
                 gguf/./model.gguf), copy a hub cache here, or see mary models for what can be \
                 pulled elsewhere"
            }
            Self::Busy { asked: Some(_), .. } => {
                "give the same command after that; it goes on where it stopped; with HF_TOKEN the \
                 limits are wider"
            }
            Self::Busy { .. } => {
                "wait a few minutes and give the same command; with HF_TOKEN the limits are wider"
            }
            Self::WrongContent { .. } => {
                "give the same command again; if it stays so, the file on the hub is damaged"
            }
            Self::Strange { .. } => "HF_ENDPOINT may name something that is not a hub",
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "the disk is full; free some room and give the same command, it continues where it \
                 stopped; HF_HUB_CACHE names another folder"
            }
            Self::Io { .. } | Self::NoHome => "HF_HUB_CACHE names another folder for the cache",
            Self::NoFile { .. } => return None,
        })
    }
}

pub(super) fn io_at(path: &std::path::Path) -> impl Fn(io::Error) -> HubError + '_ {
    move |source| HubError::Io {
        path: path.to_owned(),
        source,
    }
}
