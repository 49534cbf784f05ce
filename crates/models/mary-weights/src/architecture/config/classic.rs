//! What switches cannot say of the decoders beside LLaMA's line: GPT-2, OPT, the first Qwen, GPT-J, GPT-Neo, BLOOM,
//! MPT and Falcon; and of models that read and do not speak: BERT, RoBERTa and ModernBERT. They observe; with the head
//! of a masked language model they score too. None generates.

use serde_json::{Value, json};

use super::fields::refused;
use super::{Alibi, Architecture, Block, Fields, QkvLayout, QkvNames, Rope};
use crate::fault::Result;
use crate::gguf::source::GgufSource;

/// GPT-2; also StarCoder's first generation, with one key head for all, and the first GPT.
pub(super) fn gpt2(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    match f.text("model_type") == Some("gpt_bigcode") {
        true if f.flag("multi_query", true) => a.kv_heads = 1,
        true => a.names.qkv = QkvNames::Fused("attn.c_attn", QkvLayout::Grouped),
        false => {}
    }
    if f.flag("add_cross_attention", false) {
        let family = a.family;
        let what = format!("a {family} that attends to an encoder is not known");
        return Err(refused(what));
    }
    a.attention.by_layer = f.flag("scale_attn_by_inverse_layer_idx", false);
    if !f.flag("scale_attn_weights", true) {
        a.attention.scale = 1.0;
    }
    Ok(())
}

/// Four times the width goes without saying.
pub(super) fn gpt2_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let usual = 4 * source.size("embedding_length")?;
    let width = source.integer("feed_forward_length");
    Ok(json!({"n_inner": width.filter(|n| *n != usual)}))
}

pub(super) fn opt(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let width = f.count("word_embed_proj_dim").unwrap_or(a.hidden);
    let before = f.flag("do_layer_norm_before", true);
    a.embedding.width = width;
    a.names.project = (width != a.hidden).then_some(("project_in", "project_out"));
    if !before {
        a.block = Block::PostNorm;
    }
    if !before || f.flag("_remove_final_layer_norm", false) {
        a.names.final_norm = None;
    }
    Ok(())
}

/// The first Qwen's files (and Qwen-VL's text side) state twice the width of the feed-forward block.
pub(super) fn qwen(a: &mut Architecture, _: &Fields<'_>) -> Result<()> {
    a.intermediate /= 2;
    Ok(())
}

pub(super) fn qwen_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let width = source
        .dimension("blk.0.ffn_up.weight", 0)
        .ok_or("has no tensor `blk.0.ffn_up.weight`")?;
    Ok(json!({"intermediate_size": width.saturating_mul(2)}))
}

pub(super) fn gptj(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let turning = f.count("rotary_dim").unwrap_or(a.head_dim);
    a.rotate_all(Rope::plain(turning, 10_000.0));
    Ok(())
}

/// GPT-Neo: scores that are not scaled, every other layer with a window.
pub(super) fn gpt_neo(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    a.attention.scale = 1.0;
    let window = f.count("window_size").unwrap_or(256);
    for (layer, kind) in a.kinds.iter_mut().zip(attention_kinds(f)?) {
        layer.window = (kind == "local").then_some(window);
    }
    Ok(())
}

/// `[[["global", "local"], 12]]` repeated out.
fn attention_kinds<'a>(f: &Fields<'a>) -> Result<Vec<&'a str>> {
    let Some(groups) = f.get("attention_types").and_then(Value::as_array) else {
        let both = ["global", "local"].into_iter().cycle();
        return Ok(both.take(f.need("num_layers")?).collect());
    };
    let mut all = Vec::new();
    for group in groups {
        let (Some(names), Some(times @ 0..=4096)) = (group[0].as_array(), group[1].as_u64()) else {
            let expected = "`attention_types` should be a list of [kinds, times]";
            return Err(refused(expected));
        };
        for _ in 0..times {
            all.extend(names.iter().map(|n| n.as_str().unwrap_or_default()));
        }
    }
    Ok(all)
}

