//! How much memory a training run will take, said before it starts.

use mary_platform::available_memory;

use crate::net::{Layout, Shape};
use crate::{Result, TrainError};
use mary_weights::architecture::Architecture;
use mary_weights::architecture::config::Block;

/// An estimate in bytes, with what would make it smaller.
#[derive(Debug, Clone)]
pub struct Estimate {
    pub bytes: u64,
    /// Settings to try, each with the bytes it would need, dearest first.
    pub smaller: Vec<(String, u64)>,
}

const MB: u64 = 1_000_000;

/// Numbers one sequence of this many tokens keeps for the backward pass.
fn sequence(a: &Architecture, tokens: usize, logits: usize) -> u64 {
    let (heads, inner) = (a.q_width(), a.intermediate);
    let joint = heads + 2 * a.kv_width();
    let gates = if a.mlp.gated { 3 } else { 2 };
    let normed = usize::from(a.block == Block::Sandwich);
    let block = (4 + 2 * normed) * a.hidden + joint + heads + a.heads + gates * inner;
    let passing = 8 * a.hidden + 2 * joint + 3 * inner + 2 * 64;
    let logits = logits.max(64 * a.vocab);
    (tokens * (a.layers * block + passing) + logits) as u64
}

/// Logits kept at a time while adapters are tuned: those of a pack, up to sixteen million.
fn logits(a: &Architecture, tokens: usize) -> usize {
    (tokens * a.vocab).min(16_000_000)
}

#[cfg(feature = "cuda")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AtOnce {
    /// Most tokens of a batch.
    pub(crate) tokens: usize,
    /// Blocks that keep what the backward pass needs; the others are computed again in it.
    pub(crate) kept: usize,
}

/// Bytes a token of a batch takes on a GPU: by itself, and for every block that keeps what its backward
/// pass needs. Numbers that enter matrix multiplication have `short` bytes.
#[cfg(feature = "cuda")]
pub(crate) fn token_bytes(a: &Architecture, rank: usize, short: usize) -> (u64, u64) {
    let (d, q, inner) = (a.hidden, a.q_width(), a.intermediate);
    let joint = q + 2 * a.kv_width();
    let gates = if a.mlp.gated { 3 } else { 2 };
    let sequential = usize::from(!matches!(a.block, Block::Parallel { .. }));
    // Two norms with their moments, the joint rows, the heads, the inner rows; the stream between.
    let block = short * (2 * d + joint + q + gates * inner) + 4 * (4 + a.heads + sequential * d);
    // The stream before every block and after the last, its two gradients, and the low-rank rows.
    let stream = 4 * d * (a.layers + 3) + short * (7 * a.layers + 1) * rank;
    // The last norm's rows and what is gathered of them, gradients on their way, what is dropped.
    let passing = short * (6 * d + joint + 2 * inner + inner.max(q) + inner.max(d)) + 4 * a.heads;
    ((stream + passing + block) as u64, block as u64)
}

/// What a GPU with this much free memory computes at once: as many tokens as 85 % of it hold, at most
/// 32,768 in 16 bits and 65,536 in 32. Where even 8,192 (or the longest pack, if that is more) would not
/// fit so, blocks are computed again instead: a GPU is busy with so many, and doing a third of the work
/// twice costs more than taking it in two.
#[cfg(feature = "cuda")]
pub(crate) fn at_once(
    a: &Architecture,
    rank: usize,
    short: usize,
    (free, longest): (u64, usize),
) -> AtOnce {
    let most = if short == 4 { 65_536 } else { 32_768 };
    let enough = longest.max(8_192).min(most);
    let (alone, block) = token_bytes(a, rank, short);
    let logits = (1u64 << 27) * (4 + if short == 4 { 0 } else { short as u64 });
    let room = (free / 20 * 17).saturating_sub(logits);
    // One block's room is in `alone`: all kept do not need it.
    let all = alone + block * (a.layers as u64).saturating_sub(1);
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    if count(room / all) >= enough {
        return AtOnce {
            tokens: count(room / all).min(most),
            kept: a.layers,
        };
    }
    let left = room.saturating_sub(enough as u64 * alone);
    let kept = count(left / (enough as u64 * block)).min(a.layers - 1);
    AtOnce {
        tokens: count(room / alone).clamp(1, enough),
        kept,
    }
}

/// Half of a number, half of that, and so on, down to `least`.
fn halves(number: usize, least: usize) -> impl Iterator<Item = usize> {
    let half = move |n: &usize| Some(n / 2).filter(|half| *half >= least);
    std::iter::successors(half(&number), half)
}

fn growing_bytes(shape: &Shape, slots: usize) -> Result<u64> {
    let parameters = Layout::new(shape)?.total as u64;
    let slots = slots as u64;
    let sequences = slots * sequence(&shape.architecture()?, shape.context, 1_000_000);
    Ok(4 * (parameters * (4 + slots) + sequences))
}

impl Estimate {
    /// Of growing a model, `slots` sequences at a time.
    pub fn growing(shape: &Shape, slots: usize) -> Result<Self> {
        let mut smaller = Vec::new();
        for fewer in halves(slots, 1) {
            smaller.push((format!("slots = {fewer}"), growing_bytes(shape, fewer)?));
        }
        for context in halves(shape.context, 33) {
            let short = Shape {
                context,
                ..shape.clone()
            };
            let what = format!("slots = 1 and context = {context}");
            smaller.push((what, growing_bytes(&short, 1)?));
        }
        Ok(Self {
            bytes: growing_bytes(shape, slots)?,
            smaller,
        })
    }

