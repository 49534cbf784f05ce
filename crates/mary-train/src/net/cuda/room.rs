//! Memory of one batch on the GPU, kept from step to step.

use std::sync::Arc;

use mary_contract::ModelError;
use mary_cuda::{Device, Kind, Memory};

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

    /// Room for `len` numbers of a type.
    pub(super) fn of(
        &mut self,
        device: &Arc<Device>,
        len: usize,
        kind: Kind,
    ) -> Result<u64, ModelError> {
        grow(device, &mut self.memory, len * kind.bytes())
    }

    /// Its address; 0 before it has one.
    pub(super) fn at(&self) -> u64 {
        self.memory.as_ref().map_or(0, Memory::at)
    }
}

/// What one block keeps for the backward pass.
#[derive(Default)]
pub(super) struct BlockRoom {
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
    /// The residual stream before every block.
    pub(super) inputs: Vec<Room>,
    /// What the blocks from `kept_from` on keep; those before it are computed again in the backward
    /// pass, one after the other in `spare`.
    pub(super) blocks: Vec<BlockRoom>,
    pub(super) kept_from: usize,
    pub(super) spare: BlockRoom,
    /// The low-rank rows of every adapted layer.
    pub(super) low_rank: Vec<Room>,
    pub(super) stream: Room,
    pub(super) final_moments: Room,
    pub(super) final_normed: Room,
    pub(super) chosen: Room,
    pub(super) chosen_slope: Room,
    pub(super) logits: Room,
    /// Slopes of the logits in 16 bits.
    pub(super) short_logits: Room,
    pub(super) losses: Room,
    pub(super) slope: Room,
    pub(super) slope_middle: Room,
    /// The two slopes of the residual stream again, in 16 bits.
    pub(super) short: Room,
    pub(super) short_middle: Room,
    pub(super) slope_narrow: Room,
    pub(super) slope_wide: Room,
    pub(super) slope_gate: Room,
    pub(super) slope_qkv: Room,
    pub(super) slope_low: Room,
    pub(super) dropped: Room,
    pub(super) dots: Room,
    pub(super) slabs: Room,
}

impl Rooms {
    /// The room of a block, to be put back.
    pub(super) fn take(&mut self, index: usize) -> BlockRoom {
        match self.kept(index) {
            true => self.blocks.get_mut(index).map(std::mem::take),
            false => Some(std::mem::take(&mut self.spare)),
        }
        .unwrap_or_default()
    }

    pub(super) fn put(&mut self, index: usize, room: BlockRoom) {
        if !self.kept(index) {
            self.spare = room;
        } else if let Some(place) = self.blocks.get_mut(index) {
            *place = room;
        }
    }

    /// Whether a block keeps what its backward pass needs.
    pub(super) fn kept(&self, index: usize) -> bool {
        index >= self.kept_from
    }
}
