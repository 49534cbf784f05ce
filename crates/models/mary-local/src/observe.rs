//! Observing: texts packed into one pass, hidden states of every layer pooled as they appear, and scores from
//! the same pass where they are wanted.

mod pictures;

use std::ops::{ControlFlow, Range};

use mary_contract::{
    ContinuationScore, Job, LayerVector, Layers, Observe, Observed, Pool, PooledVectors, Reply,
    Usage, Vector, WorkQueue,
};

use crate::batch::together;
use crate::errors::{Result, bad_request, too_long};
use crate::kernels::{Groups, WantedToken};
use crate::model::{LocalModel, replied};
use crate::transformer::{Batch, Watch};
use crate::vision::no_joint;

const WINDOW: usize = 1024;

struct Reading {
    job: usize,
    tokens: Vec<u32>,
    pools: Vec<Vec<usize>>,
    /// Which pools are the text's row on its way into the space that it shares with pictures.
    joint: Vec<bool>,
    /// Ascending.
    layers: Vec<usize>,
    scored: Option<Range<usize>>,
    first_unscored: bool,
}

pub(crate) fn serve(model: &LocalModel, queue: &mut dyn WorkQueue<Observe, Observed>) {
    loop {
        let most = model.options().batch_size.unwrap_or(WINDOW);
        let most = most.clamp(1, WINDOW);
        let jobs: Vec<Job<Observe>> = std::iter::from_fn(|| queue.next()).take(most).collect();
        if jobs.is_empty() || answer(model, queue, &jobs).is_break() {
            return;
        }
    }
}

fn answer(
    model: &LocalModel,
    queue: &mut dyn WorkQueue<Observe, Observed>,
    jobs: &[Job<Observe>],
) -> ControlFlow<()> {
    let mut readings = vec![];
    pictures::answer(model, queue, jobs)?;
    let texts = jobs.iter().enumerate();
    for (i, job) in texts.filter(|(_, job)| job.request.picture.is_none()) {
        match read(model, i, &job.request) {
            Ok(reading) => readings.push(reading),
            Err(error) => queue.answer(job.ticket, Err(error))?,
        }
    }
    readings.sort_by_key(|r| r.tokens.len());
    let mut rest = readings.as_slice();
    while !rest.is_empty() {
        let most = model.chunk_rows();
        let count = together(rest, most, |r| r.tokens.len());
        let (batch, later) = rest.split_at(count);
        let answers = match model.install(|| pass(model, batch)) {
            Err(error) if count > 1 && model.narrow(most, &error) => continue,
            Err(error) => vec![Err(error); count],
            Ok(all) => all,
        };
        rest = later;
        for (reading, observed) in batch.iter().zip(answers) {
            queue.answer(jobs[reading.job].ticket, observed)?;
        }
    }
    ControlFlow::Continue(())
}

fn read(model: &LocalModel, job: usize, request: &Observe) -> Result<Reading> {
    let mut encoding = model.checkpoint().tokenizer().encode(&request.text, true)?;
    let architecture = model.observed().architecture();
    let context = architecture.context;
    if encoding.ids.len() > context {
        let count = encoding.ids.len();
        let message = format!("the text has {count} tokens; this model sees {context}");
        return Err(too_long(message));
    }
    let own: Vec<usize> = (0..encoding.ids.len())
        .filter(|&i| encoding.special.get(i) != Some(&true))
        .collect();
    // A tower that was trained on filled texts reads them so, whatever is pooled.
    let whole = match model.joint() {
        Some(joint) => joint.fill(&mut encoding.ids, context),
        None => Err(no_joint()),
    };
    let mut pools = vec![];
    for pool in &request.pools {
        let tokens: Vec<usize> = match *pool {
            Pool::Span { start, end } => {
                let touches = |&(s, e): &(usize, usize)| s < end && e > start;
                let inside = |i: &usize| encoding.offsets.get(*i).is_some_and(touches);
                own.iter().copied().filter(inside).collect()
            }
            Pool::Mean => own.clone(),
            Pool::Last => own.last().copied().into_iter().collect(),
            Pool::Token(at) => own.get(at).copied().into_iter().collect(),
            Pool::First => (0..encoding.ids.len().min(1)).collect(),
            Pool::Joint => vec![whole.clone()?],
        };
        if tokens.is_empty() {
            let message = format!("no token of {:?} lies in {pool:?}", request.text);
            return Err(
                bad_request(message).hint("spans count bytes of the text and must not be empty")
            );
        }
        pools.push(tokens);
    }
    let scored = match (request.with_scores, architecture.language_head) {
        (true, true) => {
            let first = own.first().copied().unwrap_or(0);
            Some(first.max(1)..own.last().map_or(0, |l| l + 1).max(first.max(1)))
        }
        _ => None,
    };
    Ok(Reading {
        job,
        first_unscored: scored.is_some() && own.first() == Some(&0),
        tokens: encoding.ids,
        pools,
        joint: request.pools.iter().map(|p| *p == Pool::Joint).collect(),
        layers: layers(&request.layers, architecture.layers)?,
        scored,
    })
}

