//! How probable texts are, as a table: the requests and the words of `mary score`, so that both give the same
//! numbers to the last bit.

use std::sync::Arc;

use mary_contract::{ContinuationScore, ErrorKind, ModelError, Prompt, Score, Start, StartError};
use mary_lab::texts::score::{ScoreOptions, words};
use pyo3::prelude::*;

use crate::columns::{Column, Table};
use crate::models::{cannot, opened};
use crate::queue::ListQueue;
use crate::watch::watched;
use crate::{Args, Given};

/// What a row is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Text,
    Word,
    Token,
}

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
        let by = match by.as_str() {
            "word" => By::Word,
            "token" => By::Token,
            _ => By::Text,
        };
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
        let mut rows = Rows::new(by);
        for (at, (text, score)) in texts.iter().zip(scores).enumerate() {
            rows.add(at, text, score);
        }
        Ok(rows.finish())
    })?;
    table.given(py)
}

fn surprisal(logprob: f64) -> f64 {
    -logprob / std::f64::consts::LN_2
}

/// A table while it grows.
struct Rows {
    by: By,
    columns: Vec<Column>,
}

impl Rows {
    fn new(by: By) -> Self {
        let mut columns = match by {
            By::Text => vec![
                Column::count("text_id"),
                Column::text("text"),
                Column::count("words"),
                Column::count("tokens"),
            ],
            By::Word => vec![
                Column::count("text_id"),
                Column::count("position"),
                Column::text("word"),
                Column::count("tokens"),
            ],
            By::Token => vec![
                Column::count("text_id"),
                Column::count("position"),
                Column::text("token"),
                Column::count("word"),
            ],
        };
        columns.extend([Column::number("logprob"), Column::number("surprisal")]);
        if by == By::Word {
            columns.push(Column::number("logprob_corrected"));
            columns.push(Column::number("surprisal_corrected"));
        }
        if by == By::Text {
            columns.push(Column::flag("first_unscored"));
        }
        Self { by, columns }
    }

    fn add(&mut self, id: usize, text: &str, score: Option<&ContinuationScore>) {
        match (self.by, score) {
            (By::Text, score) => self.text(id, text, score),
            (_, None) => {}
            (By::Word, Some(score)) => {
                let Some(places) = words::token_places(text, score) else {
                    return;
                };
                for (at, word) in words::scored(text, &places, score).iter().enumerate() {
                    self.word(id, at, text, word);
                }
            }
            (By::Token, Some(score)) => self.tokens(id, text, score),
        }
    }

    fn text(&mut self, id: usize, text: &str, score: Option<&ContinuationScore>) {
        let sum = score.map(ContinuationScore::sum);
        if let [ids, texts, words, tokens, logprob, bits, first] = self.columns.as_mut_slice() {
            ids.push_count(Some(id));
            texts.push_text(Some(text));
            words.push_count(Some(words::places(text).len()));
            tokens.push_count(score.map(|s| s.tokens.len()));
            logprob.push_number(sum);
            bits.push_number(sum.map(surprisal));
            first.push_flag(score.map(|s| s.first_unscored));
        }
    }

    fn word(&mut self, id: usize, at: usize, text: &str, word: &words::Word) {
        if let [
            ids,
            positions,
            spelled,
            tokens,
            logprob,
            bits,
            corrected,
            corrected_bits,
        ] = self.columns.as_mut_slice()
        {
            ids.push_count(Some(id));
            positions.push_count(Some(at + 1));
            spelled.push_text(text.get(word.place.clone()));
            tokens.push_count(Some(word.tokens.len()));
            logprob.push_number(word.plain);
            bits.push_number(word.plain.map(surprisal));
            corrected.push_number(word.corrected);
            corrected_bits.push_number(word.corrected.map(surprisal));
        }
    }

    fn tokens(&mut self, id: usize, text: &str, score: &ContinuationScore) {
        let places = words::token_places(text, score).unwrap_or_default();
        let of = words::of_tokens(&words::places(text), &places);
        // A first token without a score keeps its number.
        let before = usize::from(score.first_unscored) + 1;
        if let [ids, positions, spelled, words, logprob, bits] = self.columns.as_mut_slice() {
            for (at, (token, &value)) in score.tokens.iter().zip(&score.logprobs).enumerate() {
                ids.push_count(Some(id));
                positions.push_count(Some(at + before));
                spelled.push_text(Some(token));
                words.push_count(of.get(at).copied().flatten().map(|w| w + 1));
                logprob.push_number(Some(f64::from(value)));
                bits.push_number(Some(surprisal(f64::from(value))));
            }
        }
    }

    fn finish(self) -> Table {
        Table {
            columns: self.columns,
        }
    }
}
