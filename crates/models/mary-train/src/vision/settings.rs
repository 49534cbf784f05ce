//! What can be chosen about growing a model that sees, its named sizes, and its `config.json`.

use crate::growth::Course;
use crate::hf::Storage;
use crate::net::{Activation, Family, Shape};
use crate::{Result, TrainError};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct VisionSize {
    pub image: usize,
    pub patch: usize,
    /// Width of the tower and of the language model.
    pub width: usize,
    pub tower_layers: usize,
    pub layers: usize,
    pub heads: usize,
    /// Longest text, a picture's rows included.
    pub context: usize,
    pub vocabulary: usize,
}

impl VisionSize {
    pub fn named(name: &str) -> Result<Self> {
        let (width, tower_layers, layers, heads) = match name {
            "pico" => (48, 2, 3, 3),
            "nano" => (64, 3, 4, 4),
            "micro" => (128, 4, 6, 4),
            other => return Err(TrainError::no_size(other)),
        };
        Ok(Self {
            image: 48,
            patch: 12,
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
pub struct VisionSettings {
    pub course: Course,
    pub size: VisionSize,
}

impl VisionSettings {
    pub fn new(out: PathBuf, size: VisionSize, steps: u64) -> Self {
        let mut course = Course {
            batch: 32,
            warm_up: (steps / 20).clamp(4, 200),
            checkpoint_every: 500,
            storage: Storage::F32,
            slots: 8,
            save_every: 100,
            ..Course::new(out, steps)
        };
        (course.optimizer.rate, course.optimizer.decay) = (2e-3, 0.05);
        Self { course, size }
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.course.check()?;
        let size = &self.size;
        if size.heads == 0 || !size.width.is_multiple_of(2 * size.heads) {
            return Err(TrainError::Settings(
                "the width must be a multiple of twice the heads".to_owned(),
            ));
        }
        Ok(())
    }
}
