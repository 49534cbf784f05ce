//! What is downloaded and is no model's answer: the one HTTP client of the laboratory, the Hugging Face hub as
//! seen through it, and the upstream [`datasets`].
//!
//! Every client that leaves this crate speaks TLS through the same library (`rustls` with `ring`) and
//! trusts what the operating system trusts. [`hub`] asks the hub what a repository holds and brings
//! files into the ordinary hub cache, shared with every other program that uses it.

mod client;
pub mod datasets;
pub mod hub;
mod transfer;

pub use client::{asynchronous, blocking, chain, retry_after};
