//! Numbers as checkpoints store them.

use mary_weights::{TensorType, unpack_blocks};

use super::simd;

/// Stored numbers as they are computed with, converted with the widest instructions.
pub fn numbers(kind: TensorType, bytes: &[u8], out: &mut [f32]) {
    simd::dispatch(
        #[inline(always)]
        || unpack_blocks(kind, bytes, out),
    );
}
