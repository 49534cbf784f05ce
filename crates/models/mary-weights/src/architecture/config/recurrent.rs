//! Layers that carry a state from token to token: Mamba, Falcon-Mamba, Mamba-2, and models that have such layers beside
//! attention (Bamba, Granite 4 without experts, Qwen3-Next, Qwen3.5, LFM2).

use super::fields::refused;
use super::{Activation, Architecture, Fields, HeadGate, llama, sparse};
use crate::fault::Result;

/// What becomes of what a convolution gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrying {
    /// It is added to a state (Mamba).
    Adds,
    /// A state is corrected by what it lacked of it (the gated delta rule of Qwen3-Next and Qwen3.5).
    Corrects,
    /// Nothing: the convolution is all there is, with a gate before and behind it (LFM2).
    Convolves,
}

/// How such a layer is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recurrence {
    /// Channels that carry a state.
    pub inner: usize,
    /// Channels that forget alike; as many as channels in the first Mamba.
    pub heads: usize,
    /// Groups of heads that write and read alike.
    pub groups: usize,
    /// Numbers in the state of a channel.
    pub state: usize,
    /// Tokens that the convolution sees.
    pub kernel: usize,
    /// The first Mamba's: width through which its steps are projected.
    pub rank: Option<usize>,
    pub how: Carrying,
    /// Steps are kept between these (the second Mamba's).
    pub steps: (f32, f32),
    /// The epsilon of the norm in front of the last projection (the second Mamba's), or of those on steps and on what
    /// is written and read (Falcon-Mamba's).
    pub eps: Option<f32>,
}

impl Recurrence {
    pub fn convolved(&self) -> usize {
        match (self.how, self.rank) {
            (Carrying::Convolves, _) | (_, Some(_)) => self.inner,
            _ => self.inner + 2 * self.groups * self.state,
        }
    }

    /// Outputs of the first projection.
    pub fn projected(&self) -> usize {
        match (self.how, self.rank) {
            (Carrying::Convolves, _) => 3 * self.inner,
            (_, Some(_)) => 2 * self.inner,
            (Carrying::Corrects, _) => self.inner + self.convolved() + 2 * self.heads,
            _ => self.inner + self.convolved() + self.heads,
        }
    }

    /// What its weights and biases are called.
    pub fn convolution(&self) -> (&'static str, &'static str) {
        match self.how {
            Carrying::Convolves => ("conv.weight", "conv.bias"),
            _ => ("conv1d.weight", "conv1d.bias"),
        }
    }

    /// Weights of the norm in front of the last projection: one for each channel, or the same for every head.
    pub fn normed(&self) -> usize {
        match self.how {
            Carrying::Corrects => self.inner / self.heads,
            _ => self.inner,
        }
    }

    pub(super) fn check(&self, family: &str) -> Result<()> {
        let sizes = [self.inner, self.heads, self.groups, self.state];
        let sound = sizes.iter().all(|size| (1..=1 << 20).contains(size))
            && (1..=1 << 10).contains(&self.kernel)
            && self.rank.is_none_or(|rank| (1..=1 << 20).contains(&rank))
            && self.inner.is_multiple_of(self.heads)
            && self.heads.is_multiple_of(self.groups)
            && self.inner.is_multiple_of(self.groups)
            && self.inner.saturating_mul(self.state) <= 1 << 28
            && self.steps.0 <= self.steps.1
            && self.eps.is_none_or(|eps| eps.is_finite() && eps >= 0.0);
        match sound {
            true => Ok(()),
            false => Err(refused(format!(
                "a {family} cannot carry {} numbers for each of {} channels in {} heads and {} groups, with a convolution over {}",
                self.state, self.inner, self.heads, self.groups, self.kernel
            ))),
        }
    }
}

pub(super) fn mamba(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let model_type = f.text("model_type");
    let inner = expanded(f, "expand", a.hidden);
    a.recurrence = Some(match model_type == Some("mamba2") {
        true => {
            let keys = [
                "num_heads",
                "head_dim",
                "n_groups",
                "state_size",
                "conv_kernel",
            ];
            second_mamba(f, keys, inner, a.norm.eps)?
        }
        false => {
            let inner = f.count("intermediate_size").unwrap_or(inner);
            let rank = f.count("time_step_rank").unwrap_or(a.hidden.div_ceil(16));
            let falcon = model_type == Some("falcon_mamba");
            Recurrence {
                inner,
                heads: inner,
                groups: 1,
                state: f.need("state_size")?,
                kernel: f.need("conv_kernel")?,
                rank: Some(rank),
                how: Carrying::Adds,
                steps: (0.0, f32::INFINITY),
                eps: falcon.then(|| f.float("mixer_rms_eps", 1e-6)),
            }
        }
    });
    a.intermediate = inner;
    a.kinds.iter_mut().for_each(|k| k.recurrent = true);
    only_silu(f)
}

fn only_silu(f: &Fields<'_>) -> Result<()> {
    match f.activation(("hidden_act", "silu"))? {
        Activation::Silu => Ok(()),
        _ => Err(refused(
            "only `silu` is known behind the convolution of a Mamba",
        )),
    }
}

