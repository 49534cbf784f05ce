//! The families of tasks, in one static list. Each family is one crate and one paper; each task is
//! one file with its prompt, its generator or loader, and its judge.
//!
//! Nothing here sees a model or a backend: a task makes items and judges answers, both pure. There is
//! no registration by side effect.

pub use mary_psychometric as psychometric;
pub use {mary_embodied as embodied, mary_htest as htest, mary_physico as physico};

use mary_contract::{Family, Task};

/// Every family, in the order in which people read them.
pub fn families() -> &'static [&'static dyn Family] {
    static FAMILIES: [&dyn Family; 4] = [
        &htest::HTEST,
        &physico::PHYSICO,
        &psychometric::PSYCHOMETRIC,
        &embodied::EMBODIED,
    ];
    &FAMILIES
}

/// Every task of every family.
pub fn tasks() -> impl Iterator<Item = &'static dyn Task> {
    families()
        .iter()
        .flat_map(|family| family.tasks().iter().copied())
}

/// The family of this id (`htest`).
pub fn family(id: &str) -> Option<&'static dyn Family> {
    families().iter().copied().find(|f| f.id() == id)
}

/// The task of this id (`htest/rhyme`).
pub fn task(id: &str) -> Option<&'static dyn Task> {
    tasks().find(|t| t.card().id == id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_task_has_one_id_under_its_family() {
        let mut seen = BTreeSet::new();
        for family in families() {
            for task in family.tasks() {
                let card = task.card();
                assert_eq!(card.family, family.id());
                assert_eq!(
                    card.id.split_once('/').map(|(f, _)| f),
                    Some(family.id()),
                    "{}",
                    card.id
                );
                assert!(seen.insert(card.id), "{} is listed twice", card.id);
            }
        }
    }

    #[test]
    fn tasks_are_found_by_id() {
        assert!(task("htest/rhyme").is_some());
        assert!(task("htest/no-such").is_none());
        assert!(family("htest").is_some());
    }
}
