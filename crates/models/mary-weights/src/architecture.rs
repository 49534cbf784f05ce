//! What transformers are made of: the one description that `mary-local` runs and `mary-train` differentiates.
//! [`config`] reads a `config.json` into an [`Architecture`] with the names its tensors have.

pub mod config;

pub use config::Architecture;
