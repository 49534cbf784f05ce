//! Reading times, eye movements and brain responses beside surprisal: words in rows become sentences that models score, and what
//! surprisal adds to a baseline of length, frequency and position is measured on sentences that were held out.

mod analysis;
mod data;

pub use analysis::{Added, Analysis, Compared, Folds, OfPersons, Settings, Slope, analyse};
pub use data::{Predictor, ReadWord, Reading, ReadingOptions, Sentence};
