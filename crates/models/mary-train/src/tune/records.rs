//! The forms in which tuning sets come: OpenAI's chat (`messages`), ShareGPT (`conversations`) and
//! Alpaca (`instruction`, `input`, `output`), the last two as LLaMA-Factory takes them; one record a line,
//! or one list of records. What a form can say and this program cannot learn is refused by name.

use crate::{Result, TrainError};
use serde_json::Value;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) role: String,
    pub(super) content: String,
    /// Learned from, where the assistant says it (OpenAI's `weight`).
    pub(super) counts: bool,
}

impl Message {
    pub(super) fn new(role: &str, content: impl Into<String>) -> Self {
        Self {
            role: role.to_owned(),
            content: content.into(),
            counts: true,
        }
    }
}

/// Reads a file of conversations; each comes with its place in words, for messages.
pub(super) fn read(path: &Path) -> Result<Vec<(String, Vec<Message>)>> {
    let text = mary_platform::read_plain_text(path, mary_platform::LARGEST_DATA)
        .map_err(TrainError::file(path))?;
    let text = text.trim_start_matches('\u{feff}');
    let fail = |place: &str, what: String| TrainError::content(path, format!("{place}: {what}"));
    let mut records: Vec<(String, Value)> = Vec::new();
    if text.trim_start().starts_with('[') {
        let list: Vec<Value> = serde_json::from_str(text)
            .map_err(|e| fail("the list", format!("is not JSON: {e}")))?;
        let named = list.into_iter().enumerate();
        records.extend(named.map(|(i, value)| (format!("record {}", i + 1), value)));
    } else {
        for (i, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let place = format!("line {}", i + 1);
            let value = serde_json::from_str(line).map_err(|e| {
                let expected =
                    "expected a JSON object with `messages`, `conversations` or `instruction`";
                fail(&place, format!("{expected}, found no JSON: {e}"))
            })?;
            records.push((place, value));
        }
    }
    records
        .into_iter()
        .map(|(place, value)| {
            let messages = conversation(&value).map_err(|what| fail(&place, what))?;
            Ok((place, messages))
        })
        .collect()
}

fn conversation(record: &Value) -> Result<Vec<Message>, String> {
    for key in ["images", "videos", "audios", "tools"] {
        let filled = match record.get(key) {
            None | Some(Value::Null) => false,
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::String(text)) => !text.is_empty() && text != "[]",
            Some(_) => true,
        };
        if filled {
            return Err(format!(
                "`{key}` cannot be learned from: tuning knows text only"
            ));
        }
    }
    if record.get("chosen").is_some() || record.get("rejected").is_some() {
        return Err("preferences (`chosen`, `rejected`) cannot be learned from".to_owned());
    }
    if let Some(list) = record.get("messages") {
        return turns(list, "messages", open_ai);
    }
    if let Some(list) = record.get("conversations") {
        let mut all = Vec::from_iter(text_of(record, "system")?.map(|s| Message::new("system", s)));
        all.extend(turns(list, "conversations", share_gpt)?);
        return Ok(all);
    }
    if record.get("instruction").is_some() {
        return alpaca(record);
    }
    let found: Vec<&str> = match record {
        Value::Object(map) => map.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    Err(format!(
        "expected {{\"messages\": [{{\"role\": …, \"content\": …}}, …]}}, {{\"conversations\": [{{\"from\": …, \"value\": …}}, …]}} or {{\"instruction\": …, \"input\": …, \"output\": …}}; found the fields: {}",
        if found.is_empty() {
            "none".to_owned()
        } else {
            found.join(", ")
        }
    ))
}

fn turns(
    list: &Value,
    name: &str,
    one: fn(&Value) -> Result<Message, String>,
) -> Result<Vec<Message>, String> {
    let list = list
        .as_array()
        .ok_or_else(|| format!("`{name}` should be a list of turns"))?;
    list.iter().map(one).collect()
}

/// A text that may be absent or empty, and must not be anything else.
fn text_of(record: &Value, key: &str) -> Result<Option<String>, String> {
    match record.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok((!text.is_empty()).then(|| text.clone())),
        Some(other) => Err(format!("`{key}` should be a text; found {other}")),
    }
}

