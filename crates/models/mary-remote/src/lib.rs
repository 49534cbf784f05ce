//! Models behind HTTP: every API people use, without losing a request, a cent or a key.
//!
//! A wire format is one file behind [`WireFormat`] and one line in [`formats::FORMATS`]; a service
//! is an entry of the catalogue. What is common to all of them lives beside.

pub mod api_error;
mod batch;
mod batch_api;
mod batch_state;
mod bounds;
mod catalogue;
mod connection;
mod flow;
mod format;
pub mod formats;
mod http;
mod identity;
mod limits;
mod llamacpp;
mod money;
mod options;
mod prefix;
mod prices;
mod provider;
mod queue;
mod remote;
mod retry;
mod score;
pub mod secret;
mod servers;
mod stream;
pub mod wire;

pub use batch_state::{BatchPart, BatchState};
pub use catalogue::{CatalogueEntry, services};
pub use flow::stop_waiting;
pub use format::{BatchFormat, Echo, EchoFormat, Progress, TopTokens, Upload, WireFormat};
pub use money::Ledger;
pub use options::Options;
pub use prices::{Price, Prices};
pub use provider::{RemoteProvider, providers, providers_with, watched_providers};
pub use stream::StreamFormat;
