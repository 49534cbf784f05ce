//! The decoders that came before LLaMA's recipe settled: GPT-NeoX (Pythia), GPT-2, OPT and Phi.

use std::collections::HashMap;
use std::sync::LazyLock;

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::family::{Conversion, Family, GgufForm, Rotation};
use super::fields::refused;
use super::{
    Activation, Architecture, Attention, Block, Embedding, Fields, LayerKind, Mlp, Names, Norm,
    QkNorm, QkvLayout, QkvNames, Rope, UpNames,
};
use crate::gguf::source::GgufSource;

/// A decoder with layer norms and a plain feed-forward block; families change what differs.
pub(super) fn decoder(
    family: &'static str,
    f: &Fields<'_>,
    names: Names,
) -> Result<Architecture, ModelError> {
    let [hidden, layers, heads, vocab, context] = names.sizes.map(|size| f.need_one(size));
    let (hidden, layers, heads) = (hidden?, layers?, heads?);
    let head_dim = hidden / heads.max(1);
    Ok(Architecture {
        family,
        hidden,
        layers,
        heads,
        kv_heads: heads,
        head_dim,
        intermediate: 4 * hidden,
        vocab: vocab?,
        context: context?,
        causal: true,
        language_head: true,
        predicts_next: false,
        embedding: Embedding {
            width: hidden,
            scale: 1.0,
            position_offset: None,
            token_types: false,
            norm: false,
        },
        norm: Norm {
            rms: false,
            eps: 1e-5,
            unit_offset: false,
        },
        block: Block::Sequential,
        attention: Attention {
            scale: (head_dim as f32).sqrt().recip(),
            soft_cap: None,
            qk_norm: QkNorm::None,
            clip: None,
            alibi: None,
            relative: None,
            gated: false,
            by_layer: false,
        },
        kinds: vec![LayerKind::default(); layers],
        ropes: vec![],
        mlp: Mlp {
            gated: false,
            activation: Activation::Gelu,
        },
        experts: None,
        recurrence: None,
        logit_cap: None,
        logit_scale: 1.0,
        residual_scale: 1.0,
        interleaved: false,
        tied: false,
        names,
    })
}

pub(super) fn rotate_all(a: &mut Architecture, rope: Rope) {
    a.ropes = vec![rope];
    a.kinds.iter_mut().for_each(|k| k.rope = Some(0));
}

/// Gives every block the rotary embedding that the file describes, over this share of a head.
pub(super) fn rotate(a: &mut Architecture, f: &Fields<'_>, share: f64) -> Result<(), ModelError> {
    let rope = Rope::read(f, (a.head_dim as f64 * share) as usize, None)?;
    rotate_all(a, rope);
    Ok(())
}

/// Names that a family fills in; every other name stays empty and is never asked for.
pub(super) const NO_NAMES: Names = Names {
    sizes: [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "vocab_size",
        "max_position_embeddings",
    ],
    prefixes: &[("", "")],
    embed: "",
    positions: "",
    token_types: "",
    embed_norm: "",
    project: None,
    layer: "",
    qkv: QkvNames::Separate("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    attn_out: "",
    mixer: "",
    relative: ("", ""),
    averages: "",
    gate_last: false,
    first_bare: false,
    attn_norm: "",
    mlp_norm: "",
    post_norms: ("", ""),
    qk_norms: ("", ""),
    up: UpNames::Plain(""),
    down: "",
    experts: None,
    final_norm: None,
    head: "lm_head",
    gguf: &[],
    transposed: false,
    bare_norms: false,
};

impl Default for Names {
    fn default() -> Self {
        NO_NAMES
    }
}

/// What `names.json` says of a family, beside what is as in [`NO_NAMES`].
pub(super) fn names(family: &str) -> Names {
    // A test reads the file, so that no program can be shipped with a broken one.
    static TABLE: LazyLock<HashMap<&str, Names>> =
        LazyLock::new(|| serde_json::from_str(include_str!("names.json")).unwrap_or_default());
    TABLE.get(family).cloned().unwrap_or_default()
}

pub(super) static GPT_NEOX: Family = Family {
    types: &["gpt_neox"],
    read: gpt_neox,
    gguf: &[GgufForm {
        pre: "gpt-neox",
        rotation: Rotation::Some,
        conversion: Conversion::QkvByRole,
        ..GgufForm::new("gptneox", ("gpt_neox", "GPTNeoXForCausalLM"), gpt_neox_gguf)
    }],
};

fn gpt_neox(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("GPT-NeoX", f, names("gpt_neox"))?;
    a.intermediate = f.need("intermediate_size")?;
    a.norm.eps = f.float("layer_norm_eps", 1e-5);
    a.mlp.activation = f.activation("hidden_act", "gelu")?;
    if f.flag("use_parallel_residual", true) {
        a.block = Block::Parallel { shared: false };
    }
    a.tied = f.flag("tie_word_embeddings", false);
    let share = f.rotary_share(&["rotary_pct", "", "partial_rotary_factor"], 0.25);
    rotate(&mut a, f, share)?;
    Ok(a)
}

fn gpt_neox_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "rotary_pct": source.rotary_share,
        "rotary_emb_base": source.rope_theta(),
        "layer_norm_eps": source.norm_eps(1e-5),
        "hidden_act": "gelu",
        "use_parallel_residual": source.flag("use_parallel_residual").unwrap_or(true),
        "attention_bias": source.has("blk.0.attn_qkv.bias"),
    }))
}

