//! The decoders that came before LLaMA's recipe settled: GPT-NeoX (Pythia), GPT-2, OPT and Phi.

use mary_contract::ModelError;

use super::{
    Architecture, Attention, Block, Embedding, Fields, LayerKind, Mlp, Names, Norm, QkNorm,
    QkvLayout, QkvNames, Rope, UpNames, activation,
};

/// A decoder with layer norms and a plain feed-forward block; families change what differs.
pub(super) fn plain_decoder(family: &'static str, sizes: Sizes, names: Names) -> Architecture {
    Architecture {
        family,
        hidden: sizes.hidden,
        layers: sizes.layers,
        heads: sizes.heads,
        kv_heads: sizes.heads,
        head_dim: sizes.hidden / sizes.heads.max(1),
        intermediate: 4 * sizes.hidden,
        vocab: sizes.vocab,
        context: sizes.context,
        causal: true,
        language_head: true,
        embedding: Embedding {
            width: sizes.hidden,
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
            scale: ((sizes.hidden / sizes.heads.max(1)) as f32).sqrt().recip(),
            soft_cap: None,
            qk_norm: QkNorm::None,
            clip: None,
            alibi: None,
        },
        kinds: vec![LayerKind::default(); sizes.layers],
        ropes: vec![],
        mlp: Mlp {
            gated: false,
            activation: super::Activation::Gelu,
        },
        experts: None,
        logit_cap: None,
        logit_scale: 1.0,
        residual_scale: 1.0,
        interleaved: false,
        tied: false,
        names,
    }
}

/// The sizes every configuration has, under one name or another.
pub(super) struct Sizes {
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub vocab: usize,
    pub context: usize,
}

impl Sizes {
    pub(super) fn read(f: &Fields<'_>) -> Result<Self, ModelError> {
        Ok(Self {
            hidden: f.need("hidden_size")?,
            layers: f.need("num_hidden_layers")?,
            heads: f.need("num_attention_heads")?,
            vocab: f.need("vocab_size")?,
            context: f.need("max_position_embeddings")?,
        })
    }
}

/// Gives every block the same rotary embedding.
pub(super) fn rotate_all(a: &mut Architecture, rope: Rope) {
    a.ropes = vec![rope];
    a.kinds.iter_mut().for_each(|k| k.rope = Some(0));
}

const NO_NAMES: Names = Names {
    prefixes: &[("", "")],
    embed: "",
    positions: "",
    token_types: "",
    embed_norm: "",
    project: None,
    layer: "",
    qkv: QkvNames::Separate("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    attn_out: "",
    attn_norm: "",
    mlp_norm: "",
    post_norms: ("", ""),
    qk_norms: ("", ""),
    up: UpNames::Plain(""),
    down: "",
    experts: None,
    final_norm: None,
    head: "lm_head",
    transposed: false,
    bare_norms: false,
};

pub(super) fn gpt_neox(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("gpt_neox.", ""), ("", "")],
        embed: "embed_in",
        layer: "layers.{}.",
        qkv: QkvNames::Fused("attention.query_key_value", QkvLayout::Grouped),
        attn_out: "attention.dense",
        attn_norm: "input_layernorm",
        mlp_norm: "post_attention_layernorm",
        up: UpNames::Plain("mlp.dense_h_to_4h"),
        down: "mlp.dense_4h_to_h",
        final_norm: Some("final_layer_norm"),
        head: "embed_out",
        ..NO_NAMES
    };
    let mut a = plain_decoder("GPT-NeoX", Sizes::read(f)?, names);
    a.intermediate = f.need("intermediate_size")?;
    a.norm.eps = f.number("layer_norm_eps").unwrap_or(1e-5) as f32;
    a.mlp.activation = activation(f.text("hidden_act").unwrap_or("gelu"))?;
    if f.flag("use_parallel_residual", true) {
        a.block = Block::Parallel { shared: false };
    }
    a.tied = f.flag("tie_word_embeddings", false);
    let share = f
        .number("rotary_pct")
        .or_else(|| {
            f.object("rope_parameters")
                .and_then(|p| p.number("partial_rotary_factor"))
        })
        .or_else(|| f.number("partial_rotary_factor"))
        .unwrap_or(0.25);
    let rope = Rope::read(f, (a.head_dim as f64 * share) as usize, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}

