//! How much memory a model will take, and whether the machine has it, before anything is loaded.

use mary_contract::{ErrorKind, ModelError};
use mary_weights::{Checkpoint, TensorInfo, TensorType};

use crate::errors::Result;
use crate::kernels::cpu::matmul::Multiplier;
use crate::kernels::cpu::quant::Blocks;
use crate::precision::Precision;

/// Bytes that weights take once loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// At least.
    pub weights: u64,
    /// Those of them that belong to blocks, which need not all be in memory at once.
    pub blocks: u64,
    /// More, when quantised weights also stay unpacked.
    pub unpacked: u64,
}

pub fn estimate(checkpoint: &Checkpoint, precision: Precision, how: Multiplier) -> Estimate {
    sum(checkpoint, |name, info, numbers| {
        let (mut weights, unpacked) = per_tensor(info, numbers, precision, how);
        // The embedding is also kept for looking tokens up; in blocks, one copy serves both.
        let blocks = Blocks::supports(info.dtype) && precision == Precision::Single;
        if !blocks && (name.contains("embed") || name.contains("wte")) {
            weights += numbers * 4;
        }
        // An encoder and its decoder have one each, and share the head.
        if !blocks && name == "shared.weight" {
            weights += numbers * 8;
        }
        (weights, unpacked)
    })
}

/// The same on a GPU, which unpacks quantised weights: two bytes a number, or three times two where all 32 bits count.
#[cfg(feature = "cuda")]
pub fn estimate_gpu(checkpoint: &Checkpoint, precision: Precision) -> Estimate {
    sum(checkpoint, |_, info, numbers| {
        let short = precision != Precision::Single || info.dtype == TensorType::BF16;
        (numbers * if short { 2 } else { 6 }, 0)
    })
}

fn sum(
    checkpoint: &Checkpoint,
    per_tensor: impl Fn(&str, &TensorInfo, u64) -> (u64, u64),
) -> Estimate {
    let mut sum = Estimate::default();
    for name in checkpoint.tensor_names() {
        let info = checkpoint.info(name);
        let Some((info, numbers)) = info.and_then(|i| Some((i, i.numbers()?))) else {
            continue;
        };
        let (weights, unpacked) = per_tensor(name, info, numbers as u64);
        sum.weights += weights;
        sum.unpacked += unpacked;
        // Tensors of blocks have the block's number in their names.
        if name.split('.').any(|part| part.parse::<u32>().is_ok()) {
            sum.blocks += weights;
        }
    }
    sum
}

/// How many of a model's blocks stay in memory where all have no room, and how much is left for texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub held: usize,
    /// Bytes for the residual streams of a window's texts, and for what is computed of them at a time.
    pub texts: u64,
}

impl Layout {
    pub fn streams(&self) -> u64 {
        self.texts / 3 * 2
    }
}

/// Bytes below which a window of texts would be too small to be worth a pass over the weights.
const FEWEST_BYTES: u64 = 64 << 20;
/// Tokens of a window, where there is room: with fewer, fetching a block may take longer than computing with it.
const WINDOW: u64 = 1 << 17;

/// Where not even the vocabulary, two blocks and a small window fit, the bytes that these take. One block computes while
/// the next is fetched; texts come before blocks that stay.
pub fn layout(of: &Estimate, (layers, hidden): (usize, usize), room: u64) -> Result<Layout, u64> {
    let block = of.blocks.div_ceil(layers.max(1) as u64).max(1);
    let fixed = of.weights - of.blocks + 2 * block;
    let least = fixed + FEWEST_BYTES;
    let left = room.checked_sub(fixed).filter(|&b| b >= FEWEST_BYTES);
    let left = left.ok_or(least)?;
    let texts = (left / 4 * 3).min(WINDOW * hidden as u64 * 4 / 2 * 3);
    let held = ((left - texts) / block).min(layers.saturating_sub(1) as u64);
    Ok(Layout {
        held: held as usize,
        texts,
    })
}

fn per_tensor(
    info: &TensorInfo,
    numbers: u64,
    precision: Precision,
    how: Multiplier,
) -> (u64, u64) {
    let plain = match (how, precision, info.dtype) {
        (Multiplier::Vectors, ..) => 4,
        (_, Precision::Bf16, _) | (_, _, TensorType::BF16) => 2,
        (_, Precision::F16, _) | (_, _, TensorType::F16) => 4,
        _ => 6,
    };
    if Blocks::supports(info.dtype) && precision == Precision::Single {
        let blocks = info.dtype.bytes_for(numbers as usize).unwrap_or(0) as u64;
        return (blocks, numbers * plain);
    }
    (numbers * plain, 0)
}

/// Refuses what does not fit into what is free, on a GPU for example.
pub fn compare(what: &str, needed: u64, free: Option<u64>) -> Result<()> {
    match free {
        Some(free) if needed > free => {
            let (needed, free) = (readable(needed), readable(free));
            let message = format!("{what} needs about {needed}; {free} are free");
            Err(ModelError::new(ErrorKind::OutOfMemory, message).hint(
                "take a smaller or quantised model, --dtype bf16, or a machine with more memory",
            ))
        }
        _ => Ok(()),
    }
}

pub fn readable(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use mary_platform::available_memory;

    use super::*;

    #[test]
    fn what_cannot_fit_is_refused_with_both_numbers() {
        if available_memory().is_none() {
            return;
        }
        let error = compare("the model", 1 << 60, available_memory()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::OutOfMemory);
        assert!(
            error.message.contains("needs about 1152921504.6 GB"),
            "{error}"
        );
        assert!(compare("a byte", 1, available_memory()).is_ok());
    }

    #[test]
    fn what_has_no_room_is_held_in_part_and_too_little_room_is_refused() {
        let model = Estimate {
            weights: 14 << 30,
            blocks: 13 << 30,
            unpacked: 0,
        };
        let fit = |room| layout(&model, (26, 4096), room);
        // One GiB outside the blocks, two blocks of half a GiB, and three quarters of two GiB for texts.
        let layout = fit(4 << 30).unwrap();
        assert_eq!((layout.held, layout.texts), (1, 3 << 29));
        assert_eq!(fit((2 << 30) + 100), Err((2 << 30) + FEWEST_BYTES));
        // A window needs no more, and the rest goes to blocks; one is fetched whatever there is.
        let texts = WINDOW * 4096 * 6;
        assert_eq!(fit(10 << 30).unwrap(), Layout { held: 10, texts });
        assert_eq!(fit(100 << 30).unwrap().held, 25);
    }
}
