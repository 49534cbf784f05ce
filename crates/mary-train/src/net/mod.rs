//! The differentiable counterpart of the laboratory's transformer: forward and backward, by hand.
//!
//! [`Net`] follows an `Architecture`, as the reader does; [`Shape`] makes a new one. Candle's fused norms, softmax and rotary embedding have no backward, and its composed ones are
//! slow on small models; here every layer's backward is written out, checked against finite
//! differences, and free of allocation from step to step.

mod adapter;
mod attention;
mod backward;
#[cfg(feature = "cuda")]
pub mod cuda;
mod forward;
mod frozen;
mod given;
pub(crate) mod kernels;
pub(crate) mod layout;
mod linear;
mod matmul;
mod model;
mod shape;
pub(crate) mod stored;
mod vision;
mod vision_language;

pub use adapter::AdapterLayout;
pub use attention::Segment;
pub use frozen::Frozen;
pub use given::Given;
pub use layout::{Entry, Layout};
pub use model::{Gradients, Net, Packed, Parameters, Workspace};
pub use shape::{Activation, Family, Shape};
pub use stored::Stored;
pub use vision::{DEVIATION, MEAN, VisionEncoder, VisionWorkspace, patches};
pub use vision_language::{VisionLanguageNet, VisionLanguageWorkspace, VisionPack};

use matmul::{Unit, View};

/// `out (m × n) += scale · a (m × k) · b (k × n)`, all rows without gaps.
pub(crate) fn add_product(
    (m, k, n): (usize, usize, usize),
    (a, b): (&[f32], &[f32]),
    scale: f32,
    out: &mut [f32],
) {
    let (a, b) = (View::rows(a, k), View::rows(b, n));
    let product = Unit::Vectors.product((m, k, n), a, b);
    product.scaled(scale).add_to(out, n);
}

/// `out (m × n) += scale · aᵀ · bᵀ`, where `a` is k × m and `b` is n × k.
pub(crate) fn add_product_turned(
    (m, k, n): (usize, usize, usize),
    (a, b): (&[f32], &[f32]),
    scale: f32,
    out: &mut [f32],
) {
    let (a, b) = (View::transposed(a, m), View::transposed(b, k));
    let product = Unit::Vectors.product((m, k, n), a, b);
    product.scaled(scale).add_to(out, n);
}
