//! The state file of batches: what was submitted under which name. It holds no keys, no prompts and no
//! answers.

use std::path::Path;

use mary_contract::{ErrorKind, ModelError};
use serde::{Deserialize, Serialize};

/// Largest state file that is read; a million requests have a tenth of it.
const LARGEST_STATE: u64 = 1 << 30;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchState {
    pub schema: u32,
    /// The model's fingerprint; another model's batches are not mistaken for this one's.
    pub fingerprint: String,
    /// One for each batch.
    pub parts: Vec<BatchPart>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchPart {
    /// Our name for it, told to the provider where it keeps one.
    pub name: String,
    /// The provider's name for it; absent while it is not known whether it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Seconds since 1970 when it was submitted.
    pub submitted: u64,
    /// The provider's names for the batches it had before, where it keeps no name of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    pub requests: Vec<String>,
    /// Dollars it may cost, at most; they stay set aside until its answers are fetched.
    #[serde(default)]
    pub estimate: f64,
    /// Its answers have been fetched, and count as what they really cost.
    #[serde(default)]
    pub fetched: bool,
}

impl BatchState {
    pub fn outstanding(&self) -> f64 {
        let open = self.parts.iter().filter(|p| !p.fetched);
        open.map(|p| p.estimate).sum()
    }

    /// Reads a state file; an absent one is an empty state.
    pub fn load(path: &Path, fingerprint: &str) -> Result<Self, ModelError> {
        let state: Self = match mary_platform::read_plain(path, LARGEST_STATE) {
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|e| file_error(path, &e.to_string()))?
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Self {
                schema: 1,
                fingerprint: fingerprint.to_owned(),
                parts: Vec::new(),
            },
            Err(e) => return Err(file_error(path, &e.to_string())),
        };
        if state.fingerprint != fingerprint {
            let what = "it belongs to another model or other settings";
            return Err(file_error(path, what));
        }
        Ok(state)
    }

    /// Whole whenever the process dies.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_string_pretty(self)?;
            if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)?;
            }
            mary_platform::replace_file(path, text.as_bytes())
        };
        write().map_err(|e| file_error(path, &e.to_string()))
    }
}

pub(crate) fn file_error(path: &Path, what: &str) -> ModelError {
    ModelError::new(
        ErrorKind::Internal,
        format!("the state {} cannot be used: {what}", path.display()),
    )
    .hint("if it is no longer needed, move it away; what was already paid for is then not found again")
}
