//! How much memory a model will take, and whether the machine has it, before anything is loaded.

use mary_contract::{ErrorKind, ModelError};
use mary_platform::available_memory;
use mary_weights::{Checkpoint, TensorInfo, TensorType};

use crate::kernels::cpu::matmul::Multiplier;
use crate::kernels::cpu::quant::Blocks;
use crate::precision::Precision;

/// Bytes that weights take once loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// At least.
    pub weights: u64,
    /// More, when quantised weights also stay unpacked.
    pub unpacked: u64,
}

pub fn estimate(checkpoint: &Checkpoint, precision: Precision, how: Multiplier) -> Estimate {
    let mut sum = Estimate::default();
    for name in checkpoint.tensor_names() {
        let info = checkpoint.info(name);
        let Some((info, numbers)) = info.and_then(|i| Some((i, i.numbers()?))) else {
            continue;
        };
        let (weights, unpacked) = per_tensor(info, numbers as u64, precision, how);
        sum.weights += weights;
        sum.unpacked += unpacked;
        // The embedding is also kept for looking tokens up; in blocks, one copy serves both.
        let blocks = Blocks::supports(info.dtype) && precision == Precision::Single;
        if !blocks && (name.contains("embed") || name.contains("wte")) {
            sum.weights += numbers as u64 * 4;
        }
    }
    sum
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

/// Refuses what does not fit into the memory of this machine.
pub fn check(what: &str, needed: u64) -> Result<(), ModelError> {
    compare(what, needed, available_memory())
}

/// Refuses what does not fit into what is free, on a GPU for example.
pub fn compare(what: &str, needed: u64, free: Option<u64>) -> Result<(), ModelError> {
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

fn readable(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_fit_is_refused_with_both_numbers() {
        if available_memory().is_none() {
            return;
        }
        let error = check("the model", 1 << 60).unwrap_err();
        assert_eq!(error.kind, ErrorKind::OutOfMemory);
        assert!(
            error.message.contains("needs about 1152921504.6 GB"),
            "{error}"
        );
        assert!(check("a byte", 1).is_ok());
    }
}
