//! What makers of items share, whatever their family: draws from named streams of one seed,
//! symbols as pictures of ink, pictures as PNG, and a small world described in simple English.
//!
//! Nothing here knows a task or a model. What only one family needs stays in that family.

pub mod glyphs;
mod named;
mod picture;
mod randomness;
mod sentences;
pub mod small_world;

pub use picture::{Colour, Packing, Picture, PictureError};
pub use randomness::{Stream, below, coin, pick, shuffle, stream};
pub use sentences::{Paradigm, Word, Writer, article, capital};
