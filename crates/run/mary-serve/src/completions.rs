//! `/v1/completions`: plain text continued, with the log-probabilities of the prompt where they are asked for.

use axum::Json;
use axum::response::{IntoResponse, Response};
use mary_contract::{ContinuationScore, Finish, Generate, Prompt, Tokens, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::served::{Served, whole};
use crate::stream::{Events, Form};
use crate::wire::{self, Drawing, Head, MOST_ALTERNATIVES, MOST_ANSWERS};
use crate::{Asked, Call};

/// Tokens of an answer where the client does not say, as in the API's own documentation.
const USUAL_LENGTH: u32 = 16;

#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    model: Option<String>,
    prompt: Prompts,
    #[serde(default)]
    echo: bool,
    logprobs: Option<u32>,
    prompt_logprobs: Option<u32>,
    /// Whether what the model puts before a text is put before this one.
    add_special_tokens: Option<bool>,
    #[serde(flatten)]
    drawing: Drawing,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Prompts {
    Text(String),
    Ids(Vec<u32>),
    Texts(Vec<String>),
    Many(Vec<Vec<u32>>),
}

/// A prompt as the model reads it.
struct Reading {
    text: String,
    ids: Option<Vec<u32>>,
}

/// An answer before it is written down: its text, its ids, why it ended.
struct Choice<'a> {
    reading: &'a Reading,
    text: String,
    ids: Vec<u32>,
    finish: Finish,
}

impl Request {
    /// Whether anything is asked about tokens.
    fn of_tokens(&self) -> bool {
        self.logprobs.is_some() || self.prompt_logprobs.is_some()
    }
}

impl Prompts {
    /// Token ids are made of texts where somebody asks about them. `bare` texts have nothing put before them.
    fn readings(self, served: &Served, ids: bool, bare: bool) -> Result<Vec<Reading>, ApiError> {
        let of_text = |text: String| -> Result<Reading, ApiError> {
            let ids = match (ids || bare).then(|| served.tokens()).transpose()? {
                Some(tokens) if bare => Some(tokens.encode(&text)?),
                Some(tokens) => Some(tokens.prompt(&Prompt::plain(&*text))?),
                None => None,
            };
            Ok(Reading { ids, text })
        };
        let of_ids = |ids: Vec<u32>| -> Result<Reading, ApiError> {
            if ids.is_empty() {
                return Err(ApiError::bad("a prompt without tokens"));
            }
            Ok(Reading {
                text: served.tokens()?.decode(&ids)?,
                ids: Some(ids),
            })
        };
        match self {
            Prompts::Text(text) => Ok(vec![of_text(text)?]),
            Prompts::Texts(texts) => texts.into_iter().map(of_text).collect(),
            Prompts::Ids(ids) => Ok(vec![of_ids(ids)?]),
            Prompts::Many(many) => many.into_iter().map(of_ids).collect(),
        }
    }
}

