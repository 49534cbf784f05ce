//! Float32 products on the matrix units: every number is the sum of three bfloat16s, and the six
//! largest of the nine products of parts are summed in float32.
//!
//! The matrix units cut off what they cannot keep while they add, so that the error of a sum grows with
//! its length. The product of the largest parts is therefore taken in chunks of the inner dimension
//! that are added up in float32; of the others only the first few bits count.
//!
//! The parts lie either one after the other along the inner dimension, so that one long product does
//! all six, or in three planes that six products take in pairs. The first writes the output once, the
//! second writes less for the factors; what moves fewer bytes is taken.

use mary_contract::{ErrorKind, ModelError};
use mary_cuda::{Factor, Memory, NumberType, Places, args};

use super::buffers::grow;
use super::call::{Call, Shared, View, alignment};
use super::{Done, Gpu, TRAIN, int};

#[derive(Default)]
pub(super) struct Scratch {
    left: Option<Memory>,
    right: Option<Memory>,
    /// The matrix whose planes lie in `left` for the next call: its address, rows and columns.
    of: Option<(u64, usize, usize)>,
}

impl Scratch {
    /// Nothing of the calls before can be used again.
    pub(super) fn forget(&mut self) {
        self.of = None;
    }
}

/// The parts of the two factors that are multiplied, least products first; the first parts are the
/// largest.
const PASSES: [(usize, usize); 6] = [(2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0)];

/// Numbers along the inner dimension that the matrix units add up at once.
const CHUNK: usize = 2048;
/// The longest inner dimension of one long product.
const LONGEST: usize = 2 * CHUNK;

/// Products a second in float32 and in bfloat16, and bytes moved a second, of a GPU of the Hopper
/// kind; only their ratios count.
const SINGLE: f64 = 50e12;
const SHORT: f64 = 650e12;
const MOVED: f64 = 3.2e12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartLayout {
    Long,
    Planes,
}

/// How the parts of this product should lie, and about how many bytes that moves: the split reads four
/// and writes six or twelve for each number, and six products read and write the output again.
fn lie(call: &Call) -> (PartLayout, f64) {
    let (m, k, n) = call.size;
    let (left, right, out) = ((m * k) as f64, (k * n) as f64, (m * n) as f64);
    let own = if call.shared.is_some() { 0.5 } else { 1.0 };
    let long = 20.0 * (left + right) + 4.0 * out;
    let planes = 12.0 * (own * left + right) + 30.0 * out;
    if call.shared.is_none() && k.is_multiple_of(8) && k <= LONGEST && long < planes {
        (PartLayout::Long, long)
    } else {
        (PartLayout::Planes, planes)
    }
}

