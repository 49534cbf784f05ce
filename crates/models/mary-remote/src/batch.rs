//! Batches: submit everything at once, leave, and come back for the answers at half the price.
//!
//! The state file ([`BatchState`]) is written *before* a batch is created: nothing is submitted
//! twice, and a process killed in between finds its batch again by looking through the provider's
//! list.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use mary_contract::{
    Account as _, ErrorKind, Generate, Generated, ModelError, Reply, Ticket, WorkQueue,
};
use serde_json::Value;

use crate::batch_api::{BatchApi, Creation, Listed};
use crate::batch_state::Results;
use crate::batch_state::{BatchPart, BatchState};
use crate::format::{BatchFormat, Progress};
use crate::options::Result;
use crate::queue::wait;
use crate::remote::Remote;

/// Most requests in one batch; both providers take more.
const MOST_REQUESTS: usize = 20_000;
/// Most bytes in one batch; both providers take more.
const MOST_BYTES: usize = 100 << 20;

struct Taken {
    ticket: Ticket,
    generate: Generate,
    name: String,
}

/// What is submitted as one batch.
#[derive(Default)]
struct Submission {
    requests: Vec<(String, Value)>,
    bytes: usize,
    /// Dollars it may cost.
    estimate: f64,
}

pub(crate) struct BatchQueue<'a> {
    remote: &'a Remote,
    api: BatchApi<'a>,
    path: &'a Path,
}

struct Visit {
    state: BatchState,
    results: Results,
    /// Requests that ended without an answer, with what to say of them.
    without: HashMap<String, ModelError>,
    /// For what has no answer yet: how far it is.
    progress: ModelError,
}

impl<'a> BatchQueue<'a> {
    pub(crate) fn new(
        remote: &'a Remote,
        format: &'static dyn BatchFormat,
        path: &'a Path,
    ) -> Self {
        let connection = &remote.connection;
        Self {
            remote,
            api: BatchApi { connection, format },
            path,
        }
    }

    /// Serves until the queue is empty or the batches are left to themselves.
    pub(crate) fn serve(&self, queue: &mut dyn WorkQueue<Generate, Generated>) {
        loop {
            let mut taken = Vec::new();
            let mut seen: BTreeMap<String, u32> = BTreeMap::new();
            while let Some(job) = queue.next() {
                let base = self.name_of(&job.request);
                // The same question twice is two questions (two trials without a seed, say).
                let again = seen.entry(base.clone()).or_default();
                let name = format!("{base}-{again}");
                *again += 1;
                taken.push(Taken {
                    ticket: job.ticket,
                    generate: job.request,
                    name,
                });
            }
            if taken.is_empty() || self.round(queue, taken).is_break() {
                return;
            }
        }
    }