pub(crate) async fn completions(call: Call, request: Request) -> Result<Response, ApiError> {
    let served = call.server.find(request.model.as_deref())?;
    request.drawing.check()?;
    let (echo, logprobs, of_prompt) = (request.echo, request.logprobs, request.prompt_logprobs);
    if [logprobs, of_prompt]
        .into_iter()
        .flatten()
        .any(|k| k > MOST_ALTERNATIVES)
    {
        return Err(ApiError::bad(format!(
            "at most {MOST_ALTERNATIVES} log-probabilities a token"
        )));
    }
    let (of_tokens, drawing) = (request.of_tokens(), &request.drawing);
    let bare = request.add_special_tokens == Some(false);
    let readings = request.prompt.readings(&served, of_tokens, bare)?;
    if readings.is_empty() || readings.len() * drawing.count() > MOST_ANSWERS {
        return Err(ApiError::bad(format!(
            "between 1 and {MOST_ANSWERS} answers a request"
        )));
    }
    let context = served.context();
    let long = readings
        .iter()
        .filter_map(|r| r.ids.as_ref())
        .find(|ids| ids.len() > context);
    if let Some(long) = long {
        return Err(ApiError::new(
            axum::http::StatusCode::BAD_REQUEST,
            "context_length_exceeded",
            format!(
                "the prompt has {} tokens; this model sees {context}",
                long.len()
            ),
        ));
    }
    let writes = drawing.max_tokens.unwrap_or(USUAL_LENGTH) > 0;
    let head = Head::new("cmpl", &served.name);
    if drawing.stream {
        if readings.len() * drawing.count() > 1 || of_tokens || echo || !writes {
            let message = "a stream holds one answer, without `echo` and log-probabilities";
            return Err(ApiError::bad(message));
        }
        let receiver = served.write(call.client, prompt_of(&served, &readings[0], drawing, 0)?)?;
        let events = Events {
            form: Form::Completion,
            head,
            with_usage: drawing.with_usage(),
            receiver,
            metrics: call.server.metrics.clone(),
        };
        return Ok(events.response());
    }
    let mut usage = Usage::default();
    if echo && logprobs.is_some_and(|k| k > 0) && drawing.likeliest_token() {
        let mut shown = vec![];
        let asked = (logprobs, of_prompt);
        for answer in one_token(&call, &served, &readings, asked).await? {
            usage.prompt_tokens += answer.ids.len() as u64 - 1;
            usage.completion_tokens += 1;
            shown.push(answer.show(shown.len(), served.tokens()?, asked)?);
        }
        call.server.metrics.tokens(&usage);
        let mut answer = head.with("text_completion", Value::Array(shown));
        answer["usage"] = wire::usage(&usage);
        return Ok(Json(answer).into_response());
    }
    let choices = answers(&call, &served, &readings, drawing, &mut usage).await?;
    let k = logprobs.unwrap_or(0).max(of_prompt.unwrap_or(0));
    let scored = scores(&call, &served, &choices, (echo, logprobs, of_prompt), k).await?;
    call.server.metrics.tokens(&usage);
    let tokens = if of_tokens {
        Some(served.tokens()?)
    } else {
        None
    };
    let choices = choices
        .iter()
        .zip(scored)
        .enumerate()
        .map(|(index, (choice, score))| {
            let text = match echo {
                true => format!("{}{}", choice.reading.text, choice.text),
                false => choice.text.clone(),
            };
            let mut shown = json!({
                "index": index,
                "text": text,
                "finish_reason": wire::finish(&choice.finish),
                "logprobs": null,
            });
            if let (Some(tokens), Some(score), Some(ids)) = (tokens, &score, &choice.reading.ids) {
                let all = Asked::new(ids, &choice.ids, score, echo || of_prompt.is_some());
                if let Some(k) = logprobs {
                    shown["logprobs"] = legacy(&all, tokens, k, echo);
                }
                if let Some(k) = of_prompt {
                    shown["prompt_logprobs"] = by_id(&all, tokens, k, ids.len());
                }
            }
            shown
        });
    let mut answer = head.with("text_completion", choices.collect());
    answer["usage"] = wire::usage(&usage);
    Ok(Json(answer).into_response())
}

/// A prompt and the likeliest token after it.
struct OneToken<'a> {
    reading: &'a Reading,
    ids: Vec<u32>,
    score: ContinuationScore,
}

/// What lm-evaluation-harness asks for: the prompt's scores, and one token after it that nobody looks at. One pass tells
/// both, where writing would be a second one.
async fn one_token<'a>(
    call: &Call,
    served: &Served,
    readings: &'a [Reading],
    (logprobs, of_prompt): (Option<u32>, Option<u32>),
) -> Result<Vec<OneToken<'a>>, ApiError> {
    let alternatives = logprobs.unwrap_or(1).max(of_prompt.unwrap_or(0)).max(1);
    let mut waiting = vec![];
    for reading in readings {
        let mut ids = reading.ids.clone().unwrap_or_default();
        // Some token stands for the one to come: what is likeliest in its place does not depend on it.
        ids.push(ids.last().copied().unwrap_or(0));
        let receiver =
            served.score_ids(call.client, (&[], &ids), alternatives, of_prompt.is_some())?;
        waiting.push((reading, ids, receiver));
    }
    let mut answers = vec![];
    for (reading, mut ids, receiver) in waiting {
        let score = whole(receiver).await?.0.answer.continuations.pop();
        let Some(mut score) = score else { continue };
        let last = score
            .details
            .as_ref()
            .and_then(|d| d.alternatives.last()?.first());
        if let (Some((id, logprob)), Some(place)) = (last.copied(), score.logprobs.last_mut()) {
            *place = logprob;
            ids.pop();
            ids.push(id);
        }
        answers.push(OneToken {
            reading,
            ids,
            score,
        });
    }
    Ok(answers)
}

impl OneToken<'_> {
    fn show(
        &self,
        index: usize,
        tokens: &dyn Tokens,
        (logprobs, of_prompt): (Option<u32>, Option<u32>),
    ) -> Result<Value, ApiError> {
        let (prompt, last) = self.ids.split_at(self.ids.len() - 1);
        let all = Asked::new(prompt, last, &self.score, true);
        let mut shown = json!({
            "index": index,
            "text": format!("{}{}", self.reading.text, tokens.decode(last)?),
            "finish_reason": "length",
            "logprobs": legacy(&all, tokens, logprobs.unwrap_or(0), true),
        });
        if let Some(k) = of_prompt {
            shown["prompt_logprobs"] = by_id(&all, tokens, k, prompt.len());
        }
        Ok(shown)
    }
}

