//! The metadata of one architecture, and the tensors that tell what the metadata does not.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::header::Metadata;
use crate::mapped::Mapped;
use crate::stored::Stored;

pub(crate) struct GgufSource<'a> {
    pub metadata: &'a Metadata,
    /// `general.architecture`.
    pub architecture: &'a str,
    pub tensors: &'a BTreeMap<String, Stored>,
    pub files: &'a [Mapped],
    /// Which share of a head's dimensions turns.
    pub rotary_share: f64,
}

impl GgufSource<'_> {
    pub fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.architecture)
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        self.metadata.integer(&self.key(name))
    }

    pub fn size(&self, name: &str) -> Result<i64, String> {
        let key = self.key(name);
        match self.metadata.integer(&key) {
            Some(n) if n > 0 => Ok(n),
            Some(n) => Err(format!("metadata `{key}` is {n}")),
            None => Err(format!(
                "metadata `{key}` is missing or differs between layers"
            )),
        }
    }

    pub fn float(&self, name: &str) -> Option<f64> {
        self.metadata.float(&self.key(name))
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.metadata.flag(&self.key(name))
    }

    pub fn has(&self, tensor: &str) -> bool {
        self.tensors.contains_key(tensor)
    }

    /// A small tensor of floats that belongs to the configuration.
    pub fn table(&self, name: &str) -> Option<Vec<f32>> {
        let tensor = self.tensors.get(name)?;
        let file = self.files.get(tensor.file)?;
        Some(tensor.read_f32(file.get(tensor.start..tensor.start + tensor.len)?))
    }

    pub fn experts(&self) -> i64 {
        self.integer("expert_count").unwrap_or(0)
    }

    /// Rows (or another dimension, outermost first) of a tensor.
    pub fn dimension(&self, tensor: &str, number: usize) -> Option<i64> {
        let shape = &self.tensors.get(tensor)?.info.shape;
        i64::try_from(*shape.get(number)?).ok()
    }

    pub fn head_dim(&self) -> Result<i64, String> {
        match self.integer("attention.key_length") {
            Some(n) if n > 0 => Ok(n),
            _ => Ok(self.size("embedding_length")? / self.size("attention.head_count")?),
        }
    }

    pub fn rope_theta(&self) -> f64 {
        self.float("rope.freq_base").unwrap_or(10_000.0)
    }

    pub fn rms_eps(&self) -> f64 {
        let said = self.float("attention.layer_norm_rms_epsilon");
        said.unwrap_or(1e-6)
    }

    pub fn kv_heads(&self) -> Result<i64, String> {
        let heads = self.size("attention.head_count")?;
        Ok(self.integer("attention.head_count_kv").unwrap_or(heads))
    }

    pub fn like_llama(&self) -> Result<Map<String, Value>, String> {
        let original = self.integer("rope.scaling.original_context_length");
        let config = json!({
            "intermediate_size": self.size("feed_forward_length")?,
            "num_key_value_heads": self.kv_heads()?,
            "head_dim": self.head_dim()?,
            "rms_norm_eps": self.rms_eps(),
            "rope_theta": self.rope_theta(),
            "hidden_act": "silu",
            "attention_bias": self.has("blk.0.attn_q.bias"),
            "sliding_window": self.integer("attention.sliding_window"),
            "original_max_position_embeddings": original,
        });
        Ok(config.as_object().cloned().unwrap_or_default())
    }
}
