//! Open decoders that differ from the two main lines in a detail or two: the first Qwen, GPT-J,
//! GPT-Neo, BLOOM, StableLM, OLMo, OLMo 2 and Granite.

use mary_contract::{ErrorKind, ModelError};

use super::classic::{Sizes, no_names, plain_decoder, rotate_all};
use super::llama;
use super::{
    Alibi, Architecture, Block, Fields, Mlp, Names, QkNorm, QkvLayout, QkvNames, Rope, UpNames,
    activation,
};

/// The first Qwen (and Qwen-VL's text side): LLaMA's recipe under GPT-2's names. Its files state twice
/// the width of the feed-forward block.
pub(super) fn qwen(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("transformer.", ""), ("", "")],
        embed: "wte",
        layer: "h.{}.",
        qkv: QkvNames::Fused("attn.c_attn", QkvLayout::Stacked),
        attn_out: "attn.c_proj",
        attn_norm: "ln_1",
        mlp_norm: "ln_2",
        up: UpNames::Separate("mlp.w2", "mlp.w1"),
        down: "mlp.c_proj",
        final_norm: Some("ln_f"),
        ..no_names()
    };
    let context = f
        .count("seq_length")
        .or_else(|| f.count("max_position_embeddings"));
    let sizes = Sizes {
        hidden: f.need("hidden_size")?,
        layers: f.need("num_hidden_layers")?,
        heads: f.need("num_attention_heads")?,
        vocab: f.need("vocab_size")?,
        context: context.map_or_else(|| f.need("seq_length"), Ok)?,
    };
    let mut a = plain_decoder("Qwen", sizes, names);
    a.intermediate = f.need("intermediate_size")? / 2;
    if let Some(width) = f.count("kv_channels") {
        a.head_dim = width;
    }
    a.attention.scale = (a.head_dim as f32).sqrt().recip();
    a.norm.rms = true;
    a.norm.eps = f.number("layer_norm_epsilon").unwrap_or(1e-6) as f32;
    a.mlp = Mlp {
        gated: true,
        activation: super::Activation::Silu,
    };
    a.tied = f.flag("tie_word_embeddings", false);
    let share = f.number("rotary_pct").unwrap_or(1.0);
    let rope = Rope::read(f, (a.head_dim as f64 * share) as usize, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}

/// GPT-J: one norm feeds attention and feed-forward, and neighbouring dimensions turn together.
pub(super) fn gptj(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("transformer.", ""), ("", "")],
        embed: "wte",
        layer: "h.{}.",
        qkv: QkvNames::Separate("attn.q_proj", "attn.k_proj", "attn.v_proj"),
        attn_out: "attn.out_proj",
        attn_norm: "ln_1",
        up: UpNames::Plain("mlp.fc_in"),
        down: "mlp.fc_out",
        final_norm: Some("ln_f"),
        ..no_names()
    };
    let sizes = Sizes {
        hidden: f.need("n_embd")?,
        layers: f.need("n_layer")?,
        heads: f.need("n_head")?,
        vocab: f.need("vocab_size")?,
        context: f.need("n_positions")?,
    };
    let mut a = plain_decoder("GPT-J", sizes, names);
    a.intermediate = f.count("n_inner").unwrap_or(4 * a.hidden);
    a.norm.eps = f.number("layer_norm_epsilon").unwrap_or(1e-5) as f32;
    a.mlp.activation = activation(f.text("activation_function").unwrap_or("gelu_new"))?;
    a.block = Block::Parallel { shared: true };
    a.tied = f.flag("tie_word_embeddings", false);
    a.interleaved = true;
    let turning = f.count("rotary_dim").unwrap_or(a.head_dim);
    rotate_all(&mut a, Rope::plain(turning, 10_000.0));
    Ok(a)
}

/// GPT-Neo: learned positions, scores that are not scaled, every other layer with a window.
pub(super) fn gpt_neo(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("transformer.", ""), ("", "")],
        embed: "wte",
        positions: "wpe",
        layer: "h.{}.",
        qkv: QkvNames::Separate(
            "attn.attention.q_proj",
            "attn.attention.k_proj",
            "attn.attention.v_proj",
        ),
        attn_out: "attn.attention.out_proj",
        attn_norm: "ln_1",
        mlp_norm: "ln_2",
        up: UpNames::Plain("mlp.c_fc"),
        down: "mlp.c_proj",
        final_norm: Some("ln_f"),
        ..no_names()
    };
    let sizes = Sizes {
        hidden: f.need("hidden_size")?,
        layers: f.need("num_layers")?,
        heads: f.need("num_heads")?,
        vocab: f.need("vocab_size")?,
        context: f.need("max_position_embeddings")?,
    };
    let mut a = plain_decoder("GPT-Neo", sizes, names);
    a.intermediate = f.count("intermediate_size").unwrap_or(4 * a.hidden);
    a.norm.eps = f.number("layer_norm_epsilon").unwrap_or(1e-5) as f32;
    a.mlp.activation = activation(f.text("activation_function").unwrap_or("gelu_new"))?;
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
fn attention_kinds(f: &Fields<'_>) -> Result<Vec<String>, ModelError> {
    let Some(groups) = f.get("attention_types").and_then(|v| v.as_array()) else {
        let layers = f.need("num_layers")?;
        let kind = |i| if i % 2 == 0 { "global" } else { "local" };
        return Ok((0..layers).map(|i| kind(i).to_owned()).collect());
    };
    let mut all: Vec<String> = Vec::new();
    for group in groups {
        let names = group.get(0).and_then(|v| v.as_array());
        let times = group.get(1).and_then(serde_json::Value::as_u64);
        let (Some(names), Some(times @ 0..=4096)) = (names, times) else {
            return Err(ModelError::new(
                ErrorKind::BadModel,
                "config.json: `attention_types` should be a list of [kinds, times]",
            ));
        };
        for _ in 0..times {
            all.extend(
                names
                    .iter()
                    .map(|n| n.as_str().unwrap_or_default().to_owned()),
            );
        }
    }
    Ok(all)
}

