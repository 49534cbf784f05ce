//! OpenAI's chat completions, which most servers speak, and OpenAI's batches of them.
//!
//! Schemas: platform.openai.com/docs/api-reference/chat, platform.openai.com/docs/api-reference/batch.

use mary_contract::{Finish, Generated, Part, Prompt, Scored, Turn, Usage};
use serde_json::{Map, Value, json};

use crate::api_error::refused_in_batch;
use crate::batch_state::BatchPart;
use crate::format::{BatchFormat, Progress, TopTokens, Upload, WireFormat};
use crate::options::Result;
use crate::stream::{StreamFormat, grow, keep};
use crate::wire::{
    Read, ReadError, WireRequest, count, data_url, list_at, speaker, str_at, text, told,
    top_scores, words,
};

/// Most stop strings the API takes.
const MOST_STOPS: usize = 4;
/// Most alternatives the API lists for a token.
const MOST_ALTERNATIVES: u32 = 20;

#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat;

impl WireFormat for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn path(&self, _model: &str) -> String {
        "chat/completions".into()
    }

    fn body(&self, request: &WireRequest<'_>) -> Value {
        let mut body = Map::new();
        body.insert("model".into(), request.model.into());
        body.insert("messages".into(), messages(&request.generate.prompt));
        body.insert(limit(request).into(), request.max_tokens().into());
        request.put_sampling(&mut body, ["temperature", "top_p", "top_k"]);
        request.put_stops(&mut body, "stop", MOST_STOPS, true);
        if let Some(effort) = &request.options.reasoning_effort {
            if request.extensions.reasoning_effort {
                body.insert("reasoning_effort".into(), effort.as_str().into());
            } else {
                body.insert("reasoning".into(), json!({ "effort": effort }));
            }
        }
        Value::Object(body)
    }

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        let choice = only_choice(raw)?;
        let message = choice
            .get("message")
            .filter(|message| message.is_object())
            .ok_or_else(|| ReadError::missing("message in its choice"))?;
        let content = match message.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => parts.iter().filter_map(|p| text(p, "/text")).collect(),
            Some(Value::Null) | None => String::new(),
            Some(_) => {
                return Err(ReadError::Unreadable(
                    "the answer's content is no text".into(),
                ));
            }
        };
        let refusal = str_at(message, "/refusal");
        let finish = match refusal {
            Some(_) => Finish::Refusal,
            None => finish(choice),
        };
        let reasoning = ["reasoning_content", "reasoning"]
            .iter()
            .find_map(|name| message.get(*name).and_then(Value::as_str))
            .filter(|text| !text.is_empty())
            .map(str::to_owned);
        let text = match refusal {
            Some(refusal) if content.is_empty() => refusal.to_owned(),
            _ => content,
        };
        let generated = Generated {
            text,
            finish,
            reasoning,
        };
        Ok(with_usage(raw, generated))
    }

    fn stream(&self) -> Option<&'static dyn StreamFormat> {
        Some(&OpenAiChat)
    }

    fn top_tokens(&self) -> Option<&'static dyn TopTokens> {
        Some(&OpenAiChat)
    }

    fn batches(&self) -> Option<&'static dyn BatchFormat> {
        Some(&OpenAiChat)
    }
}

impl TopTokens for OpenAiChat {
    fn body(&self, request: &WireRequest<'_>) -> Value {
        // Temperature 1: whether or not a service rescales before it reports, these are p itself.
        json!({
            "model": request.model,
            "messages": messages(&request.generate.prompt),
            limit(request): 1,
            "temperature": 1.0,
            "logprobs": true,
            "top_logprobs": MOST_ALTERNATIVES,
        })
    }

    fn read(&self, raw: &Value, continuations: &[String]) -> Result<Read<Scored>, ReadError> {
        let listed = only_choice(raw)?.pointer("/logprobs/content/0/top_logprobs");
        let scored = top_scores(listed, "logprob", continuations)?;
        Ok(with_usage(raw, scored))
    }
}

