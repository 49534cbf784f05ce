//! What other servers do not have or call otherwise: tokens, scores of many continuations, vectors of any layer.

use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mary_contract::{Details, Layers, Observe, Pool, Prompt, Score, Start, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Call;
use crate::error::ApiError;
use crate::served::whole;
use crate::wire::{self, MOST_ANSWERS, OneOrMany};

/// Bytes of a prefix and its continuations, at most: they are computed in one go, and others wait.
const MOST_SCORED: usize = 1 << 20;
/// How many times as much may be read.
const READ_AGAIN: usize = 64;

#[derive(Debug, Deserialize)]
pub(crate) struct Tokenize {
    model: Option<String>,
    prompt: String,
    /// Whether what the model puts before a text is among the tokens.
    #[serde(default = "yes")]
    add_special_tokens: bool,
}

fn yes() -> bool {
    true
}

pub(crate) async fn tokenize(call: Call, request: Tokenize) -> Result<Response, ApiError> {
    let served = call.server.find(request.model.as_deref())?;
    let tokens = served.tokens()?;
    let ids = tokio::task::block_in_place(|| match request.add_special_tokens {
        true => tokens.prompt(&Prompt::plain(request.prompt)),
        false => tokens.encode(&request.prompt),
    })?;
    let pieces: Vec<String> = ids.iter().map(|id| tokens.piece(*id)).collect();
    let context = served.model.card().context_length;
    let answer =
        json!({"count": ids.len(), "max_model_len": context, "tokens": ids, "token_strs": pieces});
    Ok(Json(answer).into_response())
}

/// The tokens by name, as vLLM tells them: lm-evaluation-harness takes a server that has this for its tokenizer.
pub(crate) fn tokenizer_info(server: &crate::Server) -> Result<Response, ApiError> {
    let served = server.find(None)?;
    let tokens = served.tokens()?;
    let [bos, eos] = tokens.ends().map(|id| id.map(|id| tokens.piece(id)));
    Ok(Json(json!({"bos_token": bos, "eos_token": eos, "pad_token": null})).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct Detokenize {
    model: Option<String>,
    tokens: Vec<u32>,
}

pub(crate) async fn detokenize(call: Call, request: Detokenize) -> Result<Response, ApiError> {
    let served = call.server.find(request.model.as_deref())?;
    let text = served.tokens()?.decode(&request.tokens)?;
    Ok(Json(json!({ "prompt": text })).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct Scoring {
    model: Option<String>,
    #[serde(default)]
    prefix: String,
    continuations: Vec<String>,
    #[serde(default)]
    start: Start,
    #[serde(default)]
    details: Details,
}

pub(crate) async fn score(call: Call, request: Scoring) -> Result<Response, ApiError> {
    let served = call.server.find(request.model.as_deref())?;
    if request.continuations.is_empty() || request.continuations.len() > MOST_ANSWERS {
        return Err(ApiError::bad(format!(
            "between 1 and {MOST_ANSWERS} continuations"
        )));
    }
    if request.details.alternatives > wire::MOST_ALTERNATIVES {
        return Err(ApiError::bad(format!(
            "at most {} alternatives",
            wire::MOST_ALTERNATIVES
        )));
    }
    let (prefix, count) = (request.prefix.len(), request.continuations.len());
    let texts: usize = request.continuations.iter().map(String::len).sum();
    // Each continuation is read behind the prefix.
    if prefix + texts > MOST_SCORED || prefix * count > READ_AGAIN * MOST_SCORED {
        return Err(ApiError::bad(format!(
            "one request scores at most {} kB of text",
            MOST_SCORED >> 10
        )));
    }
    let receiver = served.score(
        call.client,
        Score {
            prefix: Prompt::plain(request.prefix),
            continuations: request.continuations,
            start: request.start,
            details: request.details,
        },
    )?;
    let (reply, _) = whole(receiver).await?;
    call.server.metrics.tokens(&reply.meta.usage);
    let sums: Vec<f64> = reply.answer.continuations.iter().map(|c| c.sum()).collect();
    let mut answer = json!(reply.answer);
    answer["model"] = json!(served.name);
    answer["sums"] = json!(sums);
    answer["usage"] = wire::usage(&reply.meta.usage);
    Ok(Json(answer).into_response())
}

#[derive(Debug, Deserialize)]
pub(crate) struct Embeddings {
    model: Option<String>,
    input: OneOrMany<String>,
    layer: Option<i32>,
    #[serde(default)]
    pool: PoolName,
    #[serde(default)]
    encoding_format: Encoding,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PoolName {
    #[default]
    Mean,
    Last,
    First,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Encoding {
    #[default]
    Float,
    Base64,
}

pub(crate) async fn embeddings(call: Call, request: Embeddings) -> Result<Response, ApiError> {
    let served = call.server.find(request.model.as_deref())?;
    let texts = request.input.into_vec();
    if texts.is_empty() || texts.len() > MOST_ANSWERS {
        return Err(ApiError::bad(format!("between 1 and {MOST_ANSWERS} texts")));
    }
    let pool = match request.pool {
        PoolName::Mean => Pool::Mean,
        PoolName::Last => Pool::Last,
        PoolName::First => Pool::First,
    };
    let mut waiting = vec![];
    for text in texts {
        let observe = Observe {
            text,
            picture: None,
            pools: vec![pool],
            layers: request
                .layer
                .map_or(Layers::Last, |layer| Layers::These(vec![layer])),
            with_scores: false,
        };
        waiting.push(served.observe(call.client, observe)?);
    }
    let (mut usage, mut data) = (Usage::default(), vec![]);
    for (index, receiver) in waiting.into_iter().enumerate() {
        let (mut reply, _) = whole(receiver).await?;
        usage += reply.meta.usage;
        let layer = reply
            .answer
            .pools
            .pop()
            .and_then(|mut pool| pool.layers.pop());
        let vector = layer
            .map(|layer| layer.vector.0.clone())
            .unwrap_or_default();
        let embedding = match request.encoding_format {
            Encoding::Float => json!(vector),
            Encoding::Base64 => {
                let bytes: Vec<u8> = vector.iter().flat_map(|x: &f32| x.to_le_bytes()).collect();
                json!(STANDARD.encode(bytes))
            }
        };
        data.push(json!({"object": "embedding", "index": index, "embedding": embedding}));
    }
    call.server.metrics.tokens(&usage);
    let answer =
        json!({"object": "list", "data": data, "model": served.name, "usage": wire::usage(&usage)});
    Ok(Json(answer).into_response())
}

pub(crate) fn models(server: &crate::Server) -> Value {
    let data = server.models.iter().map(|served| {
        let card = served.model.card();
        json!({
            "id": served.name,
            "object": "model",
            "created": server.started,
            "owned_by": "mary",
            "max_model_len": card.context_length,
            "root": card.model.to_string(),
            "fingerprint": card.fingerprint,
        })
    });
    json!({"object": "list", "data": data.collect::<Vec<_>>()})
}
