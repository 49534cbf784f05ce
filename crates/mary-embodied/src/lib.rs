//! Embodied knowledge (Yang et al. 2025): words of the senses, and questions a body can answer.

pub mod choice;
mod material;

pub use material::{Language, Question, Sense, Subtask, Triple};

use mary_contract::{Exhibits, Family, RunSummary, Task};

/// The family.
#[derive(Debug, Clone, Copy)]
pub struct Embodied;

/// The family, as listed.
pub static EMBODIED: Embodied = Embodied;

impl Family for Embodied {
    fn id(&self) -> &'static str {
        "embodied"
    }

    fn title(&self) -> &'static str {
        "Embodied knowledge: SensoryVec and PerceptualQA"
    }

    fn tasks(&self) -> &'static [&'static dyn Task] {
        &[]
    }

    fn exhibits(&self, _runs: &[RunSummary]) -> Exhibits {
        Exhibits::default()
    }
}