    fn name_of(&self, generate: &Generate) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.remote.card.fingerprint.as_bytes());
        // Writing into a hasher cannot fail, and a request is plain data.
        let _ = serde_json::to_writer(&mut hasher, generate);
        let hash = hasher.finalize().to_hex();
        format!("m{}", hash.get(..40).unwrap_or_default())
    }

    /// Answers everything that was taken, one way or another.
    fn round(
        &self,
        queue: &mut dyn WorkQueue<Generate, Generated>,
        taken: Vec<Taken>,
    ) -> ControlFlow<()> {
        let mut visit = match self.settle(&taken, &mut || queue.stopping()) {
            Ok(visit) => visit,
            Err(error) => {
                for question in taken {
                    queue.answer(question.ticket, Err(error.clone()))?;
                }
                return ControlFlow::Continue(());
            }
        };
        let mut left = Vec::new();
        let mut failed = HashSet::new();
        for question in taken {
            let line = visit.results.line(&question.name);
            let answer = match (line, visit.without.remove(&question.name)) {
                (Ok(None), None) => {
                    left.push(question.ticket);
                    continue;
                }
                (Ok(None), Some(error)) | (Err(error), _) => Err(error),
                (Ok(Some(line)), _) => self
                    .api
                    .outcome(line)
                    .and_then(|raw| self.read(&question.generate, raw)),
            };
            if answer.is_err() {
                failed.insert(question.name);
            }
            queue.answer(question.ticket, answer)?;
        }
        // What failed is told once, and is new the next time.
        for part in &mut visit.state.parts {
            part.requests.retain(|name| !failed.contains(name));
        }
        visit.state.parts.retain(|p| !p.requests.is_empty());
        match visit.state.save(self.path) {
            Ok(()) => visit.results.delete(),
            Err(error) => visit.progress = error,
        }
        for ticket in left {
            queue.answer(ticket, Err(visit.progress.clone()))?;
        }
        ControlFlow::Continue(())
    }

    fn read(&self, generate: &Generate, raw: Value) -> Result<Reply<Generated>> {
        let read = self.remote.format(generate)?.read(&raw)?;
        let estimate = self.remote.estimator.generate(generate).cost;
        let usage = self.remote.priced(
            read.usage,
            read.usage_told,
            (read.cache_writes, true),
            estimate.unwrap_or(0.0),
        );
        self.remote.ledger.add_spent(usage.cost.unwrap_or(0.0));
        Ok(self.remote.reply(generate, read, usage, raw, 0))
    }

    fn settle(&self, taken: &[Taken], stopping: &mut dyn FnMut() -> bool) -> Result<Visit> {
        let mut state = BatchState::load(self.path, &self.remote.card.fingerprint)?;
        self.find_unsure(&mut state)?;
        self.submit_new(&mut state, taken)?;
        let until = Instant::now() + self.remote.options.batch_wait;
        loop {
            let (ended, under_way) = self.look(&state, taken)?;
            if under_way.is_empty() || Instant::now() >= until || stopping() {
                return self.collect(state, &ended, &under_way);
            }
            // In small steps, so that a stop is heard.
            let poll = until.min(Instant::now() + self.remote.options.batch_poll);
            while Instant::now() < poll && !stopping() {
                let left = poll.saturating_duration_since(Instant::now());
                std::thread::sleep(left.min(Duration::from_millis(200)));
            }
        }
    }

    /// Batches of which we do not know whether they were created (the process was killed in between,
    /// or the answer was lost).
    fn find_unsure(&self, state: &mut BatchState) -> Result<()> {
        while let Some(index) = state.parts.iter().rposition(|p| p.id.is_none()) {
            match self.api.find(&state.parts[index])? {
                Listed::Once(id) => state.parts[index].id = Some(id),
                // It may still come to be: only the user can say that it never did.
                Listed::Nowhere if self.remote.options.batch_again => {
                    state.parts.remove(index);
                }
                found => return Err(unsure_of(&state.parts[index], &found)),
            }
            state.save(self.path)?;
        }
        Ok(())
    }

    fn submit_new(&self, state: &mut BatchState, taken: &[Taken]) -> Result<()> {
        let known: HashSet<String> = state
            .parts
            .iter()
            .flat_map(|p| &p.requests)
            .cloned()
            .collect();
        let mut submissions = vec![Submission::default()];
        let shape = self.remote.connection.shape();
        for question in taken.iter().filter(|t| !known.contains(&t.name)) {
            let generate = &question.generate;
            let shared = self.remote.shared_prefix(generate);
            let request = self.remote.wire_request(generate, &shape, shared);
            let body = self.remote.format(generate)?.body(&request);
            let size = body.to_string().len();
            let full =
                |s: &Submission| s.requests.len() >= MOST_REQUESTS || s.bytes + size > MOST_BYTES;
            if submissions.last().is_none_or(full) {
                submissions.push(Submission::default());
            }
            if let Some(last) = submissions.last_mut() {
                last.bytes += size;
                last.estimate += self.remote.estimator.generate(generate).cost.unwrap_or(0.0);
                last.requests.push((question.name.clone(), body));
            }
        }
        let cost: f64 = submissions.iter().map(|s| s.estimate).sum();
        if cost > 0.0 {
            // A batch is all or nothing, so its whole cost must fit before it leaves, beside those
            // that are under way.
            wait(self.remote.ledger.promise(state.outstanding() + cost))?;
        }
        submissions
            .into_iter()
            .filter(|submission| !submission.requests.is_empty())
            .try_for_each(|submission| self.submit(state, submission))
    }

    fn submit(&self, state: &mut BatchState, submission: Submission) -> Result<()> {
        let submitted = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let names: Vec<String> = submission.requests.iter().map(|(n, _)| n.clone()).collect();
        let hash = blake3::hash(format!("{submitted}{}", names.join("")).as_bytes()).to_hex();
        let name = format!("mary-{}", hash.get(..24).unwrap_or_default());
        let body = self.api.prepare(&name, submission.requests)?;
        let part = BatchPart {
            name,
            id: None,
            submitted,
            known: self.api.known()?,
            requests: names,
            estimate: submission.estimate,
            fetched: false,
        };
        // From here on a process that dies leaves a batch that it is unsure of.
        state.parts.push(part.clone());
        state.save(self.path)?;
        let id = match self.api.create(&body) {
            Creation::Done(id) => id,
            Creation::Failed(error) => {
                state.parts.pop();
                state.save(self.path)?;
                return Err(error);
            }
            Creation::Unsure(error) => match self.api.find(&part) {
                // The answer broke, but the batch is there.
                Ok(Listed::Once(id)) => id,
                Ok(found) => return Err(unsure_of(&part, &found)),
                // Still unsure; the state file says so.
                Err(_) => return Err(error),
            },
        };
        if let Some(part) = state.parts.last_mut() {
            part.id = Some(id);
            part.known.clear();
        }
        state.save(self.path)
    }

    /// Which batches with these questions have ended, and how far the others are. Batches of other
    /// tasks of the run are left alone.
    fn look(&self, state: &BatchState, taken: &[Taken]) -> Result<(Vec<Progress>, Vec<Progress>)> {
        let asked: HashSet<&str> = taken.iter().map(|t| t.name.as_str()).collect();
        let ours = |part: &&BatchPart| part.requests.iter().any(|n| asked.contains(n.as_str()));
        let ids = state
            .parts
            .iter()
            .filter(ours)
            .filter_map(|p| p.id.as_deref());
        let all: Vec<Progress> = ids.map(|id| self.api.look(id)).collect::<Result<_, _>>()?;
        Ok(all.into_iter().partition(|progress| progress.ended))
    }

    fn collect(
        &self,
        mut state: BatchState,
        ended: &[Progress],
        under_way: &[Progress],
    ) -> Result<Visit> {
        let mut results = Results::default();
        let mut without = HashMap::new();
        for progress in ended {
            let id = Some(progress.id.as_str());
            let part = state.parts.iter_mut().find(|p| p.id.as_deref() == id);
            let Some(part) = part else { continue };
            self.api.fetch(progress, self.path, &mut results)?;
            let requests = part.requests.len() as u64;
            let expected = if progress.complete {
                requests
            } else {
                progress.done.min(requests)
            };
            let found = results.count(&part.requests);
            if found < expected {
                return Err(not_final(&progress.id, found, expected));
            }
            part.fetched = true;
            for name in &part.requests {
                without.insert(name.clone(), no_answer(progress));
            }
        }
        state.save(self.path)?;
        Ok(Visit {
            state,
            results,
            without,
            progress: come_back(under_way),
        })
    }
}

