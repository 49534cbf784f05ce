//! What a wire format is: a file of its own behind [`WireFormat`], and a line in [`FORMATS`].
//!
//! A format turns a request into a body and a body into an answer, and says how its services are
//! talked to (where the key goes, which headers). It knows nothing of retries, money or files, and
//! nothing outside of it asks which format it is.

use std::fmt::Debug;

use mary_contract::{ErrorKind, Generated, ModelError, Scored};
use serde_json::Value;

use crate::batch_api::BatchDialect;
use crate::http::KeyHeader;
use crate::options::Options;
use crate::wire::{Asked, Read, ReadError};
use crate::{anthropic, google, openai_chat, openai_completions};

/// All formats. A service in the catalogue names the ones it speaks.
pub static FORMATS: &[&dyn WireFormat] = &[
    &openai_chat::OpenAiChat,
    &openai_completions::OpenAiCompletions,
    &anthropic::Anthropic,
    &google::Google,
];

/// One way of asking for words over HTTP.
pub trait WireFormat: Debug + Send + Sync {
    /// A short name, for messages and tests.
    fn name(&self) -> &'static str;

    /// Where requests for a model go, below the base address.
    fn path(&self, model: &str) -> String;

    /// The body of a request for words.
    fn body(&self, asked: &Asked<'_>) -> Value;

    /// Reads the words out of an answer.
    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError>;

    /// How the key is shown to the service.
    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Whether a request can hold pictures.
    fn takes_images(&self) -> bool {
        true
    }

    /// Whether beginnings that requests share are marked in the body, so that the service caches
    /// them.
    fn marks_prefixes(&self) -> bool {
        false
    }

    /// Tokens of reasoning that the user's settings ask for, where the format sends a number.
    fn thinking(&self, _options: &Options) -> Option<u32> {
        None
    }

    /// Whether the most probable next tokens can be asked for.
    fn lists_top_tokens(&self) -> bool {
        false
    }

    /// The body of a request for the most probable next tokens.
    fn top_body(&self, asked: &Asked<'_>) -> Value {
        self.body(asked)
    }

    /// Reads the log-probabilities of single-token continuations out of the list of the most
    /// probable first tokens.
    fn read_top(&self, _raw: &Value, _continuations: &[String]) -> Result<Read<Scored>, ReadError> {
        Err(ReadError::Final(ModelError::new(
            ErrorKind::BadRequest,
            format!("{} lists no log-probabilities", self.name()),
        )))
    }

    /// The batch API of services that speak this format, where there is one.
    fn batches(&self) -> Option<BatchDialect> {
        None
    }
}