pub(super) fn gpt2(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("transformer.", ""), ("", "")],
        embed: "wte",
        positions: "wpe",
        layer: "h.{}.",
        qkv: QkvNames::Fused("attn.c_attn", QkvLayout::Stacked),
        attn_out: "attn.c_proj",
        attn_norm: "ln_1",
        mlp_norm: "ln_2",
        up: UpNames::Plain("mlp.c_fc"),
        down: "mlp.c_proj",
        final_norm: Some("ln_f"),
        transposed: true,
        ..NO_NAMES
    };
    let sizes = Sizes {
        hidden: f.need("n_embd")?,
        layers: f.need("n_layer")?,
        heads: f.need("n_head")?,
        vocab: f.need("vocab_size")?,
        context: f.need("n_positions")?,
    };
    let mut a = plain_decoder("GPT-2", sizes, names);
    a.intermediate = f.count("n_inner").unwrap_or(4 * a.hidden);
    a.norm.eps = f.number("layer_norm_epsilon").unwrap_or(1e-5) as f32;
    a.mlp.activation = activation(f.text("activation_function").unwrap_or("gelu_new"))?;
    a.embedding.position_offset = Some(0);
    a.tied = f.flag("tie_word_embeddings", true);
    Ok(a)
}

pub(super) fn opt(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let width = f
        .count("word_embed_proj_dim")
        .unwrap_or(f.need("hidden_size")?);
    let projected = width != f.need("hidden_size")?;
    let before = f.flag("do_layer_norm_before", true);
    let final_norm = before && !f.flag("_remove_final_layer_norm", false);
    let names = Names {
        prefixes: &[("model.decoder.", ""), ("decoder.", "")],
        embed: "embed_tokens",
        positions: "embed_positions",
        project: projected.then_some(("project_in", "project_out")),
        layer: "layers.{}.",
        attn_out: "self_attn.out_proj",
        attn_norm: "self_attn_layer_norm",
        mlp_norm: "final_layer_norm",
        up: UpNames::Plain("fc1"),
        down: "fc2",
        final_norm: final_norm.then_some("final_layer_norm"),
        ..NO_NAMES
    };
    let mut a = plain_decoder("OPT", Sizes::read(f)?, names);
    a.intermediate = f.need("ffn_dim")?;
    a.mlp.activation = activation(f.text("activation_function").unwrap_or("relu"))?;
    a.embedding.width = width;
    a.embedding.position_offset = Some(2);
    if !before {
        a.block = Block::PostNorm;
    }
    a.tied = f.flag("tie_word_embeddings", true);
    Ok(a)
}

pub(super) fn phi(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let names = Names {
        prefixes: &[("model.", ""), ("", "")],
        embed: "embed_tokens",
        layer: "layers.{}.",
        attn_out: "self_attn.dense",
        attn_norm: "input_layernorm",
        up: UpNames::Plain("mlp.fc1"),
        down: "mlp.fc2",
        qk_norms: ("self_attn.q_layernorm", "self_attn.k_layernorm"),
        final_norm: Some("final_layernorm"),
        ..NO_NAMES
    };
    let mut a = plain_decoder("Phi", Sizes::read(f)?, names);
    if f.flag("qk_layernorm", false) {
        a.attention.qk_norm = QkNorm::PerHead;
    }
    a.intermediate = f.need("intermediate_size")?;
    a.kv_heads = f.count("num_key_value_heads").unwrap_or(a.heads);
    a.norm.eps = f.number("layer_norm_eps").unwrap_or(1e-5) as f32;
    a.mlp.activation = activation(f.text("hidden_act").unwrap_or("gelu_new"))?;
    a.block = Block::Parallel { shared: true };
    a.tied = f.flag("tie_word_embeddings", false);
    let share = f
        .number("partial_rotary_factor")
        .or_else(|| {
            f.object("rope_parameters")
                .and_then(|p| p.number("partial_rotary_factor"))
        })
        .unwrap_or(0.5);
    let rope = Rope::read(f, (a.head_dim as f64 * share) as usize, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}

/// Names that a family fills in; every other name stays empty and is never asked for.
pub(super) const fn no_names() -> Names {
    NO_NAMES
}
