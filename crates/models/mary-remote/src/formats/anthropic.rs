//! Anthropic's Messages API and Message Batches.
//!
//! Schemas: docs.anthropic.com/en/api/messages, docs.anthropic.com/en/api/creating-message-batches. No
//! log-probabilities, no seed. Prefix caching is asked for with explicit marks.

use mary_contract::{ErrorKind, Finish, Generated, ModelError, Part, Turn, Usage};
use serde_json::{Map, Value, json};

use crate::api_error::refused_in_batch;
use crate::batch_state::BatchPart;
use crate::format::{BatchFormat, Progress, WireFormat};
use crate::options::{Options, Result};
use crate::stream::{StreamFormat, grow, keep};
use crate::wire::{
    Read, ReadError, WireRequest, base64_of, count, list_at, speaker, str_at, text, told,
};

/// Most stop strings we send.
const MOST_STOPS: usize = 16;
/// Blocks of one answer, at most: each place that an event names is made.
const MOST_BLOCKS: u64 = 1_000;

#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

impl WireFormat for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn path(&self, _model: &str) -> String {
        "messages".into()
    }

    fn body(&self, request: &WireRequest<'_>) -> Value {
        let thinking = self.thinking(request.options);
        let mut body = Map::new();
        body.insert("model".into(), request.model.into());
        let max_tokens = request.max_tokens().saturating_add(thinking.unwrap_or(0));
        body.insert("max_tokens".into(), max_tokens.into());
        if let Some(system) = &request.generate.prompt.system {
            body.insert("system".into(), system.as_str().into());
        }
        let turns = request.generate.prompt.turns.iter().enumerate();
        let messages = turns.map(|(index, turn)| {
            let shared = if index == 0 { request.shared_prefix } else { 0 };
            json!({"role": speaker(turn.speaker, "assistant"), "content": content(turn, shared)})
        });
        body.insert("messages".into(), messages.collect());
        request.put_stops(&mut body, "stop_sequences", MOST_STOPS, false);
        match thinking {
            // With thinking on, the API takes no temperature but its own.
            Some(budget) => {
                let thinking = json!({"type": "enabled", "budget_tokens": budget});
                body.insert("thinking".into(), thinking);
            }
            None => request.put_sampling(&mut body, ["temperature", "top_p", "top_k"]),
        }
        Value::Object(body)
    }

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        let blocks = list_at(raw, "/content").ok_or_else(|| ReadError::missing("content"))?;
        let stop_reason =
            str_at(raw, "/stop_reason").ok_or_else(|| ReadError::missing("stop_reason"))?;
        let of_kind = |kind: &str, field: &str| -> String {
            blocks
                .iter()
                .filter(|b| str_at(b, "/type") == Some(kind))
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
                ..Usage::default()
            },
            usage_told: told(raw, "/usage/input_tokens") && told(raw, "/usage/output_tokens"),
            cache_writes: written,
            model_version: text(raw, "/model"),
        })
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn marks_prefixes(&self) -> bool {
        true
    }

    fn thinking(&self, options: &Options) -> Option<u32> {
        let by_effort = || match options.reasoning_effort.as_deref() {
            Some("low") => Some(1024),
            Some("medium") => Some(4096),
            Some("high") => Some(16_384),
            _ => None,
        };
        let named = options.thinking_budget.filter(|budget| *budget > 0);
        // The API's own least is 1024.
        named.or_else(by_effort).map(|budget| budget.max(1024))
    }

    fn stream(&self) -> Option<&'static dyn StreamFormat> {
        Some(&Anthropic)
    }

    fn batches(&self) -> Option<&'static dyn BatchFormat> {
        Some(&Anthropic)
    }
}

/// The parts of a turn. Where other requests share its beginning, that beginning is a block of its
/// own with a cache mark behind it.
fn content(turn: &Turn, mut shared: usize) -> Value {
    let mut blocks = Vec::new();
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

impl StreamFormat for Anthropic {
    fn ask(&self, body: &mut Value) {
        body["stream"] = true.into();
    }

    fn take(&self, whole: &mut Value, event: &Value) -> Option<String> {
        let place = || {
            let at = event.get("index").and_then(Value::as_u64)?;
            (at < MOST_BLOCKS).then_some(at as usize)
        };
        match str_at(event, "/type")? {
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
                let more = str_at(delta, "/text")?;
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

impl BatchFormat for Anthropic {
    fn path(&self) -> &'static str {
        "messages/batches"
    }

    fn after(&self) -> &'static str {
        "after_id"
    }

    fn body(&self, _name: &str, requests: Vec<(String, Value)>, _file: Option<&str>) -> Value {
        let requests = requests.into_iter();
        let requests = requests.map(|(name, body)| json!({"custom_id": name, "params": body}));
        json!({ "requests": requests.collect::<Vec<_>>() })
    }

    fn keeps_names(&self) -> bool {
        false
    }

    /// The one that was not listed before and has as many requests.
    fn is_part(&self, batch: &Value, part: &BatchPart) -> bool {
        let id = text(batch, "/id").unwrap_or_default();
        let total = request_count(
            batch,
            &["succeeded", "errored", "canceled", "expired", "processing"],
        );
        !part.known.contains(&id) && total == part.requests.len() as u64
    }

    fn progress(&self, id: &str, raw: &Value) -> Option<Progress> {
        let status = text(raw, "/processing_status")?;
        let done = request_count(raw, &["succeeded", "errored", "canceled", "expired"]);
        Some(Progress {
            id: id.to_owned(),
            ended: status == "ended",
            complete: status == "ended",
            said: status,
            done,
            total: done + request_count(raw, &["processing"]),
            files: vec![id.to_owned()],
        })
    }

    fn file_path(&self, batch: &str) -> String {
        format!("messages/batches/{batch}/results")
    }

    fn outcome(&self, line: &Value) -> Result<Value> {
        let kind = text(line, "/result/type").unwrap_or_default();
        match (kind.as_str(), line.pointer("/result/message")) {
            ("succeeded", Some(message)) => Ok(message.clone()),
            ("errored", _) => {
                let error = line.pointer("/result/error");
                Err(refused_in_batch(error.unwrap_or(&Value::Null)))
            }
            (other, _) => Err(ModelError::new(
                ErrorKind::Transport,
                format!("the provider reports this request of the batch as {other}"),
            )
            .hint("give the same command again: it is submitted anew")),
        }
    }
}

fn request_count(batch: &Value, states: &[&str]) -> u64 {
    let counts = states
        .iter()
        .map(|s| count(batch, &format!("/request_counts/{s}")));
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_and_outcomes_of_batches_are_read() {
        let ended = json!({"processing_status": "ended", "request_counts": {"processing": 0, "succeeded": 8, "errored": 1, "canceled": 0, "expired": 1}});
        let progress = Anthropic.progress("msgbatch_1", &ended).unwrap();
        assert!(progress.ended);
        assert_eq!((progress.done, progress.total), (10, 10));
        let good = json!({"result": {"type": "succeeded", "message": {"m": 1}}});
        assert_eq!(Anthropic.outcome(&good).unwrap()["m"], 1);
        let bad = json!({"result": {"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}}});
        assert!(Anthropic.outcome(&bad).unwrap_err().message.ends_with("no"));
        let late = json!({"result": {"type": "expired"}});
        let error = Anthropic.outcome(&late).unwrap_err();
        assert!(error.message.contains("expired"), "{error}");
    }
}
