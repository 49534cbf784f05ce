//! Open decoders that differ from the two main lines in a detail or two: the first Qwen, GPT-J,
//! GPT-Neo, BLOOM, StableLM, OLMo, OLMo 2 and Granite.

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::classic::{decoder, names, rotate, rotate_all};
use super::family::{Conversion, Family, GgufForm, Rotation};
use super::fields::refused;
use super::llama;
use super::{Activation, Alibi, Architecture, Block, Fields, Mlp, QkNorm, Rope};
use crate::gguf::source::GgufSource;

pub(super) static QWEN: Family = Family {
    types: &["qwen"],
    read: qwen,
    gguf: &[GgufForm {
        pre: "qwen2",
        ..GgufForm::new("qwen", ("qwen", "QWenLMHeadModel"), qwen_gguf)
    }],
};

/// The first Qwen (and Qwen-VL's text side): LLaMA's recipe under GPT-2's names. Its files state twice
/// the width of the feed-forward block.
fn qwen(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("Qwen", f, names("qwen"))?;
    a.intermediate = f.need("intermediate_size")? / 2;
    a.head_dim = f.count("kv_channels").unwrap_or(a.head_dim);
    a.attention.scale = (a.head_dim as f32).sqrt().recip();
    a.norm.rms = true;
    a.norm.eps = f.float("layer_norm_epsilon", 1e-6);
    a.mlp = Mlp {
        gated: true,
        activation: Activation::Silu,
    };
    a.tied = f.flag("tie_word_embeddings", false);
    let share = f.rotary_share(&["rotary_pct"], 1.0);
    rotate(&mut a, f, share)?;
    Ok(a)
}

fn qwen_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let width = source
        .dimension("blk.0.ffn_up.weight", 0)
        .ok_or("has no tensor `blk.0.ffn_up.weight`")?;
    Ok(json!({
        "kv_channels": source.head_dim()?,
        "intermediate_size": width.saturating_mul(2),
        "layer_norm_epsilon": source.rms_eps(),
        "rotary_emb_base": source.rope_theta(),
        "rotary_pct": 1.0,
        "seq_length": source.size("context_length")?,
        "no_bias": true,
    }))
}

pub(super) static GPTJ: Family = Family::in_folders(&["gptj"], gptj);

/// GPT-J: one norm feeds attention and feed-forward, and neighbouring dimensions turn together.
fn gptj(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("GPT-J", f, names("gptj"))?;
    a.intermediate = f.count("n_inner").unwrap_or(4 * a.hidden);
    a.norm.eps = f.float("layer_norm_epsilon", 1e-5);
    a.mlp.activation = f.activation("activation_function", "gelu_new")?;
    a.block = Block::Parallel { shared: true };
    a.tied = f.flag("tie_word_embeddings", false);
    a.interleaved = true;
    let turning = f.count("rotary_dim").unwrap_or(a.head_dim);
    rotate_all(&mut a, Rope::plain(turning, 10_000.0));
    Ok(a)
}

pub(super) static GPT_NEO: Family = Family::in_folders(&["gpt_neo"], gpt_neo);

/// GPT-Neo: learned positions, scores that are not scaled, every other layer with a window.
fn gpt_neo(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("GPT-Neo", f, names("gpt_neo"))?;
    a.intermediate = f.count("intermediate_size").unwrap_or(4 * a.hidden);
    a.norm.eps = f.float("layer_norm_epsilon", 1e-5);
    a.mlp.activation = f.activation("activation_function", "gelu_new")?;
    a.embedding.position_offset = Some(0);
    a.attention.scale = 1.0;
    a.tied = f.flag("tie_word_embeddings", true);
    let window = f.count("window_size").unwrap_or(256);
    for (layer, kind) in a.kinds.iter_mut().zip(attention_kinds(f)?) {
        layer.window = (kind == "local").then_some(window);
    }
    Ok(a)
}

