//! Masked language models as scorers: every token of a text is masked in a copy of its own, and its
//! log-probability in that copy counts. The sum is the pseudo-log-likelihood (Salazar et al. 2020); where
//! the later tokens of the same word are masked with it, it is the within-word left-to-right form (Kauf
//! and Ivanova 2023), which does not give away a word by its other pieces.

use std::ops::{ControlFlow, Range};

use mary_contract::{ContinuationScore, Job, Reply, Score, Scored, Start, Usage, WorkQueue};

use crate::batch::together;
use crate::details::{self, Distributions};
use crate::errors::{Result, bad_request, too_long};
use crate::kernels::{TokenStatistics, WantedToken};
use crate::model::{LocalModel, replied};
use crate::options::Masking;
use crate::text::Reader;
use crate::top;
use crate::transformer::Batch;
use crate::trie::Chunk;

const WINDOW: usize = 1024;

/// What is known of a token whose distribution was not looked at; a masked model never tells where words begin.
const UNSEEN: TokenStatistics = TokenStatistics {
    entropy: 0.0,
    rank: 0,
    word_start: f32::NAN,
};

struct Reading {
    tokens: Vec<u32>,
    scored: Vec<usize>,
    words: Vec<Option<u32>>,
    places: Vec<(u32, u32)>,
    boundary_merged: bool,
}

struct Waiting {
    job: usize,
    parts: Vec<Reading>,
    /// Log-probabilities and what else was seen, part after part.
    known: Vec<(f32, TokenStatistics)>,
}

impl Waiting {
    fn wanted(&self) -> usize {
        self.parts.iter().map(|p| p.scored.len()).sum()
    }
}

struct Masked {
    waiting: usize,
    tokens: Vec<u32>,
    at: usize,
    token: u32,
}

pub(crate) fn serve(
    model: &LocalModel,
    masking: Masking,
    queue: &mut dyn WorkQueue<Score, Scored>,
) {
    loop {
        let jobs: Vec<Job<Score>> = std::iter::from_fn(|| queue.next()).take(WINDOW).collect();
        if jobs.is_empty() {
            return;
        }
        // As for other models: who asks for no distribution is not to notice that others do.
        let (whole, plain): (Vec<_>, Vec<_>) = jobs.into_iter().partition(looks);
        for jobs in [whole, plain] {
            if !jobs.is_empty() && answer(model, masking, queue, &jobs).is_break() {
                return;
            }
        }
    }
}

fn answer(
    model: &LocalModel,
    masking: Masking,
    queue: &mut dyn WorkQueue<Score, Scored>,
    jobs: &[Job<Score>],
) -> ControlFlow<()> {
    let mut all = Vec::new();
    for (job, asked) in jobs.iter().enumerate() {
        if asked.request.details.top > 0 {
            queue.answer(asked.ticket, top::likeliest(model, &asked.request))?;
            continue;
        }
        let read = match asked.request.details.as_ids {
            true => Err(bad_request("a masked model reads words, not token ids")),
            false => read(model, &asked.request),
        };
        match read {
            Err(error) => queue.answer(asked.ticket, Err(error))?,
            Ok(parts) => all.push(Waiting {
                job,
                parts,
                known: Vec::new(),
            }),
        }
    }
    let ranks = jobs.iter().any(|job| job.request.details.rank);
    let whole = jobs.iter().any(looks);
    let looking = whole.then(|| Distributions::new(None, 0, ranks));
    let mask = model.checkpoint().tokenizer().mask().unwrap_or(0);
    // Requests are handed in as soon as their last copy is computed.
    let mut next = hand_in(model, queue, jobs, &all, 0)?;
    let copies: Vec<Masked> = copies(&all, masking, mask).collect();
    let (mut rest, most) = (copies.as_slice(), model.chunk_rows());
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(together(rest, most, |copy| copy.tokens.len()));
        rest = later;
        match pass(model, batch, looking.as_ref()) {
            Ok(values) => {
                for (copy, value) in batch.iter().zip(values) {
                    all[copy.waiting].known.push(value);
                }
            }
            Err(error) => {
                for waiting in &all[next..] {
                    queue.answer(jobs[waiting.job].ticket, Err(error.clone()))?;
                }
                return ControlFlow::Continue(());
            }
        }
        next = hand_in(model, queue, jobs, &all, next)?;
    }
    ControlFlow::Continue(())
}

/// Whether whole distributions are asked for.
fn looks(job: &Job<Score>) -> bool {
    job.request.details.entropy || job.request.details.rank
}

/// Hands in the requests from `next` on that are whole, and says which is the next.
fn hand_in(
    model: &LocalModel,
    queue: &mut dyn WorkQueue<Score, Scored>,
    jobs: &[Job<Score>],
    all: &[Waiting],
    mut next: usize,
) -> ControlFlow<(), usize> {
    while let Some(waiting) = all.get(next).filter(|w| w.known.len() == w.wanted()) {
        let asked = &jobs[waiting.job];
        queue.answer(asked.ticket, reply(model, waiting, &asked.request))?;
        next += 1;
    }
    ControlFlow::Continue(next)
}

