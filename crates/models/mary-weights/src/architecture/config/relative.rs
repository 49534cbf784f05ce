//! Attention that scores how far apart two tokens are beside what they are: LTG-BERT and GPT-BERT, which won BabyLM,
//! and DeBERTa.

use mary_contract::ModelError;

use super::classic::{decoder, names};
use super::family::Family;
use super::fields::refused;
use super::{Activation, Architecture, Block, Fields};

/// Distances in buckets: near ones have one each, far ones share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relative {
    pub buckets: usize,
    pub longest: usize,
    /// The row of the table for a distance of 0.
    pub middle: usize,
    /// Rows of the table.
    pub rows: usize,
}

impl Relative {
    /// The row for a query so far behind a key; computed as its makers do, in 32 bits.
    pub fn row(&self, distance: isize) -> usize {
        let (mid, far) = ((self.buckets / 2).max(1), distance.unsigned_abs());
        let bucket = match far <= mid {
            true => far,
            false => {
                let far = far.min(self.longest.saturating_sub(1)) as f32;
                let whole = ((self.longest as f64 - 1.0) / mid as f64).ln() as f32;
                let share = (far / mid as f32).ln() / whole * (mid as f32 - 1.0);
                share.ceil().max(0.0) as usize + mid
            }
        };
        let bucket = isize::try_from(bucket).unwrap_or(isize::MAX) * distance.signum();
        let row = self.middle as isize + bucket;
        row.clamp(0, self.rows as isize - 1) as usize
    }

    fn check(self, context: usize) -> Result<Self, ModelError> {
        let sound = (2..=1 << 16).contains(&self.buckets)
            && self.longest > self.buckets / 2 + 1
            && context <= 1 << 16;
        match sound {
            true => Ok(self),
            false => Err(refused(format!(
                "{} buckets of distances do not fit {} positions in a context of {context}",
                self.buckets, self.longest
            ))),
        }
    }
}

pub(super) static LTG: Family = Family::in_folders(&["ltgbert", "ltg_gpt_bert", "gpt_bert"], ltg);

/// LTG-BERT, and GPT-BERT, whose attention has a gate and whose stream is an average of all before it. Their files
/// name no type; it is told by their tensors.
fn ltg(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let kind = f.text("model_type").unwrap_or_default();
    let gated = kind != "ltgbert";
    let family = if gated { "GPT-BERT" } else { "LTG-BERT" };
    let mut a = decoder(family, f, names(kind))?;
    a.intermediate = f.need("intermediate_size")?;
    a.norm.eps = f.float("layer_norm_eps", 1e-7);
    a.embedding.norm = true;
    a.mlp.gated = true;
    a.mlp.activation = Activation::GeluTanh;
    a.attention.scale = (3.0 * a.head_dim as f32).sqrt().recip();
    let buckets = f.need("position_bucket_size")?;
    let relative = Relative {
        buckets,
        longest: a.context,
        middle: buckets.saturating_sub(1),
        rows: buckets.saturating_mul(2).saturating_sub(1),
    };
    a.attention.relative = Some(relative.check(a.context)?);
    a.attention.gated = gated;
    let classes = f.texts("architectures").unwrap_or_default();
    let masked = classes
        .first()
        .is_some_and(|class| class.ends_with("MaskedLM"));
    a.causal = gated && (!masked || f.flag("is_decoder", false));
    a.language_head = a.causal;
    a.predicts_next = gated;
    if !gated {
        a.block = Block::Sandwich;
    }
    Ok(a)
}

pub(super) static DEBERTA: Family = Family::in_folders(&["deberta-v2"], deberta);

/// DeBERTa 2 and 3: BERT without positions but for distances.
fn deberta(f: &Fields<'_>) -> Result<Architecture, ModelError> {
    let mut a = decoder("DeBERTa", f, names("deberta-v2"))?;
    a.intermediate = f.need("intermediate_size")?;
    a.causal = false;
    a.language_head = false;
    a.block = Block::PostNorm;
    a.norm.eps = f.float("layer_norm_eps", 1e-7);
    a.mlp.activation = f.activation("hidden_act", "gelu")?;
    a.embedding.norm = true;
    let kinds = match f.get("pos_att_type") {
        Some(serde_json::Value::String(text)) => text.split('|').collect(),
        _ => f.texts("pos_att_type").unwrap_or_default(),
    };
    let both = kinds.contains(&"c2p") && kinds.contains(&"p2c");
    let width = f.count("embedding_size").unwrap_or(a.hidden);
    let known = both
        && width == a.hidden
        && f.flag("relative_attention", false)
        && f.flag("share_att_key", false)
        && !f.flag("position_biased_input", true)
        && f.count("conv_kernel_size").unwrap_or(0) == 0
        && f.count("type_vocab_size").unwrap_or(0) == 0;
    let Some(buckets) = f.count("position_buckets").filter(|n| known && *n > 0) else {
        let what = "this DeBERTa is not one of those that are known";
        return Err(refused(what).hint(
            "known are those with `position_buckets`, `share_att_key`, both of c2p and p2c, no convolution and no segments, such as DeBERTa-v3",
        ));
    };
    // Below 1, as many as there are positions.
    let longest = f.count("max_relative_positions").filter(|n| *n >= 1);
    let relative = Relative {
        buckets,
        longest: longest.unwrap_or(a.context),
        middle: buckets,
        rows: 2 * buckets.min(1 << 16),
    };
    a.attention.relative = Some(relative.check(a.context)?);
    a.attention.scale = (3.0 * a.head_dim as f32).sqrt().recip();
    Ok(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_distances_have_a_row_each_and_far_ones_share() {
        let relative = Relative {
            buckets: 32,
            longest: 512,
            middle: 31,
            rows: 63,
        };
        assert_eq!(
            [0, 1, -1, 16, -16].map(|d| relative.row(d)),
            [31, 32, 30, 47, 15]
        );
        assert_eq!([511, -511, 9_999].map(|d| relative.row(d)), [62, 0, 62]);
        assert!(relative.row(100) > relative.row(40) && relative.row(100) < 62);
    }
}
