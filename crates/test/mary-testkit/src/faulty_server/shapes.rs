//! What the faulty server says when it is well: answers in each provider's language, lists of models,
//! and a small memory for files and batches.

use serde_json::{Value, json};

use super::{Script, State, Stored, lock};
use crate::raw_server::Heard;

/// Lists of models, files and batches: they cost nothing and never break.
pub(super) fn housekeeping(state: &State, incoming: &Heard) -> Option<String> {
    let path = incoming.path.split('?').next().unwrap_or_default();
    let get = incoming.method == "GET";
    if let Some(rest) = path.strip_prefix("/v1/messages/batches") {
        return Some(batches(state, rest, get, &incoming.body, true));
    }
    if let Some(rest) = path.strip_prefix("/v1/batches") {
        return Some(batches(state, rest, get, &incoming.body, false));
    }
    if let Some(rest) = path.strip_prefix("/v1/files") {
        return Some(files(state, rest, get, &incoming.body));
    }
    if get && path.contains("/models") {
        let served = state.script.models.iter();
        let models: Vec<Value> = served
            .map(|name| json!({"id": name, "object": "model"}))
            .collect();
        return Some(json!({"id": "scripted", "object": "list", "data": models}).to_string());
    }
    None
}

fn files(state: &State, rest: &str, get: bool, body: &[u8]) -> String {
    let mut stored = lock(&state.stored);
    if !get {
        let text = String::from_utf8_lossy(body);
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(Value::is_object)
            .collect();
        let id = format!("file-{}", stored.len());
        let file = Stored {
            lines,
            looks: 0,
            name: Value::Null,
        };
        stored.insert(id.clone(), file);
        return json!({"id": id, "object": "file"}).to_string();
    }
    let id = rest.trim_start_matches('/').trim_end_matches("/content");
    let lines = stored.get(id).map(|s| s.lines.clone()).unwrap_or_default();
    let answers = lines.iter().map(|line| {
        let body = line.get("body").cloned().unwrap_or_default();
        let answer = reply(&state.script, "/v1/chat/completions", &body);
        let response = json!({"status_code": 200, "request_id": "r", "body": answer});
        json!({"custom_id": line.get("custom_id"), "response": response, "error": null}).to_string()
    });
    answers.collect::<Vec<_>>().join("\n")
}

fn batches(state: &State, rest: &str, get: bool, body: &[u8], anthropic: bool) -> String {
    let mut stored = lock(&state.stored);
    if !get {
        lock(&state.books).batches += 1;
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let lines = if anthropic {
            let requests = body.get("requests").and_then(Value::as_array);
            requests.cloned().unwrap_or_default()
        } else {
            let file = body.get("input_file_id").and_then(Value::as_str);
            let file = file.and_then(|file| stored.get(file));
            file.map(|s| s.lines.clone()).unwrap_or_default()
        };
        let id = format!("batch_{}", stored.len());
        let name = json!({
            "metadata": body.get("metadata"),
            "file": body.get("input_file_id"),
        });
        let looks = 0;
        stored.insert(id.clone(), Stored { lines, looks, name });
        return json!({"id": id}).to_string();
    }
    let rest = rest.trim_start_matches('/');
    if rest.is_empty() {
        let list: Vec<Value> = stored
            .iter()
            .filter(|(id, _)| id.starts_with("batch_"))
            .map(|(id, s)| json!({"id": id, "metadata": s.name.get("metadata")}))
            .collect();
        return json!({ "data": list }).to_string();
    }
    let id = rest.trim_end_matches("/results");
    let Some(batch) = stored.get_mut(id) else {
        return json!({"error": {"message": "no such batch", "code": 404}}).to_string();
    };
    if rest.ends_with("/results") {
        let answers = batch.lines.iter().map(|line| {
            let params = line.get("params").cloned().unwrap_or_default();
            let message = reply(&state.script, "/v1/messages", &params);
            let result = json!({"type": "succeeded", "message": message});
            json!({"custom_id": line.get("custom_id"), "result": result}).to_string()
        });
        return answers.collect::<Vec<_>>().join("\n");
    }
    batch.looks += 1;
    let ended = batch.looks > state.script.batch_looks;
    let total = batch.lines.len();
    let done = if ended { total } else { 0 };
    let counts =
        json!({"total": total, "completed": done, "succeeded": done, "processing": total - done});
    json!({
        "id": id,
        "status": if ended { "completed" } else { "in_progress" },
        "processing_status": if ended { "ended" } else { "in_progress" },
        "request_counts": counts,
        "output_file_id": ended.then(|| batch.name.get("file").cloned()).flatten(),
    })
    .to_string()
}

/// The last words of the user, wherever the format keeps them.
fn prompt_of(body: &Value) -> String {
    if let Some(prompt) = body.get("prompt").and_then(Value::as_str) {
        return prompt.to_owned();
    }
    let last = ["messages", "contents"]
        .iter()
        .find_map(|name| body.get(*name).and_then(Value::as_array))
        .and_then(|list| list.last());
    let Some(last) = last else {
        return String::new();
    };
    if let Some(text) = last.get("content").and_then(Value::as_str) {
        return text.to_owned();
    }
    let parts = ["content", "parts"]
        .iter()
        .find_map(|name| last.get(*name).and_then(Value::as_array));
    let texts = parts.into_iter().flatten();
    texts
        .filter_map(|p| p.get("text").and_then(Value::as_str))
        .collect()
}

/// A good answer in the language of the path.
pub(super) fn reply(script: &Script, path: &str, body: &Value) -> Value {
    let prompt = prompt_of(body);
    let said = (script.reply)(&prompt);
    let read = prompt.len() / 4 + 1;
    let written = said.len() / 4 + 1;
    let usage = json!({"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written});
    if path.ends_with(":generateContent") {
        return json!({
            "candidates": [{"content": {"role": "model", "parts": [{"text": said}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": read, "candidatesTokenCount": written},
            "modelVersion": "scripted-1",
        });
    }
    if path.ends_with("/messages") {
        return json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted-1",
            "content": [{"type": "text", "text": said}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": read, "output_tokens": written},
        });
    }
    if path.ends_with("/chat/completions") {
        return json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "scripted-1",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
            "usage": usage,
        });
    }
    let mut choice = json!({"index": 0, "text": said, "finish_reason": "stop"});
    if body.get("echo").and_then(Value::as_bool) == Some(true) {
        choice = echoed(&prompt);
    }
    json!({"id": "cmpl-1", "object": "text_completion", "model": "scripted-1", "choices": [choice], "usage": {
        "prompt_tokens": read, "completion_tokens": 1,
    }})
}

/// An echo whose tokens are words with the space before them; a token's log-probability is minus its
/// length over ten.
fn echoed(prompt: &str) -> Value {
    let mut tokens: Vec<String> = Vec::new();
    let text = match prompt.strip_prefix("<s>") {
        Some(text) => {
            tokens.push("<s>".into());
            text
        }
        None => prompt,
    };
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if c != ' ' && token != "<s>" => token.push(c),
            _ => tokens.push(c.to_string()),
        }
    }
    let mut logprobs: Vec<Value> = tokens
        .iter()
        .map(|t| json!(-(t.chars().count() as f64) / 10.0))
        .collect();
    if let Some(first) = logprobs.first_mut() {
        *first = Value::Null;
    }
    tokens.push(" new".into());
    logprobs.push(json!(-9.0));
    json!({
        "index": 0, "text": format!("{prompt} new"), "finish_reason": "length",
        "logprobs": {"tokens": tokens, "token_logprobs": logprobs},
    })
}
