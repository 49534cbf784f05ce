//! Models that answer as Python objects.
//!
//! `python/./model.py:name` is a child process with that object in it: JSON lines over two pipes that the
//! object's own output cannot reach, restarted when it dies, given up on when it does not answer in time. A
//! program that holds the object itself (the Python package) implements [`Answers`] and gets the same model,
//! the same reading of answers and the same errors. [`SERVING`] is the Python side of both.
//!
//! A request and an answer look on the wire as they look in a run's log (`mary_contract::Request`,
//! `mary_contract::Response`), one a line, or a list of them where the object takes lists; `docs/python.md` is the user's page.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod model;
mod process;
mod provider;
mod reading;

pub use model::{Answering, Answers, Together};
pub use provider::{PythonFiles, card_of, default_interpreter, most_together};
pub use reading::{read_answer, read_answers, read_error};

/// The Python side: an adapter around an object, and a program that serves it over pipes.
pub const SERVING: &str = include_str!("serving.py");
