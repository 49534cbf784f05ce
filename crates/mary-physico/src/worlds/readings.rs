//! Readings: recognisers that look only at a pair and say whether a concept's rule explains it.
//!
//! They share no code with the generators. A pair that the reading of another, non-confusable concept
//! accepts is drawn again, so that no wrong option is also right.

use crate::grid::Pair;

/// A concept's rule as a question about any pair.
#[derive(Debug)]
pub struct Reading {
    /// The concept's id.
    pub concept: &'static str,
    /// What is asked.
    pub asks: &'static str,
    /// Whether the pair is explained by it.
    pub fits: fn(&Pair) -> bool,
}

/// All readings.
pub static READINGS: &[Reading] = &[];

/// The first concept, neither this one nor confusable with it, whose reading fits the pair.
pub fn elsewhere(concept: &str, pair: &Pair) -> Option<&'static str> {
    READINGS
        .iter()
        .filter(|r| r.concept != concept && super::confusable(concept, r.concept).is_none())
        .find(|r| (r.fits)(pair))
        .map(|r| r.concept)
}
