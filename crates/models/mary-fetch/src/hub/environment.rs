//! The environment as the hub's own library reads it.

use std::path::PathBuf;

use super::{Hub, HubError};

const HUB: &str = "https://huggingface.co";

pub(super) fn read() -> Result<Hub, HubError> {
    let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| HUB.to_owned());
    let cache = cache().ok_or(HubError::NoHome)?;
    Ok(Hub {
        token: token(),
        offline: flag("HF_HUB_OFFLINE") || flag("TRANSFORMERS_OFFLINE"),
        ..Hub::at(&endpoint, cache)
    })
}

fn text(name: &str) -> Option<String> {
    let value = std::env::var(name).ok()?;
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn folder(name: &str) -> Option<PathBuf> {
    text(name).map(PathBuf::from)
}

/// Off is what says so or says nothing; any other word is on, as `HF_HUB_OFFLINE` was read before.
fn flag(name: &str) -> bool {
    text(name).is_some_and(|value| {
        !["0", "off", "no", "false"].contains(&value.to_ascii_lowercase().as_str())
    })
}

fn home() -> Option<PathBuf> {
    folder("HF_HOME")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache/huggingface")))
}

fn cache() -> Option<PathBuf> {
    folder("HF_HUB_CACHE")
        .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
        .or_else(|| home().map(|home| home.join("hub")))
}

/// From the environment, or from the file that the login command writes.
fn token() -> Option<String> {
    if flag("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
        return None;
    }
    text("HF_TOKEN")
        .or_else(|| text("HUGGING_FACE_HUB_TOKEN"))
        .or_else(|| {
            let file = folder("HF_TOKEN_PATH").or_else(|| home().map(|h| h.join("token")))?;
            let token =
                mary_platform::read_plain_text(&file, mary_platform::LARGEST_SETTINGS).ok()?;
            let token = token.trim();
            (!token.is_empty()).then(|| token.to_owned())
        })
}
