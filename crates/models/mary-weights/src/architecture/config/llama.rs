//! What switches cannot say of LLaMA's kin: Qwen 2 and 3, Phi-3, Gemma 2 and 3, SmolLM3, Ministral 3, Cohere, OLMo
//! and Granite.

use serde_json::{Value, json};

use super::classic::clip;
use super::fields::refused;
use super::{Architecture, Block, Fields, Rope};
use crate::fault::Result;
use crate::gguf::source::GgufSource;

/// Qwen has windows only when told to use them.
pub(super) fn qwen_windows(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let window = f.count("sliding_window");
    if let (true, Some(window)) = (f.flag("use_sliding_window", false), window) {
        let from = f.count("max_window_layers").unwrap_or(0);
        let slides = f.sliding(a.layers, |i| i >= from);
        for (layer, slides) in a.kinds.iter_mut().zip(slides) {
            layer.window = slides.then_some(window);
        }
    }
    Ok(())
}

pub(super) fn phi3(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let stretched = ["rope_scaling", "rope_parameters"].iter().any(|name| {
        f.object(name)
            .and_then(|s| s.text("rope_type").or_else(|| s.text("type")))
            .is_some_and(|t| t == "longrope" || t == "su")
    });
    if stretched && let Some(original) = f.count("original_max_position_embeddings") {
        a.context = a.context.min(original);
    }
    Ok(())
}

/// Gemma 2 and 3, and VaultGemma, which lacks Gemma 2's norms behind attention and feed-forward.
pub(super) fn gemma(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let third = f.text("model_type") == Some("gemma3_text");
    a.attention.scale = f.float("query_pre_attn_scalar", 256.0).sqrt().recip();
    a.attention.soft_cap = f.number("attn_logit_softcapping").map(|x| x as f32);
    a.logit_cap = f.number("final_logit_softcapping").map(|x| x as f32);
    let window = f.count("sliding_window").unwrap_or(4096);
    let every = f.count("sliding_window_pattern");
    let every = every.unwrap_or(if third { 6 } else { 2 }).max(1);
    a.ropes.push(match third {
        true => {
            let base = ("rope_local_base_freq", 10_000.0);
            Rope::of_kind(f, a.head_dim, "sliding_attention", base)?
        }
        false => a.ropes[0].clone(),
    });
    let slides = f.sliding(a.layers, |i| (i + 1) % every != 0);
    for (layer, slides) in a.kinds.iter_mut().zip(slides) {
        layer.window = slides.then_some(window);
        layer.rope = Some(usize::from(slides));
    }
    Ok(())
}

pub(super) fn gemma_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let third = source.architecture == "gemma3";
    let theta = if third { 1_000_000.0 } else { 10_000.0 };
    let local = source.float("rope.freq_base_swa").unwrap_or(10_000.0);
    let window = source.integer("attention.sliding_window");
    let pattern = source.integer("attention.sliding_window_pattern");
    let head_dim = source.head_dim()?;
    // The files do not say what scores are scaled by. The one model of each generation that departs from the head
    // size is known by its depth.
    let scalar = match source.size("block_count")? == if third { 62 } else { 46 } {
        true => source.size("embedding_length")? / source.size("attention.head_count")?,
        false => head_dim,
    };
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "num_key_value_heads": source.size("attention.head_count_kv")?,
        "head_dim": head_dim,
        "rms_norm_eps": source.rms_eps(),
        "rope_theta": source.float("rope.freq_base").unwrap_or(theta),
        "rope_local_base_freq": third.then_some(local),
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": scalar,
        "attn_logit_softcapping": source.float("attn_logit_softcapping"),
        "final_logit_softcapping": source.float("final_logit_softcapping"),
        "sliding_window": window.or((!third).then_some(4096)),
        "sliding_window_pattern": third.then_some(pattern.unwrap_or(6)),
    }))
}

/// SmolLM3: every fourth layer does not turn, or those that the file lists; only those may have windows.
pub(super) fn some_still(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let every = f.count("no_rope_layer_interval").unwrap_or(4).max(1);
    let turning = f.numbers("no_rope_layers").unwrap_or_default();
    let window = f
        .count("sliding_window")
        .filter(|_| f.flag("use_sliding_window", false));
    let turns = |i: usize| {
        turning
            .get(i)
            .map_or(!(i + 1).is_multiple_of(every), |x| *x != 0.0)
    };
    let slides = f.sliding(a.layers, |i| !turns(i));
    for (i, (layer, slides)) in a.kinds.iter_mut().zip(slides).enumerate() {
        layer.rope = turns(i).then_some(0);
        layer.window = window.filter(|_| slides);
    }
    Ok(())
}

/// Ministral 3 scales queries beyond the length it was first trained for, which is where we stop.
pub(super) fn end_of_training(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let parameters = f.object("rope_parameters");
    let first = parameters.and_then(|p| p.count("original_max_position_embeddings"));
    a.context = a.context.min(first.unwrap_or(a.context));
    Ok(())
}

pub(super) fn cohere(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    a.logit_scale = f.float("logit_scale", 1.0);
    match a.logit_scale.is_finite() {
        true => Ok(()),
        false => Err(refused("its `logit_scale` is no number")),
    }
}

/// OLMo 1.7 cuts off large queries, keys and values.
pub(super) fn olmo(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    a.attention.clip = clip(f)?;
    Ok(())
}

pub(super) fn olmo_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let limit = source.float("attention.clamp_kqv");
    Ok(json!({"clip_qkv": limit.filter(|limit| *limit > 0.0)}))
}

/// OLMo 3 goes under the name of OLMo 2; its windows and rotary embeddings differ from layer to layer.
pub(super) fn olmo2_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    match source.integer("attention.sliding_window") {
        Some(_) => Err("is an OLMo 3 (an `olmo2` with windows), which is not known".into()),
        None => Ok(Value::Null),
    }
}

/// Granite: LLaMA with four constants. HyperCLOVA X has norms behind, too, and multiplies logits where Granite divides
/// them.
pub(super) fn granite(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let clova = f.text("model_type") == Some("hyperclovax");
    let usual = match clova {
        true => f64::from(a.attention.scale),
        false => 1.0,
    };
    a.embedding.scale = f.float("embedding_multiplier", 1.0);
    a.attention.scale = f.float("attention_multiplier", usual);
    a.residual_scale = f.float("residual_multiplier", 1.0);
    a.logit_scale = f.float("logits_scaling", 1.0);
    if !clova {
        a.logit_scale = a.logit_scale.recip();
    }
    if !a.logit_scale.is_finite() {
        return Err(refused("`logits_scaling` should not be 0"));
    }
    if clova && f.flag("use_post_norm", true) {
        a.block = Block::Sandwich;
        a.names.post_norms = ("post_norm1", "post_norm2");
        if a.residual_scale != 1.0 {
            let what =
                "norms behind and a `residual_multiplier` other than 1 are not known together";
            return Err(refused(what));
        }
    }
    Ok(())
}
