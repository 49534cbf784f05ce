//! PHYSICO (Yu et al. 2025): can a model see at work the physical concept it can define?

pub mod grid;
pub mod picture;
pub mod worlds;

use mary_contract::{Exhibits, Family, RunSummary, Task};

/// The family.
#[derive(Debug, Clone, Copy)]
pub struct Physico;

/// The family, as listed.
pub static PHYSICO: Physico = Physico;

impl Family for Physico {
    fn id(&self) -> &'static str {
        "physico"
    }

    fn title(&self) -> &'static str {
        "PHYSICO: physical concepts as grids"
    }

    fn tasks(&self) -> &'static [&'static dyn Task] {
        &[]
    }

    fn exhibits(&self, _runs: &[RunSummary]) -> Exhibits {
        Exhibits::default()
    }
}
