//! The likeliest tokens at one place: after a prefix, or of a masked language model in a blank that it sees from
//! both sides.

use std::sync::Arc;

use mary_contract::{BLANK, ContinuationScore, Reply, Score, Scored, Start, TokenDetails, Usage};

use crate::details;
use crate::errors::{Result, bad_request, too_long};
use crate::model::{LocalModel, replied};
use crate::text::Reader;
use crate::transformer::Batch;
use crate::vision::Album;

/// Answers a request whose details ask for the likeliest tokens ([`mary_contract::Details::top`]).
pub(crate) fn likeliest(model: &LocalModel, request: &Score) -> Result<Reply<Scored>> {
    let mut usage = Usage::default();
    let mut continuations = Vec::new();
    let source = Some((&request.prefix, request.details.as_ids)).filter(|_| model.answers());
    let album = model.album(source.into_iter());
    for continuation in &request.continuations {
        let (tokens, at) = place(model, &album, request, continuation)?;
        let context = model.architecture().context;
        if tokens.len() > context {
            let count = tokens.len();
            let message = format!("the text has {count} tokens; this model sees {context}");
            return Err(too_long(message));
        }
        usage.prompt_tokens += tokens.len() as u64;
        let logits = model.install(|| {
            let mut batch = Batch::default();
            batch.push(&tokens, &[], 0);
            let mut session = model.session(tokens.len())?;
            session.show(Arc::clone(album.shown()));
            session.forward(&batch, None)?;
            session.logits(&[at])
        })?;
        let details = TokenDetails {
            top: best(model, &logits, request.details.top as usize)?,
            ..TokenDetails::default()
        };
        continuations.push(ContinuationScore {
            details: Some(Box::new(details)),
            ..ContinuationScore::default()
        });
    }
    Ok(replied(Scored { continuations }, usage))
}

/// What the model reads, and the row whose distribution is wanted.
fn place(
    model: &LocalModel,
    album: &Album<'_>,
    request: &Score,
    continuation: &str,
) -> Result<(Vec<u32>, usize)> {
    let checkpoint = model.checkpoint();
    let (tokenizer, reader) = (checkpoint.tokenizer(), Reader::new(checkpoint));
    if album.answers() {
        let source = reader.source(&request.prefix, request.details.as_ids)?;
        return Ok((vec![album.source(&source)?], 0));
    }
    if model.masking.is_none() {
        let (prefix, first) = reader.render(&request.prefix, &request.start)?;
        let mut tokens: Vec<u32> = first.into_iter().collect();
        tokens.extend(tokenizer.encode(&prefix, false)?.ids);
        let last = tokens.len().checked_sub(1);
        let last = last.ok_or_else(|| bad_request("nothing stands before the blank"))?;
        return Ok((tokens, last));
    }
    let (prefix, _) = reader.render(&request.prefix, &Start::Never)?;
    let mask = tokenizer.mask();
    let mask = mask.ok_or_else(|| bad_request("this model's tokenizer has no mask"))?;
    let text = format!("{prefix}{continuation}");
    let tokens = tokenizer
        .encode(&text.replacen(BLANK, &tokenizer.piece(mask), 1), true)?
        .ids;
    let at = tokens.iter().position(|&token| token == mask);
    let at = at.ok_or_else(|| bad_request(format!("the text has no blank ({BLANK})")))?;
    Ok((tokens, at))
}

fn best(model: &LocalModel, logits: &[f32], k: usize) -> Result<Vec<(String, f32)>> {
    if logits.iter().any(|x| x.is_nan()) {
        return Err(model.not_finite());
    }
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|x| f64::from(x - most).exp()).sum();
    let tokenizer = model.checkpoint().tokenizer();
    let told = details::best(logits, k).into_iter().map(|token| {
        let logprob = f64::from(logits[token as usize] - most) - sum.ln();
        (tokenizer.piece(token), logprob as f32)
    });
    Ok(told.collect())
}