/// Whether splitting numbers is faster than multiplying them as they are.
pub(super) fn pays(call: &Call) -> bool {
    let (m, k, n) = call.size;
    let products = 2.0 * m as f64 * k as f64 * n as f64;
    let saved = products / SINGLE - 6.0 * products / SHORT;
    m.min(k).min(n) >= 64 && saved > lie(call).1 / MOVED
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Splitting {
    quads: u64,
    row_step: u64,
    part_step: u64,
    step: i32,
    width: i32,
    wide: i32,
    parts: i32,
    order: u32,
}

/// A factor in parts: where, numbers from one row and from one part to the next.
#[derive(Debug, Clone, Copy)]
struct InParts {
    at: u64,
    row_step: usize,
    part_step: usize,
}

/// Which parts go where, two bits each.
fn order(parts: impl IntoIterator<Item = usize>) -> u32 {
    let places = parts.into_iter().enumerate();
    places.fold(0, |all, (place, part)| all | (part as u32) << (2 * place))
}

/// Rows and columns of a factor as it lies in memory, and whether the inner dimension goes along its
/// rows.
fn memory_of(view: View, (rows, columns): (usize, usize), left: bool) -> (usize, usize, bool) {
    match view.factor.transposed {
        true => (columns, rows, !left),
        false => (rows, columns, left),
    }
}

impl Gpu {
    /// By the library on numbers split in three; false where it does not take this product.
    pub(super) fn by_parts(&self, call: &Call) -> Done<bool> {
        if self.blas.is_none() {
            return Ok(false);
        }
        let (rows, inner, columns) = call.size;
        let (lie, _) = lie(call);
        let mut scratch = self.scratch.borrow_mut();
        let scratch = &mut *scratch;
        let split = |room: &mut Option<Memory>, view, size, left| {
            self.split(room, (view, memory_of(view, size, left)), (lie, left))
        };
        let (high, across, _) = memory_of(call.left, (rows, inner), true);
        let of = Some((call.left.at, high, across));
        let left = match &scratch.left {
            Some(memory) if call.shared == Some(Shared::Second) && scratch.of == of => {
                planes(memory.at(), high, across)
            }
            _ => split(&mut scratch.left, call.left, (rows, inner), true)?,
        };
        scratch.of = of.filter(|_| call.shared == Some(Shared::First));
        let right = split(&mut scratch.right, call.right, (inner, columns), false)?;
        match lie {
            PartLayout::Long => Ok(self.in_one(call, left, right)),
            PartLayout::Planes => self.in_six(call, left, right),
        }
    }

    fn factors(call: &Call, left: InParts, right: InParts) -> (Factor, Factor) {
        let factor = |parts: InParts, view: View| Factor {
            step: parts.row_step,
            transposed: view.factor.transposed,
        };
        (factor(left, call.left), factor(right, call.right))
    }

    fn in_one(&self, call: &Call, left: InParts, right: InParts) -> bool {
        let (rows, inner, columns) = call.size;
        let call = Call {
            size: (rows, 6 * inner, columns),
            ..*call
        };
        self.part(
            &call,
            Self::factors(&call, left, right),
            [left.at, right.at],
        )
    }

    /// One product of parts, from these places; false where there is no library that has it.
    fn part(&self, call: &Call, factors: (Factor, Factor), [left, right]: [u64; 2]) -> bool {
        let places = Places {
            left,
            right,
            bias: call.bias,
            from: call.out.0,
            out: call.out.0,
            scale: call.scale,
        };
        let aligned = alignment(&[left, right, places.bias, places.out]);
        let product = call.product(factors, NumberType::Bf16, aligned);
        let blas = self.blas.as_ref();
        blas.is_some_and(|blas| blas.multiply(product, places))
    }

    /// Products of planes: five whole ones, and that of the largest parts chunk by chunk.
    fn in_six(&self, call: &Call, left: InParts, right: InParts) -> Done<bool> {
        let (rows, inner, columns) = call.size;
        let chunks = inner.div_ceil(CHUNK);
        let whole = PASSES[..5].iter().map(|&pass| (pass, 0, inner));
        let last = (0..chunks).map(|i| {
            let first = i * CHUNK;
            ((0, 0), first, CHUNK.min(inner - first))
        });
        for (i, ((of_left, of_right), first, count)) in whole.chain(last).enumerate() {
            let pass = Call {
                size: (rows, count, columns),
                bias: if i + 1 == 5 + chunks { call.bias } else { 0 },
                add: call.add || i > 0,
                ..*call
            };
            // Along the inner dimension numbers are neighbours, or a row apart.
            let along = |parts: InParts, neighbours: bool| match neighbours {
                true => first,
                false => first * parts.row_step,
            };
            let (left_first, right_first) = (
                along(left, !call.left.factor.transposed),
                along(right, call.right.factor.transposed),
            );
            let places = [
                left.at + ((of_left * left.part_step + left_first) * 2) as u64,
                right.at + ((of_right * right.part_step + right_first) * 2) as u64,
            ];
            if !self.part(&pass, Self::factors(call, left, right), places) {
                if i == 0 {
                    return Ok(false);
                }
                let message = "cuBLASLt stopped in the middle of a product".to_owned();
                return Err(ModelError::new(ErrorKind::Internal, message));
            }
        }
        Ok(true)
    }

    fn split(
        &self,
        room: &mut Option<Memory>,
        (view, (high, across, inner_across)): (View, (usize, usize, bool)),
        (lie, left): (PartLayout, bool),
    ) -> Done<InParts> {
        let wide = across.next_multiple_of(8);
        let pick = |pass: &(usize, usize)| if left { pass.0 } else { pass.1 };
        let (row_step, part_step) = match inner_across {
            true => (6 * wide, wide),
            false => (wide, high * wide),
        };
        let long = InParts {
            at: 0,
            row_step,
            part_step,
        };
        let (mut parts, count, order) = match lie {
            PartLayout::Planes => (planes(0, high, across), 3, order([0, 1, 2])),
            PartLayout::Long => (long, 6, order(PASSES.iter().map(pick))),
        };
        let numbers = match lie {
            PartLayout::Planes => count * parts.part_step,
            PartLayout::Long => count * high * wide,
        };
        parts.at = grow(&self.device, room, numbers * 2)?;
        let splitting = Splitting {
            quads: (high * wide / 4) as u64,
            row_step: parts.row_step as u64,
            part_step: parts.part_step as u64,
            step: int(view.factor.step),
            width: int(across),
            wide: int(wide),
            parts: int(count),
            order,
        };
        let (from, to) = (view.at, parts.at);
        let grid = ((high * wide / 4).div_ceil(256), 1);
        let words = args![from, splitting, to];
        self.device.launch((TRAIN, "split"), grid, 256, 0, words)?;
        Ok(parts)
    }
}

fn planes(at: u64, high: usize, across: usize) -> InParts {
    let wide = across.next_multiple_of(8);
    InParts {
        at,
        row_step: wide,
        part_step: (high * wide).next_multiple_of(128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(size: (usize, usize, usize)) -> Call {
        Call::new(
            size,
            View::rows(0, size.1),
            View::turned(0, size.1),
            (0, size.2),
        )
    }

    #[test]
    fn long_products_of_few_inputs_lie_long_and_gradients_in_planes() {
        assert_eq!(lie(&call((16_384, 512, 1536))).0, PartLayout::Long);
        assert_eq!(lie(&call((512, 16_384, 1536))).0, PartLayout::Planes);
        let shared = call((16_384, 512, 1536)).sharing(Shared::First);
        assert_eq!(lie(&shared).0, PartLayout::Planes);
    }

    #[test]
    fn splitting_pays_for_wide_layers_only() {
        assert!(pays(&call((16_384, 512, 1536))));
        assert!(!pays(&call((65_536, 128, 384))));
        assert!(!pays(&call((16, 512, 1536))));
    }

    #[test]
    fn parts_stand_in_the_order_of_the_passes() {
        assert_eq!(order([2, 1, 0]), 0b00_01_10);
    }
}