fn read(model: &LocalModel, request: &Score) -> Result<Vec<Reading>> {
    let reader = Reader::new(model.checkpoint());
    let (prefix, _) = reader.render(&request.prefix, &Start::Never)?;
    let context = model.architecture().context;
    let mut parts = Vec::new();
    for continuation in &request.continuations {
        let text = format!("{prefix}{continuation}");
        let encoding = model.checkpoint().tokenizer().encode(&text, true)?;
        if encoding.ids.len() > context {
            let message = format!(
                "the text has {} tokens; this model sees {context}, and a masked model reads a text whole",
                encoding.ids.len()
            );
            return Err(too_long(message));
        }
        let place = |i: usize| encoding.offsets.get(i).copied().unwrap_or_default();
        let scored: Vec<usize> = (0..encoding.ids.len())
            .filter(|&i| encoding.special.get(i) != Some(&true) && place(i).1 > prefix.len())
            .collect();
        let inside = |at: usize| at.saturating_sub(prefix.len()) as u32;
        parts.push(Reading {
            places: scored
                .iter()
                .map(|&i| (inside(place(i).0), inside(place(i).1)))
                .collect(),
            boundary_merged: scored.first().is_some_and(|&i| place(i).0 < prefix.len()),
            scored,
            words: encoding.words,
            tokens: encoding.ids,
        });
    }
    Ok(parts)
}

/// Every copy, text after text.
fn copies(all: &[Waiting], masking: Masking, mask: u32) -> impl Iterator<Item = Masked> {
    all.iter().enumerate().flat_map(move |(waiting, request)| {
        request.parts.iter().flat_map(move |part| {
            part.scored.iter().map(move |&at| {
                let mut tokens = part.tokens.clone();
                let token = tokens[at];
                for other in masked_with(part, at, masking) {
                    tokens[other] = mask;
                }
                Masked {
                    waiting,
                    tokens,
                    at,
                    token,
                }
            })
        })
    })
}

/// The tokens that are masked when one is scored.
fn masked_with(part: &Reading, at: usize, masking: Masking) -> impl Iterator<Item = usize> {
    let word = part.words.get(at).copied().flatten();
    let later = part.scored.iter().copied().filter(move |&i| {
        let same = word.is_some() && part.words.get(i).copied().flatten() == word;
        masking == Masking::WithinWord && i > at && same
    });
    std::iter::once(at).chain(later)
}

fn pass(
    model: &LocalModel,
    copies: &[Masked],
    looking: Option<&Distributions>,
) -> Result<Vec<(f32, TokenStatistics)>> {
    let mut batch = Batch::default();
    let (mut rows, mut wanted) = (vec![], vec![]);
    for copy in copies {
        let first = batch.len();
        wanted.push(WantedToken {
            row: rows.len() as u32,
            token: copy.token,
        });
        let before = usize::from(model.architecture().predicts_next);
        rows.push(first + copy.at.saturating_sub(before));
        batch.push(&copy.tokens, &[], first);
    }
    model.install(|| {
        let mut session = model.session(batch.len())?;
        session.forward(&batch, None)?;
        if let Some(looking) = looking {
            let chunk = Chunk {
                head_rows: rows,
                wanted,
                ..Chunk::default()
            };
            let (values, seen) = looking.at(&mut session, &chunk)?;
            return Ok(values.into_iter().zip(seen).collect());
        }
        session.ask(&rows, &wanted)?;
        let values = session.collect()?;
        Ok(values.into_iter().map(|v| (v, UNSEEN)).collect())
    })
}

fn reply(model: &LocalModel, waiting: &Waiting, request: &Score) -> Result<Reply<Scored>> {
    let tokenizer = model.checkpoint().tokenizer();
    let asked = request.details;
    let mut usage = Usage::default();
    let mut continuations = Vec::new();
    let mut from = 0;
    for part in &waiting.parts {
        let range: Range<usize> = from..from + part.scored.len();
        from = range.end;
        let known = waiting.known.get(range).unwrap_or_default();
        if known.iter().any(|(value, _)| !value.is_finite()) {
            return Err(model.not_finite());
        }
        usage.prompt_tokens += part.tokens.len() as u64;
        let (logprobs, seen): (Vec<f32>, Vec<TokenStatistics>) = known.iter().copied().unzip();
        let pieces = part.scored.iter().map(|&i| tokenizer.piece(part.tokens[i]));
        continuations.push(ContinuationScore {
            tokens: pieces.collect(),
            logprobs,
            boundary_merged: part.boundary_merged,
            details: details::told(asked, &part.places, &seen),
            ..ContinuationScore::default()
        });
    }
    Ok(replied(Scored { continuations }, usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_pieces_of_a_word_are_masked_with_the_earlier_ones_only() {
        let part = Reading {
            tokens: vec![0, 10, 11, 12, 20, 1],
            scored: vec![1, 2, 3, 4],
            words: vec![None, Some(0), Some(0), Some(0), Some(1), None],
            places: vec![],
            boundary_merged: false,
        };
        let masked = |at, masking| masked_with(&part, at, masking).collect::<Vec<_>>();
        assert_eq!(masked(1, Masking::WithinWord), [1, 2, 3]);
        assert_eq!(masked(2, Masking::WithinWord), [2, 3]);
        assert_eq!(masked(4, Masking::WithinWord), [4]);
        assert_eq!(masked(1, Masking::Alone), [1]);
    }
}
