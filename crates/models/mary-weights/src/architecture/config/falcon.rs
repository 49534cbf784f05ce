//! Falcon in its three layouts: RW (sequential, linear biases), 7B (parallel, one key head) and
//! the new decoder architecture of 40B, 180B and 11B (parallel, grouped key heads).

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::classic::{decoder, names, rotate};
use super::family::{Conversion, Family, GgufForm};
use super::{Alibi, Architecture, Block, Fields};
use crate::gguf::source::GgufSource;

pub(super) static FALCON: Family = Family {
    types: &["falcon", "RefinedWeb", "RefinedWebModel"],
    read: falcon,
    gguf: &[GgufForm {
        pre: "falcon",
        conversion: Conversion::QkvByRole,
        ..GgufForm::new("falcon", ("falcon", "FalconForCausalLM"), falcon_gguf)
    }],
};

fn falcon(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let new = f.flag("new_decoder_architecture", false);
    let two_norms = new && f.count("num_ln_in_parallel_attn").unwrap_or(2) == 2;
    let mut names = names("falcon");
    if two_norms {
        (names.attn_norm, names.mlp_norm) = ("ln_attn", "ln_mlp");
        names.gguf = &[("attn_norm_2", "attn_norm"), ("attn_norm", "ffn_norm")];
    }
    let mut a = decoder("Falcon", f, names)?;
    a.intermediate = f.count("ffn_hidden_size").unwrap_or(4 * a.hidden);
    a.norm.eps = f.float("layer_norm_epsilon", 1e-5);
    a.mlp.activation = f.activation("activation", "gelu")?;
    a.tied = f.flag("tie_word_embeddings", true);
    if new {
        let said = f.count("num_kv_heads").or_else(|| f.count("n_head_kv"));
        a.kv_heads = said.unwrap_or(a.heads);
    } else if f.flag("multi_query", true) {
        a.kv_heads = 1;
    }
    if new || f.flag("parallel_attn", true) {
        a.block = Block::Parallel { shared: !two_norms };
    }
    if f.flag("alibi", false) {
        a.attention.alibi = Some(Alibi::Rounded);
    } else {
        rotate(&mut a, f, 1.0)?;
    }
    Ok(a)
}

fn falcon_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let heads = source.size("attention.head_count")?;
    let groups = source.integer("attention.head_count_kv").unwrap_or(1);
    Ok(json!({
        "num_kv_heads": groups,
        "multi_query": groups == 1 && heads > 1,
        "new_decoder_architecture": source.has("blk.0.attn_norm_2.weight"),
        "parallel_attn": true,
        "alibi": false,
        "bias": source.has("blk.0.attn_qkv.bias"),
        "ffn_hidden_size": source.integer("feed_forward_length"),
        "layer_norm_epsilon": source.norm_eps(1e-5),
        "rope_theta": source.rope_theta(),
        "activation": "gelu",
    }))
}