/// The wanted layers, ascending, out of 0 (embedding) to `last`.
fn layers(wanted: &Layers, last: usize) -> Result<Vec<usize>> {
    let these = match wanted {
        Layers::All => return Ok((0..=last).collect()),
        Layers::Last => return Ok(vec![last]),
        Layers::These(these) => these,
    };
    let mut all = vec![];
    for &layer in these {
        let from_end = if layer < 0 { last as i64 + 1 } else { 0 };
        let at = usize::try_from(from_end + i64::from(layer)).ok();
        all.push(at.filter(|at| *at <= last).ok_or_else(|| {
            bad_request(format!(
                "layer {layer} was asked for; this model has layers 0 to {last}"
            ))
        })?);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn pass(model: &LocalModel, readings: &[Reading]) -> Result<Vec<Result<Reply<Observed>>>> {
    let mut batch = Batch::default();
    let mut firsts = vec![];
    for reading in readings {
        firsts.push(batch.len());
        let slot = batch.len();
        batch.push(&reading.tokens, &[], slot);
    }
    let rows = batch.len();
    let mut session = model.session_on(model.observed(), rows)?;
    let mut pooled: Vec<Vec<PooledVectors>> = readings
        .iter()
        .map(|r| {
            let empty = |p: &Vec<usize>| PooledVectors {
                tokens: p.len(),
                layers: vec![],
            };
            r.pools.iter().map(empty).collect()
        })
        .collect();
    let mut groups = Groups::default();
    for (reading, first) in readings.iter().zip(&firsts) {
        for pool in &reading.pools {
            groups.push(pool.iter().map(|token| first + token));
        }
    }
    let mut layers: Vec<usize> = readings.iter().flat_map(|r| r.layers.clone()).collect();
    let last = model.observed().architecture().layers;
    if readings.iter().any(|r| r.joint.contains(&true)) {
        layers.push(last);
    }
    layers.sort_unstable();
    layers.dedup();
    let mut visit = |layer: usize, means: &[f32]| {
        let width = means.len() / groups.len().max(1);
        let mut means = means.chunks_exact(width.max(1));
        for (reading, out) in readings.iter().zip(&mut pooled) {
            let wanted = reading.layers.binary_search(&layer).is_ok();
            for ((out, joint), mean) in out.iter_mut().zip(&reading.joint).zip(&mut means) {
                let vector = match (joint, model.joint()) {
                    (true, Some(joint)) if layer == last => joint.text(mean),
                    (false, _) if wanted => mean.to_vec(),
                    _ => continue,
                };
                let vector = Vector(vector);
                out.layers.push(LayerVector { layer, vector });
            }
        }
    };
    let watch = (!groups.is_empty()).then_some(Watch::Means {
        groups: &groups,
        layers: &layers,
        visit: &mut visit,
    });
    session.forward(&batch, watch)?;
    let (mut rows_wanted, mut wanted, mut ranges) = (vec![], vec![], vec![]);
    for (reading, first) in readings.iter().zip(&firsts) {
        let begin = wanted.len();
        for i in reading.scored.clone().into_iter().flatten() {
            wanted.push(WantedToken {
                row: rows_wanted.len() as u32,
                token: reading.tokens[i],
            });
            rows_wanted.push(first + i - 1);
        }
        ranges.push(begin..wanted.len());
    }
    if !wanted.is_empty() {
        session.ask(&rows_wanted, &wanted)?;
    }
    let logprobs = session.collect()?;
    let all = readings.iter().zip(pooled).zip(ranges);
    let answer = |((reading, pools), range): ((&Reading, Vec<PooledVectors>), Range<usize>)| {
        finish(model, reading, pools, &logprobs[range])
    };
    Ok(all.map(answer).collect())
}

fn finish(
    model: &LocalModel,
    reading: &Reading,
    pools: Vec<PooledVectors>,
    logprobs: &[f32],
) -> Result<Reply<Observed>> {
    let layers = pools.iter().flat_map(|p| &p.layers);
    let numbers = layers.flat_map(|l| &l.vector.0);
    if numbers.chain(logprobs).any(|x| !x.is_finite()) {
        return Err(model.not_finite());
    }
    let tokenizer = model.checkpoint().tokenizer();
    let scores = reading.scored.clone().map(|range| ContinuationScore {
        tokens: reading.tokens[range]
            .iter()
            .map(|&id| tokenizer.piece(id))
            .collect(),
        logprobs: logprobs.to_vec(),
        first_unscored: reading.first_unscored,
        ..ContinuationScore::default()
    });
    let usage = Usage {
        prompt_tokens: reading.tokens.len() as u64,
        ..Usage::default()
    };
    Ok(replied(Observed { pools, scores }, usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_count_from_either_end() {
        assert_eq!(layers(&Layers::All, 2).unwrap(), [0, 1, 2]);
        assert_eq!(layers(&Layers::Last, 2).unwrap(), [2]);
        assert_eq!(layers(&Layers::These(vec![-1, 0, -1]), 2).unwrap(), [0, 2]);
        assert!(
            layers(&Layers::These(vec![-4]), 2)
                .unwrap_err()
                .message
                .contains("layer -4")
        );
    }
}