pub(super) static GPT2: Family = Family {
    types: &["gpt2", "gpt-sw3", "gpt_bigcode", "openai-gpt"],
    read: gpt2,
    gguf: &[GgufForm {
        pre: "gpt-2",
        rotation: Rotation::None,
        conversion: Conversion::Transposed,
        ..GgufForm::new("gpt2", ("gpt2", "GPT2LMHeadModel"), gpt2_gguf)
    }],
};

/// GPT-2; also StarCoder's first generation, with one key head for all, and the first GPT, whose norms come after.
fn gpt2(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let (family, kind) = match f.text("model_type") {
        Some("gpt_bigcode") => ("GPT-BigCode", "gpt_bigcode"),
        Some("openai-gpt") => ("GPT", "openai-gpt"),
        _ => ("GPT-2", "gpt2"),
    };
    let mut a = decoder(family, f, names(kind))?;
    a.intermediate = f.count("n_inner").unwrap_or(4 * a.hidden);
    a.norm.eps = f.float("layer_norm_epsilon", 1e-5);
    a.mlp.activation = f.activation("activation_function", "gelu_new")?;
    a.embedding.position_offset = Some(0);
    a.tied = f.flag("tie_word_embeddings", true);
    match kind {
        "gpt_bigcode" if f.flag("multi_query", true) => a.kv_heads = 1,
        "gpt_bigcode" => a.names.qkv = QkvNames::Fused("attn.c_attn", QkvLayout::Grouped),
        "openai-gpt" => {
            a.block = Block::PostNorm;
            // Its "gelu" is the tanh form.
            a.mlp.activation = f.activation("afn", "gelu_new")?;
            if a.mlp.activation == Activation::Gelu {
                a.mlp.activation = Activation::GeluTanh;
            }
        }
        _ => {}
    }
    if f.flag("add_cross_attention", false) {
        let what = format!("a {family} that attends to an encoder is not known");
        return Err(refused(what));
    }
    a.attention.by_layer = f.flag("scale_attn_by_inverse_layer_idx", false);
    if !f.flag("scale_attn_weights", true) {
        a.attention.scale = 1.0;
    }
    Ok(a)
}

fn gpt2_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let hidden = source.size("embedding_length")?;
    let context = source.size("context_length")?;
    Ok(json!({
        "n_embd": hidden,
        "n_layer": source.size("block_count")?,
        "n_head": source.size("attention.head_count")?,
        "n_positions": context,
        "n_ctx": context,
        "n_inner": source.integer("feed_forward_length").filter(|n| *n != 4 * hidden),
        "layer_norm_epsilon": source.norm_eps(1e-5),
        "activation_function": "gelu_new",
    }))
}

pub(super) static OPT: Family = Family::in_folders(&["opt"], opt);

fn opt(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let hidden = f.need("hidden_size")?;
    let width = f.count("word_embed_proj_dim").unwrap_or(hidden);
    let before = f.flag("do_layer_norm_before", true);
    let final_norm = before && !f.flag("_remove_final_layer_norm", false);
    let mut names = names("opt");
    names.project = (width != hidden).then_some(("project_in", "project_out"));
    names.final_norm = names.final_norm.filter(|_| final_norm);
    let mut a = decoder("OPT", f, names)?;
    a.intermediate = f.need("ffn_dim")?;
    a.mlp.activation = f.activation("activation_function", "relu")?;
    a.embedding.width = width;
    a.embedding.position_offset = Some(2);
    if !before {
        a.block = Block::PostNorm;
    }
    a.tied = f.flag("tie_word_embeddings", true);
    Ok(a)
}

pub(super) static BIOGPT: Family = Family::in_folders(&["biogpt"], biogpt);

/// BioGPT: OPT's blocks and positions, token vectors multiplied by the root of their width.
fn biogpt(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("BioGPT", f, names("biogpt"))?;
    a.intermediate = f.need("intermediate_size")?;
    // Whatever the file says.
    a.norm.eps = 1e-5;
    a.mlp.activation = f.activation("hidden_act", "gelu")?;
    a.embedding.position_offset = Some(2);
    if f.flag("scale_embedding", true) {
        a.embedding.scale = (a.hidden as f32).sqrt();
    }
    a.tied = f.flag("tie_word_embeddings", true);
    Ok(a)
}

pub(super) static PHI: Family = Family {
    types: &["phi"],
    read: phi,
    gguf: &[GgufForm {
        pre: "gpt-2",
        rotation: Rotation::Some,
        conversion: Conversion::QkvJoined,
        ..GgufForm::new("phi2", ("phi", "PhiForCausalLM"), phi_gguf)
    }],
};

fn phi(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("Phi", f, names("phi"))?;
    if f.flag("qk_layernorm", false) {
        a.attention.qk_norm = QkNorm::PerHead;
    }
    a.intermediate = f.need("intermediate_size")?;
    a.kv_heads = f.count("num_key_value_heads").unwrap_or(a.heads);
    a.norm.eps = f.float("layer_norm_eps", 1e-5);
    a.mlp.activation = f.activation("hidden_act", "gelu_new")?;
    a.block = Block::Parallel { shared: true };
    a.tied = f.flag("tie_word_embeddings", false);
    let share = f.rotary_share(&["partial_rotary_factor", ""], 0.5);
    rotate(&mut a, f, share)?;
    Ok(a)
}

fn phi_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let heads = source.size("attention.head_count")?;
    Ok(json!({
        "intermediate_size": source.size("feed_forward_length")?,
        "num_key_value_heads": source.integer("attention.head_count_kv").unwrap_or(heads),
        "partial_rotary_factor": source.rotary_share,
        "rope_theta": source.rope_theta(),
        "layer_norm_eps": source.norm_eps(1e-5),
        "hidden_act": "gelu_new",
        "qk_layernorm": false,
    }))
}
