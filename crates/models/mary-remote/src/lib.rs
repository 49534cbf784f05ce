//! Models behind HTTP: every API people use, without losing a request, a cent or a key.
//!
//! [`providers`] lists them. A wire format is one file behind [`WireFormat`] that maps requests to
//! bodies and bodies to answers, and one line in [`FORMATS`] ([`openai_chat`],
//! [`openai_completions`], [`anthropic`], [`google`],
//! [`llamacpp`]). What is common to all of them lives beside: the gate ([`flow`], [`limits`]), trying
//! again ([`retry`]), keys ([`secret`]), prices, budgets and estimates ([`prices`], [`money`],
//! [`estimate`]), batches. Suites, the engine and the store are not known here.

pub mod anthropic;
pub mod api_error;
mod batch;
mod batch_api;
mod batch_results;
mod bounds;
mod catalogue;
mod connection;
pub mod estimate;
pub mod flow;
mod format;
pub mod google;
mod http;
mod identity;
pub mod limits;
pub mod llamacpp;
mod model;
pub mod money;
pub mod openai_chat;
pub mod openai_completions;
mod options;
mod prefix;
pub mod prices;
mod provider;
mod queue;
pub mod retry;
mod score;
pub mod secret;
mod servers;
mod stream;
pub mod wire;

pub use batch::{BatchPart, BatchState};
pub use batch_api::BatchDialect;
pub use estimate::{DryRun, Estimate, EstimateRow, Estimator};
pub use flow::stop_waiting;
pub use format::{FORMATS, WireFormat};
pub use http::KeyHeader;
pub use model::RemoteModel;
pub use money::{Balance, Ledger};
pub use options::{ARGUMENTS, Logprobs, Options, Timeouts};
pub use prices::{Price, PriceList, Prices};
pub use provider::{
    RemoteProvider, has_batches, is_remote, providers, providers_with, sends_anothers_key,
    sends_key, watched_providers,
};
pub use stream::StreamFormat;
