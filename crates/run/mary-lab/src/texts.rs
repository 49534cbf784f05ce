//! Instruments on plain files: how probable texts are ([`score`]), what a model thinks while it reads them
//! ([`observe`]), what it answers ([`ask`]), and what its surprisal says of people's reading ([`reading`]). Each is a [`mary_contract::Task`], so that it has cache,
//! budget and run folder; results are read from that folder into tidy tables ([`table`]) or arrays.

pub mod ask;
mod cloze;
mod error;
pub(crate) mod material;
pub mod observe;
pub mod reading;
pub mod score;
pub mod table;
pub mod top;

pub use error::InstrumentError;
pub use mary_embodied::Norms as Frequencies;
