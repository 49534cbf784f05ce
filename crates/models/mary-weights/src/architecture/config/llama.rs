//! LLaMA's recipe and its children: Mistral, Qwen2, Qwen2.5, Qwen3, Phi-3, Gemma 2 and 3, and the
//! text paths of LLaVA and Qwen2-VL.

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::classic::{decoder, names, rotate};
use super::family::{Conversion, Family, GgufForm, Rotation};
use super::{Architecture, Block, Fields, Mlp, Names, QkNorm, QkvLayout, QkvNames, Rope, UpNames};
use crate::gguf::source::GgufSource;

pub(super) fn base(family: &'static str, f: &Fields<'_>) -> Result<Architecture, ModelError> {
    named(family, f, names("llama"))
}

/// The same with tensors that are called otherwise.
pub(super) fn named(
    family: &'static str,
    f: &Fields<'_>,
    names: Names,
) -> Result<Architecture, ModelError> {
    let mut a = decoder(family, f, names)?;
    a.intermediate = f.need("intermediate_size")?;
    a.kv_heads = f.count("num_key_value_heads").unwrap_or(a.heads);
    a.head_dim = f.count("head_dim").unwrap_or(a.head_dim);
    a.attention.scale = (a.head_dim as f32).sqrt().recip();
    a.norm.rms = true;
    a.norm.eps = f.float("rms_norm_eps", 1e-6);
    let name = f.text("hidden_act").unwrap_or("silu");
    a.mlp = Mlp {
        gated: true,
        activation: f.activation("hidden_activation", name)?,
    };
    a.tied = f.flag("tie_word_embeddings", false);
    Ok(a)
}

pub(super) static LLAMA: Family = Family {
    types: &[
        "llama",
        "mistral",
        "qwen2",
        "qwen3",
        "qwen2_vl_text",
        "qwen2_5_vl_text",
    ],
    read: llama,
    gguf: &[
        GgufForm {
            also: "Mistral, SmolLM2, TinyLlama",
            conversion: Conversion::RotaryPairs,
            ..GgufForm::new("llama", ("llama", "LlamaForCausalLM"), llama_gguf)
        },
        GgufForm {
            pre: "qwen2",
            ..GgufForm::new("qwen2", ("qwen2", "Qwen2ForCausalLM"), qwen2_gguf)
        },
        GgufForm {
            pre: "qwen2",
            ..GgufForm::new("qwen3", ("qwen3", "Qwen3ForCausalLM"), llama_gguf)
        },
        GgufForm {
            pre: "qwen2",
            ..GgufForm::new(
                "qwen2vl",
                ("qwen2_vl_text", "Qwen2VLForConditionalGeneration"),
                qwen2_gguf,
            )
        },
    ],
};

fn llama(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let model_type = f.text("model_type").unwrap_or_default();
    let family = match model_type {
        "mistral" => "Mistral",
        "qwen2" => "Qwen2",
        "qwen3" => "Qwen3",
        "qwen2_vl_text" | "qwen2_5_vl_text" => "Qwen2-VL (text path)",
        _ => "LLaMA",
    };
    let mut a = base(family, f)?;
    if model_type == "qwen3" {
        a.attention.qk_norm = QkNorm::Shared;
    }
    rotate(&mut a, f, 1.0)?;
    windows(&mut a, f);
    Ok(a)
}

fn llama_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    source.like_llama(json!({}))
}

/// What converters write of Qwen2 does not say whether windows are used; none of the released models does.
pub(super) fn qwen2_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    source.like_llama(json!({"attention_bias": null, "use_sliding_window": false}))
}

/// Whether each layer sees a window only: `layer_types` where the file has it, else by the layer's number.
pub(super) fn sliding(
    layers: usize,
    f: &Fields<'_>,
    by_number: impl Fn(usize) -> bool,
) -> impl Iterator<Item = bool> {
    let types = f.texts("layer_types").unwrap_or_default();
    (0..layers).map(move |i| match types.get(i) {
        Some(name) => *name == "sliding_attention",
        None => by_number(i),
    })
}

