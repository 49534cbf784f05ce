//! The checkpoints of a model: which there are ([`members`]), what their weights are ([`inspect`]), which are
//! not what their name says ([`faults`]), and all of them run one after the other ([`Sweep`]).
//!
//! Each checkpoint is an ordinary run in its own folder below the sweep's `runs/`, so that cache, report and
//! viewer work on it as on any other.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod faults;
mod hub;
mod inspect;
mod members;
mod options;
mod state;
mod sweep;

pub use faults::{Fault, faults};
pub use inspect::{Inspection, inspect};
pub use members::{Member, members};
pub use options::{SweepOptions, read_bytes};
pub use state::{Ending, Record, State};
pub use sweep::Sweep;
