//! Memory of one batch on the GPU, kept from step to step.

use std::sync::Arc;

use super::Done;
use mary_cuda::{Device, Memory, NumberType};

/// At least this many bytes; what was there is lost when it grows.
pub(super) fn grow(device: &Arc<Device>, place: &mut Option<Memory>, bytes: usize) -> Done<u64> {
    if let Some(memory) = place
        && memory.bytes() >= bytes
    {
        return Ok(memory.at());
    }
    *place = None;
    let memory = device.alloc(bytes)?;
    let at = memory.at();
    *place = Some(memory);
    Ok(at)
}

#[derive(Default)]
pub(super) struct Buffer {
    memory: Option<Memory>,
}

impl Buffer {
    pub(super) fn singles(&mut self, device: &Arc<Device>, len: usize) -> Done<u64> {
        self.numbers(device, len, NumberType::Single)
    }

    pub(super) fn numbers(
        &mut self,
        device: &Arc<Device>,
        len: usize,
        kind: NumberType,
    ) -> Done<u64> {
        grow(device, &mut self.memory, len * kind.bytes())
    }

    /// Its address; 0 before it has one.
    pub(super) fn at(&self) -> u64 {
        self.memory.as_ref().map_or(0, Memory::at)
    }
}

/// What one block keeps for the backward pass.
#[derive(Default)]
pub(super) struct BlockBuffers {
    pub(super) normed1: Buffer,
    pub(super) moments1: Buffer,
    pub(super) qkv: Buffer,
    pub(super) log_sums: Buffer,
    pub(super) heads: Buffer,
    pub(super) middle: Buffer,
    pub(super) normed2: Buffer,
    pub(super) moments2: Buffer,
    pub(super) gate: Buffer,
    pub(super) up: Buffer,
    pub(super) active: Buffer,
}

#[derive(Default)]
pub(super) struct Buffers {
    /// The residual stream before every block.
    pub(super) inputs: Vec<Buffer>,
    /// What the blocks from `kept_from` on keep; those before it are computed again in the backward
    /// pass, one after the other in `spare`.
    pub(super) blocks: Vec<BlockBuffers>,
    pub(super) kept_from: usize,
    pub(super) spare: BlockBuffers,
    pub(super) low: LowRank,
    pub(super) stream: Buffer,
    pub(super) final_moments: Buffer,
    pub(super) final_normed: Buffer,
    pub(super) chosen: Buffer,
    pub(super) chosen_gradient: Buffer,
    pub(super) logits: Buffer,
    /// Gradients of the logits in 16 bits.
    pub(super) short_logits: Buffer,
    pub(super) losses: Buffer,
    pub(super) gradient: Buffer,
    pub(super) gradient_middle: Buffer,
    /// The two gradients of the residual stream again, in 16 bits.
    pub(super) short: Buffer,
    pub(super) short_middle: Buffer,
    pub(super) gradient_narrow: Buffer,
    pub(super) gradient_wide: Buffer,
    pub(super) gradient_gate: Buffer,
    pub(super) gradient_qkv: Buffer,
    pub(super) dots: Buffer,
}

/// Low-rank rows of every adapted layer, their gradients, what is dropped, and sums of columns.
#[derive(Default)]
pub(super) struct LowRank {
    pub(super) kept: Vec<Buffer>,
    pub(super) dropped: Buffer,
    pub(super) gradient: Buffer,
    pub(super) slabs: Buffer,
}

impl Buffers {
    /// The buffers of a block, to be put back.
    pub(super) fn take(&mut self, index: usize) -> BlockBuffers {
        match self.kept(index) {
            true => self.blocks.get_mut(index).map(std::mem::take),
            false => Some(std::mem::take(&mut self.spare)),
        }
        .unwrap_or_default()
    }

    pub(super) fn put(&mut self, index: usize, buffers: BlockBuffers) {
        if !self.kept(index) {
            self.spare = buffers;
        } else if let Some(place) = self.blocks.get_mut(index) {
            *place = buffers;
        }
    }

    pub(super) fn kept(&self, index: usize) -> bool {
        index >= self.kept_from
    }
}
