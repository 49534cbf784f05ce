//! Batches: submit everything at once, leave, and come back for the answers at half the price.
//!
//! A state file remembers what was submitted under which name; it holds no keys, no prompts and no
//! answers. Coming back with the same run asks the same questions, whose names are found in the
//! file, so nothing is submitted twice. The file is written *before* a batch is created: a process
//! killed in between finds its batch again by looking through the provider's list.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use mary_contract::{ErrorKind, Generate, Generated, ModelError, Reply, Ticket, WorkQueue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::batch_api::{Entrance, Found, Progress, Submission};
use crate::batch_results::Results;
use crate::model::Remote;
use crate::queue::wait;

/// Most requests in one batch; both providers take more.
const MOST_REQUESTS: usize = 20_000;
/// Most bytes in one batch; both providers take more.
const MOST_BYTES: usize = 100 << 20;

/// Largest state file that is read; a million requests have a tenth of it.
const LARGEST_STATE: u64 = 1 << 30;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchState {
    pub schema: u32,
    /// The model's fingerprint; another model's batches are not mistaken for this one's.
    pub fingerprint: String,
    /// One for each batch.
    pub parts: Vec<BatchPart>,
}

/// One batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchPart {
    /// Our name for it, told to the provider where it keeps one.
    pub name: String,
    /// The provider's name for it; absent while it is not known whether it was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Seconds since 1970 when it was submitted.
    pub submitted: u64,
    /// The provider's names for the batches it had before, where it keeps no name of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// Names of the requests in it.
    pub requests: Vec<String>,
    /// Dollars it may cost, at most; they stay set aside until its answers are fetched.
    #[serde(default)]
    pub estimate: f64,
    /// Its answers have been fetched, and count as what they really cost.
    #[serde(default)]
    pub fetched: bool,
}

impl BatchState {
    /// Dollars that batches under way may cost.
    pub fn outstanding(&self) -> f64 {
        let open = self.parts.iter().filter(|p| !p.fetched);
        open.map(|p| p.estimate).sum()
    }

    /// Reads a state file; an absent one is an empty state.
    pub fn load(path: &Path, fingerprint: &str) -> Result<Self, ModelError> {
        let text = match mary_platform::read_plain(path, LARGEST_STATE) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    schema: 1,
                    fingerprint: fingerprint.to_owned(),
                    parts: Vec::new(),
                });
            }
            Err(e) => return Err(file_error(path, &e.to_string())),
        };
        let state: Self =
            serde_json::from_slice(&text).map_err(|e| file_error(path, &e.to_string()))?;
        if state.fingerprint != fingerprint {
            return Err(file_error(
                path,
                "it belongs to another model or other settings",
            ));
        }
        Ok(state)
    }

    /// Writes the state file so that it is whole whenever the process dies.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        let write = || -> std::io::Result<()> {
            let text = serde_json::to_string_pretty(self)?;
            if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)?;
            }
            mary_platform::replace_file(path, text.as_bytes())
        };
        write().map_err(|e| file_error(path, &e.to_string()))
    }
}

pub(crate) fn file_error(path: &Path, what: &str) -> ModelError {
    ModelError::new(
        ErrorKind::Internal,
        format!("the batch state {} cannot be used: {what}", path.display()),
    )
    .hint("if it is no longer needed, move it away; answers of batches already paid for are then not found again")
}

/// A question taken from the queue.
struct Taken {
    ticket: Ticket,
    generate: Generate,
    name: String,
}

/// Serves a queue by batches.
pub(crate) struct BatchQueue<'a> {
    remote: &'a Arc<Remote>,
    path: PathBuf,
}

/// What a look at the batches brought.
struct Visit {
    state: BatchState,
    results: Results,
    /// Requests that ended without an answer, with what to say of them.
    without: HashMap<String, ModelError>,
    /// For what has no answer yet: how far it is.
    progress: ModelError,
}

