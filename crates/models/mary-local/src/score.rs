//! Scoring: a window of requests becomes one token tree, every shared beginning is computed once, and answers
//! are handed back as soon as their part of the tree is done.

mod pipeline;
mod window;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mary_contract::{
    ContinuationScore, Details, ErrorKind, ModelError, Reply, Score, Scored, Usage,
};

use crate::details::{self, Distributions};
use crate::engine::Session;
use crate::errors::{Result, internal};
use crate::kernels::TokenStatistics;
use crate::model::{LocalModel, replied};
use crate::text::{Reader, windows};
use crate::top;
use crate::transformer::Traveller;
use crate::trie::{Chunk, Chunks, Sequence, Trie};
use crate::vision::Album;

use pipeline::Answer;
pub(crate) use pipeline::serve;
use window::{Waiting, Window};

/// Runs the tree and hands over each request when its scores are there.
fn compute(
    model: &LocalModel,
    window: Window<'_>,
    stopped: &AtomicBool,
    hand_in: &mut dyn FnMut(Answer) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Window {
        album,
        sequences,
        trie,
        mut waiting,
        refused,
        places,
        distributions,
        dropped,
    } = window;
    let halted = || stopped.load(Ordering::Relaxed) || dropped.load(Ordering::Relaxed);
    for refusal in refused {
        hand_in((refusal.0, Err(refusal.1)))?;
    }
    for job in places {
        hand_in((job.ticket, top::likeliest(model, &job.request)))?;
    }
    let mut scores = vec![f32::NAN; trie.len()];
    let mut seen = vec![TokenStatistics::default(); if distributions { trie.len() } else { 0 }];
    let alternatives = waiting.iter().map(|w| w.details.alternatives).max();
    let alternatives = alternatives.unwrap_or(0);
    let looking = distributions.then(|| {
        let asked = |of: fn(&Details) -> bool| waiting.iter().any(|w| of(&w.details));
        let starts = asked(|d| d.word_starts).then(|| model.word_starts());
        Distributions::new(
            starts.flatten(),
            model.architecture().vocab,
            asked(|d| d.rank),
        )
        .with_alternatives(alternatives as usize)
    });
    let run = run(
        (model, &album),
        &trie,
        looking.as_ref(),
        (
            &mut |nodes, values, more, upto| {
                if halted() {
                    return ControlFlow::Break(());
                }
                for (&node, &value) in nodes.iter().zip(values) {
                    scores[node] = value;
                }
                for (&node, &value) in nodes.iter().zip(more) {
                    seen[node] = value;
                }
                while waiting.last().is_some_and(|w| w.due <= upto) {
                    if let Some(request) = waiting.pop() {
                        let known = (&trie, &*scores, &*seen);
                        let reply = reply(model, &request, known, &sequences, looking.as_ref());
                        hand_in((request.ticket, reply))?;
                    }
                }
                ControlFlow::Continue(())
            },
            &halted,
        ),
    );
    match run {
        Ok(flow) if flow.is_continue() || stopped.load(Ordering::Relaxed) => flow?,
        broken => {
            let gone = || ModelError::new(ErrorKind::Interrupted, "nobody waits for it");
            let error = broken.err().unwrap_or_else(gone);
            while let Some(request) = waiting.pop() {
                hand_in((request.ticket, Err(error.clone())))?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// The nodes scored by a chunk, their log-probabilities, what else was seen, the node below which all is done.
pub(crate) type Receive<'a> =
    &'a mut dyn FnMut(&[usize], &[f32], &[TokenStatistics], usize) -> ControlFlow<()>;

/// Whether nobody wants the answers any more, for who computes long before the first.
type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

pub(crate) fn run(
    (model, album): (&LocalModel, &Album<'_>),
    trie: &Trie,
    looking: Option<&Distributions>,
    (receive, stop): (Receive<'_>, Stop<'_>),
) -> Result<ControlFlow<()>> {
    loop {
        let rows = model.chunk_rows();
        match run_with((model, album), trie, rows, looking, (&mut *receive, stop)) {
            // What was received is received again: a node's score does not change.
            Err(error) if model.narrow(rows, &error) => {}
            outcome => return outcome,
        }
    }
}

fn run_with(
    (model, album): (&LocalModel, &Album<'_>),
    trie: &Trie,
    rows: usize,
    looking: Option<&Distributions>,
    (receive, stop): (Receive<'_>, Stop<'_>),
) -> Result<ControlFlow<()>> {
    let chunks = Chunks::new(trie, rows);
    let together = model.fetches();
    let mut session = model.session(if together { 0 } else { chunks.cache_rows() })?;
    if !album.is_empty() {
        session.show(Arc::clone(album.shown()));
    }
    if together {
        return run_together(model, session, chunks, looking, (receive, stop));
    }
    // Chunks whose scores are on their way: the next one is planned meanwhile.
    let mut under_way = VecDeque::new();
    for chunk in chunks {
        let looked_at = model.install(|| {
            session.forward(&chunk.batch, None)?;
            let looked_at = ask(&mut session, &chunk, looking)?;
            session.move_rows(&chunk.moves)?;
            Ok(looked_at)
        })?;
        if let Some((values, seen)) = looked_at {
            if receive(&chunk.nodes, &values, &seen, chunk.done).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            continue;
        }
        under_way.push_back((chunk.nodes, chunk.done));
        if hand_over(&mut session, &mut under_way, model.ahead(), &mut *receive)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if hand_over(&mut session, &mut under_way, 0, &mut *receive)?.is_break() {
        return Ok(ControlFlow::Break(()));
    }
    // A tree without anything to compute still has its answers.
    Ok(receive(&[], &[], &[], trie.len()))
}

/// Log-probabilities, and what was seen of the distributions they come from.
type LookedAt = (Vec<f32>, Vec<TokenStatistics>);

/// Asks for a chunk's log-probabilities, or looks at the whole distributions at once.
fn ask(
    session: &mut Session<'_>,
    chunk: &Chunk,
    looking: Option<&Distributions>,
) -> Result<Option<LookedAt>> {
    match looking {
        Some(look) => look.at(session, chunk).map(Some),
        None => session.ask(&chunk.head_rows, &chunk.wanted).map(|()| None),
    }
}

/// The same for a model whose weights do not all fit: the whole tree goes through one block after the other.
fn run_together(
    model: &LocalModel,
    mut session: Session<'_>,
    chunks: Chunks<'_>,
    looking: Option<&Distributions>,
    (receive, stop): (Receive<'_>, Stop<'_>),
) -> Result<ControlFlow<()>> {
    let (cache_rows, nodes) = (chunks.cache_rows(), chunks.nodes());
    let mut chunks: Vec<Chunk> = chunks.collect();
    let travellers = chunks.iter_mut().map(|chunk| Traveller {
        batch: std::mem::take(&mut chunk.batch),
        moves: std::mem::take(&mut chunk.moves),
    });
    let travellers: Vec<Traveller> = travellers.collect();
    if !model.install(|| session.travel(&travellers, cache_rows, stop))? {
        return Ok(ControlFlow::Break(()));
    }
    for (chunk, traveller) in chunks.iter().zip(&travellers) {
        let (values, seen) = model.install(|| {
            session.arrive(traveller.batch.len())?;
            match ask(&mut session, chunk, looking)? {
                Some(looked_at) => Ok(looked_at),
                None => Ok((session.collect()?, vec![])),
            }
        })?;
        if receive(&chunk.nodes, &values, &seen, chunk.done).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(receive(&[], &[], &[], nodes))
}

/// Hands over chunks, the oldest first, until so many are left.
fn hand_over(
    session: &mut Session<'_>,
    under_way: &mut VecDeque<(Vec<usize>, usize)>,
    left: usize,
    receive: Receive<'_>,
) -> Result<ControlFlow<()>> {
    while under_way.len() > left
        && let Some((nodes, done)) = under_way.pop_front()
    {
        let values = session.collect()?;
        if receive(&nodes, &values, &[], done).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn reply(
    model: &LocalModel,
    waiting: &Waiting,
    (trie, scores, seen): (&Trie, &[f32], &[TokenStatistics]),
    sequences: &[Sequence],
    looking: Option<&Distributions>,
) -> Result<Reply<Scored>> {
    let tokenizer = model.checkpoint().tokenizer();
    let mut usage = Usage::default();
    let mut continuations = Vec::with_capacity(waiting.parts.len());
    for (reading, range) in &waiting.parts {
        let mut nodes = vec![];
        for index in range.clone() {
            nodes.extend(trie.path(index, sequences[index].scored_from));
        }
        let mut logprobs: Vec<f32> = nodes.iter().map(|&node| scores[node]).collect();
        let scored = reading.places.len();
        logprobs.truncate(scored);
        if logprobs.iter().any(|x| !x.is_finite()) {
            return Err(model.not_finite());
        }
        usage.prompt_tokens += (reading.source + reading.scored_from + scored) as u64;
        let seen = nodes.iter().filter_map(|&n| seen.get(n));
        let seen: Vec<_> = seen.copied().collect();
        let pieces = reading.tokens[reading.scored_from..].iter().take(scored);
        let cut = |i: usize| sequences[i].tokens.len() < reading.tokens.len();
        let mut details = details::told(waiting.details, &reading.places, &seen);
        if let (Some(looking), Some(details)) = (looking, &mut details)
            && waiting.details.alternatives > 0
        {
            let most = waiting.details.alternatives;
            details.alternatives = looking.alternatives(&nodes[..scored], most);
        }
        continuations.push(ContinuationScore {
            tokens: pieces.map(|&id| tokenizer.piece(id)).collect(),
            logprobs,
            boundary_merged: reading.boundary_merged,
            first_unscored: reading.first_unscored,
            windowed: range.len() > 1 || range.clone().any(cut),
            details,
        });
    }
    Ok(replied(Scored { continuations }, usage))
}

/// Log-probabilities of whole token sequences, in order; the tree is used or not as asked.
pub(crate) fn plain_scores(
    (model, album): (&LocalModel, &Album<'_>),
    sequences: &[Sequence],
    share: bool,
) -> Result<Vec<Vec<f32>>> {
    let trie = Trie::new(sequences, share);
    let mut scores = vec![f32::NAN; trie.len()];
    let mut keep = |nodes: &[usize], values: &[f32], _: &[TokenStatistics], _: usize| {
        for (&node, &value) in nodes.iter().zip(values) {
            scores[node] = value;
        }
        ControlFlow::Continue(())
    };
    let _ = run((model, album), &trie, None, (&mut keep, &|| false))?;
    let all = sequences.iter().enumerate().map(|(i, sequence)| {
        let path = trie.path(i, sequence.scored_from);
        path.iter().map(|&n| scores[n]).collect()
    });
    Ok(all.collect())
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfCheck {
    pub tokens: usize,
    /// Largest difference of a log-probability, in nats.
    pub worst: f32,
    pub tolerance: f32,
}

/// The difference between tree and plain execution that is tolerated, in nats.
pub const TOLERANCE: f32 = 1e-3;

/// Scores token sequences through the tree and one by one, and compares.
pub fn self_check(model: &LocalModel, texts: &[&str]) -> Result<SelfCheck> {
    let mut sequences = vec![];
    let nothing = mary_contract::Prompt::plain("");
    let album = model.album(std::iter::once((&nothing, false)));
    for text in texts {
        let request = Score {
            prefix: nothing.clone(),
            continuations: vec![(*text).to_owned()],
            start: mary_contract::Start::Always,
            details: Default::default(),
        };
        for reading in Reader::showing(model.checkpoint(), &album).continuations(&request)? {
            let context = model.architecture().context;
            sequences.extend(windows(&reading.tokens, reading.scored_from, context));
        }
    }
    let together = plain_scores((model, &album), &sequences, true)?;
    let mut check = SelfCheck {
        tokens: 0,
        worst: 0.0,
        tolerance: TOLERANCE,
    };
    for (sequence, tree) in sequences.iter().zip(&together) {
        let alone = plain_scores((model, &album), std::slice::from_ref(sequence), false)?;
        for (a, b) in alone.iter().flatten().zip(tree) {
            check.tokens += 1;
            let difference = (a - b).abs();
            // `max` would pass over a NaN.
            check.worst = match difference.is_nan() {
                true => f32::INFINITY,
                false => check.worst.max(difference),
            };
        }
    }
    if check.worst > check.tolerance {
        return Err(internal(format!(
            "self-check: sharing prefixes changes a log-probability by {:.2e} nats; {:.0e} is tolerated",
            check.worst, check.tolerance
        ))
        .hint("run with --model-arg trie=off and report this"));
    }
    Ok(check)
}
