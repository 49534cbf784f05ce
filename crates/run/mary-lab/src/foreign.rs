//! A run folder may come from elsewhere: it is data, not orders.
//!
//! Its tasks, seeds and settings are repeated; its hosts, keys and paths are not believed: a key goes to a
//! host, and a secret to a service, only when the user names it too, and nothing is written where the folder
//! points.

use mary_contract::{RunManifest, SentKey, StoreError};
use mary_store::RunFolder;

use crate::{Laboratory, RunError, RunSpec};

/// What the user says about a folder's hosts and keys, apart from the folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct UsersWord<'a> {
    /// Where questions go.
    pub base_url: Option<&'a str>,
    /// The variable that holds the key.
    pub key_env: Option<&'a str>,
}

/// Takes the orders out of a specification that was read from a folder.
pub(crate) fn disarm(
    lab: &Laboratory,
    spec: &mut RunSpec,
    word: UsersWord,
) -> Result<(), RunError> {
    // Where batches are kept is decided by where the folder lies.
    spec.opening.args.remove("batch");
    let sent = sent_keys(lab, spec);
    check_key(spec, word.key_env, &sent)?;
    let named = word.base_url;
    let Some(url) = spec.opening.base_url.clone() else {
        if named.is_some() {
            return Err(RunError::Specification(
                "this run was not begun with --base-url; a run asks one host from its beginning to its end\nhint: start a new run to ask another host".into(),
            ));
        }
        return Ok(());
    };
    match named {
        Some(named) if named.trim_end_matches('/') == url.trim_end_matches('/') => Ok(()),
        Some(named) => Err(RunError::Specification(format!(
            "this run was begun with {url}, not with {named}; a run asks one host from its beginning to its end\nhint: start a new run to ask another host"
        ))),
        None if sent.iter().all(|key| *key == SentKey::None) => Ok(()),
        None => Err(RunError::Specification(format!(
            "the run folder says that questions go to {url}, with your key\nhint: if that is where your key belongs, say so: --base-url {url}"
        ))),
    }
}

/// A folder may not pick one of the user's secrets to be sent to a host that has another.
fn check_key(spec: &RunSpec, named: Option<&str>, sent: &[SentKey]) -> Result<(), RunError> {
    let stored = spec.opening.args.get("key_env").map(String::as_str);
    let message = match (stored, named) {
        (Some(stored), Some(named)) if stored != named => format!(
            "this run was begun with the key in {stored}, not in {named}\nhint: start a new run to use another key"
        ),
        (None, Some(named)) => format!(
            "this run was not begun with a key in {named}\nhint: leave --key-env out; the service's own variable is used"
        ),
        (Some(stored), None) if sent.contains(&SentKey::Other) => format!(
            "the run folder says that the secret in {stored} is sent\nhint: if that is the key for this service, say so: --key-env {stored}"
        ),
        _ => return Ok(()),
    };
    Err(RunError::Specification(message))
}

/// Refuses to start a program because a folder names one.
pub(crate) fn starts_nothing(lab: &Laboratory, spec: &RunSpec) -> Result<(), RunError> {
    for model in spec.models() {
        if lab.provider(model)?.starts_programs() {
            return Err(RunError::Specification(format!(
                "the run asks {model}, which is a program, and a run folder starts none by itself\nhint: repeat the command that began the run: it finds the same folder and goes on"
            )));
        }
    }
    Ok(())
}

/// The secrets that the models of a run would be sent over the network.
fn sent_keys(lab: &Laboratory, spec: &RunSpec) -> Vec<SentKey> {
    let settings = spec.model_settings();
    let services = spec.models().filter_map(|model| lab.service(model));
    services.map(|s| s.sent_key(&settings)).collect()
}

/// Refuses a folder whose log was not made by the run its manifest describes.
pub(crate) fn belongs_together(folder: &RunFolder) -> Result<(), RunError> {
    let manifest = folder.manifest();
    for verdict in folder.verdicts()? {
        let id = verdict?.id;
        let known = manifest
            .models
            .iter()
            .any(|m| m.model.to_string() == id.model)
            && manifest.tasks.iter().any(|t| t.id == id.task);
        if !known {
            return Err(RunError::Store(StoreError::Mismatch(format!(
                "{}: the log holds answers of {} on {}, which the manifest does not name\nhint: the folder was put together from several; take manifest.json and samples.jsonl from the same run",
                folder.path().display(),
                id.model,
                id.task
            ))));
        }
    }
    Ok(())
}

/// Refuses a manifest whose name is not that of its content: it was changed after the run began.
pub(crate) fn names_itself(stored: &RunManifest, made: &RunManifest) -> Result<(), RunError> {
    // The readable part of a name may change from version to version; the hash behind it does not.
    let hash = |id: &str| id.rsplit('-').next().unwrap_or_default().to_owned();
    let (named, is) = (hash(&stored.id), hash(&made.id));
    let by_content = named.len() == is.len() && named.chars().all(|c| c.is_ascii_hexdigit());
    if named == is || !by_content {
        return Ok(());
    }
    Err(RunError::Store(StoreError::Mismatch(format!(
        "the manifest calls its run {}, but what it describes is {}\nhint: it was changed after the run began, or is another run's; restore manifest.json from a copy",
        stored.id, made.id
    ))))
}
