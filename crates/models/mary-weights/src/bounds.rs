//! What a configuration may ask for: counts are compared with the tensors that are there before
//! anybody allocates or loops by them.
//!
//! A configuration is a few kilobytes that can ask for any amount of memory: 2³¹ layers, a width of
//! 2⁶³, a rotary share of 1e300. The tensors cannot lie in that way, since their sizes are checked
//! against the file.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stored::Stored;

/// Widths up to this are believed even where no tensor has them (defaults, fused layers).
const SMALL: u64 = 1 << 16;
/// Longest context of any model, several times over.
const LONGEST_CONTEXT: u64 = 1 << 26;

/// Sizes of tensors, as configurations name them.
const WIDTHS: &str = "hidden_size n_embd d_model dim hidden_dim intermediate_size n_inner ffn_dim ffn_hidden_size \
    moe_intermediate_size shared_expert_intermediate_size num_experts num_local_experts num_experts_per_tok \
    head_dim kv_channels rotary_dim vocab_size word_embed_proj_dim type_vocab_size num_attention_heads n_head \
    n_heads num_heads num_key_value_heads num_kv_heads n_head_kv qk_nope_head_dim qk_rope_head_dim v_head_dim \
    q_lora_rank kv_lora_rank n_routed_experts n_shared_experts n_group topk_group";
const LAYERS: &str = "num_hidden_layers n_layer n_layers num_layers depth";
const CONTEXTS: &str = "max_position_embeddings n_positions n_ctx max_seq_len original_max_position_embeddings \
    sliding_window sliding_window_pattern max_window_layers";
const SHARES: &[&str] = &["rotary_pct", "partial_rotary_factor"];

/// Compares a configuration's counts with the tensors. `Err` says which one cannot be.
pub(crate) fn check(config: &Value, tensors: &BTreeMap<String, Stored>) -> Result<(), String> {
    let shapes = tensors.values().flat_map(|t| &t.info.shape);
    let widest = shapes.copied().max().unwrap_or(0) as u64;
    let limits = [
        (WIDTHS, widest.max(SMALL), "the widest tensor there is"),
        (
            LAYERS,
            tensors.len() as u64,
            "the number of tensors there are",
        ),
        (
            CONTEXTS,
            LONGEST_CONTEXT,
            "the longest context of any model",
        ),
    ];
    for part in parts(config) {
        for (names, most, why) in limits {
            for name in names.split(' ') {
                whole(part, name, most, why)?;
            }
        }
        for name in SHARES {
            share(part, name)?;
        }
    }
    Ok(())
}

/// The configuration itself and the parts in which some keep a text model, a tower or rotary settings.
fn parts(config: &Value) -> impl Iterator<Item = &Value> {
    let inner = [
        "text_config",
        "vision_config",
        "rope_parameters",
        "rope_scaling",
    ];
    std::iter::once(config).chain(inner.into_iter().filter_map(|name| config.get(name)))
}

fn whole(config: &Value, name: &str, most: u64, why: &str) -> Result<(), String> {
    let Some(value) = config.get(name).filter(|v| !v.is_null()) else {
        return Ok(());
    };
    // Negative ones and fractions are refused where the field is read, with what it is for.
    match value.as_f64() {
        Some(number) if number > most as f64 => Err(format!(
            "its configuration says {name} = {value}, which is more than {most}, {why}"
        )),
        _ => Ok(()),
    }
}

fn share(config: &Value, name: &str) -> Result<(), String> {
    match config.get(name).and_then(Value::as_f64) {
        Some(share) if !(0.0..=1.0).contains(&share) => Err(format!(
            "its configuration says {name} = {share}; a share lies between 0 and 1"
        )),
        _ => Ok(()),
    }
}

/// Refuses a GGUF file whose tensors belong to more layers than it says it has: what would be left
/// out is part of the model.
pub(crate) fn layers_named(tensors: &BTreeMap<String, Stored>, layers: u64) -> Result<(), String> {
    let named = tensors.keys().filter_map(|name| {
        let number = name.strip_prefix("blk.")?.split('.').next()?;
        number.parse::<u64>().ok()
    });
    match named.max() {
        Some(last) if last >= layers => Err(format!(
            "says that it has {layers} layers, but holds tensors of layer {}",
            last.saturating_add(1)
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::Layout;
    use crate::{TensorInfo, TensorType};
    use serde_json::json;

    fn tensors(names: &[&str]) -> BTreeMap<String, Stored> {
        let stored = || Stored {
            info: TensorInfo {
                shape: vec![100_000, 64],
                dtype: TensorType::F32,
            },
            file: 0,
            start: 0,
            len: 4 * 6_400_000,
            layout: Layout::Plain,
        };
        names.iter().map(|n| ((*n).to_owned(), stored())).collect()
    }

    #[test]
    fn counts_beyond_the_tensors_are_refused_by_name() {
        let three = tensors(&["a", "b", "c"]);
        for (name, value) in [
            ("num_hidden_layers", json!(4)),
            ("num_hidden_layers", json!(1u64 << 31)),
            ("hidden_size", json!(u64::MAX >> 1)),
            ("head_dim", json!(1e300)),
            ("kv_channels", json!(1u64 << 40)),
            ("qk_rope_head_dim", json!(1u64 << 40)),
            ("n_routed_experts", json!(1u64 << 40)),
            ("vocab_size", json!(100_001)),
            ("max_position_embeddings", json!(1u64 << 40)),
            ("rotary_pct", json!(1e300)),
            ("partial_rotary_factor", json!(-0.5)),
        ] {
            for config in [
                json!({ name: value }),
                json!({"text_config": {name: value}}),
            ] {
                let error = check(&config, &three).unwrap_err();
                assert!(error.contains(name), "{error}");
            }
        }
        let honest = json!({"num_hidden_layers": 3, "hidden_size": 64, "vocab_size": 100_000,
            "max_position_embeddings": 10_485_760, "rotary_pct": 0.25, "sliding_window": null});
        assert_eq!(check(&honest, &three), Ok(()));
    }

    #[test]
    fn a_file_with_more_layers_than_it_says_is_refused() {
        let thirty: Vec<String> = (0..30).map(|n| format!("blk.{n}.attn_q.weight")).collect();
        let thirty = tensors(&thirty.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(layers_named(&thirty, 30).is_ok());
        let error = layers_named(&thirty, 3).unwrap_err();
        assert!(
            error.contains("has 3 layers") && error.contains("layer 30"),
            "{error}"
        );
    }
}
