//! What a tensor is: its shape and how its numbers are stored.

pub use mary_kernels::TensorType;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// In Hugging Face order: a linear layer's weight is `[out, in]` (GPT-2's `Conv1D` weights are
    /// `[in, out]`, as in its own checkpoints).
    pub shape: Vec<usize>,
    pub dtype: TensorType,
}

impl TensorInfo {
    pub fn numbers(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }
}
