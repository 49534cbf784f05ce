//! Anthropic's Messages API.
//!
//! Schema: docs.anthropic.com/en/api/messages. No log-probabilities, no seed. Prefix caching is
//! asked for with explicit marks.

use mary_contract::{Finish, Generated, Part, Speaker, Turn, Usage};
use serde_json::{Map, Value, json};

use crate::batch_api::BatchDialect;
use crate::format::WireFormat;
use crate::http::KeyHeader;
use crate::options::Options;
use crate::stream::{StreamFormat, grow, keep};
use crate::wire::{Asked, Read, ReadError, Unreadable, base64_of, count, text, told};

/// Where requests go, below the base address.
pub const PATH: &str = "messages";
/// The version every request names.
pub const VERSION: &str = "2023-06-01";
/// Most stop strings we send.
const MOST_STOPS: usize = 16;

#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

impl WireFormat for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn path(&self, _model: &str) -> String {
        PATH.into()
    }

    fn body(&self, asked: &Asked<'_>) -> Value {
        body(asked)
    }

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        read(raw)
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::XApiKey
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", VERSION)]
    }

    fn streams(&self) -> Option<&'static dyn StreamFormat> {
        Some(&Stream)
    }

    fn marks_prefixes(&self) -> bool {
        true
    }

    fn thinking(&self, options: &Options) -> Option<u32> {
        thinking_budget(options)
    }

    fn batches(&self) -> Option<BatchDialect> {
        Some(BatchDialect::Anthropic)
    }
}

/// Blocks of one answer, at most: each place that an event names is made.
const MOST_BLOCKS: u64 = 1_000;

pub struct Stream;

impl StreamFormat for Stream {
    fn ask(&self, body: &mut Value) {
        body["stream"] = true.into();
    }

    fn take(&self, whole: &mut Value, event: &Value) -> Option<String> {
        let place = || {
            let at = event.get("index").and_then(Value::as_u64)?;
            (at < MOST_BLOCKS).then_some(at as usize)
        };
        match event.get("type").and_then(Value::as_str)? {
            "message_start" => {
                let message = event.get("message").filter(|m| m.is_object())?;
                *whole = message.clone();
                whole["content"] = json!([]);
            }
            "content_block_start" => {
                let block = event.get("content_block").filter(|b| b.is_object())?;
                let at = place()?;
                let blocks = whole.get_mut("content")?.as_array_mut()?;
                while blocks.len() <= at {
                    blocks.push(json!({}));
                }
                *blocks.get_mut(at)? = block.clone();
            }
            "content_block_delta" => {
                let block = whole.get_mut("content")?.get_mut(place()?)?;
                let delta = event.get("delta")?;
                for name in ["thinking", "signature"] {
                    if let Some(more) = delta.get(name).and_then(Value::as_str) {
                        grow(block, name, more);
                    }
                }
                let more = delta.get("text").and_then(Value::as_str)?;
                grow(block, "text", more);
                return Some(more.to_owned());
            }
            "message_delta" if whole.is_object() => {
                let delta = event.get("delta")?;
                keep(whole, delta, &["stop_reason", "stop_sequence"]);
                if !whole["usage"].is_object() {
                    whole["usage"] = json!({});
                }
                for (name, value) in event.get("usage")?.as_object()? {
                    whole["usage"][name] = value.clone();
                }
            }
            "error" => *whole = json!({ "error": event.get("error") }),
            _ => {}
        }
        None
    }

    fn ended(&self, whole: &Value) -> bool {
        whole.get("stop_reason").is_some_and(Value::is_string)
    }
}

