//! Matrix products at single precision on the processor's tile unit, for the reader (`mary-local`) and the
//! learner (`mary-train`).
//!
//! [`amx`] splits floats into bfloat16 numbers that the unit multiplies, and sums them in 32 bits; [`aligned`]
//! is the memory it streams through. Where there is no such unit, both crates multiply with `gemm`.

pub mod aligned;
pub mod amx;
