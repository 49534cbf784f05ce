//! OpenAI's legacy completions: plain text to be continued, and log-probabilities of the prompt by
//! `echo`, which vLLM, SGLang and others still offer.
//!
//! Schema: platform.openai.com/docs/api-reference/completions and the servers' own pages.

use mary_contract::{ErrorKind, Generated, ModelError, Scored, Start};
use serde_json::{Map, Value, json};

use crate::format::WireFormat;
use crate::openai_chat::{finish, has_ended, only_choice, take_choice, with_usage};
use crate::stream::{StreamFormat, grow};
use crate::wire::{Asked, Read, ReadError, Unreadable, boundary, finite_score, text, words};

/// Most stop strings the API takes.
const MOST_STOPS: usize = 4;

/// Where requests go, below the base address.
pub const PATH: &str = "completions";

#[derive(Debug, Clone, Copy)]
pub struct OpenAiCompletions;

impl WireFormat for OpenAiCompletions {
    fn name(&self) -> &'static str {
        "openai-completions"
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

    fn takes_images(&self) -> bool {
        false
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
        let more = choice.get("text").and_then(Value::as_str)?;
        grow(&mut whole["choices"][0], "text", more);
        Some(more.to_owned())
    }

    fn ended(&self, whole: &Value) -> bool {
        has_ended(whole)
    }
}

/// The body of a request for words.
pub fn body(asked: &Asked<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), asked.model.into());
    let prompt: String = asked
        .generate
        .prompt
        .turns
        .iter()
        .map(|turn| words(&turn.parts))
        .collect();
    body.insert("prompt".into(), prompt.into());
    body.insert("max_tokens".into(), asked.max_tokens().into());
    asked.put_sampling(&mut body);
    let stops = asked.stops(MOST_STOPS, true);
    if !stops.is_empty() {
        body.insert("stop".into(), stops.into());
    }
    Value::Object(body)
}

/// Reads the words out of an answer.
pub fn read(raw: &Value) -> Result<Read<Generated>, ReadError> {
    let choice = only_choice(raw)?;
    let text = text(choice, "/text").ok_or_else(|| Unreadable::missing("text in its choice"))?;
    let generated = Generated {
        text,
        finish: finish(choice.get("finish_reason").and_then(Value::as_str)),
        reasoning: None,
    };
    Ok(with_usage(raw, generated))
}

/// One text whose log-probabilities are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Echo<'a> {
    /// The provider's name for the model.
    pub model: &'a str,
    pub prefix: &'a str,
    pub continuation: &'a str,
    /// What stands before the first token.
    pub start: &'a Start,
    /// The start token's text, where the user gave it.
    pub bos: Option<&'a str>,
    /// The server understands `add_special_tokens` (vLLM).
    pub special_tokens_switch: bool,
}

impl Echo<'_> {
    /// The start token that is written by us, since the user told us its text.
    fn written(&self) -> Option<&str> {
        match self.start {
            Start::Token(token) => Some(token),
            Start::Always | Start::Text => self.bos,
            Start::Model | Start::Never => None,
        }
    }

    /// The body: the text echoed with log-probabilities, and one new token, because not every server
    /// takes a limit of none.
    pub fn body(&self) -> Value {
        let bos = self.written().unwrap_or_default();
        let mut body = json!({
            "model": self.model,
            "prompt": format!("{bos}{}{}", self.prefix, self.continuation),
            "max_tokens": 1,
            "temperature": 0.0,
            "echo": true,
            "logprobs": 1,
        });
        let added_by_server = *self.start != Start::Never && self.written().is_none();
        if let (true, Some(body)) = (self.special_tokens_switch, body.as_object_mut()) {
            body.insert("add_special_tokens".into(), added_by_server.into());
        }
        body
    }

    /// Whether the server can be asked this at all.
    pub fn check(&self) -> Result<(), ModelError> {
        if *self.start == Start::Never && !self.special_tokens_switch {
            return Err(ModelError::new(
                ErrorKind::BadRequest,
                "this server adds a start token as its tokenizer pleases and cannot be told not to",
            )
            .hint("score with the model's own convention, or serve the model with vLLM"));
        }
        Ok(())
    }

    /// Reads the continuation's log-probabilities out of the echo.
    pub fn read(&self, raw: &Value) -> Result<Read<Scored>, ReadError> {
        let choice = only_choice(raw)?;
        let logprobs = choice
            .get("logprobs")
            .filter(|l| l.get("tokens").is_some())
            .ok_or_else(|| no_echo("no log-probabilities of the prompt"))?;
        let list = |name: &str| logprobs.get(name).and_then(Value::as_array);
        let (Some(tokens), Some(values)) = (list("tokens"), list("token_logprobs")) else {
            return Err(Unreadable::missing("tokens with log-probabilities").into());
        };
        if tokens.len() != values.len() {
            return Err(Unreadable(format!(
                "{} tokens with {} log-probabilities",
                tokens.len(),
                values.len()
            ))
            .into());
        }
        let tokens: Vec<&str> = tokens.iter().map(|t| t.as_str().unwrap_or("")).collect();
        let generated = generated_tokens(raw, &tokens, self);
        let kept = tokens.len().saturating_sub(generated);
        let tokens = tokens.get(..kept).unwrap_or_default();
        self.score(raw, tokens, values.get(..kept).unwrap_or_default())
    }

    fn score(
        &self,
        raw: &Value,
        tokens: &[&str],
        values: &[Value],
    ) -> Result<Read<Scored>, ReadError> {
        let (first, merged) = boundary(tokens, self.prefix, self.continuation)
            .ok_or_else(|| no_echo("tokens that do not spell the text that was sent"))?;
        let unscored = values.get(first).is_some_and(Value::is_null);
        if unscored && first > 0 {
            return Err(Unreadable("a token in the middle has no log-probability".into()).into());
        }
        if unscored && matches!(self.start, Start::Always | Start::Text) {
            return Err(ReadError::Final(
                ModelError::new(
                    ErrorKind::BadRequest,
                    "the server put no start token before the text, so its first token has no probability",
                )
                .hint("name the start token, for example --model-arg bos='<|endoftext|>'"),
            ));
        }
        let from = first + usize::from(unscored);
        let scored = values.get(from..).unwrap_or_default();
        let scored: Option<Vec<f64>> = scored.iter().map(Value::as_f64).collect();
        let scored =
            scored.ok_or_else(|| Unreadable::missing("log-probability for every token"))?;
        let names = tokens.get(from..).unwrap_or_default();
        let score = finite_score(
            names.iter().map(|t| (*t).to_owned()).collect(),
            scored,
            merged,
            unscored,
        )
        .map_err(ReadError::Final)?;
        let continuations = vec![score];
        Ok(with_usage(raw, Scored { continuations }))
    }
}

/// How many tokens at the end of an echo are new. Servers say so in the usage; where that is absent
/// the one that was asked for is taken off unless the text is already complete without it.
fn generated_tokens(raw: &Value, tokens: &[&str], echo: &Echo<'_>) -> usize {
    match raw
        .pointer("/usage/completion_tokens")
        .and_then(Value::as_u64)
    {
        Some(n) => usize::try_from(n).unwrap_or(usize::MAX),
        None => usize::from(!tokens.concat().ends_with(echo.continuation)),
    }
}

fn no_echo(found: &str) -> ReadError {
    ReadError::Final(
        ModelError::new(
            ErrorKind::BadRequest,
            format!("asked for the prompt's log-probabilities by echo, the server gave {found}"),
        )
        .hint("this server cannot score given text; say --model-arg logprobs=none and choose tasks that ask for words"),
    )
}