fn come_back(under_way: &[Progress]) -> ModelError {
    let told: Vec<String> = under_way
        .iter()
        .map(|p| format!("{} ({}, {} of {} done)", p.id, p.said, p.done, p.total))
        .collect();
    let message = format!(
        "submitted as a batch and not finished yet: {}",
        told.join("; ")
    );
    ModelError::new(ErrorKind::Interrupted, message)
        .hint("come back with `mary resume`; nothing is submitted or paid twice")
}

/// The provider's answers are fewer than it counted: they are not all there yet.
fn not_final(id: &str, found: u64, expected: u64) -> ModelError {
    let message =
        format!("the batch {id} has ended, but its file holds {found} of {expected} answers");
    ModelError::new(ErrorKind::Interrupted, message)
    .hint("the file is not complete yet; come back with `mary resume`, nothing is submitted or paid twice")
}

/// A batch ended without an answer to a request.
fn no_answer(progress: &Progress) -> ModelError {
    let message = format!(
        "the batch {} ended without an answer to this: {}",
        progress.id, progress.said
    );
    ModelError::new(ErrorKind::Transport, message)
        .hint("give the same command again: it is submitted anew")
}

/// Nobody knows whether a batch was created. Submitting it again could be paying twice.
fn unsure_of(part: &BatchPart, found: &Listed) -> ModelError {
    let listed = match found {
        Listed::Often(n) => format!("{n} batches in the provider's list could be it"),
        Listed::Once(_) | Listed::Nowhere => "the provider's list does not show it".to_owned(),
    };
    let message = format!(
        "the answer to the creation of the batch {} ({} requests) was lost, and {listed}",
        part.name,
        part.requests.len()
    );
    ModelError::new(ErrorKind::Interrupted, message)
    .hint("look at the provider's console; `mary resume` finds it when it appears. If it is surely not there, submit it again with --model-arg batch_again=true")
}