/// `[[["global", "local"], 12]]` repeated out.
fn attention_kinds<'a>(f: &Fields<'a>) -> Result<Vec<&'a str>, ModelError> {
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

pub(super) static BLOOM: Family = Family {
    types: &["bloom"],
    read: bloom,
    gguf: &[GgufForm {
        pre: "bloom",
        rotation: Rotation::None,
        conversion: Conversion::QkvByRole,
        ..GgufForm::new("bloom", ("bloom", "BloomForCausalLM"), bloom_gguf)
    }],
};

/// BLOOM: linear biases in full precision, a norm after the embedding.
fn bloom(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    if f.flag("apply_residual_connection_post_layernorm", false) {
        let what = "BLOOM with `apply_residual_connection_post_layernorm` is not known";
        return Err(refused(what).hint("no published BLOOM uses it"));
    }
    let mut a = decoder("BLOOM", f, names("bloom"))?;
    a.norm.eps = f.float("layer_norm_epsilon", 1e-5);
    a.mlp.activation = Activation::GeluTanh;
    a.embedding.norm = true;
    a.attention.alibi = Some(Alibi::Exact);
    a.tied = f.flag("tie_word_embeddings", true);
    Ok(a)
}

fn bloom_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    Ok(json!({
        "n_layer": source.size("block_count")?,
        "n_head": source.size("attention.head_count")?,
        "seq_length": source.size("context_length")?,
        "layer_norm_epsilon": source.norm_eps(1e-5),
    }))
}

pub(super) static MPT: Family = Family::in_folders(&["mpt"], mpt);

/// MPT: linear biases, nothing but matrices and the weights of norms.
fn mpt(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("MPT", f, names("mpt"))?;
    a.intermediate = f
        .count("expansion_ratio")
        .unwrap_or(4)
        .saturating_mul(a.hidden);
    a.tied = f.flag("tie_word_embeddings", true);
    a.attention.alibi = Some(Alibi::Exact);
    a.norm.eps = f.float("layer_norm_epsilon", 1e-5);
    let Some(attention) = f.object("attn_config") else {
        return Ok(a);
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
    Ok(a)
}

pub(super) static STABLELM: Family = Family {
    types: &["stablelm"],
    read: stablelm,
    gguf: &[GgufForm {
        rotation: Rotation::Some,
        ..GgufForm::new(
            "stablelm",
            ("stablelm", "StableLmForCausalLM"),
            stablelm_gguf,
        )
    }],
};

/// StableLM: LLaMA's names with centred norms, a quarter of each head turning.
fn stablelm(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("StableLM", f)?;
    if f.flag("qk_layernorm", false) {
        a.attention.qk_norm = QkNorm::PerHead;
        a.names.qk_norms = ("self_attn.q_layernorm", "self_attn.k_layernorm");
    }
    a.norm.rms = false;
    a.norm.eps = f.float("layer_norm_eps", 1e-5);
    if f.flag("use_parallel_residual", false) {
        a.block = Block::Parallel { shared: true };
    }
    let share = f.rotary_share(&["", "partial_rotary_factor", "rope_pct"], 0.25);
    rotate(&mut a, f, share)?;
    Ok(a)
}

/// Whether a block is parallel is seen from its norms: converters wrote the key without looking.
fn stablelm_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    source.like_llama(json!({
        "layer_norm_eps": source.norm_eps(1e-5),
        "partial_rotary_factor": source.rotary_share,
        "use_parallel_residual": !source.has("blk.0.ffn_norm.weight"),
        "use_qkv_bias": source.has("blk.0.attn_q.bias"),
        "qk_layernorm": source.has("blk.0.attn_q_norm.weight"),
    }))
}

pub(super) static OLMO: Family = Family {
    types: &["olmo"],
    read: olmo,
    gguf: &[GgufForm {
        pre: "olmo",
        conversion: Conversion::RotaryPairs,
        ..GgufForm::new("olmo", ("olmo", "OlmoForCausalLM"), olmo_gguf)
    }],
};

