//! What makers of items share, whatever their family: draws from named streams of one seed, the rule
//! of ties, and symbols as pictures of ink.
//!
//! Nothing here knows a task or a model. What only one family needs stays in that family.

pub mod glyphs;
mod randomness;
mod ties;

pub use randomness::{Stream, below, coin, pick, shuffle, stream};
pub use ties::best;
