//! OpenAI's chat completions, which most servers speak.
//!
//! Schema: platform.openai.com/docs/api-reference/chat.

use mary_contract::{
    ErrorKind, Finish, Generated, ModelError, Part, Prompt, Scored, Speaker, Turn, Usage,
};
use serde_json::{Map, Value, json};

use crate::batch_api::BatchDialect;
use crate::format::WireFormat;
use crate::stream::{StreamFormat, grow, keep};
use crate::wire::{
    Asked, Read, ReadError, Unreadable, count, data_url, finite_score, text, told, words,
};

/// Most stop strings the API takes.
const MOST_STOPS: usize = 4;
/// Most alternatives the API lists for a token.
const MOST_ALTERNATIVES: u32 = 20;

/// Where requests go, below the base address.
pub const PATH: &str = "chat/completions";

#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat;

impl WireFormat for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
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

    fn streams(&self) -> Option<&'static dyn StreamFormat> {
        Some(&Stream)
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

    fn batches(&self) -> Option<BatchDialect> {
        Some(BatchDialect::OpenAi)
    }
}

pub struct Stream;

impl StreamFormat for Stream {
    fn ask(&self, body: &mut Value) {
        body["stream"] = true.into();
        body["stream_options"] = json!({ "include_usage": true });
    }

    fn take(&self, whole: &mut Value, event: &Value) -> Option<String> {
        let choice = take_choice(whole, event)?;
        let delta = choice.get("delta")?;
        let message = &mut whole["choices"][0]["message"];
        for name in ["reasoning_content", "reasoning", "refusal"] {
            if let Some(more) = delta.get(name).and_then(Value::as_str) {
                grow(message, name, more);
            }
        }
        let more = delta.get("content").and_then(Value::as_str)?;
        grow(message, "content", more);
        Some(more.to_owned())
    }

    fn ended(&self, whole: &Value) -> bool {
        has_ended(whole)
    }
}

/// Takes what all events of OpenAI's have into the whole answer; the event's only choice.
pub fn take_choice<'e>(whole: &mut Value, event: &'e Value) -> Option<&'e Value> {
    event.as_object()?;
    if whole.is_null() {
        *whole = json!({"choices": [{"index": 0, "message": {"role": "assistant"}, "finish_reason": null}]});
    }
    keep(whole, event, &["id", "model", "created", "usage", "error"]);
    let choice = event.get("choices")?.as_array()?.first()?;
    keep(&mut whole["choices"][0], choice, &["finish_reason"]);
    Some(choice)
}

/// Whether a reason was given why the answer ended.
pub fn has_ended(whole: &Value) -> bool {
    whole
        .pointer("/choices/0/finish_reason")
        .is_some_and(Value::is_string)
}

/// The body of a request for words.
pub fn body(asked: &Asked<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), asked.model.into());
    body.insert("messages".into(), messages(&asked.generate.prompt));
    let limit = if asked.shape.max_completion_tokens {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    body.insert(limit.into(), asked.max_tokens().into());
    asked.put_sampling(&mut body);
    let stops = asked.stops(MOST_STOPS, true);
    if !stops.is_empty() {
        body.insert("stop".into(), stops.into());
    }
    if let Some(effort) = &asked.options.reasoning_effort {
        if asked.extensions.reasoning_effort {
            body.insert("reasoning_effort".into(), effort.as_str().into());
        } else {
            body.insert("reasoning".into(), json!({ "effort": effort }));
        }
    }
    Value::Object(body)
}

/// The body of a request for the most probable next tokens.
pub fn top_body(asked: &Asked<'_>) -> Value {
    let limit = if asked.shape.max_completion_tokens {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    // Temperature 1: whether or not a service rescales before it reports, these are p itself.
    json!({
        "model": asked.model,
        "messages": messages(&asked.generate.prompt),
        limit: 1,
        "temperature": 1.0,
        "logprobs": true,
        "top_logprobs": MOST_ALTERNATIVES,
    })
}

/// The conversation as messages; also used by servers that only render a template.
pub fn messages(prompt: &Prompt) -> Value {
    let system = prompt
        .system
        .iter()
        .map(|system| json!({"role": "system", "content": system}));
    let turns = prompt.turns.iter().map(|turn| {
        let role = match turn.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({"role": role, "content": content(turn)})
    });
    system.chain(turns).collect()
}

fn content(turn: &Turn) -> Value {
    if turn.parts.iter().all(|p| matches!(p, Part::Text(_))) {
        return words(&turn.parts).into();
    }
    let part = |part: &Part| match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image(image) => json!({"type": "image_url", "image_url": {"url": data_url(image)}}),
    };
    turn.parts.iter().map(part).collect()
}