/// The body of a request for words.
pub fn body(asked: &Asked<'_>) -> Value {
    let sampling = asked.sampling();
    let thinking = thinking_budget(asked.options);
    let mut body = Map::new();
    body.insert("model".into(), asked.model.into());
    let max_tokens = asked.max_tokens().saturating_add(thinking.unwrap_or(0));
    body.insert("max_tokens".into(), max_tokens.into());
    if let Some(system) = &asked.generate.prompt.system {
        body.insert("system".into(), system.as_str().into());
    }
    body.insert("messages".into(), messages(asked));
    let stops = asked.stops(MOST_STOPS, false);
    if !stops.is_empty() {
        body.insert("stop_sequences".into(), stops.into());
    }
    match thinking {
        // With thinking on, the API takes no temperature but its own.
        Some(budget) => {
            let thinking = json!({"type": "enabled", "budget_tokens": budget});
            body.insert("thinking".into(), thinking);
        }
        None => {
            // Newer models take one of the two, not both.
            if asked.shape.sends("temperature") {
                body.insert("temperature".into(), sampling.temperature.into());
            }
            if let (Some(top_p), true) = (sampling.top_p, asked.shape.sends("top_p")) {
                body.insert("top_p".into(), top_p.into());
            }
            if let (Some(top_k), true) = (sampling.top_k, asked.shape.sends("top_k")) {
                body.insert("top_k".into(), top_k.into());
            }
        }
    }
    Value::Object(body)
}

/// The thinking budget that the user's settings ask for.
pub fn thinking_budget(options: &Options) -> Option<u32> {
    let by_effort = || match options.reasoning_effort.as_deref() {
        Some("low") => Some(1024),
        Some("medium") => Some(4096),
        Some("high") => Some(16_384),
        _ => None,
    };
    // The API's own least is 1024.
    options
        .thinking_budget
        .filter(|budget| *budget > 0)
        .or_else(by_effort)
        .map(|budget| budget.max(1024))
}

fn messages(asked: &Asked<'_>) -> Value {
    let turns = asked.generate.prompt.turns.iter().enumerate();
    turns
        .map(|(index, turn)| {
            let role = match turn.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            let shared = if index == 0 { asked.shared_prefix } else { 0 };
            json!({"role": role, "content": content(turn, shared)})
        })
        .collect()
}

/// The parts of a turn. Where other requests share its beginning, that beginning is a block of its
/// own with a cache mark behind it.
fn content(turn: &Turn, shared: usize) -> Value {
    let mut blocks = Vec::new();
    let mut shared = shared;
    for part in &turn.parts {
        match part {
            Part::Text(text) => {
                match text.split_at_checked(shared) {
                    Some((head, tail)) if shared > 0 && !tail.is_empty() => {
                        blocks.push(json!({
                            "type": "text",
                            "text": head,
                            "cache_control": {"type": "ephemeral"},
                        }));
                        blocks.push(json!({"type": "text", "text": tail}));
                    }
                    _ => blocks.push(json!({"type": "text", "text": text})),
                }
                shared = 0;
            }
            Part::Image(image) => blocks.push(json!({
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": image.media_type,
                    "data": base64_of(image),
                },
            })),
        }
    }
    Value::Array(blocks)
}

/// Reads the words out of an answer.
pub fn read(raw: &Value) -> Result<Read<Generated>, ReadError> {
    let blocks = raw
        .get("content")
        .and_then(Value::as_array)
        .ok_or_else(|| Unreadable::missing("content"))?;
    let stop_reason = raw
        .get("stop_reason")
        .and_then(Value::as_str)
        .ok_or_else(|| Unreadable::missing("stop_reason"))?;
    let of_kind = |kind: &str, field: &str| -> String {
        blocks
            .iter()
            .filter(|b| b.get("type").and_then(Value::as_str) == Some(kind))
            .filter_map(|b| b.get(field).and_then(Value::as_str))
            .collect()
    };
    let reasoning = of_kind("thinking", "thinking");
    let generated = Generated {
        text: of_kind("text", "text"),
        finish: match stop_reason {
            "end_turn" | "stop_sequence" => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "refusal" => Finish::Refusal,
            other => Finish::Other(other.to_owned()),
        },
        reasoning: (!reasoning.is_empty()).then_some(reasoning),
    };
    let written = count(raw, "/usage/cache_creation_input_tokens");
    let cached = count(raw, "/usage/cache_read_input_tokens");
    Ok(Read {
        answer: generated,
        usage: Usage {
            // Anthropic counts the three apart; the contract counts all that was read.
            prompt_tokens: count(raw, "/usage/input_tokens") + written + cached,
            cached_tokens: cached,
            completion_tokens: count(raw, "/usage/output_tokens"),
            reasoning_tokens: 0,
            cost: None,
        },
        usage_told: told(raw, "/usage/input_tokens") && told(raw, "/usage/output_tokens"),
        cache_writes: written,
        model_version: text(raw, "/model"),
    })
}