    /// Of tuning adapters of `trained` numbers on packs of `tokens` tokens, `slots` at a time, on a base
    /// that takes this many bytes.
    pub fn tuning(
        a: &Architecture,
        base: u64,
        trained: usize,
        (tokens, slots): (usize, usize),
    ) -> Self {
        let need = |tokens: usize, slots: usize| {
            base + 4
                * (trained as u64 * (3 + slots as u64)
                    + slots as u64 * sequence(a, tokens, logits(a, tokens)))
        };
        let fewer = halves(slots, 1).map(|fewer| (format!("slots = {fewer}"), need(tokens, fewer)));
        let shorter = halves(tokens, 64)
            .map(|short| (format!("slots = 1 and pack = {short}"), need(short, 1)));
        let smaller = fewer.chain(shorter).collect();
        Self {
            bytes: need(tokens, slots),
            smaller,
        }
    }

    /// Of a run whose batches are computed on a GPU: the machine keeps the numbers of the model, of
    /// what is trained and of its moments.
    pub fn beside_gpu(base: usize, trained: usize) -> Self {
        Self {
            bytes: 4 * (2 * base as u64 + 4 * trained as u64),
            smaller: Vec::new(),
        }
    }

    /// The estimate, or an error that names settings that would fit.
    pub fn check(&self, limit: Option<u64>) -> Result<u64> {
        let Some(limit) = limit.or_else(available_memory) else {
            return Ok(self.bytes);
        };
        if self.bytes <= limit {
            return Ok(self.bytes);
        }
        let remedy = match self.smaller.iter().find(|(_, bytes)| *bytes <= limit) {
            Some((settings, bytes)) => format!("{settings} would fit ({} MB)", bytes.div_ceil(MB)),
            None => {
                let least = self.smaller.last().map_or(self.bytes, |(_, bytes)| *bytes);
                format!(
                    "the smallest settings need {} MB: a smaller model is needed",
                    least.div_ceil(MB)
                )
            }
        };
        Err(TrainError::Memory {
            needed_mb: self.bytes.div_ceil(MB),
            limit_mb: limit / MB,
            remedy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grow::{GrowSettings, Size};

    #[cfg(feature = "cuda")]
    fn llama(hidden: usize, layers: usize, heads: usize, inner: usize) -> Architecture {
        Architecture::resolve(&serde_json::json!({
            "model_type": "llama", "vocab_size": 32_000, "hidden_size": hidden,
            "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads,
            "intermediate_size": inner, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
            "hidden_act": "silu",
        }))
        .expect("an architecture")
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn a_7b_shape_is_tuned_on_an_h200_without_computing_anything_twice() {
        let a = llama(4096, 32, 32, 11_008);
        let weights = 2 * 6_738_000_000u64;
        let free = 139 * (1u64 << 30) - weights;
        let plan = at_once(&a, 8, 2, (free, 512));
        assert_eq!(plan.kept, 32);
        assert!((8_192..=32_768).contains(&plan.tokens), "{plan:?}");
        let (alone, block) = token_bytes(&a, 8, 2);
        let needed = (alone + 31 * block) * plan.tokens as u64;
        assert!(needed < free, "{needed} {free}");
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn small_memory_recomputes_blocks_before_it_takes_fewer_tokens() {
        let a = llama(4096, 32, 32, 11_008);
        let of = |gib: u64| at_once(&a, 8, 2, (gib << 30, 512));
        let (roomy, tight, tiny) = (of(40), of(20), of(4));
        assert_eq!(roomy.tokens, 8_192);
        assert!(0 < tight.kept && tight.kept < roomy.kept && roomy.kept < 32);
        assert_eq!(tight.tokens, 8_192);
        assert!(tiny.kept == 0 && tiny.tokens < 8_192, "{tiny:?}");
        // Long texts are taken whole where they fit at all.
        assert_eq!(at_once(&a, 8, 2, (60 << 30, 30_000)).tokens, 30_000);
        let small = llama(512, 6, 8, 1376);
        assert_eq!(at_once(&small, 8, 2, (100 << 30, 512)).tokens, 32_768);
        assert_eq!(at_once(&small, 8, 4, (100 << 30, 512)).tokens, 65_536);
    }

    #[test]
    fn too_little_memory_is_an_error_that_names_what_fits() {
        let size = Size::named("micro").expect("a size");
        let shape = size.shape(size.vocabulary);
        let settings = GrowSettings::new("x".into(), size, 10);
        let estimate = Estimate::growing(&shape, settings.course.slots()).expect("an estimate");
        let error = estimate
            .check(Some(estimate.bytes / 3))
            .expect_err("too little")
            .to_string();
        assert!(
            error.contains("slots = ") && error.contains("would fit"),
            "{error}"
        );
        assert!(estimate.check(Some(estimate.bytes)).is_ok());
        let error = estimate
            .check(Some(1000))
            .expect_err("far too little")
            .to_string();
        assert!(error.contains("smaller model"), "{error}");
    }
}
