//! What is known of a base that nothing changes any more, and who multiplies with it.

use super::layout::Layout;
use super::matmul::Unit;
use super::stored::Stored;
use mary_products::amx;
use rayon::prelude::*;

/// A base that is not trained: its products are the tile unit's where the processor has one.
///
/// A base in training is multiplied with vectors: the same seed grows the same model on processors with and
/// without tiles.
#[derive(Debug, Clone)]
pub struct Frozen {
    unit: Unit,
    /// Bfloat16 numbers that hold one of each linear layer's, by its index.
    planes: Vec<usize>,
    head: usize,
}

impl Frozen {
    /// Looks at the matrices of a base.
    pub fn new(layout: &Layout, base: &[f32], stored: Option<&Stored>) -> Self {
        let unit = Unit::best();
        let mut linears: Vec<_> = layout.blocks.iter().flat_map(|b| b.linears()).collect();
        linears.sort_by_key(|linear| linear.index);
        // Where vectors multiply, nobody asks.
        let of = |numbers: &[f32]| match unit {
            Unit::Tiles => amx::planes(numbers),
            Unit::Vectors => 3,
        };
        Self {
            unit,
            planes: (linears.par_iter())
                .map(|linear| match stored.and_then(|s| s.matrix(linear.index)) {
                    Some(matrix) => matrix.planes(),
                    None => of(&base[linear.weight.clone()]),
                })
                .collect(),
            head: match stored {
                Some(stored) => stored.head().planes(),
                None => of(&base[layout.head.clone()]),
            },
        }
    }

    /// Whether products want the transpose of the base beside it.
    pub(crate) fn wants_transpose() -> bool {
        Unit::best() == Unit::Vectors
    }

    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    pub(super) fn planes(&self, linear: usize) -> usize {
        self.planes.get(linear).copied().unwrap_or(3)
    }

    pub(super) fn head(&self) -> usize {
        self.head
    }
}
