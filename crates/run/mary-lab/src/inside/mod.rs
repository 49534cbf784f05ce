//! Inside a model: values are changed while it reads, and what it predicts then is measured. [`patch`] puts the values
//! of one text into another, [`lens`] reads predictions off every layer. Each instrument is run
//! with controls, and marks only what lies beyond them.
//!
//! Requests are handed over many at once: a local model computes what they share once.

mod ask;
mod exhibits;
pub mod lens;
pub mod pairs;
pub mod patch;

pub use ask::{Subject, check};
pub use exhibits::{of_lenses, of_patches, patch_head};
