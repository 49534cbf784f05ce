//! OpenAI's legacy completions: plain text to be continued, and log-probabilities of the prompt by
//! `echo`, which vLLM, SGLang and others still offer.
//!
//! Schema: platform.openai.com/docs/api-reference/completions and the servers' own pages.

use mary_contract::{Generated, Scored, Start};
use serde_json::{Map, Value, json};

use super::openai_chat::{ask_stream, finish, has_ended, only_choice, take_choice, with_usage};
use crate::format::{Echo, EchoFormat, WireFormat};
use crate::options::{Result, bad};
use crate::stream::{StreamFormat, grow};
use crate::wire::{Read, ReadError, WireRequest, boundary, finite_score, str_at, text, words};

/// Most stop strings the API takes.
const MOST_STOPS: usize = 4;

#[derive(Debug, Clone, Copy)]
pub struct OpenAiCompletions;

impl WireFormat for OpenAiCompletions {
    fn name(&self) -> &'static str {
        "openai-completions"
    }

    fn path(&self, _model: &str) -> String {
        "completions".into()
    }

    fn body(&self, request: &WireRequest<'_>) -> Value {
        let turns = &request.generate.prompt.turns;
        let prompt: String = turns.iter().map(|turn| words(&turn.parts)).collect();
        let mut body = Map::new();
        body.insert("model".into(), request.model.into());
        body.insert("prompt".into(), prompt.into());
        body.insert("max_tokens".into(), request.max_tokens().into());
        request.put_sampling(&mut body, ["temperature", "top_p", "top_k"]);
        request.put_stops(&mut body, "stop", MOST_STOPS, true);
        Value::Object(body)
    }

    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
        let choice = only_choice(raw)?;
        let text = text(choice, "/text");
        let generated = Generated {
            text: text.ok_or_else(|| ReadError::missing("text in its choice"))?,
            finish: finish(choice),
            reasoning: None,
        };
        Ok(with_usage(raw, generated))
    }

    fn takes_images(&self) -> bool {
        false
    }

    fn stream(&self) -> Option<&'static dyn StreamFormat> {
        Some(&OpenAiCompletions)
    }

    fn echo(&self) -> Option<&'static dyn EchoFormat> {
        Some(&OpenAiCompletions)
    }
}

impl StreamFormat for OpenAiCompletions {
    fn ask(&self, body: &mut Value) {
        ask_stream(body);
    }

    fn take(&self, whole: &mut Value, event: &Value) -> Option<String> {
        let choice = take_choice(whole, event)?;
        let more = str_at(choice, "/text")?;
        grow(&mut whole["choices"][0], "text", more);
        Some(more.to_owned())
    }

    fn ended(&self, whole: &Value) -> bool {
        has_ended(whole)
    }
}

impl EchoFormat for OpenAiCompletions {
    /// The text echoed with log-probabilities, and one new token, because not every server takes a limit
    /// of none.
    fn body(&self, echo: &Echo<'_>) -> Result<Value> {
        if *echo.start == Start::Never && !echo.special_tokens_switch {
            return Err(bad(
                "this server adds a start token as its tokenizer pleases and cannot be told not to",
            )
            .hint("score with the model's own convention, or serve the model with vLLM"));
        }
        // The start token that is written by us, since the user told us its text.
        let written = match echo.start {
            Start::Token(token) => Some(token.as_str()),
            Start::Always | Start::Text => echo.bos,
            Start::Model | Start::Never => None,
        };
        let bos = written.unwrap_or_default();
        let mut body = json!({
            "model": echo.model,
            "prompt": format!("{bos}{}{}", echo.prefix, echo.continuation),
            "max_tokens": 1,
            "temperature": 0.0,
            "echo": true,
            "logprobs": 1,
        });
        if echo.special_tokens_switch {
            let added_by_server = *echo.start != Start::Never && written.is_none();
            body["add_special_tokens"] = added_by_server.into();
        }
        Ok(body)
    }

    fn read(&self, raw: &Value, echo: &Echo<'_>) -> Result<Read<Scored>, ReadError> {
        let choice = only_choice(raw)?;
        let logprobs = choice
            .get("logprobs")
            .filter(|l| l.get("tokens").is_some())
            .ok_or_else(|| no_echo("no log-probabilities of the prompt"))?;
        let list = |name: &str| logprobs.get(name).and_then(Value::as_array);
        let (Some(tokens), Some(values)) = (list("tokens"), list("token_logprobs")) else {
            return Err(ReadError::missing("tokens with log-probabilities"));
        };
        if tokens.len() != values.len() {
            return Err(ReadError::Unreadable(format!(
                "{} tokens with {} log-probabilities",
                tokens.len(),
                values.len()
            )));
        }
        let tokens: Vec<&str> = tokens.iter().map(|t| t.as_str().unwrap_or("")).collect();
        let generated = generated_tokens(raw, &tokens, echo);
        let kept = tokens.len().saturating_sub(generated);
        let tokens = tokens.get(..kept).unwrap_or_default();
        let scored = score(echo, tokens, values.get(..kept).unwrap_or_default())?;
        Ok(with_usage(raw, scored))
    }
}

fn score(echo: &Echo<'_>, tokens: &[&str], values: &[Value]) -> Result<Scored, ReadError> {
    let (first, merged) = boundary(tokens, echo.prefix, echo.continuation)
        .ok_or_else(|| no_echo("tokens that do not spell the text that was sent"))?;
    let unscored = values.get(first).is_some_and(Value::is_null);
    if unscored && first > 0 {
        return Err(ReadError::Unreadable(
            "a token in the middle has no log-probability".into(),
        ));
    }
    if unscored && matches!(echo.start, Start::Always | Start::Text) {
        return Err(ReadError::Final(
            bad("the server put no start token before the text, so its first token has no probability",
            )
            .hint("name the start token, for example --model-arg bos='<|endoftext|>'"),
        ));
    }
    let from = first + usize::from(unscored);
    let scored = values.get(from..).unwrap_or_default();
    let scored: Option<Vec<f64>> = scored.iter().map(Value::as_f64).collect();
    let scored = scored.ok_or_else(|| ReadError::missing("log-probability for every token"))?;
    let names = tokens.get(from..).unwrap_or_default();
    let names = names.iter().map(|t| (*t).to_owned()).collect();
    let score = finite_score(names, scored, merged, unscored).map_err(ReadError::Final)?;
    Ok(Scored {
        continuations: vec![score],
    })
}

/// How many tokens at the end of an echo are new. Servers say so in the usage; where that is absent
/// the one that was asked for is taken off unless the text is already complete without it.
fn generated_tokens(raw: &Value, tokens: &[&str], echo: &Echo<'_>) -> usize {
    let told = raw.pointer("/usage/completion_tokens");
    match told.and_then(Value::as_u64) {
        Some(n) => usize::try_from(n).unwrap_or(usize::MAX),
        None => usize::from(!tokens.concat().ends_with(echo.continuation)),
    }
}

fn no_echo(found: &str) -> ReadError {
    ReadError::Final(
        bad(format!("asked for the prompt's log-probabilities by echo, the server gave {found}"),
        )
        .hint("this server cannot score given text; say --model-arg logprobs=none and choose tasks that ask for words"),
    )
}
