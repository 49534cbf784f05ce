//! Training on an NVIDIA GPU: the same transformer, forward and backward, in float32.
//!
//! Parameters, moments, gradients and everything kept for the backward pass live on the GPU; tokens go
//! over, the loss and the gradient's norm come back. All sequences of a step are computed as one
//! packed batch, or as few as the GPU's memory needs. Sums are taken in a fixed order: the same
//! step gives the same bits each time on the same kind of GPU.

mod attention;
mod batch;
#[cfg(feature = "checks")]
pub mod check;
mod linear;
mod parts;
mod pass;
mod products;
#[cfg(feature = "checks")]
mod reference;
mod room;
mod rows;
mod trainer;

pub use products::Multiply;
pub(crate) use trainer::{GpuTrainer, Start};

use std::cell::RefCell;
use std::sync::Arc;

use mary_contract::ModelError;
use mary_cuda::{Blas, Device, Lender, Parts};

/// The kernels, as they are embedded.
const PARTS: Parts = Parts(&[
    (TRAIN, include_bytes!("ptx/train.ptx.gz")),
    (ATTENTION, include_bytes!("ptx/attention.ptx.gz")),
]);
const TRAIN: &str = "train";
const ATTENTION: &str = "attention";

/// A GPU, how it multiplies, and what its copies need.
pub(crate) struct Gpu {
    device: Arc<Device>,
    blas: Option<Blas>,
    how: Multiply,
    lender: Arc<Lender>,
    scratch: RefCell<parts::Scratch>,
}

impl Gpu {
    /// Opens a GPU by its number.
    pub(crate) fn open(number: usize, how: Multiply) -> Result<Self, ModelError> {
        let device = Device::open(number, PARTS)?;
        // Workstation GPUs have few matrix units: there six products take longer than one.
        let many_units = matches!(device.capability, (8..=10, 0));
        let how = match how {
            Multiply::Split if !many_units => Multiply::Library,
            other => other,
        };
        let blas = match how {
            Multiply::Own => None,
            _ => Blas::find(&device),
        };
        Ok(Self {
            device,
            blas,
            how,
            lender: Arc::default(),
            scratch: RefCell::default(),
        })
    }

    /// The GPU and how it multiplies, in words.
    pub(crate) fn describe(&self) -> String {
        let how = match (&self.blas, self.how) {
            (None, _) => "own kernels",
            (Some(_), Multiply::Split) => "cuBLASLt, three bfloat16 parts where that is faster",
            (Some(_), _) => "cuBLASLt",
        };
        let (major, minor) = self.device.capability;
        format!(
            "{}, compute capability {major}.{minor}, float32, {how}",
            self.device.name
        )
    }
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    /// The embedded kernels were compiled from the source that is there.
    #[test]
    fn kernels_come_from_their_source() {
        let sources: [&[u8]; 2] = [include_bytes!("train.cu"), include_bytes!("attention.cu")];
        for (part, source) in super::PARTS.0.chunks(1).zip(sources) {
            let stale = mary_cuda::Parts(part).stale(source);
            assert_eq!(stale, None, "run tools/compile_cuda_kernels.py");
        }
    }
}
