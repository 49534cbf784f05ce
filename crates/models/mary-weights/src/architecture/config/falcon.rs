//! Falcon in its three layouts: RW (sequential, linear biases), 7B (parallel, one key head) and
//! the new decoder architecture of 40B, 180B and 11B (parallel, grouped key heads).

use mary_contract::ModelError;

use super::classic::{Sizes, no_names, plain_decoder, rotate_all};
use super::{
    Alibi, Architecture, Block, Fields, Names, QkvLayout, QkvNames, Rope, UpNames, activation,
};

pub(super) fn falcon(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let new = f.flag("new_decoder_architecture", false);
    let two_norms = new && f.count("num_ln_in_parallel_attn").unwrap_or(2) == 2;
    let names = Names {
        prefixes: &[("transformer.", ""), ("", "")],
        embed: "word_embeddings",
        layer: "h.{}.",
        qkv: QkvNames::Fused("self_attention.query_key_value", QkvLayout::Grouped),
        attn_out: "self_attention.dense",
        attn_norm: if two_norms {
            "ln_attn"
        } else {
            "input_layernorm"
        },
        mlp_norm: if two_norms {
            "ln_mlp"
        } else {
            "post_attention_layernorm"
        },
        up: UpNames::Plain("mlp.dense_h_to_4h"),
        down: "mlp.dense_4h_to_h",
        final_norm: Some("ln_f"),
        ..no_names()
    };
    let sizes = Sizes {
        hidden: f.need("hidden_size")?,
        layers: f
            .count("num_hidden_layers")
            .or_else(|| f.count("n_layer"))
            .unwrap_or(0),
        heads: f
            .count("num_attention_heads")
            .or_else(|| f.count("n_head"))
            .unwrap_or(0),
        vocab: f.need("vocab_size")?,
        context: f.count("max_position_embeddings").unwrap_or(2048),
    };
    let mut a = plain_decoder("Falcon", sizes, names);
    a.intermediate = f.count("ffn_hidden_size").unwrap_or(4 * a.hidden);
    a.norm.eps = f.number("layer_norm_epsilon").unwrap_or(1e-5) as f32;
    a.mlp.activation = activation(f.text("activation").unwrap_or("gelu"))?;
    a.tied = f.flag("tie_word_embeddings", true);
    if new {
        a.kv_heads = f
            .count("num_kv_heads")
            .or_else(|| f.count("n_head_kv"))
            .unwrap_or(a.heads);
    } else if f.flag("multi_query", true) {
        a.kv_heads = 1;
    }
    if new || f.flag("parallel_attn", true) {
        a.block = Block::Parallel { shared: !two_norms };
    }
    if f.flag("alibi", false) {
        a.attention.alibi = Some(Alibi::Rounded);
    } else {
        let rope = Rope::read(f, a.head_dim, None)?;
        rotate_all(&mut a, rope);
    }
    Ok(a)
}