/// The request for one answer. Token ids that the model would read otherwise are refused: an answer to another prompt
/// would pass for one to this.
fn prompt_of(
    served: &Served,
    reading: &Reading,
    drawing: &Drawing,
    place: usize,
) -> Result<Generate, ApiError> {
    let prompt = Prompt::plain(&*reading.text);
    if let Some(ids) = &reading.ids
        && served.tokens()?.prompt(&prompt)? != *ids
    {
        let message =
            "the text of these token ids has other ids for this model; send the text instead";
        return Err(ApiError::bad(message));
    }
    Ok(Generate {
        prompt,
        sampling: drawing.sampling(place, USUAL_LENGTH),
    })
}

async fn answers<'a>(
    call: &Call,
    served: &Served,
    readings: &'a [Reading],
    drawing: &Drawing,
    usage: &mut Usage,
) -> Result<Vec<Choice<'a>>, ApiError> {
    let mut choices = vec![];
    if drawing.max_tokens == Some(0) {
        for reading in readings {
            usage.prompt_tokens += reading.ids.as_ref().map_or(0, Vec::len) as u64;
            let nothing = || Choice {
                reading,
                text: String::new(),
                ids: vec![],
                finish: Finish::Length,
            };
            choices.extend((0..drawing.count()).map(|_| nothing()));
        }
        return Ok(choices);
    }
    // All are asked for before the first is waited for, so that they are written together.
    let mut waiting = vec![];
    for reading in readings {
        for place in 0..drawing.count() {
            let request = prompt_of(served, reading, drawing, place)?;
            waiting.push((reading, served.write(call.client, request)?));
        }
    }
    for (reading, receiver) in waiting {
        let (reply, ids) = whole(receiver).await?;
        *usage += reply.meta.usage;
        choices.push(Choice {
            reading,
            text: reply.answer.text,
            ids: ids.unwrap_or_default(),
            finish: reply.answer.finish,
        });
    }
    Ok(choices)
}

/// The scores of the tokens that are asked about, for each answer: of prompt and answer, or of the answer alone.
async fn scores(
    call: &Call,
    served: &Served,
    choices: &[Choice<'_>],
    (echo, logprobs, of_prompt): (bool, Option<u32>, Option<u32>),
    alternatives: u32,
) -> Result<Vec<Option<ContinuationScore>>, ApiError> {
    let mut waiting = vec![];
    for choice in choices {
        let Some(ids) = choice
            .reading
            .ids
            .as_ref()
            .filter(|_| logprobs.or(of_prompt).is_some())
        else {
            waiting.push(None);
            continue;
        };
        let all = [ids.as_slice(), choice.ids.as_slice()].concat();
        let from = if echo || of_prompt.is_some() {
            0
        } else {
            ids.len()
        };
        let parts = all.split_at(from);
        waiting.push(Some(served.score_ids(
            call.client,
            parts,
            alternatives,
            of_prompt.is_some(),
        )?));
    }
    let mut scored = vec![];
    for receiver in waiting {
        scored.push(match receiver {
            Some(receiver) => whole(receiver).await?.0.answer.continuations.pop(),
            None => None,
        });
    }
    Ok(scored)
}

/// The form of the completions API: lists side by side.
fn legacy(all: &Asked<'_>, tokens: &dyn Tokens, k: u32, echo: bool) -> Value {
    let (mut words, mut values, mut tops, mut offsets) = (vec![], vec![], vec![], vec![]);
    let mut offset = 0;
    for (id, logprob, place) in all.tokens(if echo { 0 } else { all.prompt }) {
        let piece = tokens.piece(id);
        offsets.push(offset);
        offset += piece.chars().count();
        tops.push(match logprob {
            Some(own) if k > 0 => {
                let mut top = Map::new();
                for (id, logprob) in all.alternatives(place, k) {
                    top.entry(tokens.piece(*id)).or_insert(json!(logprob));
                }
                top.entry(piece.clone()).or_insert(json!(own));
                Value::Object(top)
            }
            _ => Value::Null,
        });
        words.push(piece);
        values.push(logprob);
    }
    json!({
        "tokens": words,
        "token_logprobs": values,
        "top_logprobs": tops,
        "text_offset": offsets,
    })
}

/// vLLM's form: for each token of the prompt an object by token id.
fn by_id(all: &Asked<'_>, tokens: &dyn Tokens, k: u32, count: usize) -> Value {
    let shown = all.tokens(0).take(count).map(|(id, logprob, place)| {
        let Some(own) = logprob else {
            return Value::Null;
        };
        let one = |id: u32, logprob: f32, rank: u32| {
            json!({"logprob": logprob, "rank": rank, "decoded_token": tokens.piece(id)})
        };
        let mut object = Map::new();
        for (rank, (id, logprob)) in (1..).zip(all.alternatives(place, k)) {
            object.insert(id.to_string(), one(*id, *logprob, rank));
        }
        object
            .entry(id.to_string())
            .or_insert_with(|| one(id, own, all.rank(place)));
        Value::Object(object)
    });
    shown.collect()
}