/// `expand` may be a fraction.
fn expanded(f: &Fields<'_>, name: &str, hidden: usize) -> usize {
    (f.number(name).unwrap_or(2.0).clamp(0.0, 1024.0) * hidden as f64) as usize
}

/// By the names of heads, their width, groups, state and kernel.
fn second_mamba(
    f: &Fields<'_>,
    [heads, width, groups, state, kernel]: [&str; 5],
    inner: usize,
    eps: f32,
) -> Result<Recurrence> {
    let count = f.need(heads)?;
    let width = f.count(width);
    if let Some(width) = width.filter(|width| width.checked_mul(count) != Some(inner)) {
        let what = format!("{count} heads of {width} are not the {inner} channels of this model");
        return Err(refused(what));
    }
    let limits = f.get("time_step_limit").and_then(|v| v.as_array());
    let limit = |i: usize| limits.and_then(|all| Some(all.get(i)?.as_f64()? as f32));
    Ok(Recurrence {
        inner,
        heads: count,
        groups: f.need(groups)?,
        state: f.need(state)?,
        kernel: f.need(kernel)?,
        rank: None,
        how: Carrying::Adds,
        // Infinity is no number in JSON.
        steps: (limit(0).unwrap_or(0.0), limit(1).unwrap_or(f32::INFINITY)),
        eps: Some(eps),
    })
}

/// Bamba: the second Mamba's layers, and some of LLaMA's. Granite 4: the same with Granite's constants.
pub(super) fn hybrid(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let granite = f.text("model_type") == Some("granitemoehybrid");
    let inner = expanded(f, "mamba_expand", a.hidden);
    let keys = [
        "mamba_n_heads",
        "mamba_d_head",
        "mamba_n_groups",
        "mamba_d_state",
        "mamba_d_conv",
    ];
    a.recurrence = Some(second_mamba(f, keys, inner, a.norm.eps)?);
    let chosen = f.numbers("attn_layer_indices").unwrap_or_default();
    let types = f.texts("layer_types").unwrap_or_default();
    for (i, layer) in a.kinds.iter_mut().enumerate() {
        let attends = match granite {
            true => matches!(types.get(i), Some(&("attention" | "full_attention"))),
            false => chosen.contains(&(i as f64)),
        };
        layer.recurrent = !attends;
    }
    only_silu(f)?;
    if !granite {
        return Ok(());
    }
    if f.count("num_local_experts").unwrap_or(0) > 0 {
        return Err(refused("a Granite 4 with experts is not known").hint("those without are"));
    }
    a.intermediate = f.need("shared_intermediate_size")?;
    if f.text("position_embedding_type") != Some("rope") {
        a.turn_nothing();
    }
    llama::granite(a, f)
}

/// Qwen3-Next and Qwen3.5: three of four layers correct a state, the others attend and have a gate on what heads give.
pub(super) fn correcting(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let (heads, width) = (
        f.need("linear_num_value_heads")?,
        f.need("linear_value_head_dim")?,
    );
    a.recurrence = Some(Recurrence {
        inner: heads.saturating_mul(width),
        heads,
        groups: f.need("linear_num_key_heads")?,
        state: f.need("linear_key_head_dim")?,
        kernel: f.need("linear_conv_kernel_dim")?,
        rank: None,
        how: Carrying::Corrects,
        steps: (0.0, f32::INFINITY),
        eps: Some(a.norm.eps),
    });
    let types = f.texts("layer_types").unwrap_or_default();
    let every = f.count("full_attention_interval").unwrap_or(4).max(1);
    for (i, layer) in a.kinds.iter_mut().enumerate() {
        layer.recurrent = match types.get(i) {
            Some(name) => *name == "linear_attention",
            None => (i + 1) % every != 0,
        };
    }
    a.attention.gate = HeadGate::Queries;
    only_silu(f)?;
    match f.count("num_experts").unwrap_or(0) {
        0 => Ok(()),
        _ => sparse::qwen_moe(a, f),
    }
}

/// LFM2: a short convolution in most layers, attention in the others.
pub(super) fn lfm2(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    a.recurrence = Some(Recurrence {
        inner: a.hidden,
        heads: 1,
        groups: 1,
        state: 1,
        kernel: f.need("conv_L_cache")?,
        rank: None,
        how: Carrying::Convolves,
        steps: (0.0, 0.0),
        eps: None,
    });
    let types = f.texts("layer_types").unwrap_or_default();
    let attend = f.numbers("full_attn_idxs");
    for (i, layer) in a.kinds.iter_mut().enumerate() {
        layer.recurrent = match types.get(i) {
            Some(name) => *name == "conv",
            None => attend
                .as_ref()
                .is_some_and(|all| !all.contains(&(i as f64))),
        };
    }
    a.tied = f.flag("tie_embedding", a.tied);
    a.intermediate = f.count("block_ff_dim").unwrap_or(a.intermediate);
    if f.flag("block_auto_adjust_ff_dim", true) {
        let factor = f.number("block_ffn_dim_multiplier").unwrap_or(1.0);
        let several = f.count("block_multiple_of").unwrap_or(256).max(1);
        let width = (factor * (2 * a.intermediate / 3) as f64) as usize;
        a.intermediate = width.div_ceil(several).saturating_mul(several);
    }
    Ok(())
}
