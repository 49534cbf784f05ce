//! Decoders whose feed-forward block is one of many experts: Mixtral, Qwen's, OLMoE, gpt-oss, DeepSeek's and their kin.

use serde_json::{Value, json};

use super::classic::clip;
use super::fields::refused;
use super::{Architecture, ExpertNames, Experts, Fields, Latent, Rope, llama, rope};
use crate::fault::Result;
use crate::gguf::source::GgufSource;

/// The names of Qwen's and OLMoE's experts.
const QWEN: ExpertNames = ExpertNames {
    router: "mlp.gate",
    bias: "",
    stacked: [
        ("mlp.experts", "gate_up_proj"),
        ("mlp.experts", "down_proj"),
    ],
    expert: "mlp.experts.{}.",
    turned: false,
    parts: ("gate_proj", "up_proj", "down_proj"),
    shared: ("mlp.shared_expert.", "mlp.shared_expert_gate"),
};

const MIXTRAL: ExpertNames = ExpertNames {
    router: "block_sparse_moe.gate",
    expert: "block_sparse_moe.experts.{}.",
    parts: ("w1", "w3", "w2"),
    ..QWEN
};

/// As in most: the chosen weigh one together.
fn experts(a: &Architecture, f: &Fields<'_>, count: &str) -> Result<Experts> {
    Ok(Experts {
        count: f.need_one(count)?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: a.intermediate,
        normalised: true,
        shared: None,
        apart: false,
        groups: None,
        scale: 1.0,
        pairs: false,
    })
}

fn in_all_layers(a: &mut Architecture, experts: Experts, names: ExpertNames) {
    a.experts = Some(experts);
    a.names.experts = Some(names);
    a.kinds.iter_mut().for_each(|k| k.sparse = true);
}

/// Mixtral: Mistral with experts in every layer.
pub(super) fn mixtral(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    in_all_layers(a, experts(a, f, "num_local_experts")?, MIXTRAL);
    Ok(())
}

/// Granite with experts in every layer, each kind in one tensor.
pub(super) fn granite(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let (input, output) = (
        "block_sparse_moe.input_linear",
        "block_sparse_moe.output_linear",
    );
    let names = ExpertNames {
        router: "block_sparse_moe.router.layer",
        stacked: [(input, "weight"), (output, "weight")],
        ..QWEN
    };
    in_all_layers(a, experts(a, f, "num_local_experts")?, names);
    llama::granite(a, f)
}

/// MiniMax M2: experts in every layer, chosen by scores with a bias.
pub(super) fn minimax(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let chosen = Experts {
        apart: true,
        ..experts(a, f, "num_local_experts|num_experts")?
    };
    let names = ExpertNames {
        bias: "block_sparse_moe",
        ..MIXTRAL
    };
    in_all_layers(a, chosen, names);
    if let Some(turning) = f.count("rotary_dim") {
        a.rotate_all(Rope::read(f, turning, None)?);
    }
    Ok(())
}

/// DeepSeek V2 and V3, GLM 4.5 to 5, dots.1, Solar Open and Youtu: latent attention in most, and in most but the first layers
/// experts, which may come from the best groups only; one without a gate is taken by every token.
pub(super) fn deepseek(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    if f.get("kv_lora_rank").is_some() {
        latent(a, f)?;
    }
    if f.get("n_routed_experts").is_none() {
        return Ok(());
    }
    let second = f.text("model_type") == Some("deepseek_v2");
    // Its makers' code and transformers do not agree on what that would mean.
    if second && f.flag("norm_topk_prob", false) {
        return Err(refused("a DeepSeek V2 with `norm_topk_prob` is not known"));
    }
    let intermediate = f.need("moe_intermediate_size")?;
    let shared = f.count("n_shared_experts").filter(|n| *n > 0);
    let groups = f.count("n_group").zip(f.count("topk_group"));
    let anywhere = second && f.text("topk_method") == Some("greedy");
    a.experts = Some(Experts {
        intermediate,
        normalised: f.flag("norm_topk_prob", !second),
        shared: shared.map(|n| n.saturating_mul(intermediate)),
        apart: !second,
        groups: groups.filter(|(all, _)| *all > 1 && !anywhere),
        scale: f.float("routed_scaling_factor", 1.0),
        ..experts(a, f, "n_routed_experts")?
    });
    a.names.experts = Some(ExpertNames {
        bias: if second { "" } else { "mlp.gate" },
        shared: ("mlp.shared_experts.", ""),
        ..QWEN
    });
    // Where the width of a dense one is not said, there is none.
    let usual = usize::from(f.get("intermediate_size").is_some());
    let dense = f.count("first_k_dense_replace").unwrap_or(usual);
    let said = f.texts("mlp_layer_types").unwrap_or_default();
    for (i, kind) in a.kinds.iter_mut().enumerate() {
        kind.sparse = said.get(i).map_or(i >= dense, |name| *name == "sparse");
    }
    // Beyond, V3.2 attends to some tokens only.
    a.context = a.context.min(f.count("index_topk").unwrap_or(a.context));
    let from = f.count("max_window_layers").unwrap_or(a.layers);
    let slides = f.sliding(a.layers, |i| i >= from);
    for (kind, slides) in a.kinds.iter_mut().zip(slides) {
        kind.window = f.count("sliding_window").filter(|_| slides);
    }
    Ok(())
}