fn limit(request: &WireRequest<'_>) -> &'static str {
    if request.shape.max_completion_tokens {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

/// The conversation as messages; also used by servers that only render a template.
pub fn messages(prompt: &Prompt) -> Value {
    let system = prompt
        .system
        .iter()
        .map(|system| json!({"role": "system", "content": system}));
    let turns = prompt
        .turns
        .iter()
        .map(|turn| json!({"role": speaker(turn.speaker, "assistant"), "content": content(turn)}));
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

/// Exactly one choice was asked for; none is a fault, and so are two (a chunk that came twice).
pub(super) fn only_choice(raw: &Value) -> Result<&Value, ReadError> {
    let choices = list_at(raw, "/choices").ok_or_else(|| ReadError::missing("choices"))?;
    match choices.as_slice() {
        [choice] => Ok(choice),
        other => Err(ReadError::Unreadable(format!(
            "the answer has {} choices where one was asked for",
            other.len()
        ))),
    }
}

pub(super) fn finish(choice: &Value) -> Finish {
    match str_at(choice, "/finish_reason") {
        Some("stop" | "eos" | "end_turn" | "stop_sequence") => Finish::Stop,
        Some("length" | "max_tokens" | "model_length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        Some("refusal") => Finish::Refusal,
        Some(other) => Finish::Other(other.to_owned()),
        None => Finish::Other("none given".into()),
    }
}

/// Adds tokens and version, in the names OpenAI, DeepSeek and OpenRouter use.
pub(super) fn with_usage<A>(raw: &Value, answer: A) -> Read<A> {
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

impl StreamFormat for OpenAiChat {
    fn ask(&self, body: &mut Value) {
        ask_stream(body);
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
        let more = str_at(delta, "/content")?;
        grow(message, "content", more);
        Some(more.to_owned())
    }

    fn ended(&self, whole: &Value) -> bool {
        has_ended(whole)
    }
}

pub(super) fn ask_stream(body: &mut Value) {
    body["stream"] = true.into();
    body["stream_options"] = json!({ "include_usage": true });
}

/// Takes what all events of OpenAI's have into the whole answer; the event's only choice.
pub(super) fn take_choice<'e>(whole: &mut Value, event: &'e Value) -> Option<&'e Value> {
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
pub(super) fn has_ended(whole: &Value) -> bool {
    whole
        .pointer("/choices/0/finish_reason")
        .is_some_and(Value::is_string)
}

const BOUNDARY: &str = "mary-batch-7f3c2a91d8e64b05";

/// A file of requests, a batch, a file of answers.
impl BatchFormat for OpenAiChat {
    fn path(&self) -> &'static str {
        "batches"
    }

    fn after(&self) -> &'static str {
        "after"
    }

    /// A form of JSON lines.
    fn upload(&self, requests: &[(String, Value)]) -> Option<Upload> {
        let mut form = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"requests.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n"
        );
        for (name, body) in requests {
            let line = json!({
                "custom_id": name,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": body,
            });
            form.push_str(&line.to_string());
            form.push('\n');
        }
        form.push_str(&format!("\r\n--{BOUNDARY}--\r\n"));
        Some(Upload {
            path: "files",
            content_type: "multipart/form-data; boundary=mary-batch-7f3c2a91d8e64b05",
            bytes: form.into_bytes(),
        })
    }

    fn body(&self, name: &str, _requests: Vec<(String, Value)>, file: Option<&str>) -> Value {
        json!({
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"mary": name},
        })
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn is_part(&self, batch: &Value, part: &BatchPart) -> bool {
        text(batch, "/metadata/mary").as_deref() == Some(&part.name)
    }

    fn progress(&self, id: &str, raw: &Value) -> Option<Progress> {
        let status = text(raw, "/status")?;
        let why = text(raw, "/errors/data/0/message");
        let files = ["/output_file_id", "/error_file_id"];
        Some(Progress {
            id: id.to_owned(),
            ended: ["completed", "failed", "expired", "cancelled"].contains(&status.as_str()),
            complete: status == "completed",
            said: why.map_or(status.clone(), |why| format!("{status}: {why}")),
            done: count(raw, "/request_counts/completed") + count(raw, "/request_counts/failed"),
            total: count(raw, "/request_counts/total"),
            files: files.iter().filter_map(|path| text(raw, path)).collect(),
        })
    }

    fn file_path(&self, file: &str) -> String {
        format!("files/{file}/content")
    }

    fn outcome(&self, line: &Value) -> Result<Value> {
        let status = count(line, "/response/status_code");
        match line.pointer("/response/body") {
            Some(body) if (200..300).contains(&status) => Ok(body.clone()),
            body => Err(refused_in_batch(body.unwrap_or(line))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_is_a_form_of_json_lines() {
        let requests = [("m1-0".to_owned(), json!({"model": "gpt-4o"}))];
        let upload = OpenAiChat.upload(&requests).unwrap();
        let form = String::from_utf8(upload.bytes).unwrap();
        insta::assert_snapshot!("openai_upload", form.replace("\r\n", "\n"));
        assert!(upload.content_type.ends_with(BOUNDARY));
    }

    #[test]
    fn progress_and_outcomes_of_batches_are_read() {
        let half = json!({"status": "in_progress", "request_counts": {"total": 10, "completed": 3, "failed": 1},
                    "output_file_id": null});
        let half = OpenAiChat.progress("batch_1", &half).unwrap();
        assert!(!half.ended);
        assert_eq!((half.done, half.total), (4, 10));
        let failed = json!({"status": "failed", "errors": {"data": [{"message": "bad line"}]}});
        let failed = OpenAiChat.progress("b", &failed).unwrap();
        assert_eq!(failed.said, "failed: bad line");
        let good = json!({"custom_id": "a", "response": {"status_code": 200, "body": {"x": 1}}});
        assert_eq!(OpenAiChat.outcome(&good).unwrap(), json!({"x": 1}));
        let bad =
            json!({"response": {"status_code": 400, "body": {"error": {"message": "too long"}}}});
        let error = OpenAiChat.outcome(&bad).unwrap_err();
        assert!(error.message.contains("too long"), "{error}");
    }
}
