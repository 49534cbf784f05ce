//! What can be chosen about growing a model that sees, its named sizes, and its `config.json`.

use crate::TrainError;
use crate::hf::Storage;
use crate::net::{Activation, Family, Shape};
use crate::optimizer::{AdamW, Decline, Schedule};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// The measures of a model that sees.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SightSize {
    /// Pixels of a picture's side.
    pub image: usize,
    /// Pixels of a patch's side.
    pub patch: usize,
    /// Width of the tower and of the language model.
    pub width: usize,
    /// Blocks of the tower.
    pub tower_layers: usize,
    /// Blocks of the language model.
    pub layers: usize,
    /// Attention heads of both.
    pub heads: usize,
    /// Longest text, a picture's rows included.
    pub context: usize,
    /// Largest vocabulary of the tokenizer.
    pub vocabulary: usize,
}

impl SightSize {
    /// A size by its name: `pico`, `nano` or `micro`.
    pub fn named(name: &str) -> Result<Self, TrainError> {
        let (width, tower_layers, layers, heads) = match name {
            "pico" => (48, 2, 2, 3),
            "nano" => (64, 3, 3, 4),
            "micro" => (128, 4, 4, 4),
            other => {
                return Err(TrainError::Settings(format!(
                    "no size is called \"{other}\"; there are pico, nano and micro"
                )));
            }
        };
        Ok(Self {
            image: 48,
            patch: 8,
            width,
            tower_layers,
            layers,
            heads,
            context: 256,
            vocabulary: 400,
        })
    }

    /// The `config.json` of a LLaVA of this size: a SigLIP tower, of which the last block is read, two
    /// layers, and a LLaMA.
    pub(crate) fn config(&self, vocabulary: usize, image: u32, end: u32, dtype: &str) -> Value {
        let head = self.width / self.heads.max(1);
        let shape = Shape {
            family: Family::Llama,
            vocabulary,
            width: self.width,
            layers: self.layers,
            heads: self.heads,
            kv_heads: self.heads,
            head_width: head,
            // A gated layer has three matrices where a plain one of four widths has two.
            inner: self.width * 8 / 3 / 16 * 16,
            rotary: head,
            rotary_base: 10_000.0,
            norm_eps: 1e-5,
            parallel_residual: false,
            activation: Activation::GatedSilu,
            tied: false,
            context: self.context,
        };
        let mut text = shape.to_config(dtype, end);
        text["bos_token_id"] = json!(end);
        text["eos_token_id"] = json!(end);
        let side = self.image / self.patch.max(1);
        json!({
            "architectures": ["LlavaForConditionalGeneration"],
            "model_type": "llava",
            "image_token_index": image,
            "image_seq_length": side * side,
            "vision_feature_layer": -1,
            "vision_feature_select_strategy": "full",
            "projector_hidden_act": "gelu",
            "multimodal_projector_bias": true,
            "tie_word_embeddings": false,
            "torch_dtype": dtype,
            "text_config": text,
            "vision_config": {
                "model_type": "siglip_vision_model",
                "hidden_size": self.width,
                "intermediate_size": 4 * self.width,
                "num_hidden_layers": self.tower_layers,
                "num_attention_heads": self.heads,
                "num_channels": 3,
                "image_size": self.image,
                "patch_size": self.patch,
                "hidden_act": "gelu_pytorch_tanh",
                "layer_norm_eps": 1e-6,
                "vision_use_head": false,
            },
        })
    }
}

/// Everything about one growth. What decides the weights is written into `recipe.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct SightSettings {
    /// The folder for checkpoints, the recipe, the losses and the state to resume from.
    pub out: PathBuf,
    /// The model's measures.
    pub size: SightSize,
    /// Seed of the weights and of the pictures.
    pub seed: u64,
    /// Training steps in all.
    pub steps: u64,
    /// Pictures in a step.
    pub batch: usize,
    /// The optimiser.
    pub optimizer: AdamW,
    /// Steps of warm-up.
    pub warm_up: u64,
    /// Share of the learning rate left at the end.
    pub floor: f64,
    /// After step 512, a checkpoint every so many steps.
    pub checkpoint_every: u64,
    /// How checkpoints are stored.
    pub storage: Storage,
    /// Questions about held-out pictures at every checkpoint.
    pub probe: bool,
    /// Worker threads; they change the speed and nothing else.
    pub threads: usize,
    /// Sums of gradients kept apart; fixed by the recipe, so that threads do not matter.
    pub slots: usize,
    /// The state to resume from is saved every so many steps.
    pub save_every: u64,
    /// Stop cleanly, state saved, after this long.
    pub stop_after: Option<Duration>,
}

impl SightSettings {
    /// The usual settings for a size.
    pub fn new(out: PathBuf, size: SightSize, steps: u64) -> Self {
        Self {
            out,
            size,
            seed: 1,
            steps,
            batch: 32,
            optimizer: AdamW {
                rate: 2e-3,
                beta1: 0.9,
                beta2: 0.95,
                eps: 1e-8,
                decay: 0.05,
                clip: 1.0,
            },
            warm_up: (steps / 20).clamp(4, 200),
            floor: 0.05,
            checkpoint_every: 500,
            storage: Storage::F32,
            probe: true,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            slots: 8,
            save_every: 100,
            stop_after: None,
        }
    }

    pub(crate) fn schedule(&self) -> Schedule {
        Schedule {
            warm_up: self.warm_up,
            steps: self.steps,
            floor: self.floor,
            decline: Decline::Cosine,
        }
    }

    pub(crate) fn check(&self) -> Result<(), TrainError> {
        let fail = |what: &str| Err(TrainError::Settings(what.to_owned()));
        if self.batch == 0 || self.slots == 0 || self.threads == 0 {
            return fail("batch, slots and threads must each be at least 1");
        }
        if self.checkpoint_every == 0 || self.save_every == 0 {
            return fail("checkpoint and state intervals must be at least 1 step");
        }
        if !(self.optimizer.rate > 0.0 && self.optimizer.rate.is_finite()) {
            return fail("the learning rate must be a positive number");
        }
        let size = &self.size;
        if size.heads == 0 || !size.width.is_multiple_of(2 * size.heads) {
            return fail("the width must be a multiple of twice the heads");
        }
        Ok(())
    }

    /// True for steps whose checkpoint is kept: 0, 1, 2, 4 … 512, then regular ones and the last.
    pub fn is_checkpoint(&self, step: u64) -> bool {
        step == 0
            || step == self.steps
            || (step <= 512 && step.is_power_of_two())
            || (step > 512 && step.is_multiple_of(self.checkpoint_every))
    }
}