pub(super) fn bloom(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    if f.flag("apply_residual_connection_post_layernorm", false) {
        let what = "BLOOM with `apply_residual_connection_post_layernorm` is not known";
        return Err(refused(what).hint("no published BLOOM uses it"));
    }
    a.attention.alibi = Some(Alibi::Exact);
    Ok(())
}

/// MPT: linear biases, nothing but matrices and the weights of norms.
pub(super) fn mpt(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let ratio = f.count("expansion_ratio").unwrap_or(4);
    a.intermediate = ratio.saturating_mul(a.hidden);
    a.attention.alibi = Some(Alibi::Exact);
    let Some(attention) = f.object("attn_config") else {
        return Ok(());
    };
    a.attention.clip = clip(&attention)?;
    if let Some(scale) = attention.number("softmax_scale") {
        a.attention.scale = scale as f32;
    }
    let known = [("alibi", true), ("qk_ln", false), ("prefix_lm", false)];
    for (switch, wanted) in known {
        if attention.flag(switch, wanted) != wanted {
            let what = format!("an MPT with `{switch}` {} is not known", !wanted);
            return Err(refused(what).hint("no published MPT has it so"));
        }
    }
    Ok(())
}

/// Where queries, keys and values are cut off.
pub(super) fn clip(f: &Fields<'_>) -> Result<Option<f32>> {
    match f.number("clip_qkv") {
        Some(limit) if limit <= 0.0 => Err(refused(format!(
            "`clip_qkv` should be above 0; found {limit}"
        ))),
        limit => Ok(limit.map(|x| x as f32)),
    }
}

/// BERT, and RoBERTa as converters write it: the rows before its first position are left out.
pub(super) fn bert_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    if source.flag("attention.causal") == Some(true) {
        return Err("is a BERT whose attention is causal, which is not known".into());
    }
    let rows = source.dimension("position_embd.weight", 0);
    Ok(json!({
        "max_position_embeddings": rows.map_or_else(|| source.size("context_length"), Ok)?,
        "type_vocab_size": source.dimension("token_types.weight", 0),
    }))
}

/// ModernBERT: rotations and gates; most layers see a window, in both directions.
pub(super) fn modernbert(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let rope = |kind, older, usual| Rope::of_kind(f, a.head_dim, kind, (older, usual));
    a.ropes = vec![
        rope("full_attention", "global_rope_theta", 160_000.0)?,
        rope("sliding_attention", "local_rope_theta", 10_000.0)?,
    ];
    let every = f.count("global_attn_every_n_layers").unwrap_or(3).max(1);
    let half = f.count("local_attention").unwrap_or(128) / 2;
    let slides = f.sliding(a.layers, |i| i % every != 0);
    for (layer, slides) in a.kinds.iter_mut().zip(slides) {
        layer.window = slides.then_some(half.saturating_add(1));
        layer.rope = Some(usize::from(slides));
    }
    Ok(())
}

pub(super) fn roberta(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let offset = f.count("pad_token_id").unwrap_or(1) + 1;
    a.embedding.position_offset = Some(offset);
    a.context = a.context.saturating_sub(offset);
    Ok(())
}

/// Falcon in its three layouts: RW (sequential, linear biases), 7B (parallel, one key head) and
/// the new decoder architecture of 40B, 180B and 11B (parallel, grouped key heads).
pub(super) fn falcon(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let new = f.flag("new_decoder_architecture", false);
    let two_norms = new && f.count("num_ln_in_parallel_attn").unwrap_or(2) == 2;
    if two_norms {
        (a.names.attn_norm, a.names.mlp_norm) = ("ln_attn", "ln_mlp");
        a.names.gguf = &[("attn_norm_2", "attn_norm"), ("attn_norm", "ffn_norm")];
    }
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
        a.turn_nothing();
    }
    Ok(())
}

pub(super) fn falcon_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let heads = source.size("attention.head_count")?;
    let groups = source.integer("attention.head_count_kv").unwrap_or(1);
    Ok(json!({"num_kv_heads": groups, "multi_query": groups == 1 && heads > 1}))
}
