//! What is known of a base that nothing changes any more, and what multiplies with it.

use super::layout::Layout;
use super::matmul::Unit;
use super::stored::{Matrix, Stored};
use mary_kernels::packed::{self, Tiles};
use std::ops::Range;

/// A base that is not trained: the tile unit multiplies with it where the processor has one.
///
/// A base in training is multiplied with vectors: the same seed grows the same model on processors with and
/// without tiles.
pub struct Frozen {
    pub(super) unit: Unit,
    /// By the index of the linear layer.
    linears: Vec<Weight>,
    pub(super) head: Weight,
}

/// A matrix as the tile unit wants it.
pub(super) struct Weight {
    /// Bfloat16 numbers that hold one of its own.
    pub(super) planes: usize,
    /// Split once for both passes, where there is memory for it. The products have the same bits.
    split: Option<(Tiles, Tiles)>,
}

impl Weight {
    const UNKNOWN: Self = Self {
        planes: 3,
        split: None,
    };

    pub(super) fn forward(&self) -> Option<&Tiles> {
        self.split.as_ref().map(|(forward, _)| forward)
    }

    pub(super) fn backward(&self) -> Option<&Tiles> {
        self.split.as_ref().map(|(_, backward)| backward)
    }

    #[cfg(target_arch = "x86_64")]
    fn new(numbers: &[f32], inputs: usize, keep: bool) -> Self {
        let (outputs, planes) = (numbers.len() / inputs.max(1), packed::planes(numbers));
        let both = || {
            let turned = packed::Factor::turned(numbers, inputs);
            let rows = packed::Factor::rows(numbers, inputs);
            (
                Tiles::split(turned, (inputs, outputs), planes),
                Tiles::split(rows, (outputs, inputs), planes),
            )
        };
        Self {
            planes,
            split: keep.then(both),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn new(_numbers: &[f32], _inputs: usize, _keep: bool) -> Self {
        Self::UNKNOWN
    }
}

impl Frozen {
    /// Looks at the matrices of a base; `keep` says whether they may be kept split for the tile unit, which
    /// takes four bytes a number for each bfloat16 number that holds it.
    pub fn new(layout: &Layout, base: &[f32], stored: Option<&Stored>, keep: bool) -> Self {
        let unit = Unit::best();
        let weight = |matrix: Option<&Matrix>, place: &Range<usize>, inputs: usize| match matrix {
            // Where vectors multiply, nobody asks.
            _ if unit == Unit::Vectors => Weight::UNKNOWN,
            None => Weight::new(&base[place.clone()], inputs, keep),
            Some(matrix) if keep => Weight::new(&matrix.all(), inputs, true),
            Some(matrix) => Weight {
                planes: matrix.planes(),
                split: None,
            },
        };
        let mut linears: Vec<_> = layout.blocks.iter().flat_map(|b| b.linears()).collect();
        linears.sort_by_key(|linear| linear.index);
        let linears = linears.iter().map(|linear| {
            let matrix = stored.and_then(|s| s.matrices.get(linear.index));
            weight(matrix, &linear.weight, linear.inputs)
        });
        let width = layout.final_norm.weight.len();
        Self {
            unit,
            linears: linears.collect(),
            head: weight(stored.map(Stored::head), &layout.head, width),
        }
    }

    /// Whether matrix multiplication wants the transpose of the base beside it.
    pub(crate) fn wants_transpose() -> bool {
        Unit::best() == Unit::Vectors
    }

    pub(super) fn linear(&self, index: usize) -> &Weight {
        self.linears.get(index).unwrap_or(&Weight::UNKNOWN)
    }
}