impl<'a> BatchQueue<'a> {
    pub(crate) fn new(remote: &'a Arc<Remote>, path: &Path) -> Self {
        Self {
            remote,
            path: path.to_owned(),
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
            let answer = match visit.results.line(&question.name) {
                Ok(Some(entry)) => Entrance::new(self.remote)
                    .outcome(entry)
                    .and_then(|raw| self.read(&question.generate, &raw)),
                Ok(None) => match visit.without.remove(&question.name) {
                    Some(error) => Err(error),
                    None => {
                        left.push(question.ticket);
                        continue;
                    }
                },
                Err(error) => Err(error),
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
        match visit.state.save(&self.path) {
            Ok(()) => visit.results.delete(),
            Err(error) => visit.progress = error,
        }
        for ticket in left {
            queue.answer(ticket, Err(visit.progress.clone()))?;
        }
        ControlFlow::Continue(())
    }

    fn read(&self, generate: &Generate, raw: &Value) -> Result<Reply<Generated>, ModelError> {
        let format = self.remote.format(generate)?;
        let read = format.read(raw).map_err(|error| match error {
            crate::wire::ReadError::Final(error) => error,
            crate::wire::ReadError::Unreadable(what) => {
                ModelError::new(ErrorKind::Transport, what.to_string())
            }
        })?;
        let estimate = self.remote.estimator.generate(generate).cost;
        let usage = self.remote.priced(
            read.usage,
            read.usage_told,
            (read.cache_writes, true),
            estimate.unwrap_or(0.0),
        );
        self.remote.ledger.add_spent(usage.cost.unwrap_or(0.0));
        Ok(self.remote.reply(generate, read, usage, raw.clone(), 0))
    }

    /// Submits what is new, waits as long as the user allows and fetches what is there.
    fn settle(
        &self,
        taken: &[Taken],
        stopping: &mut dyn FnMut() -> bool,
    ) -> Result<Visit, ModelError> {
        let mut state = BatchState::load(&self.path, &self.remote.card.fingerprint)?;
        self.find_unsure(&mut state)?;
        self.submit_new(&mut state, taken)?;
        let until = Instant::now() + self.remote.options.batch_wait;
        loop {
            let (ended, under_way) = self.look(&state, taken)?;
            if under_way.is_empty() || Instant::now() >= until || stopping() {
                return self.collect(state, &ended, &under_way);
            }
            // In small steps, so that a stop is heard.
            let poll = Instant::now() + self.remote.options.batch_poll;
            while Instant::now() < poll.min(until) && !stopping() {
                let left = poll.min(until).saturating_duration_since(Instant::now());
                std::thread::sleep(left.min(Duration::from_millis(200)));
            }
        }
    }

    /// Batches of which we do not know whether they were created (the process was killed in between,
    /// or the answer was lost).
    fn find_unsure(&self, state: &mut BatchState) -> Result<(), ModelError> {
        let unsure: Vec<usize> = (0..state.parts.len())
            .filter(|i| state.parts.get(*i).is_some_and(|p| p.id.is_none()))
            .collect();
        for index in unsure.into_iter().rev() {
            let Some(part) = state.parts.get(index).cloned() else {
                continue;
            };
            match self.find(&part)? {
                Found::One(id) => {
                    if let Some(part) = state.parts.get_mut(index) {
                        part.id = Some(id);
                    }
                }
                // It may still come to be: only the user can say that it never did.
                Found::None if self.remote.options.batch_again => {
                    state.parts.remove(index);
                }
                found => return Err(unsure_of(&part, &found)),
            }
            state.save(&self.path)?;
        }
        Ok(())
    }

    fn find(&self, part: &BatchPart) -> Result<Found, ModelError> {
        let remote = Arc::clone(self.remote);
        let part = part.clone();
        wait(async move { Entrance::new(&remote).find(&part).await })
    }

    fn submit_new(&self, state: &mut BatchState, taken: &[Taken]) -> Result<(), ModelError> {
        let known: HashSet<&str> = state
            .parts
            .iter()
            .flat_map(|p| p.requests.iter().map(String::as_str))
            .collect();
        let new: Vec<&Taken> = taken
            .iter()
            .filter(|t| !known.contains(t.name.as_str()))
            .collect();
        let before = state.outstanding();
        let mut cost = 0.0;
        let mut submissions = vec![Submission::default()];
        for question in new {
            let estimate = self.remote.estimator.generate(&question.generate);
            let dollars = estimate.cost.unwrap_or(0.0);
            cost += dollars;
            let format = self.remote.format(&question.generate)?;
            let shape = self.remote.connection.shape();
            let shared = self.remote.shared_prefix(&question.generate);
            let body = format.body(&self.remote.asked(&question.generate, &shape, shared));
            let size = body.to_string().len();
            let full = submissions.last().is_some_and(|s: &Submission| {
                s.requests.len() >= MOST_REQUESTS || s.bytes + size > MOST_BYTES
            });
            if full {
                submissions.push(Submission::default());
            }
            if let Some(last) = submissions.last_mut() {
                last.bytes += size;
                last.estimate += dollars;
                last.requests.push((question.name.clone(), body));
            }
        }
        if cost > 0.0 {
            // A batch is all or nothing, so its whole cost must fit before it leaves, beside those
            // that are under way.
            let ledger = self.remote.ledger.clone();
            wait(async move { ledger.promise(before + cost).await.map(drop) })?;
        }
        for submission in submissions {
            if !submission.requests.is_empty() {
                self.submit(state, submission)?;
            }
        }
        Ok(())
    }

    fn submit(&self, state: &mut BatchState, submission: Submission) -> Result<(), ModelError> {
        let submitted = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs());
        let names: Vec<String> = submission.requests.iter().map(|(n, _)| n.clone()).collect();
        let hash = blake3::hash(format!("{submitted}{}", names.join("")).as_bytes()).to_hex();
        let part = BatchPart {
            name: format!("mary-{}", hash.get(..24).unwrap_or_default()),
            id: None,
            submitted,
            known: Vec::new(),
            requests: names,
            estimate: submission.estimate,
            fetched: false,
        };
        let (remote, name) = (Arc::clone(self.remote), part.name.clone());
        let (body, known) = wait(async move {
            let entrance = Entrance::new(&remote);
            let body = entrance.prepare(&name, submission).await?;
            Ok((body, entrance.known().await?))
        })?;
        let part = BatchPart { known, ..part };
        // From here on a process that dies leaves a batch that it is unsure of.
        state.parts.push(part.clone());
        state.save(&self.path)?;
        let remote = Arc::clone(self.remote);
        let unsure = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&unsure);
        let created = wait(async move { Entrance::new(&remote).create(&body, &flag).await });
        let id = match created {
            Ok(id) => id,
            Err(error) if !unsure.load(Ordering::Relaxed) => {
                state.parts.pop();
                state.save(&self.path)?;
                return Err(error);
            }
            Err(error) => match self.find(&part) {
                // The answer broke, but the batch is there.
                Ok(Found::One(id)) => id,
                Ok(found) => return Err(unsure_of(&part, &found)),
                // Still unsure; the state file says so.
                Err(_) => return Err(error),
            },
        };
        if let Some(part) = state.parts.last_mut() {
            part.id = Some(id);
            part.known.clear();
        }
        state.save(&self.path)
    }

