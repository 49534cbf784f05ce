//! Google's Gemini API.
//!
//! Schema: ai.google.dev/api/generate-content.

use mary_contract::{Finish, Generated, Part, Scored, Usage};
use serde_json::{Map, Value, json};

use crate::format::{TopTokens, WireFormat};
use crate::stream::{StreamFormat, grow, keep};
use crate::wire::{
    Read, ReadError, WireRequest, base64_of, count, list_at, speaker, str_at, text, told,
    top_scores,
};

/// Most stop strings the API takes.
const MOST_STOPS: usize = 5;
/// Most alternatives the API lists for a token.
const MOST_ALTERNATIVES: u32 = 20;
/// Parts of one answer, at most: each piece of another kind than the last begins one.
const MOST_PARTS: usize = 10_000;

#[derive(Debug, Clone, Copy)]
pub struct Google;

impl WireFormat for Google {
    fn name(&self) -> &'static str {
        "google"
    }

    fn path(&self, model: &str) -> String {
        let model = model.strip_prefix("models/").unwrap_or(model);
        format!("models/{model}:generateContent")
    }

    fn body(&self, request: &WireRequest<'_>) -> Value {
        let mut config = Map::new();
        config.insert("maxOutputTokens".into(), request.max_tokens().into());
        request.put_sampling(&mut config, ["temperature", "topP", "topK"]);
        request.put_stops(&mut config, "stopSequences", MOST_STOPS, true);
        if let Some(budget) = request.options.thinking_budget {
            config.insert("thinkingConfig".into(), json!({"thinkingBudget": budget}));
        } else if let Some(effort) = &request.options.reasoning_effort {
            config.insert("thinkingConfig".into(), json!({"thinkingLevel": effort}));
        }
        with_config(request, config.into())
    }

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        let candidates = list_at(raw, "/candidates");
        let candidate = match candidates.map(Vec::as_slice) {
            Some([candidate]) => candidate,
            _ => {
                // A prompt that was blocked has no candidate, and says why.
                if let Some(reason) = text(raw, "/promptFeedback/blockReason") {
                    let generated = Generated {
                        text: String::new(),
                        finish: if reason == "OTHER" {
                            Finish::Other(reason)
                        } else {
                            Finish::ContentFilter
                        },
                        reasoning: None,
                    };
                    return Ok(with_usage(raw, generated));
                }
                let found = candidates.map_or(0, Vec::len);
                return Err(ReadError::Unreadable(format!(
                    "the answer has {found} candidates where one was asked for"
                )));
            }
        };
        let reason =
            str_at(candidate, "/finishReason").ok_or_else(|| ReadError::missing("finishReason"))?;
        let parts = list_at(candidate, "/content/parts");
        let words = |thought: bool| -> String {
            let parts = parts.into_iter().flatten();
            parts
                .filter(|p| is_thought(p) == thought)
                .filter_map(|p| str_at(p, "/text"))
                .collect()
        };
        let reasoning = words(true);
        let generated = Generated {
            text: words(false),
            finish: match reason {
                "STOP" => Finish::Stop,
                "MAX_TOKENS" => Finish::Length,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "IMAGE_SAFETY" => Finish::ContentFilter,
                other => Finish::Other(other.to_owned()),
            },
            reasoning: (!reasoning.is_empty()).then_some(reasoning),
        };
        Ok(with_usage(raw, generated))
    }

    /// In a header, so that the key is never part of an address.
    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-goog-api-key", "")
    }

    fn stream(&self) -> Option<&'static dyn StreamFormat> {
        Some(&Google)
    }

    fn top_tokens(&self) -> Option<&'static dyn TopTokens> {
        Some(&Google)
    }
}

impl TopTokens for Google {
    fn body(&self, request: &WireRequest<'_>) -> Value {
        with_config(
            request,
            json!({
                "maxOutputTokens": 1,
                "temperature": 1.0,
                "responseLogprobs": true,
                "logprobs": MOST_ALTERNATIVES,
            }),
        )
    }

