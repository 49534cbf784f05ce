//! How probable texts are, as a table, by the requests of `mary score`, so that both give the same numbers.

use std::sync::Arc;

use mary_contract::{ContinuationScore, ErrorKind, ModelError, Prompt, Score, Start, StartError};
use mary_lab::texts::score::{ScoreOptions, words};
use pyo3::prelude::*;

use crate::columns::Cells::{Count, Flag, Number, Text};
use crate::columns::Table;
use crate::models::{cannot, opened};

use crate::watch::{ListQueue, watched};
use crate::{Args, Given};

/// Scores texts: the model, contexts, texts, what a row is, what stands before the first token.
pub(crate) fn score(args: Args<'_, '_>) -> Given {
    let (handle, contexts, texts, by, start): (
        Bound<'_, PyAny>,
        Vec<String>,
        Vec<String>,
        String,
        String,
    ) = args.extract()?;
    let py = args.py();
    let model = Arc::clone(&opened(&handle)?.model);
    let table = watched(py, move |stop| {
        let start: Start = start
            .parse()
            .map_err(|e: StartError| ModelError::new(ErrorKind::BadRequest, e.to_string()))?;
        // What the command asks, whatever the rows: asked for less, a model may round otherwise.
        let details = ScoreOptions::default().details();
        let requests = contexts
            .into_iter()
            .zip(&texts)
            .map(|(context, text)| Score {
                prefix: Prompt::plain(context),
                continuations: vec![text.clone()],
                start: start.clone(),
                details,
            });
        let scorer = model
            .scorer()
            .ok_or_else(|| cannot(model.as_ref(), "gives no log-probabilities"))?;
        let mut queue = ListQueue::new(requests.collect(), stop);
        scorer.score(&mut queue);
        let scored = queue.finish()?;
        let scores = scored.iter().map(|s| s.continuations.first());
        let texts = texts.iter().map(String::as_str).zip(scores).enumerate();
        let texts = texts.map(|(id, (text, score))| ScoredText { id, text, score });
        Ok(match by.as_str() {
            "word" => by_word(texts),
            "token" => by_token(texts),
            _ => by_text(texts),
        })
    })?;
    table.given(py)
}

fn surprisal(logprob: f64) -> f64 {
    -logprob / std::f64::consts::LN_2
}

/// A text with its score, where the model gave one.
#[derive(Clone, Copy)]
struct ScoredText<'a> {
    id: usize,
    text: &'a str,
    score: Option<&'a ContinuationScore>,
}

fn by_text<'a>(texts: impl Iterator<Item = ScoredText<'a>>) -> Table {
    Table::of(
        texts,
        &[
            ("text_id", Count(|t| Some(t.id))),
            ("text", Text(|t| Some(t.text.into()))),
            ("words", Count(|t| Some(words::places(t.text).len()))),
            ("tokens", Count(|t| Some(t.score?.tokens.len()))),
            ("logprob", Number(|t| Some(t.score?.sum()))),
            ("surprisal", Number(|t| Some(surprisal(t.score?.sum())))),
            ("first_unscored", Flag(|t| Some(t.score?.first_unscored))),
        ],
    )
}

fn by_word<'a>(texts: impl Iterator<Item = ScoredText<'a>>) -> Table {
    let rows = texts.flat_map(|text| {
        let scored = text.score.and_then(|score| {
            let places = words::token_places(text.text, score)?;
            Some(words::scored(text.text, &places, score))
        });
        let words = scored.unwrap_or_default().into_iter().enumerate();
        words.map(move |(at, word)| (text, at, word))
    });
    Table::of(
        rows,
        &[
            ("text_id", Count(|(text, _, _)| Some(text.id))),
            ("position", Count(|(_, at, _)| Some(at + 1))),
            (
                "word",
                Text(|(text, _, word)| Some(text.text.get(word.place.clone())?.into())),
            ),
            ("tokens", Count(|(_, _, word)| Some(word.tokens.len()))),
            ("logprob", Number(|(_, _, word)| word.plain)),
            (
                "surprisal",
                Number(|(_, _, word)| word.plain.map(surprisal)),
            ),
            ("logprob_corrected", Number(|(_, _, word)| word.corrected)),
            (
                "surprisal_corrected",
                Number(|(_, _, word)| word.corrected.map(surprisal)),
            ),
        ],
    )
}

/// A token of a text: its number, its spelling, its word and its log-probability.
struct ScoredToken<'a> {
    text: usize,
    at: usize,
    token: &'a str,
    word: Option<usize>,
    logprob: f64,
}

fn by_token<'a>(texts: impl Iterator<Item = ScoredText<'a>>) -> Table {
    let rows = texts.flat_map(|text| {
        let tokens = text.score.map(|score| {
            let places = words::token_places(text.text, score).unwrap_or_default();
            let of = words::of_tokens(&words::places(text.text), &places);
            // A first token without a score keeps its number.
            let before = usize::from(score.first_unscored) + 1;
            let tokens = score.tokens.iter().zip(&score.logprobs).enumerate();
            tokens.map(move |(at, (token, &logprob))| ScoredToken {
                text: text.id,
                at: at + before,
                token,
                word: of.get(at).copied().flatten().map(|w| w + 1),
                logprob: f64::from(logprob),
            })
        });
        tokens.into_iter().flatten()
    });
    Table::of(
        rows,
        &[
            ("text_id", Count(|t| Some(t.text))),
            ("position", Count(|t| Some(t.at))),
            ("token", Text(|t| Some(t.token.into()))),
            ("word", Count(|t| t.word)),
            ("logprob", Number(|t| Some(t.logprob))),
            ("surprisal", Number(|t| Some(surprisal(t.logprob)))),
        ],
    )
}