/// Reads the words out of an answer.
pub fn read(raw: &Value) -> Result<Read<Generated>, ReadError> {
    let choice = only_choice(raw)?;
    let message = choice
        .get("message")
        .and_then(Value::as_object)
        .ok_or_else(|| Unreadable::missing("message in its choice"))?;
    let content = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|p| text(p, "/text")).collect(),
        Some(Value::Null) | None => String::new(),
        Some(_) => return Err(Unreadable("the answer's content is no text".into()).into()),
    };
    let refusal = message.get("refusal").and_then(Value::as_str);
    let finish = match refusal {
        Some(_) => Finish::Refusal,
        None => finish(choice.get("finish_reason").and_then(Value::as_str)),
    };
    let reasoning = ["reasoning_content", "reasoning"]
        .iter()
        .find_map(|name| message.get(*name).and_then(Value::as_str))
        .filter(|text| !text.is_empty())
        .map(str::to_owned);
    let words = match refusal {
        Some(refusal) if content.is_empty() => refusal.to_owned(),
        _ => content,
    };
    Ok(with_usage(
        raw,
        Generated {
            text: words,
            finish,
            reasoning,
        },
    ))
}

/// Exactly one choice was asked for; none is a fault, and so are two (a chunk that came twice).
pub fn only_choice(raw: &Value) -> Result<&Value, Unreadable> {
    let choices = raw
        .get("choices")
        .and_then(Value::as_array)
        .ok_or_else(|| Unreadable::missing("choices"))?;
    match choices.as_slice() {
        [choice] => Ok(choice),
        other => Err(Unreadable(format!(
            "the answer has {} choices where one was asked for",
            other.len()
        ))),
    }
}

/// Why it ended, in the contract's words.
pub fn finish(reason: Option<&str>) -> Finish {
    match reason {
        Some("stop" | "eos" | "end_turn" | "stop_sequence") => Finish::Stop,
        Some("length" | "max_tokens" | "model_length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        Some("refusal") => Finish::Refusal,
        Some(other) => Finish::Other(other.to_owned()),
        None => Finish::Other("none given".into()),
    }
}

/// Adds tokens and version, in the names OpenAI, DeepSeek and OpenRouter use.
pub fn with_usage<A>(raw: &Value, answer: A) -> Read<A> {
    let cached = count(raw, "/usage/prompt_tokens_details/cached_tokens")
        .max(count(raw, "/usage/prompt_cache_hit_tokens"));
    Read {
        answer,
        usage: Usage {
            prompt_tokens: count(raw, "/usage/prompt_tokens"),
            cached_tokens: cached,
            completion_tokens: count(raw, "/usage/completion_tokens"),
            reasoning_tokens: count(raw, "/usage/completion_tokens_details/reasoning_tokens"),
            cost: raw.pointer("/usage/cost").and_then(Value::as_f64),
        },
        usage_told: told(raw, "/usage/prompt_tokens") && told(raw, "/usage/completion_tokens"),
        cache_writes: 0,
        model_version: text(raw, "/model"),
    }
}

/// Reads the log-probabilities of single-token continuations out of the list of the most probable
/// first tokens.
pub fn read_top(raw: &Value, continuations: &[String]) -> Result<Read<Scored>, ReadError> {
    let choice = only_choice(raw)?;
    let listed = choice
        .pointer("/logprobs/content/0/top_logprobs")
        .and_then(Value::as_array)
        .ok_or_else(|| {
            ReadError::Final(
                ModelError::new(
                    ErrorKind::BadRequest,
                    "the answer holds no top log-probabilities",
                )
                .hint("this model or server does not give them; choose a task that asks for words, or another model"),
            )
        })?;
    let listed: Vec<(&str, f64)> = listed
        .iter()
        .filter_map(|entry| {
            let token = entry.get("token").and_then(Value::as_str)?;
            Some((token, entry.get("logprob").and_then(Value::as_f64)?))
        })
        .collect();
    let scored = continuations
        .iter()
        .map(|c| pick(&listed, c))
        .collect::<Result<_, _>>()
        .map_err(ReadError::Final)?;
    Ok(with_usage(
        raw,
        Scored {
            continuations: scored,
        },
    ))
}

/// The token that spells the continuation exactly or, since a chat answer begins without the space
/// that stands before a word in running text, without its leading space.
pub fn pick(
    listed: &[(&str, f64)],
    continuation: &str,
) -> Result<mary_contract::ContinuationScore, ModelError> {
    let exact = listed.iter().find(|(token, _)| *token == continuation);
    let trimmed = continuation.trim_start();
    let found = exact.or_else(|| listed.iter().find(|(token, _)| *token == trimmed));
    match found {
        Some((token, logprob)) => {
            finite_score(vec![(*token).to_owned()], vec![*logprob], false, false)
        }
        None => {
            let lowest = listed.iter().map(|(_, p)| *p).fold(f64::INFINITY, f64::min);
            Err(ModelError::new(
                ErrorKind::BadRequest,
                format!(
                    "{continuation:?} is not one of the {} most probable tokens the API lists (the last has log-probability {lowest:.2})",
                    listed.len()
                ),
            )
            .hint("it is more than one token or too improbable; a model with full log-probabilities (vllm/, sglang/, llamacpp/, hf/, gguf/) can score it"))
        }
    }
}
