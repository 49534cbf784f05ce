//! What transformers are made of: the one description that the reader (`mary-local`) runs and the
//! learner (`mary-train`) differentiates, and the elementary functions both compute with.
//!
//! [`config`] reads a `config.json` into an [`Architecture`] with the names its tensors have; [`simd`]
//! picks the widest instructions of the processor and holds `exp`, sums and inner products.

pub mod config;
pub mod simd;

pub use config::Architecture;
