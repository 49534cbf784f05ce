//! Training on an NVIDIA GPU: the same transformer, forward and backward.
//!
//! A base that is stored in 16 bits or in blocks lies there in bfloat16 (`matrices`), and matrix multiplication is of
//! bfloat16s with float32 sums; adapters, their gradients and moments, the residual stream and its gradient
//! stay float32. Otherwise everything is float32. One pass does both.
//!
//! Parameters, moments, gradients and everything kept for the backward pass live on the GPU; tokens go
//! over, the loss and the gradient's norm come back. All sequences of a step are computed as one
//! packed batch, or as few as the GPU's memory needs. Sums are taken in a fixed order: the same
//! step gives the same bits each time on the same kind of GPU.

mod attention;
mod batch;
mod buffers;
mod call;
// Test code that needs the module's inside: in no program that is shipped.
#[cfg(feature = "checks")]
#[path = "../../../tests/checks/gpu_trials.rs"]
pub mod check;
mod linear;
mod matmul;
mod matrices;
mod parts;
mod pass;
#[cfg(feature = "checks")]
#[path = "../../../tests/checks/gpu_kernels.rs"]
mod reference;
mod rows;
mod trainer;

pub use matmul::Multiply;
pub(crate) use trainer::GpuTrainer;

use std::cell::RefCell;
use std::sync::Arc;

use mary_contract::ModelError;
use mary_cuda::{Blas, Device, Lender, NumberType, Parts};

/// What the GPU gives, or why not.
type Done<T = ()> = Result<T, ModelError>;

const PARTS: Parts = Parts(&[
    (TRAIN, include_bytes!("ptx/train.ptx.gz")),
    (ATTENTION, include_bytes!("ptx/attention.ptx.gz")),
    (ATTENTION16, include_bytes!("ptx/attention16.ptx.gz")),
]);
const TRAIN: &str = "train";
const ATTENTION: &str = "attention";
const ATTENTION16: &str = "attention16";

pub(crate) struct Gpu {
    device: Arc<Device>,
    blas: Option<Blas>,
    how: Multiply,
    lender: Arc<Lender>,
    scratch: RefCell<parts::Scratch>,
}

impl Gpu {
    pub(crate) fn open(number: usize, how: Multiply) -> Done<Self> {
        let device = Device::open(number, PARTS)?;
        // Workstation GPUs have few matrix units: there six multiplications take longer than one.
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

    fn forget(&self) {
        *self.scratch.borrow_mut() = parts::Scratch::default();
    }

    /// The GPU and how it multiplies numbers of a type, in words.
    pub(crate) fn describe(&self, kind: NumberType) -> String {
        let how = match (&self.blas, self.how, kind) {
            (None, ..) => "own kernels",
            (Some(_), Multiply::Split, NumberType::Single) => {
                "cuBLASLt, three bfloat16 parts where that is faster"
            }
            (Some(_), ..) => "cuBLASLt",
        };
        let numbers = match kind {
            NumberType::Single => "float32",
            _ => "bfloat16 with float32 sums",
        };
        let (major, minor) = self.device.capability;
        format!(
            "{}, compute capability {major}.{minor}, {numbers}, {how}",
            self.device.name
        )
    }
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

impl super::Net {
    /// What the GPU's pass lacks for this architecture, if anything.
    pub(crate) fn beyond_gpu(&self) -> Option<&'static str> {
        use mary_weights::architecture::config::{Activation, Block, QkNorm};
        let a = &self.architecture;
        let known = match (a.mlp.gated, a.mlp.activation) {
            (true, kind) => kind == Activation::Silu,
            (false, kind) => matches!(kind, Activation::Gelu | Activation::GeluTanh),
        };
        let fused = a.mlp.gated && self.layout.blocks.iter().any(|b| b.gate.is_none());
        let window = |w: Option<usize>| w.is_some_and(|w| w < self.longest);
        let scale = (a.head_dim as f32).sqrt().recip();
        let first = a.kinds.first().and_then(|k| k.rope);
        Some(match a.block {
            Block::PostNorm | Block::Sandwich | Block::OutputNorm => "norms of what is added",
            _ if a.norm.unit_offset => "norms stored as their distance from one",
            _ if a.attention.qk_norm != QkNorm::None => "norms of queries and keys",
            _ if a.attention.soft_cap.is_some() || a.logit_cap.is_some() => "squashed scores",
            _ if a.attention.scale != scale => "other factors on the scores",
            _ if a.kinds.iter().any(|k| window(k.window)) => "windows of attention",
            _ if first.is_none() || a.kinds.iter().any(|k| k.rope != first) => {
                "other positions than one rotary embedding"
            }
            _ if a.embedding.position_offset.is_some() => "learned positions",
            _ if a.embedding.scale != 1.0 => "scaled embeddings",
            _ if self.layout.head_bias.is_some() => "bias of the head",
            _ if self.joint.grouped && self.joint.group() > 1 => "shared keys among fused rows",
            _ if !known || fused => "such a feed-forward part",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    /// The embedded kernels were compiled from the source that is there.
    #[test]
    fn kernels_come_from_their_source() {
        let sources = [
            include_str!("train.cu"),
            include_str!("attention.cu"),
            include_str!("attention16.cu"),
        ];
        for (part, source) in super::PARTS.0.chunks(1).zip(sources) {
            let source = source
                .replace("#include \"numbers.cuh\"\n", include_str!("numbers.cuh"))
                .replace("#include \"heads.cuh\"\n", include_str!("heads.cuh"));
            let stale = mary_cuda::Parts(part).stale(&[source.as_bytes()]);
            assert_eq!(stale, None, "run tools/compile_cuda_kernels.py");
        }
    }
}
