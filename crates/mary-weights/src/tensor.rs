//! What a tensor is: its shape and how its numbers are stored.

use std::fmt;

/// How the numbers of a tensor are stored. The quantised kinds are ggml's block formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the field's own")]
pub enum TensorType {
    F32,
    F16,
    BF16,
    F64,
    I8,
    U8,
    I16,
    I32,
    I64,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q8_1,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Q8K,
}

impl TensorType {
    /// Numbers in one block; 1 for plain types.
    pub fn block_len(self) -> usize {
        match self {
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 | Self::Q8_1 => 32,
            Self::Q2K | Self::Q3K | Self::Q4K | Self::Q5K | Self::Q6K | Self::Q8K => 256,
            _ => 1,
        }
    }

    /// Bytes of one block; of one number for plain types.
    pub fn block_bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q8_1 => 36,
            Self::Q2K => 84,
            Self::Q3K => 110,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
            Self::Q8K => 292,
        }
    }

    /// Whether the numbers are stored in ggml's blocks.
    pub fn is_quantised(self) -> bool {
        self.block_len() > 1
    }

    /// Bytes that this many numbers take; `None` when they do not fill whole blocks or the count
    /// overflows.
    pub fn bytes_for(self, numbers: usize) -> Option<usize> {
        let block = self.block_len();
        if !numbers.is_multiple_of(block) {
            return None;
        }
        (numbers / block).checked_mul(self.block_bytes())
    }

    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::BF16 => "BF16",
            Self::F64 => "F64",
            Self::I8 => "I8",
            Self::U8 => "U8",
            Self::I16 => "I16",
            Self::I32 => "I32",
            Self::I64 => "I64",
            Self::Q4_0 => "Q4_0",
            Self::Q4_1 => "Q4_1",
            Self::Q5_0 => "Q5_0",
            Self::Q5_1 => "Q5_1",
            Self::Q8_0 => "Q8_0",
            Self::Q8_1 => "Q8_1",
            Self::Q2K => "Q2_K",
            Self::Q3K => "Q3_K",
            Self::Q4K => "Q4_K",
            Self::Q5K => "Q5_K",
            Self::Q6K => "Q6_K",
            Self::Q8K => "Q8_K",
        }
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of a tensor from its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// In Hugging Face order: a linear layer's weight is `[out, in]` (GPT-2's `Conv1D` weights are
    /// `[in, out]`, as in its own checkpoints).
    pub shape: Vec<usize>,
    /// How the numbers are stored.
    pub dtype: TensorType,
}

impl TensorInfo {
    /// How many numbers it holds; `None` when that overflows.
    pub fn numbers(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }
}
