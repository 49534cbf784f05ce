//! Attention that scores how far apart two tokens are beside what they are: LTG-BERT and GPT-BERT, which won BabyLM,
//! DeBERTa, and T5 (`paired.rs`).

use super::fields::refused;
use super::{Architecture, Fields, HeadGate};
use crate::fault::Result;

/// Distances in buckets: near ones have one each, far ones share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relative {
    pub buckets: usize,
    pub longest: usize,
    /// The row of the table for a distance of 0.
    pub middle: usize,
    pub rows: usize,
    pub kind: Distances,
}

/// What the table of distances holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distances {
    /// Vectors that become queries and keys.
    Vectors,
    /// A number for every head (T5), for keys on both sides or only before; each block may have its own.
    Biases { both_ways: bool, each: bool },
}

impl Relative {
    /// The row for a query so far behind a key; computed as its makers do, in 32 bits.
    pub fn row(&self, distance: isize) -> usize {
        if let Distances::Biases { both_ways, .. } = self.kind {
            return self.bias_row(distance, both_ways);
        }
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

    fn bias_row(&self, distance: isize, both_ways: bool) -> usize {
        let (buckets, after) = match both_ways {
            true => (self.buckets / 2, distance < 0),
            false => (self.buckets, false),
        };
        let far = match both_ways {
            true => distance.unsigned_abs(),
            false => distance.max(0) as usize,
        };
        let (first, exact) = (if after { buckets } else { 0 }, buckets / 2);
        if far < exact {
            return first + far;
        }
        let whole = (self.longest as f64 / exact as f64).ln() as f32;
        let share = (far as f32 / exact as f32).ln() / whole * (buckets - exact) as f32;
        first + (exact + share as usize).min(buckets - 1)
    }

    pub(super) fn check(self, context: usize) -> Result<Self> {
        let biased = self.kind != Distances::Vectors;
        let sound = (2..=1 << 16).contains(&self.buckets)
            && (!biased || self.buckets >= 4 && self.buckets.is_multiple_of(2))
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

/// LTG-BERT, and GPT-BERT, whose attention has a gate and whose stream is an average of all before it. Their files
/// name no type; it is told by their tensors.
pub(super) fn ltg(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
    let gated = f.text("model_type") != Some("ltgbert");
    a.attention.scale = (3.0 * a.head_dim as f32).sqrt().recip();
    let buckets = f.need("position_bucket_size")?;
    let relative = Relative {
        buckets,
        longest: a.context,
        middle: buckets.saturating_sub(1),
        rows: buckets.saturating_mul(2).saturating_sub(1),
        kind: Distances::Vectors,
    };
    a.attention.relative = Some(relative.check(a.context)?);
    if gated {
        a.attention.gate = HeadGate::Values;
    }
    let classes = f.texts("architectures").unwrap_or_default();
    let masked = classes
        .first()
        .is_some_and(|class| class.ends_with("MaskedLM"));
    a.causal = gated && (!masked || f.flag("is_decoder", false));
    a.language_head = a.causal;
    a.predicts_next = gated;
    Ok(())
}

/// DeBERTa 2 and 3: BERT without positions but for distances.
pub(super) fn deberta(a: &mut Architecture, f: &Fields<'_>) -> Result<()> {
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
        kind: Distances::Vectors,
    };
    a.attention.relative = Some(relative.check(a.context)?);
    a.attention.scale = (3.0 * a.head_dim as f32).sqrt().recip();
    Ok(())
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
            kind: Distances::Vectors,
        };
        assert_eq!(
            [0, 1, -1, 16, -16].map(|d| relative.row(d)),
            [31, 32, 30, 47, 15]
        );
        assert_eq!([511, -511, 9_999].map(|d| relative.row(d)), [62, 0, 62]);
        assert!(relative.row(100) > relative.row(40) && relative.row(100) < 62);
    }
    /// Sums over all distances up to a context's length, from transformers' `_relative_position_bucket`.
    #[test]
    fn biases_are_looked_up_where_t5_looks() {
        let sum = |both_ways: bool, buckets: usize, longest: usize| -> usize {
            let relative = Relative {
                buckets,
                longest,
                middle: 0,
                rows: buckets,
                kind: Distances::Biases {
                    both_ways,
                    each: false,
                },
            };
            let rows = (-8192..=8192).map(|d| relative.row(d));
            rows.zip(0..).map(|(row, i)| row * (i % 97 + 1)).sum()
        };
        let found = [
            sum(true, 32, 128),
            sum(true, 8, 12),
            sum(true, 64, 200),
            sum(true, 32, 1000),
            sum(false, 32, 128),
            sum(false, 8, 12),
            sum(false, 64, 200),
            sum(false, 32, 1000),
        ];
        let wanted = [
            18_411_733, 4_007_910, 37_570_888, 18_321_962, 12_418_483, 2_814_293, 25_159_529,
            12_295_306,
        ];
        assert_eq!(found, wanted);
    }
}
