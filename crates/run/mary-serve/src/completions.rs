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

/// Log-probabilities of one answer, at most: they are in memory at once.
const MOST_NUMBERS: usize = 2_000_000;

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

/// What is asked about tokens.
#[derive(Clone, Copy)]
struct Wanted {
    echo: bool,
    logprobs: Option<u32>,
    of_prompt: Option<u32>,
}

impl Wanted {
    fn any(self) -> bool {
        self.logprobs.or(self.of_prompt).is_some()
    }

    /// Whether the prompt's own tokens are among those scored.
    fn prompt(self) -> bool {
        self.echo || self.of_prompt.is_some()
    }

    fn alternatives(self) -> u32 {
        self.logprobs.unwrap_or(0).max(self.of_prompt.unwrap_or(0))
    }
}

/// An answer before it is written down: its text, its ids, why it ended, what was scored.
struct Choice<'a> {
    reading: &'a Reading,
    text: String,
    ids: Vec<u32>,
    finish: Finish,
    score: Option<ContinuationScore>,
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
    let (drawing, bare) = (&request.drawing, request.add_special_tokens == Some(false));
    drawing.check()?;
    let wanted = Wanted {
        echo: request.echo,
        logprobs: request.logprobs,
        of_prompt: request.prompt_logprobs,
    };
    let read = || request.prompt.readings(&served, wanted.any(), bare);
    let readings = tokio::task::block_in_place(read)?;
    within_limits(&served, &readings, drawing, wanted)?;
    let head = Head::new("cmpl", &served.name);
    if drawing.stream {
        let writes = drawing.max_tokens.unwrap_or(USUAL_LENGTH) > 0;
        if readings.len() * drawing.count() > 1 || wanted.any() || wanted.echo || !writes {
            let message = "a stream holds one answer, without `echo` and log-probabilities";
            return Err(ApiError::bad(message));
        }
        let receiver = served.write(call.client, prompt_of(&served, &readings[0], drawing, 0)?)?;
        let events = Events {
            form: Form::Completion,
            head,
            with_usage: drawing.stream_options.include_usage,
            receiver,
            metrics: call.server.metrics.clone(),
        };
        return Ok(events.response());
    }
    let mut usage = Usage::default();
    let one_token = wanted.echo && wanted.logprobs > Some(0) && drawing.likeliest_token();
    let choices = match one_token {
        true => one_token_each(&call, &served, &readings, wanted, &mut usage).await?,
        false => {
            let mut choices = answers(&call, &served, &readings, drawing, &mut usage).await?;
            score(&call, &served, &mut choices, wanted).await?;
            choices
        }
    };
    call.server.metrics.tokens(&usage);
    let shown = choices.iter().enumerate();
    let shown: Result<Vec<Value>, ApiError> = shown
        .map(|(index, choice)| choice.show(index, &served, wanted))
        .collect();
    let mut answer = head.with("text_completion", Value::Array(shown?));
    answer["usage"] = wire::usage(&usage);
    Ok(Json(answer).into_response())
}

fn within_limits(
    served: &Served,
    readings: &[Reading],
    drawing: &Drawing,
    wanted: Wanted,
) -> Result<(), ApiError> {
    if wanted.alternatives() > MOST_ALTERNATIVES {
        let message = format!("at most {MOST_ALTERNATIVES} log-probabilities a token");
        return Err(ApiError::bad(message));
    }
    if readings.is_empty() || readings.len() * drawing.count() > MOST_ANSWERS {
        let message = format!("between 1 and {MOST_ANSWERS} answers a request");
        return Err(ApiError::bad(message));
    }
    let tokens = readings.iter().filter_map(|r| r.ids.as_ref());
    let numbers = tokens.map(|ids| ids.len() * drawing.count()).sum::<usize>();
    if wanted.any() && numbers * (wanted.alternatives() as usize + 1) > MOST_NUMBERS {
        return Err(ApiError::bad(format!(
            "at most {MOST_NUMBERS} log-probabilities a request"
        )));
    }
    let context = served.context();
    let mut lengths = readings.iter().filter_map(|r| Some(r.ids.as_ref()?.len()));
    match lengths.find(|length| *length > context) {
        Some(length) => Err(ApiError::too_long(length, context)),
        None => Ok(()),
    }
}

