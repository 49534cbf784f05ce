//! The matrices of the base on the GPU in bfloat16. Those that are stored so are sent as they lie in the
//! mapped file, through pinned buffers; others are rounded on the way. No copy in 32 bits is made.

use std::ops::Range;

use mary_cuda::{Memory, Uploader};

use super::{Done, Gpu};
use crate::net::layout::Linear;
use crate::net::stored::{Matrix, Stored};

pub(super) struct Matrices {
    /// By the index of the linear layer.
    linears: Vec<Memory>,
    embedding: Memory,
    head: Option<Memory>,
    /// The vectors again in 16 bits: a bias has the type of the rows it is added to.
    vectors: Memory,
}

impl Matrices {
    /// Sends matrices; `vectors` are the other numbers of the base, there already in 32 bits.
    pub(super) fn bring(gpu: &Gpu, stored: &Stored, (vectors, count): (u64, usize)) -> Done<Self> {
        let uploader = Uploader::default();
        let send = |matrix: &Matrix| -> Done<Memory> {
            let memory = gpu.device.alloc(2 * matrix.numbers())?;
            matrix.in_bf16(|first, bytes| {
                uploader.send(&gpu.device, bytes, memory.at() + first as u64)
            })?;
            Ok(memory)
        };
        let all = Self {
            linears: stored.matrices.iter().map(send).collect::<Result<_, _>>()?,
            embedding: send(&stored.embedding)?,
            head: stored.head.as_ref().map(send).transpose()?,
            vectors: gpu.device.alloc(2 * count)?,
        };
        gpu.round(vectors, all.vectors.at(), count)?;
        gpu.device.wait()?;
        Ok(all)
    }

    pub(super) fn linear(&self, linear: &Linear) -> u64 {
        self.linears.get(linear.index).map_or(0, Memory::at)
    }

    pub(super) fn embedding(&self) -> u64 {
        self.embedding.at()
    }

    pub(super) fn head(&self) -> u64 {
        self.head.as_ref().unwrap_or(&self.embedding).at()
    }

    pub(super) fn vector(&self, place: &Range<usize>) -> u64 {
        self.vectors.at() + place.start as u64 * 2
    }
}
