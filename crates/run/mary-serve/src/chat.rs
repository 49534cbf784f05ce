//! `/v1/chat/completions`: conversations through the model's own template.

use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mary_contract::{Generate, Image, Part, Prompt, PromptForm, Speaker, Tokens, Turn, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::served::whole;
use crate::stream::{Events, Form};
use crate::wire::{self, Drawing, Head, MOST_ALTERNATIVES};
use crate::{Asked, Call};

/// Tokens of an answer where the client does not say.
const USUAL_LENGTH: u32 = 1_024;

#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    model: Option<String>,
    messages: Vec<Message>,
    #[serde(default)]
    logprobs: bool,
    top_logprobs: Option<u32>,
    #[serde(flatten)]
    drawing: Drawing,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart {
    Text { text: String },
    ImageUrl { image_url: Url },
}

#[derive(Debug, Deserialize)]
struct Url {
    url: String,
}

impl ContentPart {
    /// Pictures come with the request: this server fetches nothing.
    fn part(self) -> Result<Part, ApiError> {
        let url = match self {
            Self::Text { text } => return Ok(Part::Text(text)),
            Self::ImageUrl { image_url } => image_url.url,
        };
        let data = url
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"));
        let (media_type, data) = data.ok_or_else(|| {
            ApiError::bad("a picture must be in the request itself, as data:image/png;base64,…")
        })?;
        let data = STANDARD.decode(data);
        Ok(Part::Image(Image {
            media_type: media_type.to_owned(),
            data: data.map_err(|_| ApiError::bad("a picture that is no base64"))?,
        }))
    }
}

fn prompt(messages: Vec<Message>) -> Result<Prompt, ApiError> {
    let mut prompt = Prompt {
        form: PromptForm::Chat,
        system: None,
        turns: vec![],
    };
    for message in messages {
        let parts = match message.content {
            Content::Text(text) => vec![Part::Text(text)],
            Content::Parts(parts) => {
                let parts = parts.into_iter().map(ContentPart::part);
                parts.collect::<Result<Vec<_>, _>>()?
            }
        };
        let speaker = match message.role.as_str() {
            "user" => Speaker::User,
            "assistant" => Speaker::Assistant,
            "system" | "developer" if prompt.system.is_none() && prompt.turns.is_empty() => {
                let words = parts.into_iter().map(|part| match part {
                    Part::Text(text) => Ok(text),
                    Part::Image(_) => Err(ApiError::bad("a system message holds no picture")),
                });
                prompt.system = Some(words.collect::<Result<String, _>>()?);
                continue;
            }
            role => {
                return Err(ApiError::bad(format!(
                    "a message of `{role}` here: expected one system message at most, first, then user and assistant"
                )));
            }
        };
        prompt.turns.push(Turn { speaker, parts });
    }
    if prompt.turns.is_empty() {
        return Err(ApiError::bad("no message of a user"));
    }
    Ok(prompt)
}

pub(crate) async fn chat(call: Call, request: Request) -> Result<Response, ApiError> {
    let served = call.server.find(request.model.as_deref())?;
    request.drawing.check()?;
    let drawing = &request.drawing;
    let k = request.top_logprobs.unwrap_or(0);
    if k > MOST_ALTERNATIVES {
        return Err(ApiError::bad(format!(
            "`top_logprobs` is at most {MOST_ALTERNATIVES}"
        )));
    }
    let prompt = prompt(request.messages)?;
    let head = Head::new("chatcmpl", &served.name);
    let ask = |place: usize| Generate::new(prompt.clone(), drawing.sampling(place, USUAL_LENGTH));
    if drawing.stream {
        if drawing.count() > 1 || request.logprobs {
            let message = "a stream holds one answer, without log-probabilities";
            return Err(ApiError::bad(message));
        }
        let events = Events {
            form: Form::Chat,
            head,
            with_usage: drawing.stream_options.include_usage,
            receiver: served.write(call.client, ask(0))?,
            metrics: call.server.metrics.clone(),
        };
        return Ok(events.response());
    }
    let before = match request.logprobs {
        true if prompt.has_images() => {
            return Err(ApiError::bad("no log-probabilities beside pictures"));
        }
        true => Some(served.tokens()?.prompt(&prompt)?),
        false => None,
    };
    let waiting: Result<Vec<_>, _> = (0..drawing.count())
        .map(|place| served.write(call.client, ask(place)))
        .collect();
    let mut usage = Usage::default();
    let mut answers = vec![];
    for receiver in waiting? {
        let (reply, ids) = whole(receiver).await?;
        usage += reply.meta.usage;
        let ids = ids.unwrap_or_default();
        let score = match &before {
            Some(before) => Some(served.score_ids(call.client, (before, &ids), k, false)?),
            None => None,
        };
        answers.push((reply.answer, ids, score));
    }
    call.server.metrics.tokens(&usage);
    let mut choices = vec![];
    for (index, (answer, ids, score)) in answers.into_iter().enumerate() {
        let mut logprobs = Value::Null;
        if let (Some(receiver), Some(before)) = (score, &before) {
            let scored = whole(receiver).await?.0.answer.continuations.pop();
            if let Some(score) = scored {
                let all = Asked::new(before, &ids, &score, false);
                logprobs = json!({ "content": content(&all, served.tokens()?, k) });
            }
        }
        choices.push(json!({
            "index": index,
            "message": {"role": "assistant", "content": answer.text},
            "finish_reason": wire::finish(&answer.finish),
            "logprobs": logprobs,
        }));
    }
    let mut answer = head.with("chat.completion", Value::Array(choices));
    answer["usage"] = wire::usage(&usage);
    Ok(Json(answer).into_response())
}

fn content(all: &Asked<'_>, tokens: &dyn Tokens, k: u32) -> Value {
    let one = |id: u32, logprob: f32| {
        let piece = tokens.piece(id);
        json!({"token": piece, "logprob": logprob, "bytes": piece.as_bytes()})
    };
    let shown = all.tokens(all.prompt).map(|(id, logprob, place)| {
        let mut token = one(id, logprob.unwrap_or(f32::NEG_INFINITY));
        let top = all.alternatives(place, k).iter();
        token["top_logprobs"] = top.map(|(id, logprob)| one(*id, *logprob)).collect();
        token
    });
    shown.collect()
}
