//! CPU arithmetic that running a model (`mary-local`) and training one (`mary-train`) share, and unpacking of stored
//! numbers. Where there is no AMX, both crates multiply with `gemm`.

pub mod aligned;
pub mod amx;
pub mod dequant;
pub mod simd;
mod tensor_type;

pub use tensor_type::TensorType;