impl Choice<'_> {
    fn show(&self, index: usize, served: &Served, wanted: Wanted) -> Result<Value, ApiError> {
        let text = match wanted.echo {
            true => format!("{}{}", self.reading.text, self.text),
            false => self.text.clone(),
        };
        let mut shown = json!({
            "index": index,
            "text": text,
            "finish_reason": wire::finish(&self.finish),
            "logprobs": null,
        });
        if let (Some(score), Some(ids)) = (&self.score, &self.reading.ids) {
            let tokens = served.tokens()?;
            let all = Asked::new(ids, &self.ids, score, wanted.prompt());
            if let Some(k) = wanted.logprobs {
                shown["logprobs"] = legacy(&all, tokens, k, wanted.echo);
            }
            if let Some(k) = wanted.of_prompt {
                shown["prompt_logprobs"] = by_id(&all, tokens, k, ids.len());
            }
        }
        Ok(shown)
    }
}

/// What lm-evaluation-harness asks for: the prompt's scores, and one token after it that nobody looks at. One pass tells
/// both, where writing would be a second one.
async fn one_token_each<'a>(
    call: &Call,
    served: &Served,
    readings: &'a [Reading],
    wanted: Wanted,
    usage: &mut Usage,
) -> Result<Vec<Choice<'a>>, ApiError> {
    let (tokens, rank) = (served.tokens()?, wanted.of_prompt.is_some());
    let mut waiting = vec![];
    for reading in readings {
        let mut ids = reading.ids.clone().unwrap_or_default();
        usage.prompt_tokens += ids.len() as u64;
        usage.completion_tokens += 1;
        // Some token stands for the one to come: what is likeliest in its place does not depend on it.
        ids.push(ids.last().copied().unwrap_or(0));
        let parts = (&[][..], ids.as_slice());
        waiting.push((
            reading,
            served.score_ids(call.client, parts, wanted.alternatives(), rank)?,
        ));
    }
    let mut choices = vec![];
    for (reading, receiver) in waiting {
        let mut score = whole(receiver).await?.0.answer.continuations.pop();
        let last = score.as_mut().and_then(|score| {
            let details = score.details.as_ref()?;
            let (id, logprob) = *details.alternatives.last()?.first()?;
            *score.logprobs.last_mut()? = logprob;
            Some(id)
        });
        let ids: Vec<u32> = last.into_iter().collect();
        choices.push(Choice {
            reading,
            text: tokens.decode(&ids)?,
            ids,
            finish: Finish::Length,
            score,
        });
    }
    Ok(choices)
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
    // One look is enough for all answers to one prompt.
    if let Some(ids) = reading.ids.as_ref().filter(|_| place == 0) {
        let own = served.tokens()?.prompt(&prompt)?;
        if own.get(1..) == Some(ids.as_slice()) {
            let message = "this model's tokenizer puts a token before a text: send its id too, or the text (lm_eval: add_bos_token=True)";
            return Err(ApiError::bad(message));
        }
        if own != *ids {
            let message =
                "the text of these token ids has other ids for this model; send the text instead";
            return Err(ApiError::bad(message));
        }
    }
    Ok(Generate::new(prompt, drawing.sampling(place, USUAL_LENGTH)))
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
                score: None,
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
            score: None,
        });
    }
    Ok(choices)
}

/// Scores the tokens that are asked about: those of prompt and answer, or of the answer alone.
async fn score(
    call: &Call,
    served: &Served,
    choices: &mut [Choice<'_>],
    wanted: Wanted,
) -> Result<(), ApiError> {
    let mut waiting = vec![];
    for (at, choice) in choices.iter().enumerate() {
        let ids = choice.reading.ids.as_ref().filter(|_| wanted.any());
        let Some(ids) = ids else { continue };
        let all = [ids.as_slice(), choice.ids.as_slice()].concat();
        let parts = all.split_at(if wanted.prompt() { 0 } else { ids.len() });
        let (k, rank) = (wanted.alternatives(), wanted.of_prompt.is_some());
        waiting.push((at, served.score_ids(call.client, parts, k, rank)?));
    }
    for (at, receiver) in waiting {
        choices[at].score = whole(receiver).await?.0.answer.continuations.pop();
    }
    Ok(())
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