/// BLOOM: linear biases in full precision, a norm after the embedding.
pub(super) fn bloom(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("transformer.", ""), ("", "")],
        embed: "word_embeddings",
        embed_norm: "word_embeddings_layernorm",
        layer: "h.{}.",
        qkv: QkvNames::Fused("self_attention.query_key_value", QkvLayout::Grouped),
        attn_out: "self_attention.dense",
        attn_norm: "input_layernorm",
        mlp_norm: "post_attention_layernorm",
        up: UpNames::Plain("mlp.dense_h_to_4h"),
        down: "mlp.dense_4h_to_h",
        final_norm: Some("ln_f"),
        ..no_names()
    };
    if f.flag("apply_residual_connection_post_layernorm", false) {
        return Err(ModelError::new(
            ErrorKind::BadModel,
            "config.json: BLOOM with `apply_residual_connection_post_layernorm` is not known",
        )
        .hint("no published BLOOM uses it"));
    }
    let sizes = Sizes {
        hidden: f
            .count("n_embed")
            .map_or_else(|| f.need("hidden_size"), Ok)?,
        layers: f.need("n_layer")?,
        heads: f.need("n_head")?,
        vocab: f.need("vocab_size")?,
        context: f.count("seq_length").unwrap_or(2048),
    };
    let mut a = plain_decoder("BLOOM", sizes, names);
    a.norm.eps = f.number("layer_norm_epsilon").unwrap_or(1e-5) as f32;
    a.mlp.activation = super::Activation::GeluTanh;
    a.embedding.norm = true;
    a.attention.alibi = Some(Alibi::Exact);
    a.tied = f.flag("tie_word_embeddings", true);
    Ok(a)
}

/// StableLM: LLaMA's names with centred norms, a quarter of each head turning.
pub(super) fn stablelm(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("StableLM", f)?;
    if f.flag("qk_layernorm", false) {
        a.attention.qk_norm = QkNorm::PerHead;
        a.names.qk_norms = ("self_attn.q_layernorm", "self_attn.k_layernorm");
    }
    a.norm.rms = false;
    a.norm.eps = f.number("layer_norm_eps").unwrap_or(1e-5) as f32;
    if f.flag("use_parallel_residual", false) {
        a.block = Block::Parallel { shared: true };
    }
    let share = f
        .object("rope_parameters")
        .and_then(|p| p.number("partial_rotary_factor"))
        .or_else(|| f.number("partial_rotary_factor"))
        .or_else(|| f.number("rope_pct"))
        .unwrap_or(0.25);
    let rope = Rope::read(f, (a.head_dim as f64 * share) as usize, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}

/// OLMo: LLaMA with centred norms that have no weights; OLMo 1.7 cuts off large queries, keys and
/// values.
pub(super) fn olmo(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("OLMo", f)?;
    a.attention.clip = clip(f)?;
    a.norm.rms = false;
    a.norm.eps = 1e-5;
    a.names.bare_norms = true;
    let rope = Rope::read(f, a.head_dim, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}

/// Where queries, keys and values are cut off.
pub(super) fn clip(f: &Fields<'_>) -> Result<Option<f32>, ModelError> {
    match f.number("clip_qkv") {
        Some(limit) if limit <= 0.0 => Err(ModelError::new(
            ErrorKind::BadModel,
            format!("config.json: `clip_qkv` should be above 0; found {limit}"),
        )),
        limit => Ok(limit.map(|x| x as f32)),
    }
}

/// OLMo 2: what attention and feed-forward add is normalised, not what they read; queries and keys are
/// normalised over all heads together.
pub(super) fn olmo2(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("OLMo 2", f)?;
    a.norm.eps = f.number("rms_norm_eps").unwrap_or(1e-5) as f32;
    a.block = Block::OutputNorm;
    a.names.post_norms = ("post_attention_layernorm", "post_feedforward_layernorm");
    a.attention.qk_norm = QkNorm::Whole;
    let rope = Rope::read(f, a.head_dim, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}

/// Granite: LLaMA with four constants.
pub(super) fn granite(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("Granite", f)?;
    let constant = |name| f.number(name).unwrap_or(1.0) as f32;
    a.embedding.scale = constant("embedding_multiplier");
    a.attention.scale = constant("attention_multiplier");
    a.residual_scale = constant("residual_multiplier");
    a.logit_scale = constant("logits_scaling").recip();
    if !a.logit_scale.is_finite() {
        return Err(ModelError::new(
            ErrorKind::BadModel,
            "config.json: `logits_scaling` should not be 0",
        ));
    }
    let rope = Rope::read(f, a.head_dim, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}