/// Which layers see a window only: Mistral has one unless it is null, Qwen only when told to use it.
pub(super) fn windows(a: &mut Architecture, f: &Fields<'_>) {
    let model_type = f.text("model_type").unwrap_or_default();
    let whole = matches!(model_type, "mistral" | "mixtral");
    let used = whole || model_type.starts_with("qwen") && f.flag("use_sliding_window", false);
    if let (true, Some(window)) = (used, f.count("sliding_window")) {
        let from = match whole {
            true => 0,
            false => f.count("max_window_layers").unwrap_or(0),
        };
        let slides = sliding(a.layers, f, |i| i >= from);
        for (layer, slides) in a.kinds.iter_mut().zip(slides) {
            layer.window = slides.then_some(window);
        }
    }
}

pub(super) static PHI3: Family = Family {
    types: &["phi3"],
    read: phi3,
    gguf: &[GgufForm {
        rotation: Rotation::Some,
        ..GgufForm::new("phi3", ("phi3", "Phi3ForCausalLM"), phi3_gguf)
    }],
};

fn phi3(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = base("Phi-3", f)?;
    a.names.qkv = QkvNames::Fused("self_attn.qkv_proj", QkvLayout::Stacked);
    a.names.up = UpNames::Fused("mlp.gate_up_proj");
    let share = f.rotary_share(&["partial_rotary_factor", ""], 1.0);
    rotate(&mut a, f, share)?;
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

fn phi3_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    source.like_llama(json!({"partial_rotary_factor": source.rotary_share}))
}

pub(super) static GEMMA: Family = Family {
    types: &["gemma2", "gemma3_text", "vaultgemma"],
    read: gemma,
    gguf: &[
        GgufForm {
            conversion: Conversion::NormPlusOne,
            ..GgufForm::new("gemma2", ("gemma2", "Gemma2ForCausalLM"), gemma_gguf)
        },
        GgufForm {
            conversion: Conversion::NormPlusOne,
            ..GgufForm::new("gemma3", ("gemma3_text", "Gemma3ForCausalLM"), gemma_gguf)
        },
    ],
};

fn gemma(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let third = f.text("model_type") == Some("gemma3_text");
    let mut a = base(if third { "Gemma 3" } else { "Gemma 2" }, f)?;
    // VaultGemma: Gemma 2 without the norms behind attention and feed-forward.
    let vault = f.text("model_type") == Some("vaultgemma");
    a.norm.unit_offset = true;
    a.block = match vault {
        true => Block::Sequential,
        false => Block::Sandwich,
    };
    a.names.mlp_norm = "pre_feedforward_layernorm";
    a.names.post_norms = ("post_attention_layernorm", "post_feedforward_layernorm");
    a.embedding.scale = (a.hidden as f32).sqrt();
    a.attention.scale = f.float("query_pre_attn_scalar", 256.0).sqrt().recip();
    a.attention.soft_cap = f.number("attn_logit_softcapping").map(|x| x as f32);
    if third {
        a.attention.qk_norm = QkNorm::Shared;
    }
    a.logit_cap = f.number("final_logit_softcapping").map(|x| x as f32);
    a.tied = f.flag("tie_word_embeddings", true);
    let window = f.count("sliding_window").unwrap_or(4096);
    let every = f.count("sliding_window_pattern");
    let every = every.unwrap_or(if third { 6 } else { 2 }).max(1);
    let global = Rope::read(f, a.head_dim, Some("full_attention"))?;
    let parameters = f.object("rope_parameters");
    let local = match parameters.and_then(|p| p.object("sliding_attention")) {
        _ if !third => global.clone(),
        Some(_) => Rope::read(f, a.head_dim, Some("sliding_attention"))?,
        None => {
            let theta = f.number("rope_local_base_freq").unwrap_or(10_000.0);
            Rope::plain(a.head_dim, theta)
        }
    };
    a.ropes = vec![global, local];
    let slides = sliding(a.layers, f, |i| (i + 1) % every != 0);
    for (layer, slides) in a.kinds.iter_mut().zip(slides) {
        layer.window = slides.then_some(window);
        layer.rope = Some(usize::from(slides));
    }
    Ok(a)
}

fn gemma_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
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