fn latent(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let turning = f.need("qk_rope_head_dim")?;
    a.head_dim = f.need("qk_nope_head_dim")?.saturating_add(turning);
    a.kv_heads = a.heads;
    let stretch = f
        .object("rope_parameters")
        .or_else(|| f.object("rope_scaling"));
    let stretch = stretch.and_then(|s| s.number("factor").zip(s.number("mscale_all_dim")));
    let grown = stretch.map_or(1.0, |(factor, by)| rope::grown(factor, by));
    a.attention.scale = (grown * grown / (a.head_dim as f64).sqrt()) as f32;
    a.attention.latent = Some(Latent {
        queries: f.count("q_lora_rank"),
        rank: f.need("kv_lora_rank")?,
        turning,
        paired: f.flag("rope_interleave", true),
        value: f.need("v_head_dim")?,
    });
    a.rotate_all(Rope::read(f, turning, None)?);
    Ok(())
}

/// Qwen2-MoE and Qwen3-MoE: experts in some layers; the first has one that every token takes besides, and so have
/// Qwen3-Next and Qwen3.5-MoE. Qwen3-VL's lie in one tensor.
pub(super) fn qwen_moe(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let model_type = f.text("model_type").unwrap_or_default();
    let seeing = model_type == "qwen3_vl_moe_text";
    let third = seeing || model_type == "qwen3_moe";
    let experts = Experts {
        intermediate: f.need("moe_intermediate_size")?,
        normalised: f.flag("norm_topk_prob", seeing || a.recurrence.is_some()),
        shared: match third {
            true => None,
            false => Some(f.need("shared_expert_intermediate_size")?),
        },
        // Newer files of the third say `num_local_experts`.
        ..experts(a, f, "num_local_experts|num_experts")?
    };
    let step = f.count("decoder_sparse_step").unwrap_or(1).max(1);
    let dense = f.numbers("mlp_only_layers").unwrap_or_default();
    for (i, kind) in a.kinds.iter_mut().enumerate() {
        kind.sparse = experts.count > 0 && (i + 1) % step == 0 && !dense.contains(&(i as f64));
    }
    a.experts = (experts.count > 0).then_some(experts);
    a.names.experts = Some(ExpertNames {
        turned: seeing,
        ..QWEN
    });
    llama::qwen_windows(a, f)
}

/// Which layers have experts is seen from the tensors.
pub(super) fn sparse_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let layers = source.size("block_count")?;
    // A file that says more layers than it has tensors is refused elsewhere.
    let layers = layers.min(i64::try_from(source.tensors.len()).unwrap_or(i64::MAX));
    let is_dense = |layer: &i64| !source.has(&format!("blk.{layer}.ffn_gate_inp.weight"));
    let dense: Vec<i64> = (0..layers).filter(is_dense).collect();
    let first = (0..layers).find(|layer| !is_dense(layer)).unwrap_or(0);
    let width =
        |stem: &str, dimension| source.dimension(&format!("blk.{first}.{stem}.weight"), dimension);
    let normalised = source.flag("expert_weights_norm");
    let mut config = json!({
        "num_experts": source.size("expert_count")?,
        "num_experts_per_tok": source.size("expert_used_count")?,
        "norm_topk_prob": normalised.unwrap_or(source.architecture == "qwen3moe"),
        "mlp_only_layers": dense,
        "decoder_sparse_step": 1,
        "moe_intermediate_size": width("ffn_gate_exps", 1),
        "shared_expert_intermediate_size": width("ffn_gate_shexp", 0),
    });
    if source.architecture == "olmoe" {
        config["intermediate_size"] = json!(width("ffn_gate_exps", 1));
    }
    Ok(config)
}

/// OLMoE: experts in every layer.
pub(super) fn olmoe(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    if let Some(limit) = clip(f)? {
        let what =
            format!("OLMoE with queries and keys cut off at {limit} (`clip_qkv`) is not known");
        return Err(refused(what).hint("no published OLMoE uses it"));
    }
    let chosen = Experts {
        normalised: f.flag("norm_topk_prob", false),
        ..experts(a, f, "num_experts")?
    };
    in_all_layers(a, chosen, QWEN);
    Ok(())
}

/// gpt-oss: experts in every layer, in one tensor each, and heads that may attend to nothing.
pub(super) fn gpt_oss(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    for (name, known) in [("swiglu_alpha", 1.702), ("swiglu_limit", 7.0)] {
        if let Some(found) = f.number(name).filter(|found| *found != known) {
            return Err(refused(format!(
                "`{name}` is {found}; only {known} is known"
            )));
        }
    }
    let chosen = Experts {
        pairs: true,
        ..experts(a, f, "num_local_experts|num_experts")?
    };
    let names = ExpertNames {
        router: "mlp.router",
        turned: true,
        ..QWEN
    };
    in_all_layers(a, chosen, names);
    a.attention.sinks = true;
    Ok(())
}
