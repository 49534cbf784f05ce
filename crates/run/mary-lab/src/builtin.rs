//! The built-in model, so that a first run needs neither network nor keys nor files.
//!
//! `builtin/nano` was grown by `mary grow --size nano --seed 1 --steps 10000`; recipe and history stand
//! beside the weights in `assets/nano`. Its checkpoints are revisions: `builtin/nano@step512`.

mod packed;

use std::path::{Path, PathBuf};

use mary_contract::{
    ErrorKind, Model, ModelCard, ModelError, ModelRef, ModelSettings, OpenedModel, Provider, Start,
};
use mary_local::provider;
use mary_weights::{Checkpoint, EmbeddedFiles};

/// Said wherever the model is named.
const REMARK: &str =
    "trained by us in minutes, for trying the laboratory; no claim is made about it";

const CONFIG: &[u8] = include_bytes!("../assets/nano/config.json");
const TOKENIZER: &[u8] = include_bytes!("../assets/nano/tokenizer.json");
const TOKENIZER_CONFIG: &[u8] = include_bytes!("../assets/nano/tokenizer_config.json");

/// Serves `builtin/nano`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Builtin;

/// Revisions of the built-in model, earliest first.
pub fn revisions() -> impl Iterator<Item = String> {
    packed::steps().map(|step| format!("step{step}"))
}

/// Writes a built-in checkpoint as a folder in Hugging Face layout, for tuning, and returns the folder.
pub fn write_folder(model: &ModelRef, under: &Path) -> Result<PathBuf, ModelError> {
    let safetensors = weights(model)?;
    let step = model.revision.as_deref().unwrap_or("final");
    let folder = under.join(format!("{}-{step}", model.name));
    let unwritable = |path: &Path, error: std::io::Error| {
        ModelError::new(ErrorKind::BadModel, format!("{}: {error}", path.display())).hint(
            "the built-in model is written there to be tuned; --cache-dir names another place",
        )
    };
    std::fs::create_dir_all(&folder).map_err(|e| unwritable(&folder, e))?;
    for (name, bytes) in [
        ("config.json", CONFIG),
        ("tokenizer.json", TOKENIZER),
        ("tokenizer_config.json", TOKENIZER_CONFIG),
        ("model.safetensors", safetensors),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|e| unwritable(&path, e))?;
    }
    Ok(folder)
}

/// The files of a built-in checkpoint.
pub fn checkpoint(model: &ModelRef) -> Result<Checkpoint, ModelError> {
    Checkpoint::from_embedded(EmbeddedFiles {
        config: CONFIG,
        tokenizer: TOKENIZER,
        tokenizer_config: Some(TOKENIZER_CONFIG),
        safetensors: weights(model)?,
    })
}

fn weights(model: &ModelRef) -> Result<&'static [u8], ModelError> {
    // Everything there is lies in the binary, so another name is a typing mistake.
    if model.name != "nano" {
        let message = format!("no built-in model is called `{}`", model.name);
        return Err(ModelError::new(ErrorKind::BadRequest, message).hint("there is builtin/nano"));
    }
    let step = model.revision.as_deref();
    // What does not begin with `step` becomes a step that there is not.
    packed::weights(step.map(|r| r.strip_prefix("step").unwrap_or_default())).ok_or_else(|| {
        let known = revisions().collect::<Vec<_>>().join(", ");
        let message = format!("{model} is not among the checkpoints kept");
        ModelError::new(ErrorKind::BadRequest, message).hint(format!("there are {known}"))
    })
}

impl Provider for Builtin {
    fn name(&self) -> &'static str {
        "builtin"
    }

    fn about(&self) -> &'static str {
        "inside this binary: a small model for trying the laboratory; no claim is made about it"
    }

    fn known(&self) -> Vec<String> {
        vec!["nano".to_owned()]
    }

    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard, ModelError> {
        let mut card = provider::card_of(model, &checkpoint(model)?, settings)?;
        card.remarks.push(REMARK.to_owned());
        Ok(card)
    }

    fn fingerprint(
        &self,
        model: &ModelRef,
        settings: &ModelSettings,
    ) -> Result<String, ModelError> {
        provider::fingerprint_of(&checkpoint(model)?, settings)
    }

    fn check_start(
        &self,
        model: &ModelRef,
        _: &ModelSettings,
        start: &Start,
    ) -> Result<(), ModelError> {
        checkpoint(model)?.start_token(start)?;
        Ok(())
    }

    fn fits_beside(&self, model: &ModelRef, settings: &ModelSettings) -> bool {
        checkpoint(model).is_ok_and(|c| provider::fits_beside(&c, settings))
    }

    fn open(&self, model: &ModelRef, settings: &ModelSettings) -> OpenedModel {
        let inner = provider::open(model, &|| checkpoint(model), settings)?;
        let mut card = inner.card().clone();
        card.remarks.push(REMARK.to_owned());
        Ok(Box::new(Nano { inner, card }))
    }
}

/// An open built-in model: an ordinary local one with the remark on its card.
struct Nano {
    inner: Box<dyn Model>,
    card: ModelCard,
}

impl Model for Nano {
    fn card(&self) -> &ModelCard {
        &self.card
    }

    fn inner(&self) -> Option<&dyn Model> {
        Some(self.inner.as_ref())
    }
}
