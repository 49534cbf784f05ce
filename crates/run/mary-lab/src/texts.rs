//! Instruments on plain files: how probable texts are ([`score`]), what a model thinks while it reads
//! them ([`observe`]), and what it answers ([`ask`]).
//!
//! Each is a [`mary_contract::Task`] made from a file of the user's, so that a laboratory runs it like any
//! other: with cache, budget, shared prefixes, progress, and a run folder from which the same command
//! goes on. What came of it is read from the run folder into tidy tables ([`table`]) or arrays.

pub mod ask;
mod error;
mod material;
pub mod observe;
pub mod score;
pub mod table;

pub use error::InstrumentError;
