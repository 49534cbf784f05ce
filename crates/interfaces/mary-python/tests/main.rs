//! The Python package as its users have it: a wheel around the library that this build made, installed beside
//! nothing else, and the suite of `tests/python` run on it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod package;
