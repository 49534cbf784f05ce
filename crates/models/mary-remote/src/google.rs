//! Google's Gemini API.
//!
//! Schema: ai.google.dev/api/generate-content.

use mary_contract::{ErrorKind, Finish, Generated, ModelError, Part, Scored, Speaker, Usage};
use serde_json::{Map, Value, json};

use crate::format::WireFormat;
use crate::http::KeyHeader;
use crate::openai_chat::pick;
use crate::stream::{StreamFormat, grow, keep};
use crate::wire::{Asked, Read, ReadError, Unreadable, base64_of, count, small_seed, text, told};

/// Most stop strings the API takes.
const MOST_STOPS: usize = 5;
/// Most alternatives the API lists for a token.
const MOST_ALTERNATIVES: u32 = 20;

#[derive(Debug, Clone, Copy)]
pub struct Google;

impl WireFormat for Google {
    fn name(&self) -> &'static str {
        "google"
    }

    fn path(&self, model: &str) -> String {
        path(model)
    }

    fn body(&self, asked: &Asked<'_>) -> Value {
        body(asked)
    }

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        read(raw)
    }

    fn streams(&self) -> Option<&'static dyn StreamFormat> {
        Some(&Stream)
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader::XGoogApiKey
    }

    fn lists_top_tokens(&self) -> bool {
        true
    }

    fn top_body(&self, asked: &Asked<'_>) -> Value {
        top_body(asked)
    }

    fn read_top(&self, raw: &Value, continuations: &[String]) -> Result<Read<Scored>, ReadError> {
        read_top(raw, continuations)
    }
}

/// Parts of one answer, at most: each piece of another kind than the last begins one.
const MOST_PARTS: usize = 10_000;

/// Answers piece by piece: the same body at another address, each event an answer with the parts that are new.
pub struct Stream;

impl StreamFormat for Stream {
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
        let (mut told, mut fresh_parts) = (String::new(), Vec::new());
        let fresh = piece.pointer("/content/parts").and_then(Value::as_array);
        for part in fresh.into_iter().flatten() {
            let thought = is_thought(part);
            let words = part.get("text").and_then(Value::as_str);
            if let (Some(words), false) = (words, thought) {
                told.push_str(words);
            }
            let goes_on = parts
                .last_mut()
                .filter(|last| is_thought(last) == thought && last.get("text").is_some());
            match (words, goes_on) {
                (Some(words), Some(last)) => grow(last, "text", words),
                _ if part.is_object() => fresh_parts.push(part.clone()),
                _ => {}
            }
            parts.append(&mut fresh_parts);
            parts.truncate(MOST_PARTS);
        }
        (!told.is_empty()).then_some(told)
    }

    fn ended(&self, whole: &Value) -> bool {
        let finished = whole.pointer("/candidates/0/finishReason");
        let blocked = whole.pointer("/promptFeedback/blockReason");
        finished.or(blocked).is_some_and(Value::is_string)
    }
}

/// Whether a part of an answer is reasoning.
fn is_thought(part: &Value) -> bool {
    part.get("thought").and_then(Value::as_bool) == Some(true)
}

/// Where requests for a model go, below the base address.
pub fn path(model: &str) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    format!("models/{model}:generateContent")
}

/// The body of a request for words.
pub fn body(asked: &Asked<'_>) -> Value {
    let sampling = asked.sampling();
    let mut config = Map::new();
    config.insert("maxOutputTokens".into(), asked.max_tokens().into());
    if asked.shape.sends("temperature") {
        config.insert("temperature".into(), sampling.temperature.into());
    }
    if let (Some(top_p), true) = (sampling.top_p, asked.shape.sends("top_p")) {
        config.insert("topP".into(), top_p.into());
    }
    if let (Some(top_k), true) = (sampling.top_k, asked.shape.sends("top_k")) {
        config.insert("topK".into(), top_k.into());
    }
    if let (Some(seed), true) = (sampling.seed, asked.shape.sends("seed")) {
        config.insert("seed".into(), small_seed(seed).into());
    }
    let stops = asked.stops(MOST_STOPS, true);
    if !stops.is_empty() {
        config.insert("stopSequences".into(), stops.into());
    }
    if let Some(budget) = asked.options.thinking_budget {
        config.insert("thinkingConfig".into(), json!({"thinkingBudget": budget}));
    } else if let Some(effort) = &asked.options.reasoning_effort {
        config.insert("thinkingConfig".into(), json!({"thinkingLevel": effort}));
    }
    with_config(asked, config)
}

