//! From GGUF's tensor names to Hugging Face's, undoing what llama.cpp's converter did to the rows.
//!
//! The names are those of llama.cpp's `tensor_mapping.py`; what is undone is what
//! `convert_hf_to_gguf.py` does to each architecture. A tensor without a place is refused by name:
//! leaving a weight out would be another model.

use std::collections::BTreeMap;

use serde_json::Value;

mod tables;

pub(super) use tables::KNOWN;
use tables::{PHI2, Table, table};

use super::Metadata;
use crate::stored::{Layout, RowOrder, Stored};

/// Tensors that hold no weights; what they say goes into the configuration.
pub(super) const ROPE_TABLES: [&str; 3] = [
    "rope_freqs.weight",
    "rope_factors_long.weight",
    "rope_factors_short.weight",
];

/// More experts or heads than any model has.
const MOST_PARTS: usize = 4096;

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
        if let Some(pattern) = merged_name(table, &name) {
            split_merged(&name, &pattern, &tensor, &mut renamed)?;
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

/// The name of each part of a merged tensor, `{}` standing for its number. Files from before tensors
/// were merged have one for every expert: `ffn_gate.3`, where `ffn_gate_exps` came later.
fn merged_name(table: &Table, name: &str) -> Option<String> {
    let (stem, suffix) = name.rsplit_once('.')?;
    let (layer, stem) = stem.strip_prefix("blk.")?.split_once('.')?;
    let layer: u32 = layer.parse().ok()?;
    let (stem, number) = match stem.split_once('.') {
        Some((part, number)) => (format!("{part}_exps"), Some(number.parse::<u32>().ok()?)),
        None => (stem.to_owned(), None),
    };
    let (_, hf) = table.merged.iter().find(|(g, _)| *g == stem)?;
    let hf = match number {
        Some(number) => hf.replace("{}", &number.to_string()),
        None => (*hf).to_owned(),
    };
    Some(format!("{}.{layer}.{hf}.{suffix}", table.block))
}

/// Parts of a tensor whose outermost dimension counts them: experts, or heads.
fn split_merged(
    name: &str,
    pattern: &str,
    tensor: &Stored,
    renamed: &mut BTreeMap<String, Stored>,
) -> Result<(), String> {
    if !pattern.contains("{}") {
        renamed.insert(pattern.to_owned(), tensor.clone());
        return Ok(());
    }
    let wrong = || format!("tensor `{name}` does not hold equal parts");
    let (&count, rest) = tensor.info.shape.split_first().ok_or_else(wrong)?;
    // Blocks lie within rows, and a part is whole rows. An empty tensor could claim any number of parts.
    let sound = (1..=MOST_PARTS).contains(&count) && tensor.len >= count;
    if !sound || rest.is_empty() || !tensor.len.is_multiple_of(count) {
        return Err(wrong());
    }
    for part in 0..count {
        let mut piece = tensor.clone();
        piece.info.shape = rest.to_vec();
        piece.len = tensor.len / count;
        piece.start = tensor.start + part * piece.len;
        renamed.insert(pattern.replace("{}", &part.to_string()), piece);
    }
    Ok(())
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
        "llama" | "olmo" | "granite" if name.contains(".attn_q.") || name.contains(".attn_k.") => {
            RowOrder::Rotary {
                head_dim: number("head_dim"),
            }
        }
        "gptneox" | "bloom" if name.contains(".attn_qkv.") => RowOrder::NeoxQkv { heads, head_dim },
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
    use super::tables::{GPT2, LLAMA};
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

    #[test]
    fn experts_come_apart_and_older_files_have_them_apart() {
        let config = serde_json::json!({"model_type": "mixtral"});
        let table = table("llama", &config).unwrap();
        let name = |name| merged_name(table, name);
        assert_eq!(
            name("blk.3.ffn_up_exps.weight").as_deref(),
            Some("model.layers.3.block_sparse_moe.experts.{}.w3.weight")
        );
        assert_eq!(
            name("blk.3.ffn_up.7.weight").as_deref(),
            Some("model.layers.3.block_sparse_moe.experts.7.w3.weight")
        );
        assert_eq!(name("blk.3.ffn_norm.weight"), None);
        assert_eq!(name("blk.3.ffn_up.x.weight"), None);

        let tensor = |shape: &[usize], len| Stored {
            info: crate::TensorInfo {
                shape: shape.to_vec(),
                dtype: crate::TensorType::F32,
            },
            file: 0,
            start: 100,
            len,
            layout: Layout::Plain,
        };
        let mut made = BTreeMap::new();
        split_merged("x", "e.{}.w", &tensor(&[3, 2, 4], 96), &mut made).unwrap();
        assert_eq!(made["e.2.w"].start, 164);
        assert_eq!((made["e.2.w"].len, made.len()), (32, 3));
        assert_eq!(made["e.0.w"].info.shape, [2, 4]);
        // Nothing can be any number of parts.
        let empty = tensor(&[1 << 40, 0, 4], 0);
        assert!(split_merged("x", "e.{}.w", &empty, &mut made).is_err());
        assert!(split_merged("x", "e.{}.w", &tensor(&[3], 12), &mut made).is_err());
    }
}
