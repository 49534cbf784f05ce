//! NVIDIA GPUs without a toolkit: the driver and cuBLASLt are found when a GPU is asked for. Nothing here
//! knows a model: whoever uses it embeds kernels of its own ([`Parts`]).

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
