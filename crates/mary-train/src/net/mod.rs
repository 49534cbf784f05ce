//! The differentiable twin of the laboratory's transformer: forward and backward, by hand.
//!
//! Candle's fused norms, softmax and rotary embedding have no backward, and its composed ones are
//! slow on small models; here every layer's backward is written out, checked against finite
//! differences, and free of allocation from step to step.

mod adapter;
mod attention;
pub(crate) mod kernels;
mod layout;
mod matmul;
mod model;
mod shape;

pub use adapter::AdapterLayout;
pub use attention::Segment;
pub use layout::{Entry, Layout};
pub use model::{Gradients, Net, Packed, Parameters, Workspace};
pub use shape::{Activation, Family, Shape};
