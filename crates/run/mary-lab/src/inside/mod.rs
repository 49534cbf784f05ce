//! Inside a model: values are changed while it reads, and what it predicts then is measured. [`patch`] puts the values
//! of one text into another, [`lens`] reads predictions off every layer, [`steer`] adds directions, [`probe`] asks what can be read
//! from states and whether behaviour rests on it. Each is run with controls, and marks only what lies beyond them.
//!
//! Requests are handed over many at once: a local model computes what they share once.

mod ask;
pub mod directions;
mod exhibits;
pub mod lens;
pub mod pairs;
pub mod patch;
pub mod probe;
pub mod steer;

pub(crate) use ask::{Queue, watching};
pub use ask::{Subject, check};
pub use exhibits::{of_lenses, of_patches, of_probes, of_steering};
