//! What is downloaded and is no model's answer: the one HTTP client of the laboratory (`rustls`
//! with `ring`, trusting what the operating system trusts), the Hugging Face hub, and the upstream
//! [`datasets`].

mod client;
pub mod datasets;
pub mod hub;

pub use client::{asynchronous, blocking, chain, retry_after};
