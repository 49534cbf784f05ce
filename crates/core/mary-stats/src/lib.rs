//! Numbers with their uncertainty, as pure functions.
//!
//! Everything here takes slices and gives a number, an [`Interval`] or a [`StatsError`]; nothing
//! reads a file, knows a model or keeps a state. Randomness (bootstrap, permutation, many starts)
//! always comes from a seed given by the caller. A NaN or an empty input is an error, never a
//! panic and never a silent number. `docs/reference/methods.md` says which interval is used where.
//!
//! ```
//! use mary_stats::{StatsError, score_interval};
//!
//! // Sixteen right answers of twenty: Wilson's interval, which stays on the scale.
//! let scores = [[1.0; 16].as_slice(), &[0.0; 4]].concat();
//! let interval = score_interval(&scores, None)?;
//! assert_eq!((interval.value, interval.method), (0.8, "wilson"));
//! assert!(interval.contains(0.6) && !interval.contains(0.5));
//! // A missing score is left out and counted by the caller, never passed on.
//! assert!(matches!(score_interval(&[1.0, f64::NAN], None), Err(StatsError::NotFinite { index: 1, .. })));
//! # Ok::<(), StatsError>(())
//! ```

#![warn(missing_docs)]

mod against;
pub mod agreement;
pub mod bootstrap;
pub mod correlation;
pub mod crossed;
pub mod difference;
pub mod distributions;
mod error;
pub mod exponential;
pub mod held_out;
mod input;
pub mod intervals;
pub mod irt;
pub mod likelihood;
pub mod linear;
pub mod logistic;
mod matrix;
pub mod mds;
pub mod mixed;
pub mod moments;
pub mod multiple;
pub mod paired;
pub mod permutation;
pub mod rank;
pub mod raters;
pub mod segmented;
pub mod sigmoid;

pub use against::p_of_interval;
pub use error::StatsError;
pub use intervals::{Interval, LEVEL, score_interval};
pub use moments::Moments;
