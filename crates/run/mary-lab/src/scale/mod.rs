//! One scale for people and models: answers from runs, studies and tables, the items' difficulties, everybody's
//! ability, and tests that ask only what tells most. `docs/scales.md` is the guide.

mod adaptive;
mod answers;
mod build;
mod drawing;
mod exhibits;
mod growth;
mod kept;
mod lineage;

pub(crate) use adaptive::{ADAPTIVE, Bank, LOCAL_TURN, choices, predict};
pub use answers::{Answers, Asked, MODELS, PEOPLE, Source, Subject, item_hash};
pub use build::{Built, ScaleOptions, build};
pub use drawing::wright_map;
pub use exhibits::{of_adaptive, of_built, of_scale, subjects};
pub use growth::place;
pub use kept::{FILE, Scale, ScaleItem, ScaleSubject, Unscaled};
pub use lineage::lineage;
