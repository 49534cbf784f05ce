//! The shape of a transformer, read from and written to a Hugging Face `config.json`.

use crate::TrainError;
use serde_json::{Value, json};

/// The two families the trainer knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Family {
    /// GPT-NeoX: layer norm with bias, partial rotary positions, parallel residual, GELU.
    NeoX,
    /// LLaMA: root-mean-square norm, full rotary positions, gated SiLU, grouped keys and values.
    Llama,
}

/// What the feed-forward part does between its matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Activation {
    /// Exact GELU.
    Gelu,
    /// GELU by tanh.
    GeluTanh,
    /// silu(gate) times up.
    GatedSilu,
}

/// Everything the forward and backward pass must know.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// The family: names of tensors, norms, residual order.
    pub family: Family,
    /// Number of tokens.
    pub vocabulary: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_width: usize,
    /// Width of the feed-forward layer.
    pub inner: usize,
    /// How many numbers of a head are rotated.
    pub rotary: usize,
    /// Base of the rotary frequencies.
    pub rotary_base: f32,
    /// Added to the variance in norms.
    pub norm_eps: f32,
    /// Attention and feed-forward both read the block's input.
    pub parallel_residual: bool,
    /// The feed-forward activation.
    pub activation: Activation,
    /// The output matrix is the embedding.
    pub tied: bool,
    /// Longest sequence.
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

    /// Says what is wrong with a shape that cannot be built.
    pub fn check(&self) -> Result<(), TrainError> {
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

    /// Width of the joint query, key and value row.
    pub(crate) fn qkv_width(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_width
    }

    /// Where query head `h` starts in the joint row.
    pub(crate) fn query_at(&self, h: usize) -> usize {
        match self.family {
            Family::NeoX => h * 3 * self.head_width,
            Family::Llama => h * self.head_width,
        }
    }

    /// Where the key of query head `h` starts in the joint row.
    pub(crate) fn key_at(&self, h: usize) -> usize {
        match self.family {
            Family::NeoX => (h * 3 + 1) * self.head_width,
            Family::Llama => (self.heads + h / (self.heads / self.kv_heads)) * self.head_width,
        }
    }

    /// Where the value of query head `h` starts in the joint row.
    pub(crate) fn value_at(&self, h: usize) -> usize {
        match self.family {
            Family::NeoX => (h * 3 + 2) * self.head_width,
            Family::Llama => {
                (self.heads + self.kv_heads + h / (self.heads / self.kv_heads)) * self.head_width
            }
        }
    }

    /// The `config.json` that Hugging Face transformers reads.
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

    /// Reads a `config.json` of the GPT-NeoX or LLaMA family.
    pub fn from_config(config: &Value) -> Result<Self, TrainError> {
        let kind = config
            .get("model_type")
            .and_then(Value::as_str)
            .unwrap_or("");
        match kind {
            "gpt_neox" => Self::from_neox(config),
            "llama" => Self::from_llama(config),
            other => Err(TrainError::Settings(format!(
                "config.json says model_type \"{other}\"; tuning knows \"gpt_neox\" and \"llama\""
            ))),
        }
    }

    fn from_neox(config: &Value) -> Result<Self, TrainError> {
        let (width, heads) = (
            whole(config, "hidden_size")?,
            whole(config, "num_attention_heads")?,
        );
        let head_width = width / heads.max(1);
        let share = rope(config, "partial_rotary_factor")
            .or_else(|| config.get("rotary_pct").and_then(Value::as_f64))
            .unwrap_or(0.25);
        let base = rope(config, "rope_theta")
            .or_else(|| config.get("rotary_emb_base").and_then(Value::as_f64))
            .unwrap_or(10_000.0);
        let shape = Self {
            family: Family::NeoX,
            vocabulary: whole(config, "vocab_size")?,
            width,
            layers: whole(config, "num_hidden_layers")?,
            heads,
            kv_heads: heads,
            head_width,
            inner: whole(config, "intermediate_size")?,
            rotary: (head_width as f64 * share) as usize,
            rotary_base: base as f32,
            norm_eps: real(config, "layer_norm_eps", 1e-5) as f32,
            parallel_residual: flag(config, "use_parallel_residual", true),
            activation: match config.get("hidden_act").and_then(Value::as_str) {
                Some("gelu") | None => Activation::Gelu,
                Some("gelu_new" | "gelu_fast" | "gelu_pytorch_tanh") => Activation::GeluTanh,
                Some(other) => return Err(unknown_activation(other)),
            },
            tied: flag(config, "tie_word_embeddings", false),
            context: whole(config, "max_position_embeddings")?,
        };
        shape.check()?;
        Ok(shape)
    }

    fn from_llama(config: &Value) -> Result<Self, TrainError> {
        let (width, heads) = (
            whole(config, "hidden_size")?,
            whole(config, "num_attention_heads")?,
        );
        let head_width = whole(config, "head_dim").unwrap_or(width / heads.max(1));
        let scaled = config
            .get("rope_scaling")
            .filter(|v| !v.is_null())
            .or_else(|| config.get("rope_parameters"))
            .and_then(|v| v.get("rope_type").or_else(|| v.get("type")))
            .and_then(Value::as_str)
            .unwrap_or("default");
        if scaled != "default" {
            return Err(TrainError::Settings(format!(
                "config.json asks for \"{scaled}\" rotary scaling; tuning knows the plain kind only"
            )));
        }
        match config.get("hidden_act").and_then(Value::as_str) {
            Some("silu" | "swish") | None => {}
            Some(other) => return Err(unknown_activation(other)),
        }
        let base = rope(config, "rope_theta")
            .or_else(|| config.get("rope_theta").and_then(Value::as_f64))
            .unwrap_or(10_000.0);
        let shape = Self {
            family: Family::Llama,
            vocabulary: whole(config, "vocab_size")?,
            width,
            layers: whole(config, "num_hidden_layers")?,
            heads,
            kv_heads: whole(config, "num_key_value_heads").unwrap_or(heads),
            head_width,
            inner: whole(config, "intermediate_size")?,
            rotary: head_width,
            rotary_base: base as f32,
            norm_eps: real(config, "rms_norm_eps", 1e-6) as f32,
            parallel_residual: false,
            activation: Activation::GatedSilu,
            tied: flag(config, "tie_word_embeddings", false),
            context: whole(config, "max_position_embeddings")?,
        };
        shape.check()?;
        Ok(shape)
    }
}

fn unknown_activation(name: &str) -> TrainError {
    TrainError::Settings(format!(
        "config.json names the activation \"{name}\", which tuning does not know"
    ))
}

fn whole(config: &Value, key: &str) -> Result<usize, TrainError> {
    config
        .get(key)
        .and_then(Value::as_u64)
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| TrainError::Settings(format!("config.json has no whole number \"{key}\"")))
}

fn real(config: &Value, key: &str, default: f64) -> f64 {
    config.get(key).and_then(Value::as_f64).unwrap_or(default)
}

fn flag(config: &Value, key: &str, default: bool) -> bool {
    config.get(key).and_then(Value::as_bool).unwrap_or(default)
}

fn rope(config: &Value, key: &str) -> Option<f64> {
    config
        .get("rope_parameters")
        .and_then(|v| v.get(key))
        .and_then(Value::as_f64)
}
