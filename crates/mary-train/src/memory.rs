//! How much memory a training run will take, said before it starts.

use mary_contract::available_memory;

use crate::TrainError;
use crate::grow::GrowSettings;
use crate::net::{Layout, Shape};
use mary_architecture::Architecture;

/// An estimate in bytes, with what would make it smaller.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// All of it.
    pub bytes: u64,
    /// Settings to try, each with the bytes it would need, dearest first.
    pub smaller: Vec<(String, u64)>,
}

const MB: u64 = 1_000_000;

/// Numbers one sequence of this many tokens keeps for the backward pass.
fn sequence(a: &Architecture, tokens: usize) -> u64 {
    let (heads, inner) = (a.q_width(), a.intermediate);
    let joint = heads + 2 * a.kv_width();
    let gates = if a.mlp.gated { 3 } else { 2 };
    let normed = usize::from(a.block == mary_architecture::config::Block::Sandwich);
    let block = (4 + 2 * normed) * a.hidden + joint + heads + a.heads + gates * inner;
    let passing = 8 * a.hidden + 2 * joint + 3 * inner + 2 * 64;
    let logits = 1_000_000.max(64 * a.vocab);
    (tokens * (a.layers * block + passing) + logits) as u64
}

/// Tokens a GPU with this much free memory computes at once: what 80 % of it holds, at most 65,536.
#[cfg(feature = "cuda")]
pub(crate) fn tokens_at_once(a: &Architecture, rank: usize, free: u64) -> usize {
    const MOST: usize = 65_536;
    let adapters = a.layers * 7 * rank + a.intermediate.max(a.hidden);
    let numbers = (sequence(a, 2) - sequence(a, 1)) + (adapters + a.q_width()) as u64;
    let logits = (1u64 << 27) * 4;
    let room = (free / 5 * 4).saturating_sub(logits);
    usize::try_from(room / (4 * numbers))
        .unwrap_or(MOST)
        .clamp(1, MOST)
}

fn growing_bytes(shape: &Shape, slots: usize) -> Result<u64, TrainError> {
    let parameters = Layout::new(shape)?.total as u64;
    let slots = slots as u64;
    let sequences = slots * sequence(&shape.architecture()?, shape.context);
    Ok(4 * (parameters * (4 + slots) + sequences))
}

impl Estimate {
    /// Of growing with these settings.
    pub fn growing(shape: &Shape, settings: &GrowSettings) -> Result<Self, TrainError> {
        let slots = settings.slots.min(settings.batch);
        let mut smaller = Vec::new();
        let mut fewer = slots / 2;
        while fewer >= 1 {
            smaller.push((format!("slots = {fewer}"), growing_bytes(shape, fewer)?));
            fewer /= 2;
        }
        let mut short = shape.clone();
        while short.context > 64 {
            short.context /= 2;
            smaller.push((
                format!("slots = 1 and context = {}", short.context),
                growing_bytes(&short, 1)?,
            ));
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
            base + 4 * (trained as u64 * (3 + slots as u64) + slots as u64 * sequence(a, tokens))
        };
        let mut smaller = Vec::new();
        let mut fewer = slots / 2;
        while fewer >= 1 {
            smaller.push((format!("slots = {fewer}"), need(tokens, fewer)));
            fewer /= 2;
        }
        let mut short = tokens / 2;
        while short >= 64 {
            smaller.push((format!("slots = 1 and pack = {short}"), need(short, 1)));
            short /= 2;
        }
        Self {
            bytes: need(tokens, slots),
            smaller,
        }
    }

    /// Of a run whose batches are computed on a GPU: the machine keeps the numbers of the model, of
    /// what is trained and of its moments.
    pub fn beside_card(base: usize, trained: usize) -> Self {
        Self {
            bytes: 4 * (2 * base as u64 + 4 * trained as u64),
            smaller: Vec::new(),
        }
    }

    /// The estimate, or an error that names settings that would fit.
    pub fn check(&self, limit: Option<u64>) -> Result<u64, TrainError> {
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
    use crate::grow::Size;

    #[test]
    fn too_little_memory_is_an_error_that_names_what_fits() {
        let size = Size::named("micro").expect("a size");
        let shape = size.shape(size.vocabulary);
        let settings = GrowSettings::new("x".into(), size, 10);
        let estimate = Estimate::growing(&shape, &settings).expect("an estimate");
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
