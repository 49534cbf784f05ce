//! Checkpoints of a model that sees, as folders in the layout of LLaVA's, and the weights it starts from.

use super::SightSize;
use super::lessons::{IMAGE, Pupil};
use crate::grow::normal_pair;
use crate::hf::{Storage, Writer, write_whole};
use crate::net::{DEVIATION, MEAN, SeeingNet};
use crate::{TrainError, tokenizer};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::path::Path;

/// Everything in a model folder.
pub(super) struct SightFolder<'a> {
    pub(super) size: &'a SightSize,
    pub(super) net: &'a SeeingNet,
    pub(super) config: &'a Value,
    pub(super) pupil: &'a Pupil,
    pub(super) parameters: &'a [f32],
    pub(super) storage: Storage,
}

impl SightFolder<'_> {
    /// Writes the folder; the weights last, so that their presence means the folder is whole.
    pub(super) fn write(&self, folder: &Path) -> Result<(), TrainError> {
        std::fs::create_dir_all(folder).map_err(TrainError::file(folder))?;
        let tokenizer_json = tokenizer::to_json(&self.pupil.tokenizer)?;
        for (name, text) in [
            ("config.json", format!("{:#}\n", self.config)),
            ("tokenizer.json", tokenizer_json),
            (
                "tokenizer_config.json",
                tokenizer::config(self.size.context),
            ),
            (
                "preprocessor_config.json",
                format!("{:#}\n", self.preprocessor()),
            ),
            ("processor_config.json", format!("{:#}\n", self.processor())),
        ] {
            write_whole(&folder.join(name), text.as_bytes())?;
        }
        let mut writer = Writer::new(self.storage);
        for entry in &self.net.entries {
            let values = &self.parameters[entry.place.clone()];
            // A convolution's matrix, as PyTorch shapes it.
            let patch = self.size.patch;
            let dims = match entry.name.ends_with("patch_embedding.weight") {
                true => vec![self.size.width, 3, patch, patch],
                false => entry.dims.clone(),
            };
            writer.add(&entry.name, &dims, values);
        }
        writer.write(&folder.join("model.safetensors"))
    }

    /// How pictures are prepared: brought to size, bytes from minus one to one.
    fn preprocessor(&self) -> Value {
        json!({
            "image_processor_type": "SiglipImageProcessor",
            "do_convert_rgb": true,
            "do_resize": true,
            "size": {"height": self.size.image, "width": self.size.image},
            "resample": 3,
            "do_rescale": true,
            "rescale_factor": 1.0 / 255.0,
            "do_normalize": true,
            "image_mean": [MEAN, MEAN, MEAN],
            "image_std": [DEVIATION, DEVIATION, DEVIATION],
        })
    }

    /// What transformers' own processor of text and pictures wants to know.
    fn processor(&self) -> Value {
        json!({
            "processor_class": "LlavaProcessor",
            "image_token": IMAGE,
            "patch_size": self.size.patch,
            "num_additional_image_tokens": 0,
            "vision_feature_select_strategy": "full",
        })
    }
}

/// New weights: small normal matrices, those that write to a residual stream smaller still.
pub(super) fn initial(size: &SightSize, net: &SeeingNet, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::MAX);
    let mut values = vec![0.0; net.total];
    let width = size.width as f64;
    let small = (2.0 / (5.0 * width)).sqrt();
    for entry in &net.entries {
        let out = &mut values[entry.place.clone()];
        let named = |ends: &[&str]| ends.iter().any(|end| entry.name.ends_with(end));
        if entry.dims.len() != 2 {
            // Norms begin as they are, biases at zero.
            let norm = entry.name.contains("norm") && entry.name.ends_with(".weight");
            out.fill(if norm { 1.0 } else { 0.0 });
            continue;
        }
        let layers = match entry.name.starts_with("vision_tower.") {
            true => size.tower_layers,
            false => size.layers,
        };
        let deviation = if named(&["position_embedding.weight"]) {
            // Of the size that a patch with ink on it has: what is where must be told from the first step on.
            0.5
        } else if named(&["embed_tokens.weight"]) {
            0.02
        } else if named(&[
            "out_proj.weight",
            "fc2.weight",
            "o_proj.weight",
            "down_proj.weight",
        ]) {
            (1.0 / (layers.max(1) as f64 * width.sqrt())).min(small)
        } else {
            small
        };
        for pair in out.chunks_mut(2) {
            let (a, b) = normal_pair(&mut rng);
            for (x, value) in pair.iter_mut().zip([a, b]) {
                *x = (value * deviation) as f32;
            }
        }
    }
    values
}
