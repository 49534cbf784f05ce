//! The metadata of decoders that differ from LLaMA in a detail or two, and of BERT.

use serde_json::{Value, json};

use super::{Source, head_dim, llama_like};

/// OLMo, Granite and StableLM: LLaMA's metadata and a few keys more.
pub(super) fn llama_with_more(source: &Source<'_>) -> Result<Value, String> {
    let mut config = llama_like(source)?;
    let own = match source.architecture {
        "olmo" => json!({
            "clip_qkv": source.float("attention.clamp_kqv").filter(|limit| *limit > 0.0),
        }),
        "granite" => json!({
            "embedding_multiplier": source.float("embedding_scale").unwrap_or(1.0),
            "attention_multiplier": source.float("attention.scale"),
            "residual_multiplier": source.float("residual_scale").unwrap_or(1.0),
            "logits_scaling": source.float("logit_scale").unwrap_or(1.0),
        }),
        _ => stablelm(source)?,
    };
    if let (Value::Object(config), Value::Object(own)) = (&mut config, own) {
        config.extend(own);
    }
    if source.architecture == "granite" && config["attention_multiplier"].is_null() {
        return Err("metadata `granite.attention.scale` is missing".into());
    }
    Ok(config)
}

/// Whether a block is parallel is seen from its norms: converters wrote the key without looking.
fn stablelm(source: &Source<'_>) -> Result<Value, String> {
    let head_dim = head_dim(source)?;
    let rotary = source.integer("rope.dimension_count").unwrap_or(head_dim);
    Ok(json!({
        "layer_norm_eps": source.float("attention.layer_norm_epsilon").unwrap_or(1e-5),
        "partial_rotary_factor": rotary as f64 / head_dim as f64,
        "use_parallel_residual": !source.has("blk.0.ffn_norm.weight"),
        "use_qkv_bias": source.has("blk.0.attn_q.bias"),
        "qk_layernorm": source.has("blk.0.attn_q_norm.weight"),
    }))
}

pub(super) fn bloom(source: &Source<'_>) -> Result<Value, String> {
    Ok(json!({
        "n_layer": source.size("block_count")?,
        "n_head": source.size("attention.head_count")?,
        "seq_length": source.size("context_length")?,
        "layer_norm_epsilon": source.float("attention.layer_norm_epsilon").unwrap_or(1e-5),
    }))
}

/// The first Qwen, whose files state twice the width of the feed-forward block.
pub(super) fn qwen(source: &Source<'_>) -> Result<Value, String> {
    let width = source
        .dimension("blk.0.ffn_up.weight", 0)
        .ok_or("has no tensor `blk.0.ffn_up.weight`")?;
    Ok(json!({
        "kv_channels": head_dim(source)?,
        "intermediate_size": width.saturating_mul(2),
        "layer_norm_epsilon": source.float("attention.layer_norm_rms_epsilon").unwrap_or(1e-6),
        "rotary_emb_base": source.float("rope.freq_base").unwrap_or(10_000.0),
        "rotary_pct": 1.0,
        "seq_length": source.size("context_length")?,
        "no_bias": true,
    }))
}

/// BERT, and RoBERTa as converters write it: the rows before its first position are left out.
pub(super) fn bert(source: &Source<'_>) -> Result<Value, String> {
    if source.metadata.flag(&source.key("attention.causal")) == Some(true) {
        return Err("is a BERT whose attention is causal, which is not known".into());
    }
    let rows = source.dimension("position_embd.weight", 0);
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "max_position_embeddings": rows.map_or_else(|| source.size("context_length"), Ok)?,
        "type_vocab_size": source.dimension("token_types.weight", 0),
        "layer_norm_eps": source.float("attention.layer_norm_epsilon").unwrap_or(1e-12),
        "hidden_act": "gelu",
    }))
}
