//! Matrix multiplication, float32 or bfloat16 with float32 sums: by cuBLASLt where it is found, by a plain
//! kernel of our own where not.

use mary_cuda::{NumberType, Places, args};

use super::call::{Call, Shared, alignment};
use super::parts::pays;
use super::{Done, Gpu, TRAIN, int};

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

impl Gpu {
    pub(super) fn matmul(&self, call: &Call) -> Done {
        let (rows, inner, columns) = call.size;
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        if call.shared != Some(Shared::Second) {
            self.scratch.borrow_mut().forget();
        }
        let single = call.kinds == (NumberType::Single, NumberType::Single);
        let mut call = *call;
        if self.how == Multiply::Split && single && pays(&call) {
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
