//! The shape of a model that is made here, written as a Hugging Face `config.json`. What is tuned comes
//! with a `config.json` of its own; both become an [`Architecture`], which is all that the passes know.

use crate::{Result, TrainError};
use mary_weights::architecture::Architecture;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Family {
    /// GPT-NeoX: layer norm with bias, partial rotary positions, parallel residual, GELU.
    NeoX,
    /// LLaMA: root-mean-square norm, full rotary positions, gated SiLU, grouped keys and values.
    Llama,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Activation {
    Gelu,
    GeluTanh,
    /// silu(gate) times up.
    GatedSilu,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    pub family: Family,
    pub vocabulary: usize,
    pub width: usize,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_width: usize,
    pub inner: usize,
    /// How many numbers of a head are rotated.
    pub rotary: usize,
    pub rotary_base: f32,
    pub norm_eps: f32,
    /// Attention and feed-forward both read the block's input.
    pub parallel_residual: bool,
    pub activation: Activation,
    /// The output matrix is the embedding.
    pub tied: bool,
    pub context: usize,
}

impl Shape {
    /// A GPT-NeoX shape with the family's usual ratios.
    pub fn neox(
        vocabulary: usize,
        width: usize,
        layers: usize,
        heads: usize,
        context: usize,
    ) -> Self {
        let head_width = width / heads.max(1);
        Self {
            family: Family::NeoX,
            vocabulary,
            width,
            layers,
            heads,
            kv_heads: heads,
            head_width,
            inner: 4 * width,
            rotary: head_width / 2,
            rotary_base: 10_000.0,
            norm_eps: 1e-5,
            parallel_residual: true,
            activation: Activation::Gelu,
            tied: true,
            context,
        }
    }

    pub fn check(&self) -> Result<()> {
        let fail = |what: &str| Err(TrainError::Settings(format!("the model's shape {what}")));
        if self.width == 0 || self.layers == 0 || self.heads == 0 || self.vocabulary == 0 {
            return fail("needs at least one layer, head, dimension and token");
        }
        if self.family == Family::NeoX && self.heads * self.head_width != self.width {
            return fail(&format!(
                "needs a width divisible by its heads, found {} / {}",
                self.width, self.heads
            ));
        }
        if self.kv_heads == 0 || !self.heads.is_multiple_of(self.kv_heads) {
            return fail("needs query heads in equal groups per key head");
        }
        if !self.rotary.is_multiple_of(2) || self.rotary > self.head_width {
            return fail(&format!(
                "rotates {} of {} numbers a head; needs an even part",
                self.rotary, self.head_width
            ));
        }
        if self.context < 2 {
            return fail("needs a context of at least 2 tokens");
        }
        Ok(())
    }

    /// The architecture this shape is. Frequencies are computed in 32 bits, as grown models had them
    /// from the start.
    pub fn architecture(&self) -> Result<Architecture> {
        let config = self.to_config("float32", 0);
        let mut architecture = Architecture::resolve(&config)?;
        let frequency = |i: usize| {
            let power = (2 * i) as f32 / self.rotary as f32;
            1.0 / self.rotary_base.powf(power)
        };
        for rope in &mut architecture.ropes {
            rope.dim = self.rotary;
            rope.frequencies = (0..self.rotary / 2).map(frequency).collect();
        }
        Ok(architecture)
    }

    /// Whether a checkpoint of this shape holds a tensor: biases are NeoX's.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.family == Family::NeoX && name != "embed_out.bias" || !name.ends_with(".bias")
    }

    pub fn to_config(&self, dtype: &str, end_token: u32) -> Value {
        let rotary_share = self.rotary as f64 / self.head_width as f64;
        match self.family {
            Family::NeoX => json!({
                "architectures": ["GPTNeoXForCausalLM"],
                "model_type": "gpt_neox",
                "vocab_size": self.vocabulary,
                "hidden_size": self.width,
                "num_hidden_layers": self.layers,
                "num_attention_heads": self.heads,
                "intermediate_size": self.inner,
                "hidden_act": match self.activation { Activation::GeluTanh => "gelu_new", _ => "gelu" },
                "rotary_pct": rotary_share,
                "rotary_emb_base": self.rotary_base,
                "max_position_embeddings": self.context,
                "layer_norm_eps": self.norm_eps,
                "use_parallel_residual": self.parallel_residual,
                "attention_bias": true,
                "tie_word_embeddings": self.tied,
                "bos_token_id": end_token,
                "eos_token_id": end_token,
                "torch_dtype": dtype,
            }),
            Family::Llama => json!({
                "architectures": ["LlamaForCausalLM"],
                "model_type": "llama",
                "vocab_size": self.vocabulary,
                "hidden_size": self.width,
                "num_hidden_layers": self.layers,
                "num_attention_heads": self.heads,
                "num_key_value_heads": self.kv_heads,
                "head_dim": self.head_width,
                "intermediate_size": self.inner,
                "hidden_act": "silu",
                "rope_theta": self.rotary_base,
                "max_position_embeddings": self.context,
                "rms_norm_eps": self.norm_eps,
                "tie_word_embeddings": self.tied,
                "torch_dtype": dtype,
            }),
        }
    }
}