/// The body of a request for the most probable next tokens.
pub fn top_body(asked: &Asked<'_>) -> Value {
    let mut config = Map::new();
    config.insert("maxOutputTokens".into(), 1.into());
    config.insert("temperature".into(), 1.0.into());
    config.insert("responseLogprobs".into(), true.into());
    config.insert("logprobs".into(), MOST_ALTERNATIVES.into());
    with_config(asked, config)
}

fn with_config(asked: &Asked<'_>, config: Map<String, Value>) -> Value {
    let prompt = &asked.generate.prompt;
    let contents: Value = prompt
        .turns
        .iter()
        .map(|turn| {
            let role = match turn.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "model",
            };
            let parts: Value = turn.parts.iter().map(part).collect();
            json!({"role": role, "parts": parts})
        })
        .collect();
    let mut body = Map::new();
    if let Some(system) = &prompt.system {
        body.insert(
            "systemInstruction".into(),
            json!({"parts": [{"text": system}]}),
        );
    }
    body.insert("contents".into(), contents);
    body.insert("generationConfig".into(), Value::Object(config));
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

/// Reads the words out of an answer.
pub fn read(raw: &Value) -> Result<Read<Generated>, ReadError> {
    let candidates = raw.get("candidates").and_then(Value::as_array);
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
            return Err(Unreadable(format!(
                "the answer has {found} candidates where one was asked for"
            ))
            .into());
        }
    };
    let reason = candidate
        .get("finishReason")
        .and_then(Value::as_str)
        .ok_or_else(|| Unreadable::missing("finishReason"))?;
    let words = |thought: bool| -> String {
        let parts = candidate
            .pointer("/content/parts")
            .and_then(Value::as_array);
        parts
            .into_iter()
            .flatten()
            .filter(|p| is_thought(p) == thought)
            .filter_map(|p| p.get("text").and_then(Value::as_str))
            .collect()
    };
    let reasoning = words(true);
    let generated = Generated {
        text: words(false),
        finish: finish(reason),
        reasoning: (!reasoning.is_empty()).then_some(reasoning),
    };
    Ok(with_usage(raw, generated))
}

fn finish(reason: &str) -> Finish {
    match reason {
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            Finish::ContentFilter
        }
        other => Finish::Other(other.to_owned()),
    }
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

/// Reads the log-probabilities of single-token continuations.
pub fn read_top(raw: &Value, continuations: &[String]) -> Result<Read<Scored>, ReadError> {
    let listed = raw
        .pointer("/candidates/0/logprobsResult/topCandidates/0/candidates")
        .and_then(Value::as_array)
        .ok_or_else(|| {
            ReadError::Final(
                ModelError::new(
                    ErrorKind::BadRequest,
                    "the answer holds no top log-probabilities",
                )
                .hint("this Gemini model does not give them; choose a task that asks for words"),
            )
        })?;
    let listed: Vec<(&str, f64)> = listed
        .iter()
        .filter_map(|entry| {
            let token = entry.get("token").and_then(Value::as_str)?;
            Some((token, entry.get("logProbability").and_then(Value::as_f64)?))
        })
        .collect();
    let continuations = continuations
        .iter()
        .map(|c| pick(&listed, c))
        .collect::<Result<_, _>>()
        .map_err(ReadError::Final)?;
    Ok(with_usage(raw, Scored { continuations }))
}
