//! LLaMA's recipe and its children: Mistral, Qwen2, Qwen2.5, Qwen3, Phi-3, Gemma 2 and 3, and the
//! text paths of LLaVA and Qwen2-VL.

use mary_contract::ModelError;

use super::classic::{Sizes, no_names, plain_decoder, rotate_all};
use super::{
    Architecture, Block, Fields, Mlp, Names, QkNorm, QkvLayout, QkvNames, Rope, UpNames, activation,
};

fn names() -> Names {
    Names {
        prefixes: &[
            ("model.", ""),
            ("language_model.model.", "language_model."),
            ("model.language_model.", ""),
            ("model.text_model.", ""),
            ("", ""),
        ],
        embed: "embed_tokens",
        layer: "layers.{}.",
        attn_out: "self_attn.o_proj",
        attn_norm: "input_layernorm",
        mlp_norm: "post_attention_layernorm",
        qk_norms: ("self_attn.q_norm", "self_attn.k_norm"),
        up: UpNames::Separate("mlp.gate_proj", "mlp.up_proj"),
        down: "mlp.down_proj",
        final_norm: Some("norm"),
        ..no_names()
    }
}

pub(super) fn base(family: &'static str, f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = plain_decoder(family, Sizes::read(f)?, names());
    a.intermediate = f.need("intermediate_size")?;
    a.kv_heads = f.count("num_key_value_heads").unwrap_or(a.heads);
    if let Some(width) = f.count("head_dim") {
        a.head_dim = width;
    }
    a.attention.scale = (a.head_dim as f32).sqrt().recip();
    a.norm.rms = true;
    a.norm.eps = f.number("rms_norm_eps").unwrap_or(1e-6) as f32;
    let name = f
        .text("hidden_activation")
        .or_else(|| f.text("hidden_act"))
        .unwrap_or("silu");
    a.mlp = Mlp {
        gated: true,
        activation: activation(name)?,
    };
    a.tied = f.flag("tie_word_embeddings", false);
    Ok(a)
}

pub(super) fn llama(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let kind = f.text("model_type").unwrap_or_default();
    let family = match kind {
        "mistral" => "Mistral",
        "qwen2" => "Qwen2",
        "qwen3" => "Qwen3",
        "qwen2_vl_text" | "qwen2_5_vl_text" => "Qwen2-VL (text path)",
        _ => "LLaMA",
    };
    let mut a = base(family, f)?;
    if kind == "qwen3" {
        a.attention.qk_norm = QkNorm::Shared;
    }
    let rope = Rope::read(f, a.head_dim, None)?;
    rotate_all(&mut a, rope);
    windows(&mut a, f);
    Ok(a)
}

/// Which layers see a window only: Mistral has one unless it is null, Qwen only when told to use it.
pub(super) fn windows(a: &mut Architecture, f: &Fields<'_>) {
    let kind = f.text("model_type").unwrap_or_default();
    let whole = matches!(kind, "mistral" | "mixtral");
    let used = match kind {
        _ if whole => true,
        k if k.starts_with("qwen") => f.flag("use_sliding_window", false),
        _ => false,
    };
    if let (true, Some(window)) = (used, f.count("sliding_window")) {
        let from = match whole {
            true => 0,
            false => f.count("max_window_layers").unwrap_or(0),
        };
        let types = f.texts("layer_types");
        for (i, layer) in a.kinds.iter_mut().enumerate() {
            let slides = match types.as_ref().and_then(|t| t.get(i)) {
                Some(name) => *name == "sliding_attention",
                None => i >= from,
            };
            layer.window = slides.then_some(window);
        }
    }
}

pub(super) fn phi3(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = base("Phi-3", f)?;
    a.names.qkv = QkvNames::Fused("self_attn.qkv_proj", QkvLayout::Stacked);
    a.names.up = UpNames::Fused("mlp.gate_up_proj");
    let share = f
        .number("partial_rotary_factor")
        .or_else(|| {
            f.object("rope_parameters")
                .and_then(|p| p.number("partial_rotary_factor"))
        })
        .unwrap_or(1.0);
    let rope = Rope::read(f, (a.head_dim as f64 * share) as usize, None)?;
    rotate_all(&mut a, rope);
    if let Some(window) = f.count("sliding_window") {
        a.kinds.iter_mut().for_each(|k| k.window = Some(window));
    }
    let stretched = ["rope_scaling", "rope_parameters"].iter().any(|name| {
        f.object(name)
            .and_then(|s| s.text("rope_type").or_else(|| s.text("type")))
            .is_some_and(|t| t == "longrope" || t == "su")
    });
    if stretched && let Some(original) = f.count("original_max_position_embeddings") {
        a.context = a.context.min(original);
    }
    Ok(a)
}

pub(super) fn gemma(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let third = f.text("model_type") == Some("gemma3_text");
    let mut a = base(if third { "Gemma 3" } else { "Gemma 2" }, f)?;
    a.norm.unit_offset = true;
    a.block = Block::Sandwich;
    a.names.mlp_norm = "pre_feedforward_layernorm";
    a.names.post_norms = ("post_attention_layernorm", "post_feedforward_layernorm");
    a.embedding.scale = (a.hidden as f32).sqrt();
    a.attention.scale = (f.number("query_pre_attn_scalar").unwrap_or(256.0) as f32)
        .sqrt()
        .recip();
    a.attention.soft_cap = f.number("attn_logit_softcapping").map(|x| x as f32);
    if third {
        a.attention.qk_norm = QkNorm::Shared;
    }
    a.logit_cap = f.number("final_logit_softcapping").map(|x| x as f32);
    a.tied = f.flag("tie_word_embeddings", true);
    let window = f.count("sliding_window").unwrap_or(4096);
    let every = f
        .count("sliding_window_pattern")
        .unwrap_or(if third { 6 } else { 2 })
        .max(1);
    let types = f.texts("layer_types");
    let global = Rope::read(f, a.head_dim, Some("full_attention"))?;
    let local = if third {
        match f
            .object("rope_parameters")
            .and_then(|p| p.object("sliding_attention"))
        {
            Some(_) => Rope::read(f, a.head_dim, Some("sliding_attention"))?,
            None => Rope::plain(
                a.head_dim,
                f.number("rope_local_base_freq").unwrap_or(10_000.0),
            ),
        }
    } else {
        global.clone()
    };
    a.ropes = vec![global, local];
    for (i, layer) in a.kinds.iter_mut().enumerate() {
        let slides = match types.as_ref().and_then(|t| t.get(i)) {
            Some(name) => *name == "sliding_attention",
            None => (i + 1) % every != 0,
        };
        layer.window = slides.then_some(window);
        layer.rope = Some(usize::from(slides));
    }
    Ok(a)
}
