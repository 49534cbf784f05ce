//! From GGUF's tensor names to Hugging Face's, undoing what llama.cpp's converter did to the rows.
//!
//! The names are those of llama.cpp's `tensor_mapping.py`; what is undone is what
//! `convert_hf_to_gguf.py` does to each architecture. A tensor without a place is refused by name:
//! leaving a weight out would be another model.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Metadata;
use crate::stored::{Layout, RowOrder, Stored};

/// Tensors that hold no weights; what they say goes into the configuration.
pub(super) const ROPE_TABLES: [&str; 3] = [
    "rope_freqs.weight",
    "rope_factors_long.weight",
    "rope_factors_short.weight",
];

/// Names outside and inside the blocks: GGUF's, Hugging Face's.
struct Table {
    outer: &'static [(&'static str, &'static str)],
    block: &'static str,
    inner: &'static [(&'static str, &'static str)],
}

const LLAMA: Table = Table {
    outer: &[
        ("token_embd", "model.embed_tokens"),
        ("output_norm", "model.norm"),
        ("output", "lm_head"),
    ],
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
};

const GEMMA: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("attn_q_norm", "self_attn.q_norm"),
        ("attn_k_norm", "self_attn.k_norm"),
        ("post_attention_norm", "post_attention_layernorm"),
        ("ffn_norm", "pre_feedforward_layernorm"),
        ("post_ffw_norm", "post_feedforward_layernorm"),
        ("ffn_gate", "mlp.gate_proj"),
        ("ffn_up", "mlp.up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
};

const GPT2: Table = Table {
    outer: &[
        ("token_embd", "transformer.wte"),
        ("position_embd", "transformer.wpe"),
        ("output_norm", "transformer.ln_f"),
        ("output", "lm_head"),
    ],
    block: "transformer.h",
    inner: &[
        ("attn_norm", "ln_1"),
        ("attn_qkv", "attn.c_attn"),
        ("attn_output", "attn.c_proj"),
        ("ffn_norm", "ln_2"),
        ("ffn_up", "mlp.c_fc"),
        ("ffn_down", "mlp.c_proj"),
    ],
};

const NEOX: Table = Table {
    outer: &[
        ("token_embd", "gpt_neox.embed_in"),
        ("output_norm", "gpt_neox.final_layer_norm"),
        ("output", "embed_out"),
    ],
    block: "gpt_neox.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_qkv", "attention.query_key_value"),
        ("attn_output", "attention.dense"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_up", "mlp.dense_h_to_4h"),
        ("ffn_down", "mlp.dense_4h_to_h"),
    ],
};

const FALCON_7B: Table = Table {
    outer: &[
        ("token_embd", "transformer.word_embeddings"),
        ("output_norm", "transformer.ln_f"),
        ("output", "lm_head"),
    ],
    block: "transformer.h",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_qkv", "self_attention.query_key_value"),
        ("attn_output", "self_attention.dense"),
        ("ffn_up", "mlp.dense_h_to_4h"),
        ("ffn_down", "mlp.dense_4h_to_h"),
    ],
};

const FALCON_NEW: Table = Table {
    outer: FALCON_7B.outer,
    block: "transformer.h",
    inner: &[
        ("attn_norm", "ln_mlp"),
        ("attn_norm_2", "ln_attn"),
        ("attn_qkv", "self_attention.query_key_value"),
        ("attn_output", "self_attention.dense"),
        ("ffn_up", "mlp.dense_h_to_4h"),
        ("ffn_down", "mlp.dense_4h_to_h"),
    ],
};

const PHI2: Table = Table {
    outer: &[
        ("token_embd", "model.embed_tokens"),
        ("output_norm", "model.final_layernorm"),
        ("output", "lm_head"),
    ],
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_q", "self_attn.q_proj"),
        ("attn_k", "self_attn.k_proj"),
        ("attn_v", "self_attn.v_proj"),
        ("attn_output", "self_attn.dense"),
        ("ffn_up", "mlp.fc1"),
        ("ffn_down", "mlp.fc2"),
    ],
};

const PHI3: Table = Table {
    outer: LLAMA.outer,
    block: "model.layers",
    inner: &[
        ("attn_norm", "input_layernorm"),
        ("attn_qkv", "self_attn.qkv_proj"),
        ("attn_output", "self_attn.o_proj"),
        ("ffn_norm", "post_attention_layernorm"),
        ("ffn_up", "mlp.gate_up_proj"),
        ("ffn_down", "mlp.down_proj"),
    ],
};

fn table(architecture: &str, config: &Value) -> Option<&'static Table> {
    Some(match architecture {
        "llama" | "qwen2" | "qwen3" => &LLAMA,
        "gemma2" | "gemma3" => &GEMMA,
        "gpt2" => &GPT2,
        "gptneox" => &NEOX,
        "falcon" if config["new_decoder_architecture"] == true => &FALCON_NEW,
        "falcon" => &FALCON_7B,
        "phi2" => &PHI2,
        "phi3" => &PHI3,
        _ => return None,
    })
}

/// Architectures that can be translated.
pub(super) const KNOWN: &str = "llama (also Mistral, SmolLM2, TinyLlama), qwen2, qwen3, gemma2, gemma3, gpt2, gptneox, \
     falcon, phi2, phi3";

