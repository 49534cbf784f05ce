//! A wire format: a file of its own in `formats` and a line in the registry there. What only some
//! formats can do (answers piece by piece, scores, batches) is a small trait of its own. A format
//! knows nothing of retries, money or files, and nothing outside of it asks which format it is.

use std::fmt::Debug;

use mary_contract::{Generated, Scored, Start};
use serde_json::Value;

use crate::batch_state::BatchPart;
use crate::options::{Options, Result};
use crate::stream::StreamFormat;
use crate::wire::{Read, ReadError, WireRequest};

/// One way of asking for words over HTTP.
pub trait WireFormat: Debug + Send + Sync {
    fn name(&self) -> &'static str;

    fn path(&self, model: &str) -> String;

    fn body(&self, request: &WireRequest<'_>) -> Value;

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError>;

    /// The header that shows the key to the service, and what stands in it before the key.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bearer ")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

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

    fn stream(&self) -> Option<&'static dyn StreamFormat> {
        None
    }

    /// How the most probable next tokens are listed.
    fn top_tokens(&self) -> Option<&'static dyn TopTokens> {
        None
    }

    fn echo(&self) -> Option<&'static dyn EchoFormat> {
        None
    }

    /// The batch API of services that speak this format. Not every service that speaks it has one: the
    /// catalogue says which do.
    fn batches(&self) -> Option<&'static dyn BatchFormat> {
        None
    }
}

pub trait TopTokens: Send + Sync {
    fn body(&self, request: &WireRequest<'_>) -> Value;

    fn read(&self, raw: &Value, continuations: &[String]) -> Result<Read<Scored>, ReadError>;
}

pub trait EchoFormat: Send + Sync {
    /// The body, or why the server cannot be asked this.
    fn body(&self, echo: &Echo<'_>) -> Result<Value>;

    fn read(&self, raw: &Value, echo: &Echo<'_>) -> Result<Read<Scored>, ReadError>;
}

/// One text whose log-probabilities are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Echo<'a> {
    pub model: &'a str,
    pub prefix: &'a str,
    pub continuation: &'a str,
    /// What stands before the first token.
    pub start: &'a Start,
    pub bos: Option<&'a str>,
    /// The server understands `add_special_tokens`.
    pub special_tokens_switch: bool,
}

/// A batch API: requests go in together, and answers are fetched when it has ended.
pub trait BatchFormat: Send + Sync {
    /// Where batches are created and listed, below the base address.
    fn path(&self) -> &'static str;

    /// The parameter that asks for what is listed after a batch.
    fn after(&self) -> &'static str;

    /// The file of requests, where one is handed over before the batch is created.
    fn upload(&self, _requests: &[(String, Value)]) -> Option<Upload> {
        None
    }

    /// The body that creates a batch of these requests, or of the file that holds them.
    fn body(&self, name: &str, requests: Vec<(String, Value)>, file: Option<&str>) -> Value;

    /// Whether the service keeps our name for a batch. Otherwise a new one is told from those that were
    /// listed before.
    fn keeps_names(&self) -> bool;

    /// Whether a batch in the service's list is this one. No clock is asked.
    fn is_part(&self, batch: &Value, part: &BatchPart) -> bool;

    fn progress(&self, id: &str, raw: &Value) -> Option<Progress>;

    /// Where the answers in one of [`Progress::files`] are.
    fn file_path(&self, file: &str) -> String;

    fn outcome(&self, line: &Value) -> Result<Value>;
}

pub struct Upload {
    pub path: &'static str,
    pub content_type: &'static str,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    pub id: String,
    pub ended: bool,
    pub said: String,
    pub done: u64,
    pub total: u64,
    /// Every request has been seen to, one way or another; a batch that ended otherwise (expired,
    /// cancelled) may lack some.
    pub complete: bool,
    pub files: Vec<String>,
}