    /// Which batches with these questions have ended, and how far the others are. Batches of other
    /// tasks of the run are left alone.
    fn look(
        &self,
        state: &BatchState,
        taken: &[Taken],
    ) -> Result<(Vec<Progress>, Vec<Progress>), ModelError> {
        let asked: HashSet<&str> = taken.iter().map(|t| t.name.as_str()).collect();
        let ours = |part: &&BatchPart| part.requests.iter().any(|n| asked.contains(n.as_str()));
        let mut ended = Vec::new();
        let mut under_way = Vec::new();
        let parts = state.parts.iter().filter(ours);
        for id in parts.filter_map(|p| p.id.clone()) {
            let remote = Arc::clone(self.remote);
            let progress = wait(async move { Entrance::new(&remote).look(&id).await })?;
            if progress.ended {
                ended.push(progress);
            } else {
                under_way.push(progress);
            }
        }
        Ok((ended, under_way))
    }

    fn collect(
        &self,
        mut state: BatchState,
        ended: &[Progress],
        under_way: &[Progress],
    ) -> Result<Visit, ModelError> {
        let mut results = Results::default();
        let mut without = HashMap::new();
        for progress in ended {
            let part = state
                .parts
                .iter_mut()
                .find(|p| p.id.as_deref() == Some(&progress.id));
            let Some(part) = part else { continue };
            let (remote, copy, path) =
                (Arc::clone(self.remote), progress.clone(), self.path.clone());
            let fetched = wait(async move { Entrance::new(&remote).fetch(&copy, &path).await })?;
            let requests = part.requests.len() as u64;
            let expected = if progress.complete {
                requests
            } else {
                progress.done.min(requests)
            };
            let found = fetched.count(&part.requests);
            if found < expected {
                return Err(not_final(&progress.id, found, expected));
            }
            part.fetched = true;
            for name in &part.requests {
                without.insert(name.clone(), no_answer(progress));
            }
            results.absorb(fetched);
        }
        state.save(&self.path)?;
        Ok(Visit {
            state,
            results,
            without,
            progress: self.come_back(under_way),
        })
    }

    fn come_back(&self, under_way: &[Progress]) -> ModelError {
        let told: Vec<String> = under_way
            .iter()
            .map(|p| format!("{} ({}, {} of {} done)", p.id, p.said, p.done, p.total))
            .collect();
        ModelError::new(
            ErrorKind::Interrupted,
            format!(
                "submitted as a batch and not finished yet: {}",
                told.join("; ")
            ),
        )
        .hint("come back with `mary resume`; nothing is submitted or paid twice")
    }
}

/// The provider's answers are fewer than it counted: they are not all there yet.
fn not_final(id: &str, found: u64, expected: u64) -> ModelError {
    ModelError::new(
        ErrorKind::Interrupted,
        format!("the batch {id} has ended, but its file holds {found} of {expected} answers"),
    )
    .hint("the file is not complete yet; come back with `mary resume`, nothing is submitted or paid twice")
}

/// A batch ended without an answer to a request.
fn no_answer(progress: &Progress) -> ModelError {
    ModelError::new(
        ErrorKind::Transport,
        format!(
            "the batch {} ended without an answer to this: {}",
            progress.id, progress.said
        ),
    )
    .hint("give the same command again: it is submitted anew")
}

/// Nobody knows whether a batch was created. Submitting it again could be paying twice.
fn unsure_of(part: &BatchPart, found: &Found) -> ModelError {
    let listed = match found {
        Found::Several(n) => format!("{n} batches in the provider's list could be it"),
        Found::One(_) | Found::None => "the provider's list does not show it".to_owned(),
    };
    ModelError::new(
        ErrorKind::Interrupted,
        format!(
            "the answer to the creation of the batch {} ({} requests) was lost, and {listed}",
            part.name,
            part.requests.len()
        ),
    )
    .hint("look at the provider's console; `mary resume` finds it when it appears. If it is surely not there, submit it again with --model-arg batch_again=true")
}
