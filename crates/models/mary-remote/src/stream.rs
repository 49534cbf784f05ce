//! Answers that come piece by piece, as server-sent events, for a person who waits. The pieces are put
//! together into the very JSON that the service would have sent at once, so that everything after it
//! (reading, accounting, the log) is the same either way.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::bounds;
use crate::secret::Scrubber;

pub trait StreamFormat: Send + Sync {
    /// Where such a request goes, from where one for the whole answer does.
    fn path(&self, path: &str) -> String {
        path.to_owned()
    }

    /// Changes a request's body so that the answer comes in pieces.
    fn ask(&self, body: &mut Value);

    /// Takes an event into the whole answer; the words that it adds, where it adds some.
    fn take(&self, whole: &mut Value, event: &Value) -> Option<String>;

    /// Whether the answer is whole; one that broke off is not.
    fn ended(&self, whole: &Value) -> bool;
}

/// Gets words as they come; exactly what is in the answer, without keys.
#[derive(Clone)]
pub struct Listener(Arc<dyn Fn(String) + Send + Sync>);

impl Listener {
    pub fn new(hear: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }
}

/// Splits bytes into the data of events.
#[derive(Default)]
struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
}

impl Events {
    /// Takes bytes in and hands out the data of every event that is whole.
    fn take(&mut self, bytes: &[u8], mut event: impl FnMut(&[u8])) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
            if line.is_empty() {
                if !self.data.is_empty() {
                    event(&self.data);
                }
                self.data.clear();
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data
                    .extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
            self.line.clear();
        }
    }

    /// The data of an event after which no empty line came.
    fn rest(mut self, event: impl FnMut(&[u8])) {
        self.take(b"\n\n", event);
    }
}

pub fn whole(format: &dyn StreamFormat, body: &[u8]) -> Result<Value, String> {
    let mut answer = Value::Null;
    let mut wrong = None;
    let mut done = false;
    let mut take = |data: &[u8]| {
        if data == b"[DONE]" {
            done = true;
            return;
        }
        match bounds::parse(data) {
            Ok(event) => {
                format.take(&mut answer, &event);
            }
            Err(error) => {
                wrong.get_or_insert(error);
            }
        }
    };
    let mut events = Events::default();
    events.take(body, &mut take);
    events.rest(&mut take);
    if let Some(error) = wrong {
        return Err(format!("an event of the stream is no JSON: {error}"));
    }
    let failed = answer.get("error").is_some_and(|e| !e.is_null());
    if answer.is_null() || !(done || failed || format.ended(&answer)) {
        return Err("the stream ended before the answer did".into());
    }
    Ok(answer)
}

/// Reads a stream while it comes, and tells its words. Where an attempt broke off, those of the next are
/// told from where the first stopped, as long as they say the same.
pub struct Teller<'a> {
    pub(crate) format: &'a dyn StreamFormat,
    listener: Listener,
    scrubber: Scrubber,
    state: Mutex<Telling>,
}

#[derive(Default)]
struct Telling {
    events: Events,
    answer: Value,
    words: String,
    /// What was told, over all attempts.
    told: String,
}

impl<'a> Teller<'a> {
    pub fn new(format: &'a dyn StreamFormat, listener: Listener, scrubber: &Scrubber) -> Self {
        Self {
            format,
            listener,
            scrubber: scrubber.clone(),
            state: Mutex::default(),
        }
    }

    pub fn begin(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let told = std::mem::take(&mut state.told);
        *state = Telling {
            told,
            ..Telling::default()
        };
    }

    pub fn take(&self, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Telling {
            events,
            answer,
            words,
            told,
        } = &mut *state;
        events.take(bytes, |data| {
            // What cannot be read is told when the answer is whole.
            let event = bounds::parse(data).ok();
            if let Some(more) = event.and_then(|e| self.format.take(answer, &e)) {
                words.push_str(&more);
            }
        });
        // Without the last run of characters that a key can be made of: the key may go on in the next piece.
        let words = if self.scrubber.is_idle() {
            words
        } else {
            words.trim_end_matches(|c: char| c.is_ascii_graphic())
        };
        let sure = self.scrubber.text(words);
        if let Some(fresh) = sure.strip_prefix(told.as_str()).filter(|f| !f.is_empty()) {
            (self.listener.0)(fresh.to_owned());
            *told = sure;
        }
    }
}

