//! CPU arithmetic that running a model (`mary-local`) and training one (`mary-train`) share, and unpacking of stored
//! numbers. What learns on a processor without AMX multiplies with `gemm`.

pub mod aligned;
pub mod dequant;
pub mod gemm;
pub mod packed;
pub mod simd;
mod tensor_type;

pub use tensor_type::TensorType;
