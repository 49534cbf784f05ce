//! Matrix multiplication, float32 or bfloat16 with float32 sums: by cuBLASLt where it is found, by a plain
//! kernel of our own where not.

use mary_contract::ModelError;
use mary_cuda::{Factor, NumberType, Places, Product, args};

use super::{Gpu, TRAIN, int, parts};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Multiply {
    /// cuBLASLt in float32 where it is found.
    Library,
    /// The same, and where it is faster on the matrix units: every number is the sum of three
    /// bfloat16s, and six products are summed in float32.
    #[default]
    Split,
    Own,
}

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

    /// Says that the left factor is that of the next call, or of the one before.
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

#[repr(C)]
#[derive(Clone, Copy)]
struct Shape {
    rows: i32,
    columns: i32,
    inner: i32,
    left_step: i32,
    right_step: i32,
    step: i32,
    left_turned: i32,
    right_turned: i32,
    add: i32,
    scale: f32,
}

/// The largest power of two up to 256 that divides all addresses.
pub(super) fn alignment(addresses: &[u64]) -> u32 {
    let all = addresses.iter().fold(256, |all, at| all | at);
    1 << all.trailing_zeros()
}

impl Gpu {
    pub(super) fn matmul(&self, call: &Call) -> Result<(), ModelError> {
        let (rows, inner, columns) = call.size;
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        if call.shared != Some(Shared::Second) {
            self.scratch.borrow_mut().forget();
        }
        let single = call.kinds == (NumberType::Single, NumberType::Single);
        let mut call = *call;
        if self.how == Multiply::Split && single && parts::pays(&call) {
            if call.add && call.from != call.out.0 {
                // Six products add to what is there: it has to be there first.
                self.device
                    .copy(call.from, call.out.0, rows * call.out.1 * 4)?;
                call.from = call.out.0;
            }
            if self.by_parts(&call)? {
                return Ok(());
            }
        }
        let call = &call;
        if self.by_library(call) {
            return Ok(());
        }
        let shape = Shape {
            rows: int(rows),
            columns: int(columns),
            inner: int(inner),
            left_step: int(call.left.factor.step),
            right_step: int(call.right.factor.step),
            step: int(call.out.1),
            left_turned: i32::from(call.left.factor.transposed),
            right_turned: i32::from(call.right.factor.transposed),
            add: i32::from(call.add),
            scale: call.scale,
        };
        let (left, right, bias, out) = (call.left.at, call.right.at, call.bias, call.out.0);
        let from = call.from;
        let name = match call.kinds {
            (NumberType::Single, _) => "product",
            (_, NumberType::Single) => "product_bs",
            _ => "product_bb",
        };
        let grid = (columns.div_ceil(64), rows.div_ceil(64));
        let words = args![left, right, bias, from, out, shape];
        self.device.launch((TRAIN, name), grid, 256, 0, words)
    }

    /// By the library in the types that are there; false where it is not found or does not take this
    /// product.
    fn by_library(&self, call: &Call) -> bool {
        let Some(blas) = &self.blas else { return false };
        let places = Places {
            left: call.left.at,
            right: call.right.at,
            bias: call.bias,
            from: call.from,
            out: call.out.0,
            scale: call.scale,
        };
        let Places {
            left, right, bias, ..
        } = places;
        let aligned = alignment(&[left, right, bias, places.from, places.out]);
        let steps = call.left.factor.step | call.right.factor.step | call.out.1;
        // In float32 the plain kernel is as good for rows that do not lie well; in 16 bits it is not.
        if call.kinds.0 == NumberType::Single && (aligned < 16 || !steps.is_multiple_of(4)) {
            return false;
        }
        let factors = (call.left.factor, call.right.factor);
        blas.multiply(call.product(factors, call.kinds.0, aligned), places)
    }
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
