//! Decoders whose feed-forward block is one of many experts: Mixtral, Qwen2-MoE, Qwen3-MoE and OLMoE.

use mary_contract::ModelError;

use super::classic::rotate_all;
use super::open::clip;
use super::{Architecture, ExpertNames, Experts, Fields, QkNorm, Rope, llama};

/// The names of Qwen's and OLMoE's experts.
const QWEN: ExpertNames = ExpertNames {
    router: "mlp.gate",
    expert: "mlp.experts.{}.",
    parts: ("gate_proj", "up_proj", "down_proj"),
    shared: ("mlp.shared_expert.", "mlp.shared_expert_gate"),
};

const MIXTRAL: ExpertNames = ExpertNames {
    router: "block_sparse_moe.gate",
    expert: "block_sparse_moe.experts.{}.",
    parts: ("w1", "w3", "w2"),
    shared: ("", ""),
};

/// Mixtral: Mistral with experts in every layer.
pub(super) fn mixtral(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("Mixtral", f)?;
    a.experts = Some(Experts {
        count: f.need("num_local_experts")?,
        chosen: f.need("num_experts_per_tok")?,
        intermediate: a.intermediate,
        normalised: true,
        shared: None,
    });
    a.names.experts = Some(MIXTRAL);
    a.kinds.iter_mut().for_each(|k| k.sparse = true);
    let rope = Rope::read(f, a.head_dim, None)?;
    rotate_all(&mut a, rope);
    llama::windows(&mut a, f);
    Ok(a)
}

/// Qwen2-MoE and Qwen3-MoE: experts in some layers; the second has one that every token takes besides,
/// the third normalises queries and keys.
pub(super) fn qwen_moe(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let third = f.text("model_type") == Some("qwen3_moe");
    let mut a = llama::base(if third { "Qwen3-MoE" } else { "Qwen2-MoE" }, f)?;
    if third {
        a.attention.qk_norm = QkNorm::Shared;
    }
    // Newer files of the third say `num_local_experts`.
    let count = f.count("num_local_experts");
    let experts = Experts {
        count: count.map_or_else(|| f.need("num_experts"), Ok)?,
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
    let rope = Rope::read(f, a.head_dim, None)?;
    rotate_all(&mut a, rope);
    llama::windows(&mut a, f);
    Ok(a)
}

/// OLMoE: experts in every layer, queries and keys normalised over all heads together.
pub(super) fn olmoe(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = llama::base("OLMoE", f)?;
    a.norm.eps = f.number("rms_norm_eps").unwrap_or(1e-5) as f32;
    a.attention.qk_norm = QkNorm::Whole;
    if let Some(limit) = clip(f)? {
        return Err(ModelError::new(
            mary_contract::ErrorKind::BadModel,
            format!("config.json: OLMoE with queries and keys cut off at {limit} (`clip_qkv`) is not known"),
        )
        .hint("no published OLMoE uses it"));
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
    let rope = Rope::read(f, a.head_dim, None)?;
    rotate_all(&mut a, rope);
    Ok(a)
}
