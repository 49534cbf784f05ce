//! The providers that this crate adds to the binary's list.

use std::path::Path;

use mary_contract::{ModelCard, ModelRef, ModelSettings, OpenedModel, Provider, Start};
use mary_weights::{Checkpoint, locate, locate_tokenizer};

use crate::card::{describe, fingerprint};
use crate::config::Architecture;
use crate::errors::Result;
use crate::load::Tensors;
use crate::memory;
use crate::options::{Device, Options};
use crate::workers::devices;
pub use crate::workers::open;

/// Opens checkpoints of one kind.
#[derive(Debug, Clone, Copy)]
pub struct LocalProvider {
    name: &'static str,
    about: &'static str,
}

/// `hf/PATH` or `hf/ORG/NAME[@REVISION]`.
pub const HF: LocalProvider = LocalProvider {
    name: "hf",
    about: "a Hugging Face folder or hub id, run in this process: scores, hidden states, answers",
};

/// `gguf/PATH`.
pub const GGUF: LocalProvider = LocalProvider {
    name: "gguf",
    about: "a GGUF file with its own tokenizer and quantisation, run in this process",
};

/// Also refuses tensors that are missing or of the wrong shape.
pub fn card_of(
    model: &ModelRef,
    checkpoint: &Checkpoint,
    settings: &ModelSettings,
) -> Result<ModelCard> {
    let options = first(settings, checkpoint)?;
    let architecture = Architecture::resolve(checkpoint.config())?;
    Tensors::find(checkpoint, &architecture)?.check()?;
    if let Some(source) = &architecture.source {
        Tensors::find(checkpoint, &source.encoder)?.check()?;
    }
    Ok(describe(model.clone(), checkpoint, &architecture, &options))
}

pub fn fingerprint_of(checkpoint: &Checkpoint, settings: &ModelSettings) -> Result<String> {
    fingerprint(checkpoint, &first(settings, checkpoint)?)
}

/// Whether a second model fits in a third of what is free, so that neither must make smaller batches.
pub fn fits_beside(checkpoint: &Checkpoint, settings: &ModelSettings) -> bool {
    let Ok(each) = devices(settings) else {
        return false;
    };
    each.iter().all(|settings| {
        Options::read_for(settings, checkpoint).is_ok_and(|options| {
            let free = free_on(options.device());
            let needed = memory::estimate(checkpoint, options.precision, options.multiplier);
            let needed = needed.weights + needed.unpacked;
            free.is_some_and(|free| needed * (each.len() as u64) < free / 3)
        })
    })
}

/// What a dry run says of a model whose weights have no room.
pub fn outlook(
    model: &ModelRef,
    checkpoint: &Checkpoint,
    settings: &ModelSettings,
) -> Option<String> {
    let options = first(settings, checkpoint).ok()?;
    crate::model::outlook(model, checkpoint, &options, free_on)
}

fn free_on(device: Device) -> Option<u64> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(number) => crate::kernels::cuda::free(number),
        _ => mary_platform::available_memory(),
    }
}

/// Opens a checkpoint, with a tokenizer from elsewhere where the user names one.
fn checkpoint(path: &Path, settings: &ModelSettings) -> Result<Checkpoint> {
    if let Some(projector) = settings.args.get("mmproj") {
        return Checkpoint::open_seeing(path, Path::new(projector));
    }
    let named = settings.args.get("tokenizer");
    let tokenizer = named.map(|name| locate_tokenizer(name)).transpose()?;
    Checkpoint::open_with(path, tokenizer.as_deref())
}

fn first(settings: &ModelSettings, checkpoint: &Checkpoint) -> Result<Options> {
    let each = devices(settings)?;
    Options::read_for(each.first().unwrap_or(settings), checkpoint)
}

impl Provider for LocalProvider {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn card(&self, model: &ModelRef, settings: &ModelSettings) -> Result<ModelCard> {
        card_of(model, &checkpoint(&locate(model)?, settings)?, settings)
    }

    fn fingerprint(&self, model: &ModelRef, settings: &ModelSettings) -> Result<String> {
        fingerprint_of(&checkpoint(&locate(model)?, settings)?, settings)
    }

    fn check_start(&self, model: &ModelRef, settings: &ModelSettings, start: &Start) -> Result<()> {
        checkpoint(&locate(model)?, settings)?.start_token(start)?;
        Ok(())
    }

    fn fits_beside(&self, model: &ModelRef, settings: &ModelSettings) -> bool {
        let opened = locate(model).and_then(|path| checkpoint(&path, settings));
        opened.is_ok_and(|c| fits_beside(&c, settings))
    }

    fn outlook(&self, model: &ModelRef, settings: &ModelSettings) -> Option<String> {
        let opened = checkpoint(&locate(model).ok()?, settings).ok()?;
        outlook(model, &opened, settings)
    }

    fn open(&self, model: &ModelRef, settings: &ModelSettings) -> OpenedModel {
        let path = locate(model)?;
        open(model, &|| checkpoint(&path, settings), settings)
    }
}
