//! Open weights in this process: one configured transformer, shared prefixes computed once, every
//! layer visible.
//!
//! The way in is [`provider::HF`], [`provider::GGUF`] and [`vectors::VectorsProvider`] for the
//! binary's list of providers, or [`LocalModel::from_checkpoint`] for weights that come from
//! elsewhere. [`config`] knows how architectures differ, [`transformer`] is the one forward pass,
//! [`trie`] plans what is computed, [`kernels`] computes it.

mod batch;
mod card;
mod details;
mod divide;
mod engine;
mod errors;
mod experts;
mod generate;
mod intervene;
pub mod kernels;
mod load;
pub mod machine;
mod masked;
mod memory;
mod model;
mod observe;
mod options;
pub mod pictures;
mod precision;
pub mod provider;
pub use mary_weights::architecture::config;
mod sampling;
mod score;
mod serve;
mod sources;
mod text;
mod top;
pub mod transformer;
pub mod trie;
pub mod vectors;
pub mod vision;
mod workers;

pub use engine::{Session, Steps};
pub use model::LocalModel;
pub use options::{Device, Options};
pub use precision::Precision;
pub use score::{SelfCheck, TOLERANCE, self_check};
