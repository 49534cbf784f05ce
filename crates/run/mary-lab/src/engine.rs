//! From tasks and models to samples and summaries: [`admit`] refuses what cannot work before anything is
//! loaded or paid for, [`select`] chooses items, [`plan`] orders requests, [`execute`] carries them out in
//! bounded memory, [`summarise`] turns verdicts into numbers. Nothing here knows a backend, a file or a
//! terminal.

pub mod admit;
pub mod constant;
pub mod execute;
mod flight;
pub mod plan;
mod queue;
pub mod select;
mod starts;
pub mod summarise;

mod error;

pub use error::EngineError;
