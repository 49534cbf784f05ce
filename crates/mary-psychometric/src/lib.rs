//! Psychometric development (Shah et al. 2024): numbers, grammar, typicality, matrices and analogies,
//! and when in training each grows.

mod choice;
mod observed;
mod settings;

use mary_contract::{Citation, Exhibits, Family, RunSummary, Task};

/// The paper.
pub const CITATION: Citation = Citation {
    text: "Raj Sanjay Shah, Khushi Bhardwaj and Sashank Varma. 2024. Development of Cognitive \
           Intelligence in Pre-trained Language Models. EMNLP 2024.",
    link: "arXiv:2407.01047",
};

/// The family.
#[derive(Debug, Clone, Copy)]
pub struct Psychometric;

/// The family, as listed.
pub static PSYCHOMETRIC: Psychometric = Psychometric;

static TASKS: &[&dyn Task] = &[];

impl Family for Psychometric {
    fn id(&self) -> &'static str {
        "psychometric"
    }

    fn title(&self) -> &'static str {
        "Psychometric abilities and their development"
    }

    fn tasks(&self) -> &'static [&'static dyn Task] {
        TASKS
    }

    fn exhibits(&self, _runs: &[RunSummary]) -> Exhibits {
        Exhibits::default()
    }
}