/// A text within the whole answer that grows.
pub fn grow(whole: &mut Value, name: &str, more: &str) {
    match whole.get_mut(name) {
        Some(Value::String(text)) => text.push_str(more),
        _ => whole[name] = more.into(),
    }
}

/// Fields of an event that the whole answer has too, where they are told.
pub fn keep(whole: &mut Value, event: &Value, names: &[&str]) {
    for name in names {
        if let Some(value) = event.get(*name).filter(|v| !v.is_null()) {
            whole[*name] = value.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::WireFormat as _;
    use crate::formats::anthropic::Anthropic;
    use crate::formats::google::Google;
    use crate::formats::openai_chat::OpenAiChat;
    use crate::formats::openai_completions::OpenAiCompletions;
    use crate::secret::Secret;

    fn sse(events: &[Value], end: &str) -> Vec<u8> {
        let lines = events
            .iter()
            .map(|e| format!("event: x\r\ndata: {e}\r\n\r\n"));
        format!("{}{end}", lines.collect::<String>()).into_bytes()
    }

    fn chat(words: &[&str]) -> Vec<u8> {
        let mut events = vec![
            json!({"id": "c1", "model": "m-2", "choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": null}]}),
        ];
        events.extend(words.iter().map(|w| json!({"id": "c1", "model": "m-2", "choices": [{"index": 0, "delta": {"content": w}, "finish_reason": null}]})));
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        events.push(json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}));
        sse(&events, "data: [DONE]\n\n")
    }

    #[test]
    fn a_chat_in_pieces_is_the_chat_at_once() {
        let raw = whole(&OpenAiChat, &chat(&["Blue ", "is ", "a colour."])).unwrap();
        let read = OpenAiChat.read(&raw).unwrap();
        assert_eq!(read.answer.text, "Blue is a colour.");
        assert_eq!(read.answer.finish, mary_contract::Finish::Stop);
        assert_eq!(
            (read.usage.prompt_tokens, read.usage.completion_tokens),
            (7, 3)
        );
        assert_eq!(read.model_version.as_deref(), Some("m-2"));
        // Plain text to be continued.
        let events = [
            json!({"choices": [{"text": " once", "finish_reason": null}]}),
            json!({"choices": [{"text": " upon", "finish_reason": "length"}]}),
        ];
        let raw = whole(&OpenAiCompletions, &sse(&events, "")).unwrap();
        let read = OpenAiCompletions.read(&raw).unwrap();
        assert_eq!(read.answer.text, " once upon");
    }

    #[test]
    fn messages_in_pieces_are_the_message_at_once() {
        let events = [
            json!({"type": "message_start", "message": {"model": "c-1", "content": [], "stop_reason": null,
                "usage": {"input_tokens": 9, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Blue"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "."}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ];
        let raw = whole(&Anthropic, &sse(&events, "")).unwrap();
        let read = Anthropic.read(&raw).unwrap();
        assert_eq!(read.answer.text, "Blue.");
        assert_eq!(read.answer.reasoning.as_deref(), Some("hm"));
        assert_eq!(
            (read.usage.prompt_tokens, read.usage.completion_tokens),
            (9, 5)
        );
        assert!(whole(&Anthropic, &sse(&events[..7], "")).is_err());
    }

    #[test]
    fn candidates_in_pieces_are_the_candidate_at_once() {
        let piece = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "modelVersion": "g-1"});
        let mut events = vec![
            piece(json!([{"text": "hm", "thought": true}])),
            piece(json!([{"text": "Blue "}])),
            piece(json!([{"text": "is."}])),
        ];
        let cut = events.clone();
        events.push(json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}}));
        let raw = whole(&Google, &sse(&events, "")).unwrap();
        let read = Google.read(&raw).unwrap();
        assert_eq!(read.answer.text, "Blue is.");
        assert_eq!(read.answer.reasoning.as_deref(), Some("hm"));
        assert_eq!(
            (read.usage.prompt_tokens, read.usage.completion_tokens),
            (8, 5)
        );
        assert_eq!(read.model_version.as_deref(), Some("g-1"));
        // Broken off before a reason to end, it is no answer; a prompt that was blocked is one.
        assert!(whole(&Google, &sse(&cut, "")).is_err());
        let blocked = [json!({"promptFeedback": {"blockReason": "SAFETY"}})];
        let raw = whole(&Google, &sse(&blocked, "")).unwrap();
        let read = Google.read(&raw).unwrap();
        assert_eq!(read.answer.finish, mary_contract::Finish::ContentFilter);
        assert_eq!(
            StreamFormat::path(&Google, "models/g-1:generateContent"),
            "models/g-1:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn what_broke_off_or_is_no_stream_is_no_answer() {
        let bytes = chat(&["Blue"]);
        assert!(whole(&OpenAiChat, &bytes[..bytes.len() / 2]).is_err());
        assert!(whole(&OpenAiChat, b"").is_err());
        assert!(whole(&OpenAiChat, b"data: {\n\n").is_err());
        let error = sse(
            &[json!({"error": {"message": "overloaded", "code": 529}})],
            "",
        );
        assert!(whole(&OpenAiChat, &error).unwrap()["error"].is_object());
        // Events that are no objects, or of other kinds, change nothing and break nothing.
        for odd in [
            "[1]",
            "\"x\"",
            "{\"choices\":{}}",
            "{\"choices\":[7]}",
            "{\"candidates\":[7]}",
            "{\"candidates\":{\"0\":{\"content\":{\"parts\":[7]}}}}",
            "{\"candidates\":[{\"content\":{\"parts\":[7,{\"text\":{}}]}}]}",
            "{\"type\":\"content_block_delta\",\"index\":99999999999,\"delta\":{\"text\":\"x\"}}",
        ] {
            let body = format!("data: {odd}\n\n");
            let _ = whole(&OpenAiChat, body.as_bytes());
            let _ = whole(&Anthropic, body.as_bytes());
            let _ = whole(&OpenAiCompletions, body.as_bytes());
            let _ = whole(&Google, body.as_bytes());
        }
    }

    fn told(scrubber: &Scrubber, attempts: &[&[u8]], step: usize) -> String {
        let heard = Arc::new(Mutex::new(String::new()));
        let book = Arc::clone(&heard);
        let listener = Listener::new(move |words| book.lock().unwrap().push_str(&words));
        let teller = Teller::new(&OpenAiChat, listener, scrubber);
        for attempt in attempts {
            teller.begin();
            attempt.chunks(step).for_each(|piece| teller.take(piece));
        }
        heard.lock().unwrap().clone()
    }

    #[test]
    fn words_are_told_once_whatever_breaks_and_without_keys() {
        let none = Scrubber::default();
        let all = chat(&["Blue ", "is ", "a colour."]);
        for step in [1, 7, 4096] {
            assert_eq!(told(&none, &[&all], step), "Blue is a colour.");
            // The first attempt broke off after its first words.
            assert_eq!(told(&none, &[&all[..260], &all], step), "Blue is a colour.");
        }
        let key = "sk-1234567890abcdefghij";
        let scrubber = Scrubber::new([Secret::new(key)]);
        let leak = chat(&["The key is sk-123456", "7890abcdef", "ghij. ", "Blue. "]);
        for step in [1, 4096] {
            let heard = told(&scrubber, &[&leak], step);
            assert!(
                !heard.contains("1234567890ab") && heard.contains("Blue"),
                "{heard}"
            );
        }
    }
}
