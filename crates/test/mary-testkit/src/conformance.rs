//! The suite every [`Model`] must pass, whatever it runs on.
//!
//! A backend's tests call [`check`] with an open model; what comes back is a list of broken promises
//! in words, empty when all are kept.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use mary_contract::{
    Generate, Job, Layers, Model, ModelError, Observe, Observed, Pool, Prompt, Reply, Sampling,
    Score, Scored, Start, Ticket, WorkQueue,
};

/// A queue that hands out given requests and remembers every answer.
pub struct TestQueue<Q, A> {
    waiting: VecDeque<Job<Q>>,
    /// Requests that appear only once this many answers are in (follow-up questions).
    later: Vec<(usize, Job<Q>)>,
    pub answers: Vec<(Ticket, Result<Reply<A>, ModelError>)>,
    /// Break after this many answers.
    pub stop_after: Option<usize>,
    /// Requests asked for after the break.
    asked_after: usize,
}

impl<Q, A> TestQueue<Q, A> {
    /// A queue with these requests, tickets 0, 1, 2, …
    pub fn new(requests: impl IntoIterator<Item = Q>) -> Self {
        let waiting = requests
            .into_iter()
            .zip(0..)
            .map(|(request, n)| Job {
                ticket: Ticket(n),
                request,
            })
            .collect();
        Self {
            waiting,
            later: Vec::new(),
            answers: Vec::new(),
            stop_after: None,
            asked_after: 0,
        }
    }

    fn broke(&self) -> bool {
        self.stop_after.is_some_and(|n| self.answers.len() >= n)
    }

    /// A request that appears once `after` answers are in.
    pub fn add_later(&mut self, after: usize, ticket: u64, request: Q) {
        self.later.push((
            after,
            Job {
                ticket: Ticket(ticket),
                request,
            },
        ));
    }

    pub fn replies(self) -> BTreeMap<u64, A> {
        let ok = self
            .answers
            .into_iter()
            .filter_map(|(t, a)| Some((t.0, a.ok()?.answer)));
        ok.collect()
    }
}

