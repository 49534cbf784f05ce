//! `mary run --adapter`: a LoRA adapter on a local model, merged once and kept in the cache.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mary_contract::ModelRef;
use mary_train::{MergedProvenance, Reuse, Storage};

use crate::exit::usage_error;
use crate::settings::Place;

/// The model with the adapter folded in, as a folder named by the content of both.
pub fn merged(place: &Place, models: &[ModelRef], adapter: &Path) -> anyhow::Result<ModelRef> {
    let [model] = models else {
        return usage_error("--adapter takes one model at a time");
    };
    if !matches!(model.provider.as_str(), "hf" | "gguf" | "builtin") {
        return usage_error(format!(
            "{model} takes no adapter\nhint: adapters go on local models (hf/…, gguf/… or builtin/…)"
        ));
    }
    let base = base_folder(place, &model.to_string())?;
    let weights = adapter.join("adapter_model.safetensors");
    let file = mary_platform::open_plain(&weights)
        .with_context(|| format!("{}: no adapter is here", weights.display()))?;
    // Refuses what is too large before it is read.
    let wanted = MergedProvenance::planned(&base, adapter, Storage::F32)?;
    let fingerprint = mary_weights::Checkpoint::open(&base)?.fingerprint()?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(fingerprint.as_bytes());
    hasher
        .update_reader(file)
        .with_context(|| weights.display().to_string())?;
    let digest = hasher.finalize().to_hex();
    let name = adapter
        .file_name()
        .map_or("adapter".into(), |n| n.to_string_lossy().into_owned());
    let folder: PathBuf = place
        .cache
        .join("merged")
        .join(format!("{name}-{}", &digest[..12]));
    // What lies there was merged whole, from this very base and adapter, or it is merged again.
    if wanted.reuse(&folder)? != Reuse::Same {
        mary_train::merge(&base, adapter, &folder, Storage::F32)?;
    }
    // Not read from its words: an `@` in the name of a folder is no revision.
    let model = mary_train::merged_model(&folder);
    Ok(ModelRef {
        provider: if model.is_file() { "gguf" } else { "hf" }.into(),
        name: model.display().to_string(),
        revision: None,
    })
}

/// The folder of a model named as a folder or as `mary run` names it.
pub fn base_folder(place: &Place, model: &str) -> anyhow::Result<PathBuf> {
    if Path::new(model).exists() {
        return Ok(PathBuf::from(model));
    }
    let model: ModelRef = model.parse()?;
    if model.provider == "builtin" {
        return Ok(mary_lab::builtin::write_folder(
            &model,
            &place.cache.join("builtin"),
        )?);
    }
    Ok(mary_weights::locate(&model)?)
}
