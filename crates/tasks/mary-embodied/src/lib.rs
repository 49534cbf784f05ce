//! Embodied knowledge (Yang et al. 2025): words of the senses, and questions a body can answer.
//!
//! `sensoryvec` asks whether a word's vector lies nearer to its synonym than to its antonym,
//! [`perceptualqa`] puts questions with four options; both run on our own set or on the authors' files
//! ([`upstream`]), and the authors' released answers, people's included, become runs like any other
//! ([`released_runs`]). An analysis over stored runs: what else could explain an error ([`Confounds`]).

mod cards;
mod choice;
mod confounds;
mod exhibits;
pub mod fresh;
mod material;
mod offers;
pub mod own;
pub mod perceptualqa;
pub mod published;
mod released;
mod scenes;
mod sensoryvec;
mod source;
mod tuning;
pub mod upstream;
mod verdict;

pub use confounds::{Confounds, Material, Norms, material};
pub use exhibits::{before_after, exhibits};
pub use material::{Language, Question, Sense, Subtask, Triple};
pub use released::{PEOPLE, released_runs};
pub use scenes::{SCENES, Scenes};
pub use source::MaterialSource;
pub use tuning::tuning_set;

#[derive(Debug, Clone, Copy)]
pub struct Embodied;

pub static EMBODIED: Embodied = Embodied;