/// Renames every tensor and says how each is to be read.
pub(super) fn translate(
    metadata: &Metadata,
    config: &Value,
    stored: BTreeMap<String, Stored>,
) -> Result<BTreeMap<String, Stored>, String> {
    let architecture = metadata.text("general.architecture").unwrap_or("");
    let table = table(architecture, config)
        .ok_or_else(|| format!("architecture `{architecture}` is not known; known: {KNOWN}"))?;
    let mut renamed = BTreeMap::new();
    for (name, mut tensor) in stored {
        if ROPE_TABLES.contains(&name.as_str()) {
            continue;
        }
        if architecture == "phi2" && name.contains(".attn_qkv.") {
            split_phi2(&name, &tensor, &mut renamed)?;
            continue;
        }
        let hf = hf_name(table, &name).ok_or_else(|| {
            format!("tensor `{name}` has no place in a model of architecture `{architecture}`")
        })?;
        undo(architecture, config, &name, &mut tensor)?;
        renamed.insert(hf, tensor);
    }
    Ok(renamed)
}

fn hf_name(table: &Table, name: &str) -> Option<String> {
    let (stem, suffix) = name.rsplit_once('.')?;
    if !matches!(suffix, "weight" | "bias") {
        return None;
    }
    let find = |pairs: &[(&str, &'static str)], stem: &str| {
        pairs.iter().find(|(g, _)| *g == stem).map(|(_, hf)| *hf)
    };
    if let Some(rest) = stem.strip_prefix("blk.") {
        let (layer, stem) = rest.split_once('.')?;
        let layer: u32 = layer.parse().ok()?;
        let hf = find(table.inner, stem)?;
        return Some(format!("{}.{layer}.{hf}.{suffix}", table.block));
    }
    find(table.outer, stem).map(|hf| format!("{hf}.{suffix}"))
}

/// What the converter did to this tensor, undone on reading.
fn undo(architecture: &str, config: &Value, name: &str, tensor: &mut Stored) -> Result<(), String> {
    let number = |key: &str| {
        config[key]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(0)
    };
    let heads = number("num_attention_heads");
    let head_dim = number("hidden_size").checked_div(heads).unwrap_or(0);
    let order = match architecture {
        "llama" if name.contains(".attn_q.") || name.contains(".attn_k.") => RowOrder::Rotary {
            head_dim: number("head_dim"),
        },
        "gptneox" if name.contains(".attn_qkv.") => RowOrder::NeoxQkv { heads, head_dim },
        "falcon" if name.contains(".attn_qkv.") => RowOrder::FalconQkv {
            heads,
            groups: number("num_kv_heads"),
            head_dim,
        },
        "gemma2" | "gemma3" if name.ends_with("norm.weight") => {
            tensor.layout = Layout::PlusOne;
            return Ok(());
        }
        "gpt2"
            if tensor.info.shape.len() == 2
                && [".attn_qkv.", ".attn_output.", ".ffn_up.", ".ffn_down."]
                    .iter()
                    .any(|part| name.contains(part)) =>
        {
            tensor.info.shape.reverse();
            tensor.layout = Layout::Transposed;
            return Ok(());
        }
        _ => return Ok(()),
    };
    let rows = tensor.info.shape.first().copied().unwrap_or(0);
    if !order.fits(rows) {
        return Err(format!(
            "tensor `{name}` has {rows} rows, which its attention heads cannot share"
        ));
    }
    tensor.layout = Layout::Rows(order);
    Ok(())
}

/// Older Phi-2 files keep query, key and value in one tensor; Hugging Face has three.
fn split_phi2(
    name: &str,
    tensor: &Stored,
    renamed: &mut BTreeMap<String, Stored>,
) -> Result<(), String> {
    let wrong = || format!("tensor `{name}` is not a query, key and value of equal size");
    let rows = *tensor.info.shape.first().ok_or_else(wrong)?;
    // Blocks lie within rows, so a third of the rows is a third of the bytes.
    if !rows.is_multiple_of(3) || !tensor.len.is_multiple_of(3) {
        return Err(wrong());
    }
    for (i, part) in ["attn_q", "attn_k", "attn_v"].into_iter().enumerate() {
        let part = name.replace("attn_qkv", part);
        let hf = hf_name(&PHI2, &part).ok_or_else(wrong)?;
        let mut piece = tensor.clone();
        piece.info.shape[0] = rows / 3;
        piece.len = tensor.len / 3;
        piece.start = tensor.start + i * piece.len;
        renamed.insert(hf, piece);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_inside_and_outside_the_blocks() {
        assert_eq!(
            hf_name(&LLAMA, "blk.12.attn_q.weight").as_deref(),
            Some("model.layers.12.self_attn.q_proj.weight")
        );
        assert_eq!(
            hf_name(&LLAMA, "output.weight").as_deref(),
            Some("lm_head.weight")
        );
        assert_eq!(hf_name(&LLAMA, "blk.0.ffn_gate_exps.weight"), None);
        assert_eq!(hf_name(&GPT2, "blk.x.attn_qkv.weight"), None);
    }
}
