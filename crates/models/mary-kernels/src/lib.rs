//! CPU arithmetic that running a model (`mary-local`) and training one (`mary-train`) share. Where there is
//! no AMX, both crates multiply with `gemm`.

pub mod aligned;
pub mod amx;
pub mod simd;
