//! The wire formats, one file each, and their registry. The catalogue of services names them.

use crate::format::WireFormat;

pub mod anthropic;
pub mod google;
pub mod openai_chat;
pub mod openai_completions;

pub static FORMATS: &[&dyn WireFormat] = &[
    &openai_chat::OpenAiChat,
    &openai_completions::OpenAiCompletions,
    &anthropic::Anthropic,
    &google::Google,
];
