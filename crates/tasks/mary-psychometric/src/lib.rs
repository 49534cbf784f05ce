//! Psychometric development (Shah et al. 2024): numbers, grammar, typicality, matrices and analogies,
//! and when in training each grows.

pub mod analogies;
mod cards;
mod characters;
mod choice;
mod exhibits;
mod grammar;
pub mod matrices;
pub mod numbers;
mod observed;
mod offers;
mod potemkin;
mod published;
mod settings;
mod tables;
mod trajectories;
pub mod typicality;
pub mod windows;
mod word_age;

use std::sync::Arc;

use mary_contract::{Development, Exhibits, Family, RunSummary, Task, built_in};

#[derive(Debug, Clone, Copy)]
pub struct Psychometric;

pub static PSYCHOMETRIC: Psychometric = Psychometric;

static TASKS: &[&dyn Task] = &[
    &numbers::Numbers,
    &grammar::BLIMP,
    &grammar::GRAMMAR,
    &grammar::GRAMMAR_SMALL,
    &typicality::Vectors,
    &typicality::Surprisal,
    &typicality::Prompting,
    &matrices::Matrices,
    &matrices::DIGIT_MATRICES,
    &matrices::LETTER_STRINGS,
    &analogies::VECTORS,
    &analogies::SURPRISAL,
    &analogies::PROMPTING,
    &characters::Characters,
    &potemkin::DefineUse,
    &word_age::WordAge,
];

impl Family for Psychometric {
    fn id(&self) -> &str {
        "psychometric"
    }

    fn title(&self) -> &str {
        "Psychometric abilities and their development"
    }

    fn tasks(&self) -> Vec<Arc<dyn Task>> {
        built_in(TASKS)
    }

    fn exhibits(&self, runs: &[RunSummary]) -> Exhibits {
        let mut all = exhibits::exhibits(runs);
        let grammar = grammar::exhibits(runs);
        all.append(grammar);
        all
    }

    fn development(&self) -> Option<&dyn Development> {
        Some(self)
    }
}