/// OLMo: LLaMA with centred norms that have no weights; OLMo 1.7 cuts off large queries, keys and
/// values.
fn olmo(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("OLMo", f)?;
    a.attention.clip = clip(f)?;
    a.norm.rms = false;
    a.norm.eps = 1e-5;
    a.names.bare_norms = true;
    rotate(&mut a, f, 1.0)?;
    Ok(a)
}

fn olmo_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let limit = source.float("attention.clamp_kqv");
    source.like_llama(json!({"clip_qkv": limit.filter(|limit| *limit > 0.0)}))
}

/// Where queries, keys and values are cut off.
pub(super) fn clip(f: &Fields<'_>) -> Result<Option<f32>, ModelError> {
    match f.number("clip_qkv") {
        Some(limit) if limit <= 0.0 => Err(refused(format!(
            "`clip_qkv` should be above 0; found {limit}"
        ))),
        limit => Ok(limit.map(|x| x as f32)),
    }
}

pub(super) static OLMO2: Family = Family {
    types: &["olmo2"],
    read: olmo2,
    gguf: &[GgufForm::new(
        "olmo2",
        ("olmo2", "Olmo2ForCausalLM"),
        olmo2_gguf,
    )],
};

/// OLMo 2: what attention and feed-forward add is normalised, not what they read; queries and keys are
/// normalised over all heads together.
fn olmo2(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("OLMo 2", f)?;
    a.norm.eps = f.float("rms_norm_eps", 1e-5);
    a.block = Block::OutputNorm;
    a.names.post_norms = ("post_attention_layernorm", "post_feedforward_layernorm");
    a.attention.qk_norm = QkNorm::Whole;
    rotate(&mut a, f, 1.0)?;
    Ok(a)
}

/// OLMo 3 goes under the same name; its windows and rotary embeddings differ from layer to layer.
fn olmo2_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    match source.integer("attention.sliding_window") {
        Some(_) => Err("is an OLMo 3 (an `olmo2` with windows), which is not known".into()),
        None => source.like_llama(json!({})),
    }
}

pub(super) static GRANITE: Family = Family {
    types: &["granite", "hyperclovax"],
    read: granite,
    gguf: &[GgufForm {
        conversion: Conversion::RotaryPairs,
        ..GgufForm::new("granite", ("granite", "GraniteForCausalLM"), granite_gguf)
    }],
};

/// Granite: LLaMA with four constants. HyperCLOVA X has norms behind, too.
fn granite(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let clova = f.text("model_type") == Some("hyperclovax");
    let mut a = llama::base(if clova { "HyperCLOVA X" } else { "Granite" }, f)?;
    granite_constants(&mut a, f)?;
    if clova && f.flag("use_post_norm", true) {
        a.block = Block::Sandwich;
        a.names.post_norms = ("post_norm1", "post_norm2");
        if a.residual_scale != 1.0 {
            let what =
                "norms behind and a `residual_multiplier` other than 1 are not known together";
            return Err(refused(what));
        }
    }
    rotate(&mut a, f, 1.0)?;
    Ok(a)
}

/// HyperCLOVA X multiplies logits where Granite divides them.
pub(super) fn granite_constants(a: &mut Architecture, f: &Fields<'_>) -> Result<(), ModelError> {
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
    match a.logit_scale.is_finite() {
        true => Ok(()),
        false => Err(refused("`logits_scaling` should not be 0")),
    }
}

fn granite_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let scale = source.float("attention.scale");
    source.like_llama(json!({
        "embedding_multiplier": source.float("embedding_scale").unwrap_or(1.0),
        "attention_multiplier": scale.ok_or("metadata `granite.attention.scale` is missing")?,
        "residual_multiplier": source.float("residual_scale").unwrap_or(1.0),
        "logits_scaling": source.float("logit_scale").unwrap_or(1.0),
    }))
}