impl<Q, A> WorkQueue<Q, A> for TestQueue<Q, A> {
    fn next(&mut self) -> Option<Job<Q>> {
        if self.broke() {
            self.asked_after += 1;
            return None;
        }
        if let Some(job) = self.waiting.pop_front() {
            return Some(job);
        }
        let ready = self
            .later
            .iter()
            .position(|(after, _)| *after <= self.answers.len())?;
        Some(self.later.remove(ready).1)
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Reply<A>, ModelError>) -> ControlFlow<()> {
        self.answers.push((ticket, answer));
        if self.broke() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Every promise that this model breaks.
pub fn check(model: &dyn Model) -> Vec<String> {
    let mut broken = Vec::new();
    let card = model.card();
    let able = card.capabilities;
    if card.fingerprint.is_empty() {
        broken.push("an open model has a fingerprint".to_owned());
    }
    let declared = [
        ("generate", able.generate, model.generator().is_some()),
        ("score", able.score, model.scorer().is_some()),
        ("observe", able.observe, model.observer().is_some()),
    ];
    for (name, says, does) in declared {
        if says != does {
            broken.push(format!(
                "the card says {name}: {says}, the model says {does}"
            ));
        }
    }
    if let Some(scorer) = model.scorer() {
        queue_promises("score", &mut broken, score_request, |queue| {
            scorer.score(queue)
        });
        if !able.score_single_token_only {
            scores_make_sense(&mut broken, |queue| scorer.score(queue));
        }
    }
    if let Some(generator) = model.generator() {
        queue_promises("generate", &mut broken, generate_request, |queue| {
            generator.generate(queue)
        });
    }
    if let Some(observer) = model.observer() {
        queue_promises("observe", &mut broken, observe_request, |queue| {
            observer.observe(queue)
        });
        vectors_make_sense(&mut broken, |queue| observer.observe(queue));
    }
    broken
}

fn score_request(n: usize) -> Score {
    Score::new(
        Prompt::plain(format!("The number {n} is")),
        vec![" even".into(), " odd".into()],
        Start::Model,
    )
}

fn generate_request(n: usize) -> Generate {
    Generate::new(Prompt::plain(format!("Count: {n},")), Sampling::greedy(2))
}

fn observe_request(n: usize) -> Observe {
    let text = format!("a word and {n} more");
    let pools = vec![
        Pool::Span { start: 2, end: 6 },
        Pool::Mean,
        Pool::Last,
        Pool::First,
    ];
    Observe {
        picture: None,
        text,
        pools,
        layers: Layers::All,
        with_scores: false,
    }
}

/// What every queue is promised: each ticket answered once, follow-ups served, a break obeyed.
fn queue_promises<Q, A>(
    kind: &str,
    broken: &mut Vec<String>,
    request: impl Fn(usize) -> Q,
    serve: impl Fn(&mut dyn WorkQueue<Q, A>),
) {
    let mut empty = TestQueue::new([]);
    serve(&mut empty);
    if !empty.answers.is_empty() {
        broken.push(format!("{kind}: nothing is answered when nothing is asked"));
    }

    let mut queue = TestQueue::new((0..9).map(&request));
    queue.add_later(9, 100, request(100));
    serve(&mut queue);
    let mut tickets: Vec<u64> = queue.answers.iter().map(|(t, _)| t.0).collect();
    tickets.sort_unstable();
    if tickets != [0, 1, 2, 3, 4, 5, 6, 7, 8, 100] {
        broken.push(format!(
            "{kind}: each question is answered once, questions that follow from answers included; answered were {tickets:?}"
        ));
    }
    for (ticket, answer) in &queue.answers {
        if let Err(error) = answer {
            broken.push(format!("{kind}: question {} failed: {error}", ticket.0));
        }
    }

    let mut stopped = TestQueue::new((0..9).map(&request));
    stopped.stop_after = Some(1);
    serve(&mut stopped);
    let troubles = stopped.answers.iter().skip(1);
    let troubles = troubles.filter(|(_, answer)| answer.is_err()).count();
    let mut tickets: Vec<u64> = stopped.answers.iter().map(|(t, _)| t.0).collect();
    tickets.sort_unstable();
    tickets.dedup();
    if stopped.asked_after > 0 || troubles > 0 || tickets.len() != stopped.answers.len() {
        broken.push(format!(
            "{kind}: after a break nothing is asked for and nothing but answers under way is handed in, but {} questions were asked for and {troubles} errors handed in",
            stopped.asked_after
        ));
    }
}

/// Log-probabilities: one per continuation, finite, not above zero, the same alone as in company.
fn scores_make_sense(broken: &mut Vec<String>, serve: impl Fn(&mut dyn WorkQueue<Score, Scored>)) {
    let texts = [
        "",
        "One",
        "One two three four five six seven eight",
        "é ß 你好 \u{1F642}",
    ];
    let requests: Vec<Score> = texts
        .iter()
        .map(|text| {
            Score::new(
                Prompt::plain(*text),
                vec![" and".into(), " and then".into(), "x".into()],
                Start::Always,
            )
        })
        .collect();
    let run = |requests: Vec<Score>| {
        let mut queue = TestQueue::new(requests);
        serve(&mut queue);
        queue.replies()
    };
    let together = run(requests.clone());
    for (n, request) in requests.into_iter().enumerate() {
        let Some(scored) = together.get(&(n as u64)) else {
            continue;
        };
        if scored.continuations.len() != request.continuations.len() {
            broken.push("score: one result for each continuation".to_owned());
        }
        for c in &scored.continuations {
            if c.tokens.len() != c.logprobs.len() || c.logprobs.is_empty() {
                broken.push("score: one log-probability for each token, and at least one".into());
            }
            if c.logprobs.iter().any(|x| !x.is_finite() || *x > 1e-4) {
                broken.push(format!(
                    "score: log-probabilities are finite and at most 0: {c:?}"
                ));
            }
        }
        let alone = run(vec![request]);
        let sums = |s: &Scored| s.continuations.iter().map(|c| c.sum()).collect::<Vec<_>>();
        let (a, b) = (alone.get(&0).map(sums).unwrap_or_default(), sums(scored));
        if a.len() != b.len() || a.iter().zip(&b).any(|(a, b)| (a - b).abs() > 1e-3) {
            broken.push(format!("score: alone {a:?}, in company {b:?}"));
        }
    }
}

/// Vectors: one per pool and layer, layers ascending from the embedding, one width, all finite.
fn vectors_make_sense(
    broken: &mut Vec<String>,
    serve: impl Fn(&mut dyn WorkQueue<Observe, Observed>),
) {
    let mut queue = TestQueue::new([observe_request(1)]);
    serve(&mut queue);
    for observed in queue.replies().into_values() {
        if observed.pools.len() != 4 {
            broken.push("observe: one result for each pool".to_owned());
        }
        for pool in &observed.pools {
            if pool.layers.iter().enumerate().any(|(n, l)| l.layer != n) {
                broken.push("observe: all layers, ascending from 0".to_owned());
            }
            let width = pool.layers.first().map_or(0, |l| l.vector.0.len());
            let sound = |v: &[f32]| v.len() == width && v.iter().all(|x| x.is_finite());
            if width == 0 || !pool.layers.iter().all(|l| sound(&l.vector.0)) {
                broken.push("observe: vectors of one width, every number finite".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::Scripted;

    #[test]
    fn the_scripted_model_keeps_every_promise() {
        assert_eq!(
            check(&Scripted::saying("A").window(4)),
            Vec::<String>::new()
        );
    }
}
