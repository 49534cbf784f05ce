//! Psychometric development (Shah et al. 2024): numbers, grammar, typicality and matrices, and when in training each grows.

use mary_contract::{Exhibits, Family, RunSummary, Task};

/// The family.
#[derive(Debug, Clone, Copy)]
pub struct Psychometric;

/// The family, as listed.
pub static PSYCHOMETRIC: Psychometric = Psychometric;

impl Family for Psychometric {
    fn id(&self) -> &'static str {
        "psychometric"
    }

    fn title(&self) -> &'static str {
        "Psychometric abilities and their development"
    }

    fn tasks(&self) -> &'static [&'static dyn Task] {
        &[]
    }

    fn exhibits(&self, _runs: &[RunSummary]) -> Exhibits {
        Exhibits::default()
    }
}
