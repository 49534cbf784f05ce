//! NVIDIA GPUs without a toolkit: the driver and cuBLASLt are found when a GPU is asked for, kernels
//! are embedded by whoever uses them ([`Parts`]), and memory frees itself.
//!
//! Nothing here knows a model. `mary-local` scores with it, `mary-train` trains with it; each brings
//! its own kernels.

mod blas;
mod device;
mod library;
mod map;
mod memory;
mod parts;
mod upload;

pub use blas::{Blas, Factor, Places, Product};
pub use device::Device;
pub use map::{Map, Matrix};
pub use memory::{Lender, Lent, Memory, Staged};
pub use parts::Parts;
pub use upload::Uploader;

/// A type of number on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NumberType {
    /// 32 bits.
    #[default]
    Single,
    Bf16,
    F16,
}

impl NumberType {
    pub fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Bf16 | Self::F16 => 2,
        }
    }

    /// Its letter in the names of kernels.
    pub fn letter(self) -> char {
        match self {
            Self::Single => 's',
            Self::Bf16 => 'b',
            Self::F16 => 'h',
        }
    }
}

/// Arguments of a kernel, in order: a copy of each, in its own type. The copies live as long as a `let` that
/// holds the list, or to the end of the call it is made in.
#[macro_export]
macro_rules! args {
    ($($x:expr),* $(,)?) => {
        &mut [$(&mut { $x } as *mut _ as *mut std::ffi::c_void),*]
    };
}
