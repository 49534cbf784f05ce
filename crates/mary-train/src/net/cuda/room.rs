//! Memory of one batch on the GPU, kept from step to step.

use std::sync::Arc;

use mary_contract::ModelError;
use mary_cuda::{Device, Memory};

/// At least this many bytes; what was there is lost when it grows.
pub(super) fn grow(
    device: &Arc<Device>,
    place: &mut Option<Memory>,
    bytes: usize,
) -> Result<u64, ModelError> {
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

/// Rows of numbers.
#[derive(Default)]
pub(super) struct Room {
    memory: Option<Memory>,
}

impl Room {
    /// Room for `len` numbers.
    pub(super) fn size(&mut self, device: &Arc<Device>, len: usize) -> Result<u64, ModelError> {
        grow(device, &mut self.memory, len * 4)
    }

    /// Its address; 0 before it has one.
    pub(super) fn at(&self) -> u64 {
        self.memory.as_ref().map_or(0, Memory::at)
    }
}

/// What one block keeps for the backward pass.
#[derive(Default)]
pub(super) struct BlockRoom {
    pub(super) input: Room,
    pub(super) normed1: Room,
    pub(super) moments1: Room,
    pub(super) qkv: Room,
    pub(super) log_sums: Room,
    pub(super) heads: Room,
    pub(super) middle: Room,
    pub(super) normed2: Room,
    pub(super) moments2: Room,
    pub(super) gate: Room,
    pub(super) up: Room,
    pub(super) active: Room,
}

/// Room for one batch.
#[derive(Default)]
pub(super) struct Rooms {
    pub(super) blocks: Vec<BlockRoom>,
    /// The low-rank rows of every adapted layer.
    pub(super) low_rank: Vec<Room>,
    pub(super) stream: Room,
    pub(super) final_moments: Room,
    pub(super) final_normed: Room,
    pub(super) chosen: Room,
    pub(super) chosen_slope: Room,
    pub(super) logits: Room,
    pub(super) losses: Room,
    pub(super) slope: Room,
    pub(super) slope_middle: Room,
    pub(super) slope_narrow: Room,
    pub(super) slope_wide: Room,
    pub(super) slope_gate: Room,
    pub(super) slope_qkv: Room,
    pub(super) slope_low: Room,
    pub(super) dropped: Room,
    pub(super) dots: Room,
    pub(super) slabs: Room,
}
