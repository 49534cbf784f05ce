//! Growing a small model from scratch, and tuning a local one with low-rank adapters.
//!
//! - [`grow`] trains a GPT-NeoX-shaped model on the generated corpus of the small world or on
//!   the user's text, with checkpoints in Hugging Face layout;
//! - [`grow_vision`] trains a small model that sees, on pictures of the same world;
//! - [`tune`] trains LoRA adapters on a local model of any family that can be learned and saves them in PEFT's
//!   layout; [`merge`] folds them into the weights.
//!
//! Everything is seeded and runs on the processor, where it does not depend on the number of
//! threads, or, with the feature `cuda`, on an NVIDIA GPU. No suite and no report is known here.

mod error;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod golden_lora;
#[cfg(test)]
#[path = "../tests/numbers.rs"]
mod golden_numbers;
mod grow;
mod growth;
mod hf;
mod job;
mod learner;
mod memory;
pub mod net;
mod optimizer;
mod probe;
mod provenance;
mod state;
mod stream;
pub mod tokenizer;
mod tune;
mod vision;

pub(crate) use error::Result;
pub use error::TrainError;
pub use mary_generators::small_world as corpus;

pub use grow::{GrowSettings, Size, grow};
pub use growth::{Course, GrowEvent, GrowReport};
pub use hf::Storage;
pub use learner::{Device, NumberType};
pub use memory::Estimate;
pub use optimizer::{AdamW, Decline, Schedule};
pub use probe::{ProbeReport, VisionReport};
pub use provenance::{End, Ending, MergedProvenance, PROVENANCE, Provenance, Reuse};
pub use stream::TextSource;
pub use tune::{
    AnswerScore, Derived, Evaluation, LearningStep, TuneEvent, TuneReport, TuneSettings,
    TuningRecipe, derive, learning, merge, merged_model, tune,
};
pub use vision::{IMAGE, VisionSettings, VisionSize, grow_vision};
