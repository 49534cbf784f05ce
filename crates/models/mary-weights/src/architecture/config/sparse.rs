//! Decoders whose feed-forward block is one of many experts: Mixtral, Qwen's, OLMoE and gpt-oss.

use serde_json::{Value, json};

use super::classic::clip;
use super::fields::refused;
use super::{Architecture, ExpertNames, Experts, Fields, llama};
use crate::fault::Result;
use crate::gguf::source::GgufSource;

/// The names of Qwen's and OLMoE's experts.
const QWEN: ExpertNames = ExpertNames {
    router: "mlp.gate",
    expert: "mlp.experts.{}.",
    turned: false,
    parts: ("gate_proj", "up_proj", "down_proj"),
    shared: ("mlp.shared_expert.", "mlp.shared_expert_gate"),
};

/// Mixtral: Mistral with experts in every layer.
pub(super) fn mixtral(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    a.experts = Some(Experts {
        count: f.need("num_local_experts")?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: a.intermediate,
        normalised: true,
        shared: None,
        pairs: false,
    });
    a.names.experts = Some(ExpertNames {
        router: "block_sparse_moe.gate",
        expert: "block_sparse_moe.experts.{}.",
        turned: false,
        parts: ("w1", "w3", "w2"),
        shared: ("", ""),
    });
    a.kinds.iter_mut().for_each(|k| k.sparse = true);
    Ok(())
}

/// Qwen2-MoE and Qwen3-MoE: experts in some layers; the first has one that every token takes besides, and so have
/// Qwen3-Next and Qwen3.5-MoE. Qwen3-VL's lie in one tensor.
pub(super) fn qwen_moe(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let model_type = f.text("model_type").unwrap_or_default();
    let seeing = model_type == "qwen3_vl_moe_text";
    let third = seeing || model_type == "qwen3_moe";
    let experts = Experts {
        // Newer files of the third say `num_local_experts`.
        count: f.need_one("num_local_experts|num_experts")?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: f.need("moe_intermediate_size")?,
        normalised: f.flag("norm_topk_prob", seeing || a.recurrence.is_some()),
        shared: match third {
            true => None,
            false => Some(f.need("shared_expert_intermediate_size")?),
        },
        pairs: false,
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
    a.experts = Some(Experts {
        count: f.need("num_experts")?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: a.intermediate,
        normalised: f.flag("norm_topk_prob", false),
        shared: None,
        pairs: false,
    });
    a.names.experts = Some(QWEN);
    a.kinds.iter_mut().for_each(|k| k.sparse = true);
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
    a.experts = Some(Experts {
        count: f.need_one("num_local_experts|num_experts")?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: a.intermediate,
        normalised: true,
        shared: None,
        pairs: true,
    });
    a.names.experts = Some(ExpertNames {
        router: "mlp.router",
        turned: true,
        ..QWEN
    });
    a.attention.sinks = true;
    a.kinds.iter_mut().for_each(|k| k.sparse = true);
    Ok(())
}
