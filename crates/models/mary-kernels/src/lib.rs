//! CPU arithmetic that running a model (`mary-local`) and training one (`mary-train`) share.
//!
//! [`simd`] picks the widest instructions of the CPU and holds `exp`, sums and inner products.
//! [`amx`] splits floats into bfloat16 numbers that the unit multiplies, and sums them in 32 bits; [`aligned`]
//! is the memory it streams through. Where there is no AMX, both crates multiply with `gemm`.

pub mod aligned;
pub mod amx;
pub mod simd;