fn open_ai(turn: &Value) -> Result<Message, String> {
    let role = turn.get("role").and_then(Value::as_str);
    let role = role.ok_or("a message has no `role`")?;
    for key in ["tool_calls", "function_call"] {
        if turn.get(key).is_some_and(|v| !v.is_null()) {
            return Err(format!("`{key}` cannot be learned from"));
        }
    }
    let content = match turn.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().map(|part| {
                let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
                let text = part.get("text").and_then(Value::as_str);
                text.filter(|_| kind == "text")
                    .ok_or_else(|| format!("a part of type `{kind}` cannot be learned from"))
            });
            texts.collect::<Result<Vec<&str>, String>>()?.concat()
        }
        _ => return Err(format!("the message of `{role}` has no text in `content`")),
    };
    Ok(Message {
        role: if role == "developer" { "system" } else { role }.to_owned(),
        content,
        counts: turn.get("weight").and_then(Value::as_f64) != Some(0.0),
    })
}

fn share_gpt(turn: &Value) -> Result<Message, String> {
    let from = turn.get("from").and_then(Value::as_str);
    let from = from.ok_or("a turn has no `from`")?;
    let value = turn.get("value").and_then(Value::as_str);
    let value = value.ok_or_else(|| format!("the turn of `{from}` has no text in `value`"))?;
    let role = match from {
        "human" | "user" => "user",
        "gpt" | "assistant" | "bot" | "model" => "assistant",
        "system" => "system",
        other => {
            return Err(format!(
                "`from` is \"{other}\"; expected human, gpt or system"
            ));
        }
    };
    Ok(Message::new(role, value))
}

/// LLaMA-Factory joins instruction and input by a line break; earlier rounds stand in `history`.
fn alpaca(record: &Value) -> Result<Vec<Message>, String> {
    let mut all = Vec::from_iter(text_of(record, "system")?.map(|s| Message::new("system", s)));
    if let Some(history) = record.get("history").filter(|h| !h.is_null()) {
        let rounds = history.as_array().ok_or("`history` should be a list")?;
        for round in rounds {
            match round.as_array().map(Vec::as_slice) {
                Some([Value::String(asked), Value::String(answered)]) => {
                    all.push(Message::new("user", asked.as_str()));
                    all.push(Message::new("assistant", answered.as_str()));
                }
                _ => return Err("`history` should hold pairs of question and answer".to_owned()),
            }
        }
    }
    let instruction = text_of(record, "instruction")?.unwrap_or_default();
    let asked = match text_of(record, "input")? {
        Some(input) if instruction.is_empty() => input,
        Some(input) => format!("{instruction}\n{input}"),
        None => instruction,
    };
    let output = record.get("output").and_then(Value::as_str);
    let output = output.ok_or("an instruction has no text in `output`")?;
    all.push(Message::new("user", asked));
    all.push(Message::new("assistant", output));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_three_forms_say_the_same() {
        let expected = vec![
            Message::new("system", "Be brief."),
            Message::new("user", "Is ice\ncold?"),
            Message::new("assistant", "Yes."),
        ];
        for record in [
            json!({"messages": [{"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Is ice\ncold?"}]},
                {"role": "assistant", "content": "Yes."}]}),
            json!({"system": "Be brief.", "conversations": [{"from": "human", "value": "Is ice\ncold?"},
                {"from": "gpt", "value": "Yes."}]}),
            json!({"system": "Be brief.", "instruction": "Is ice", "input": "cold?", "output": "Yes."}),
        ] {
            assert_eq!(conversation(&record).expect("a form"), expected);
        }
    }

    #[test]
    fn earlier_rounds_come_first_and_weights_are_heeded() {
        let record = json!({"instruction": "And now?", "input": "", "output": "B",
            "history": [["First?", "A"]]});
        let roles: Vec<String> = conversation(&record)
            .expect("a form")
            .into_iter()
            .map(|m| m.content)
            .collect();
        assert_eq!(roles, ["First?", "A", "And now?", "B"]);
        let record = json!({"messages": [{"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "weight": 0}, {"role": "assistant", "content": "c", "weight": 1}]});
        let counts: Vec<bool> = conversation(&record)
            .expect("a form")
            .iter()
            .map(|m| m.counts)
            .collect();
        assert_eq!(counts, [true, false, true]);
    }

    #[test]
    fn what_cannot_be_learned_is_named() {
        for (record, named) in [
            (json!({"messages": [], "images": ["a.png"]}), "images"),
            (
                json!({"instruction": "x", "chosen": "a", "rejected": "b"}),
                "chosen",
            ),
            (json!({"text": "a story"}), "found the fields: text"),
            (
                json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
                "image_url",
            ),
            (
                json!({"conversations": [{"from": "observation", "value": "x"}]}),
                "observation",
            ),
        ] {
            let error = conversation(&record).expect_err(named);
            assert!(error.contains(named), "{error}");
        }
    }
}
