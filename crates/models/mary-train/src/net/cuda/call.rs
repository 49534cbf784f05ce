//! A matrix multiplication as it is asked for.

use mary_cuda::{Factor, NumberType, Product};

#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) at: u64,
    pub(super) factor: Factor,
}

impl View {
    pub(super) fn rows(at: u64, step: usize) -> Self {
        Self {
            at,
            factor: Factor::rows(step),
        }
    }

    /// Rows that are columns of the factor.
    pub(super) fn turned(at: u64, step: usize) -> Self {
        Self {
            at,
            factor: Factor::transposed(step),
        }
    }
}

/// `out (rows × columns) = scale · left (rows × inner) · right (inner × columns)`, with a bias added
/// to every row where there is one, added to what is there where `add` says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) size: (usize, usize, usize),
    pub(super) left: View,
    pub(super) right: View,
    pub(super) bias: u64,
    pub(super) scale: f32,
    pub(super) out: (u64, usize),
    /// What it is added to, where `add` says so: a matrix that lies like the output.
    pub(super) from: u64,
    pub(super) add: bool,
    /// Types of the factors and of the output.
    pub(super) kinds: (NumberType, NumberType),
    /// The left factor's numbers are those of the call before or after this one.
    pub(super) shared: Option<Shared>,
}

/// Two calls in a row whose left factor is the same memory, turned or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shared {
    First,
    Second,
}

impl Call {
    /// A plain product of this size: rows, inner, columns.
    pub(super) fn new(
        size: (usize, usize, usize),
        left: View,
        right: View,
        out: (u64, usize),
    ) -> Self {
        Self {
            size,
            left,
            right,
            bias: 0,
            scale: 1.0,
            out,
            from: out.0,
            add: false,
            kinds: (NumberType::Single, NumberType::Single),
            shared: None,
        }
    }

    pub(super) fn adding(mut self, add: bool) -> Self {
        self.add = add;
        self
    }

    /// Adds to a matrix that lies like the output.
    pub(super) fn adding_to(mut self, from: u64) -> Self {
        (self.add, self.from) = (true, from);
        self
    }

    pub(super) fn typed(mut self, factors: NumberType, out: NumberType) -> Self {
        self.kinds = (factors, out);
        self
    }

    pub(super) fn sharing(mut self, shared: Shared) -> Self {
        self.shared = Some(shared);
        self
    }

    pub(super) fn scaled(mut self, scale: f32) -> Self {
        self.scale = scale;
        self
    }

    /// Adds a bias to every row; 0 is none.
    pub(super) fn with_bias(mut self, bias: u64) -> Self {
        self.bias = bias;
        self
    }

    pub(super) fn product(
        &self,
        (left, right): (Factor, Factor),
        kind: NumberType,
        aligned: u32,
    ) -> Product {
        let (rows, inner, columns) = self.size;
        Product {
            rows,
            columns,
            inner,
            left,
            right,
            step: self.out.1,
            kind,
            out: self.kinds.1,
            bias: self.bias != 0,
            add: self.add,
            aligned,
        }
    }
}

/// The largest power of two up to 256 that divides all addresses.
pub(super) fn alignment(addresses: &[u64]) -> u32 {
    let all = addresses.iter().fold(256, |all, at| all | at);
    1 << all.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::alignment;

    #[test]
    fn addresses_are_aligned_as_the_least_of_them() {
        assert_eq!(alignment(&[4096, 512, 0]), 256);
        assert_eq!(alignment(&[4096, 528, 0]), 16);
        assert_eq!(alignment(&[4096, 4100]), 4);
    }
}