    fn read(&self, raw: &Value, continuations: &[String]) -> Result<Read<Scored>, ReadError> {
        let listed = raw.pointer("/candidates/0/logprobsResult/topCandidates/0/candidates");
        let scored = top_scores(listed, "logProbability", continuations)?;
        Ok(with_usage(raw, scored))
    }
}

fn with_config(request: &WireRequest<'_>, config: Value) -> Value {
    let prompt = &request.generate.prompt;
    let contents = prompt.turns.iter().map(|turn| {
        let parts: Value = turn.parts.iter().map(part).collect();
        json!({"role": speaker(turn.speaker, "model"), "parts": parts})
    });
    let mut body = Map::new();
    if let Some(system) = &prompt.system {
        let system = json!({"parts": [{"text": system}]});
        body.insert("systemInstruction".into(), system);
    }
    body.insert("contents".into(), contents.collect());
    body.insert("generationConfig".into(), config);
    Value::Object(body)
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image(image) => json!({
            "inlineData": {"mimeType": image.media_type, "data": base64_of(image)},
        }),
    }
}

/// Whether a part of an answer is reasoning.
fn is_thought(part: &Value) -> bool {
    part.get("thought").and_then(Value::as_bool) == Some(true)
}

fn with_usage<A>(raw: &Value, answer: A) -> Read<A> {
    let thoughts = count(raw, "/usageMetadata/thoughtsTokenCount");
    Read {
        answer,
        usage: Usage {
            prompt_tokens: count(raw, "/usageMetadata/promptTokenCount"),
            cached_tokens: count(raw, "/usageMetadata/cachedContentTokenCount"),
            // Google counts thoughts apart from the answer and bills both.
            completion_tokens: count(raw, "/usageMetadata/candidatesTokenCount") + thoughts,
            reasoning_tokens: thoughts,
            cost: None,
        },
        // An answer without a word has no count of its own.
        usage_told: told(raw, "/usageMetadata/promptTokenCount"),
        cache_writes: 0,
        model_version: text(raw, "/modelVersion"),
    }
}

/// The same body at another address, each event an answer with the parts that are new.
impl StreamFormat for Google {
    fn path(&self, path: &str) -> String {
        let path = path.strip_suffix(":generateContent").unwrap_or(path);
        format!("{path}:streamGenerateContent?alt=sse")
    }

    fn ask(&self, _: &mut Value) {}

    fn take(&self, whole: &mut Value, event: &Value) -> Option<String> {
        if !event.is_object() {
            return None;
        }
        if !whole.is_object() {
            *whole = json!({});
        }
        let told = [
            "error",
            "modelVersion",
            "promptFeedback",
            "responseId",
            "usageMetadata",
        ];
        keep(whole, event, &told);
        let piece = event.pointer("/candidates/0").filter(|c| c.is_object())?;
        if !whole["candidates"].is_array() {
            whole["candidates"] = json!([{"content": {"role": "model", "parts": []}}]);
        }
        let candidate = whole.pointer_mut("/candidates/0")?;
        for (name, value) in piece.as_object()? {
            if name != "content" {
                candidate[name] = value.clone();
            }
        }
        let parts = candidate.pointer_mut("/content/parts")?.as_array_mut()?;
        let mut told = String::new();
        let fresh = list_at(piece, "/content/parts");
        for part in fresh.into_iter().flatten() {
            let thought = is_thought(part);
            let words = str_at(part, "/text");
            if let (Some(words), false) = (words, thought) {
                told.push_str(words);
            }
            let room = parts.len() < MOST_PARTS;
            let goes_on = parts
                .last_mut()
                .filter(|last| is_thought(last) == thought && last.get("text").is_some());
            match (words, goes_on) {
                (Some(words), Some(last)) => grow(last, "text", words),
                _ if part.is_object() && room => parts.push(part.clone()),
                _ => {}
            }
        }
        (!told.is_empty()).then_some(told)
    }

    fn ended(&self, whole: &Value) -> bool {
        let finished = whole.pointer("/candidates/0/finishReason");
        let blocked = whole.pointer("/promptFeedback/blockReason");
        finished.or(blocked).is_some_and(Value::is_string)
    }
}
