//! Decoders whose feed-forward block is one of many experts: Mixtral, Qwen2-MoE, Qwen3-MoE and OLMoE.

use mary_contract::ModelError;
use serde_json::{Value, json};

use super::classic::rotate;
use super::family::{Conversion, Family, GgufForm};
use super::fields::refused;
use super::open::clip;
use super::{Architecture, ExpertNames, Experts, Fields, QkNorm, llama};
use crate::gguf::source::GgufSource;

/// The names of Qwen's and OLMoE's experts.
const QWEN: ExpertNames = ExpertNames {
    router: "mlp.gate",
    expert: "mlp.experts.{}.",
    parts: ("gate_proj", "up_proj", "down_proj"),
    shared: ("mlp.shared_expert.", "mlp.shared_expert_gate"),
};

pub(super) static MIXTRAL: Family = Family {
    types: &["mixtral"],
    read: mixtral,
    gguf: &[GgufForm {
        also: "Mixtral",
        sparse: true,
        conversion: Conversion::RotaryPairs,
        ..GgufForm::new("llama", ("mixtral", "MixtralForCausalLM"), mixtral_gguf)
    }],
};

/// Mixtral: Mistral with experts in every layer.
fn mixtral(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("Mixtral", f)?;
    a.experts = Some(Experts {
        count: f.need("num_local_experts")?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: a.intermediate,
        normalised: true,
        shared: None,
    });
    a.names.experts = Some(ExpertNames {
        router: "block_sparse_moe.gate",
        expert: "block_sparse_moe.experts.{}.",
        parts: ("w1", "w3", "w2"),
        shared: ("", ""),
    });
    a.kinds.iter_mut().for_each(|k| k.sparse = true);
    rotate(&mut a, f, 1.0)?;
    llama::windows(&mut a, f);
    Ok(a)
}

fn mixtral_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    source.like_llama(json!({
        "num_local_experts": source.experts(),
        "num_experts_per_tok": source.size("expert_used_count")?,
    }))
}

pub(super) static QWEN_MOE: Family = Family {
    types: &["qwen2_moe", "qwen3_moe"],
    read: qwen_moe,
    gguf: &[
        GgufForm {
            pre: "qwen2",
            ..GgufForm::new(
                "qwen2moe",
                ("qwen2_moe", "Qwen2MoeForCausalLM"),
                sparse_gguf,
            )
        },
        GgufForm {
            pre: "qwen2",
            ..GgufForm::new(
                "qwen3moe",
                ("qwen3_moe", "Qwen3MoeForCausalLM"),
                sparse_gguf,
            )
        },
    ],
};

/// Qwen2-MoE and Qwen3-MoE: experts in some layers; the second has one that every token takes besides,
/// the third normalises queries and keys.
fn qwen_moe(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let third = f.text("model_type") == Some("qwen3_moe");
    let mut a = llama::base(if third { "Qwen3-MoE" } else { "Qwen2-MoE" }, f)?;
    if third {
        a.attention.qk_norm = QkNorm::Shared;
    }
    let experts = Experts {
        // Newer files of the third say `num_local_experts`.
        count: f.need_one("num_local_experts|num_experts")?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: f.need("moe_intermediate_size")?,
        normalised: f.flag("norm_topk_prob", false),
        shared: match third {
            true => None,
            false => Some(f.need("shared_expert_intermediate_size")?),
        },
    };
    let step = f.count("decoder_sparse_step").unwrap_or(1).max(1);
    let dense = f.numbers("mlp_only_layers").unwrap_or_default();
    for (i, kind) in a.kinds.iter_mut().enumerate() {
        kind.sparse = experts.count > 0 && (i + 1) % step == 0 && !dense.contains(&(i as f64));
    }
    a.experts = (experts.count > 0).then_some(experts);
    a.names.experts = Some(QWEN);
    rotate(&mut a, f, 1.0)?;
    llama::windows(&mut a, f);
    Ok(a)
}

/// Which layers have experts is seen from the tensors.
fn sparse_gguf(source: &GgufSource<'_>) -> Result<Value, String> {
    let layers = source.size("block_count")?;
    // A file that says more layers than it has tensors is refused elsewhere.
    let layers = layers.min(i64::try_from(source.tensors.len()).unwrap_or(i64::MAX));
    let is_dense = |layer: &i64| !source.has(&format!("blk.{layer}.ffn_gate_inp.weight"));
    let dense: Vec<i64> = (0..layers).filter(is_dense).collect();
    let first = (0..layers).find(|layer| !is_dense(layer)).unwrap_or(0);
    let width =
        |stem: &str, dimension| source.dimension(&format!("blk.{first}.{stem}.weight"), dimension);
    let normalised = source.flag("expert_weights_norm");
    let mut config = match source.architecture {
        "qwen2moe" => llama::qwen2_gguf(source)?,
        _ => source.like_llama(json!({}))?,
    };
    config["num_experts"] = json!(source.size("expert_count")?);
    config["num_experts_per_tok"] = json!(source.size("expert_used_count")?);
    config["norm_topk_prob"] = json!(normalised.unwrap_or(source.architecture == "qwen3moe"));
    config["mlp_only_layers"] = json!(dense);
    config["decoder_sparse_step"] = json!(1);
    config["moe_intermediate_size"] = json!(width("ffn_gate_exps", 1));
    config["shared_expert_intermediate_size"] = json!(width("ffn_gate_shexp", 0));
    if source.architecture == "olmoe" {
        config["intermediate_size"] = json!(width("ffn_gate_exps", 1));
    }
    Ok(config)
}

pub(super) static OLMOE: Family = Family {
    types: &["olmoe"],
    read: olmoe,
    gguf: &[GgufForm::new(
        "olmoe",
        ("olmoe", "OlmoeForCausalLM"),
        sparse_gguf,
    )],
};

/// OLMoE: experts in every layer, queries and keys normalised over all heads together.
fn olmoe(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("OLMoE", f)?;
    a.norm.eps = f.float("rms_norm_eps", 1e-5);
    a.attention.qk_norm = QkNorm::Whole;
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
    });
    a.names.experts = Some(QWEN);
    a.kinds.iter_mut().for_each(|k| k.sparse = true);
    rotate(&mut a, f, 1.0)?;
    Ok(a)
}
