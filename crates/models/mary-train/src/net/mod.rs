//! The differentiable counterpart of the laboratory's transformer: forward and backward, by hand.
//!
//! [`Net`] follows an `Architecture`, as the reader does; [`Shape`] makes a new one. Candle's fused norms,
//! softmax and rotary embedding have no backward, and its composed ones are slow on small models; here every layer's backward is written out, checked against finite
//! differences, and free of allocation from step to step.

mod adapter;
mod attention;
mod backward;
#[cfg(feature = "cuda")]
pub mod cuda;
mod forward;
mod frozen;
pub(crate) mod kernels;
pub(crate) mod layout;
mod linear;
pub(crate) mod matmul;
mod model;
mod parameters;
mod shape;
pub(crate) mod stored;
mod vision;
mod vision_language;

pub use adapter::AdapterLayout;
pub use attention::Segment;
pub use frozen::Frozen;
pub use layout::{Entry, Layout, unlearned};
pub use model::{Net, Workspace};
pub(crate) use parameters::Work;
pub use parameters::{Given, Gradients, Packed, Parameters};
pub use shape::{Activation, Family, Shape};
pub use stored::Stored;
pub use vision::{DEVIATION, MEAN, VisionEncoder, VisionWorkspace, patches};
pub use vision_language::{VisionLanguageNet, VisionLanguageWorkspace, VisionPack};
