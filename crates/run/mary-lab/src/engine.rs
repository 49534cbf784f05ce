//! From tasks and models to samples and summaries.
//!
//! The way of the data: [`admit`] refuses what cannot work before anything is loaded or paid for;
//! [`select`] chooses the items; [`plan`] orders their requests so that shared beginnings stand
//! together; [`execute`] carries requests to models and answers to the judge as a stream of events,
//! in bounded memory; [`summarise`] turns verdicts into numbers with intervals. Nothing here knows a
//! backend, a file or a terminal.

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
