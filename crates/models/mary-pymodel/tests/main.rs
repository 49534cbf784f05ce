//! Python objects in child processes: the promises of every backend, and everything that can go wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod serving;
