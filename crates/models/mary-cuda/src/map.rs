//! What the copy engine of Hopper GPUs is told of a matrix, so that a kernel can ask for a tile of it.

use mary_contract::{ErrorKind, ModelError};

use crate::{Device, NumberType};

#[repr(C, align(64))]
#[derive(Debug, Clone, Copy)]
pub struct Map([u64; 16]);

#[derive(Debug, Clone, Copy)]
pub struct Matrix {
    /// Its place on the GPU, a multiple of sixteen.
    pub at: u64,
    /// Its type; 16 bits.
    pub kind: NumberType,
    pub rows: usize,
    /// Numbers in a row, a multiple of eight.
    pub width: usize,
}

impl Device {
    /// Tiles have so many rows, are 64 numbers wide and laid out for the matrix units.
    pub fn map(&self, of: Matrix, tile_rows: usize) -> Result<Map, ModelError> {
        const SWIZZLED_128: i32 = 3;
        const WHOLE_LINES: i32 = 3;
        let kind = match of.kind {
            NumberType::F16 => 6,
            NumberType::Bf16 => 9,
            NumberType::Single => {
                let message = "tiles of 32-bit numbers are not fetched".to_owned();
                return Err(ModelError::new(ErrorKind::Internal, message));
            }
        };
        let size = [of.width as u64, of.rows as u64];
        let step = [of.width as u64 * 2];
        let tile = [64u32, u32::try_from(tile_rows).unwrap_or(u32::MAX)];
        let each = [1u32, 1];
        let mut map = Map([0; 16]);
        // SAFETY: the driver writes 128 bytes to a place of that size and alignment, and reads two numbers
        // of each list (one step: rows); it does not look at the matrix.
        let code = unsafe {
            (self.api.tensor_map)(
                (&raw mut map).cast(),
                kind,
                2,
                of.at,
                size.as_ptr(),
                step.as_ptr(),
                tile.as_ptr(),
                each.as_ptr(),
                0,
                SWIZZLED_128,
                WHOLE_LINES,
                0,
            )
        };
        self.check(code, "describing a matrix to the copy engine")?;
        Ok(map)
    }
}
