//! The families of tasks that come with the laboratory. There is no registration by side effect: [`registry`]
//! is a value, and whoever builds a laboratory adds to it.

mod recipes;

pub use recipes::{Recipe, recipe, recipes};

pub use mary_psychometric as psychometric;
pub use {mary_embodied as embodied, mary_htest as htest, mary_physico as physico};

pub use mary_psychometric::windows::amount;

use std::sync::Arc;

use mary_contract::{Family, Registry};

/// Every family, in the order in which people read them.
pub fn families() -> Vec<Arc<dyn Family>> {
    vec![
        Arc::new(htest::HTest),
        Arc::new(physico::Physico),
        Arc::new(psychometric::Psychometric),
        Arc::new(embodied::Embodied),
    ]
}

/// The families with all their tasks.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    for family in families() {
        let added = registry.add_family(family);
        debug_assert!(added.is_ok(), "{added:?}");
    }
    registry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_there_with_all_its_tasks() {
        let registry = registry();
        for family in families() {
            let own = family.tasks();
            assert!(!own.is_empty(), "{}", family.id());
            assert!(registry.family(family.id()).is_some());
            assert_eq!(registry.tasks_of(family.id()).count(), own.len());
        }
    }

    #[test]
    fn tasks_are_found_by_id() {
        let registry = registry();
        assert!(registry.task("htest/rhyme").is_some());
        assert!(registry.task("htest/no-such").is_none());
        assert!(registry.family("htest").is_some());
    }
}
