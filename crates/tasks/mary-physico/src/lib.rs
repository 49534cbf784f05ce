//! PHYSICO (Yu et al. 2025): can a model see at work the physical concept it can define?
//!
//! The high level shows three pairs of grids, as numbers or as a picture, in which one of 67 concepts
//! is at work, and asks which of four it is. The low level asks the same four options about a masked
//! definition, a photograph, or the model's own description. What a model can say and cannot see is
//! the parrot gap. A perception probe tells a failure to understand from a failure to see.

mod cards;
mod choice_task;
pub mod counting;
mod describe;
mod drawing;
mod exhibits;
mod forms;
mod free_perception;
mod gap;
pub mod grid;
mod grid_task;
pub mod instances;
mod judging;
mod likeness;
mod low_level;
mod masking;
mod matching;
mod offers;
mod parse;
mod perception;
mod photo;
pub mod picture;
mod prompt;
mod published;
mod relabel;
mod results;
mod setup;
mod surface;
mod tuned;
mod tuning;
mod upstream;
pub mod worlds;

use mary_contract::Task;

#[derive(Debug, Clone, Copy)]
pub struct Physico;

pub static PHYSICO: Physico = Physico;

pub(crate) static TASKS: [&dyn Task; 12] = [
    &grid_task::CORE_TEXT_TASK,
    &grid_task::CORE_VISUAL_TASK,
    &grid_task::ASSOCIATIVE_TEXT_TASK,
    &grid_task::ASSOCIATIVE_VISUAL_TASK,
    &low_level::DEFINITION_TASK,
    &photo::PHOTO_TASK,
    &describe::Describe,
    &perception::PERCEPTION_TEXT_TASK,
    &perception::PERCEPTION_VISUAL_TASK,
    &free_perception::FREE_TEXT_TASK,
    &free_perception::FREE_VISUAL_TASK,
    &relabel::RELABEL_TASK,
];
