//! CPU arithmetic that running a model (`mary-local`) and training one (`mary-train`) share, and unpacking of stored
//! numbers. Where there is no AMX, products of f32 matrices are `gemm`'s.

pub mod aligned;
pub mod amx;
pub mod dequant;
pub mod gemm;
pub mod simd;
mod tensor_type;

pub use tensor_type::TensorType;
