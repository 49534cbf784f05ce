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
use std::time::{Instant, SystemTime};

use mary_contract::{Desk, ErrorKind, Generate, Generated, ModelError, Reply, Ticket};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::batch_api::{Entrance, Progress, Submission};
use crate::desk::wait;
use crate::model::Remote;

/// Most requests in one batch; both providers take more.
const MOST_REQUESTS: usize = 20_000;
/// Most bytes in one batch; both providers take more.
const MOST_BYTES: usize = 100 << 20;

/// What was submitted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchState {
    /// Version of the form.
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
        let text = match std::fs::read_to_string(path) {
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
            serde_json::from_str(&text).map_err(|e| file_error(path, &e.to_string()))?;
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
            let mut temporary = path.as_os_str().to_owned();
            temporary.push(".new");
            if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)?;
            }
            let mut file = std::fs::File::create(&temporary)?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, path)
        };
        write().map_err(|e| file_error(path, &e.to_string()))
    }
}

fn file_error(path: &Path, what: &str) -> ModelError {
    ModelError::new(
        ErrorKind::Internal,
        format!("the batch state {} cannot be used: {what}", path.display()),
    )
    .hint("if it is no longer needed, move it away; answers of batches already paid for are then not found again")
}

/// A question taken from the desk.
struct Taken {
    ticket: Ticket,
    generate: Generate,
    name: String,
}

/// Serves a desk by batches.
pub(crate) struct BatchDesk<'a> {
    remote: &'a Arc<Remote>,
    path: PathBuf,
}

type Outcomes = HashMap<String, Result<Value, ModelError>>;

impl<'a> BatchDesk<'a> {
    pub(crate) fn new(remote: &'a Arc<Remote>, path: &Path) -> Self {
        Self {
            remote,
            path: path.to_owned(),
        }
    }

    /// Serves until the desk is empty or the batches are left to themselves.
    pub(crate) fn serve(&self, desk: &mut dyn Desk<Generate, Generated>) {
        loop {
            let mut taken = Vec::new();
            let mut seen: BTreeMap<String, u32> = BTreeMap::new();
            while let Some(job) = desk.next() {
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
            if taken.is_empty() || self.round(desk, taken).is_break() {
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
        desk: &mut dyn Desk<Generate, Generated>,
        taken: Vec<Taken>,
    ) -> ControlFlow<()> {
        let outcomes = self.settle(&taken);
        let mut left = Vec::new();
        match outcomes {
            Err(error) => {
                for question in taken {
                    desk.answer(question.ticket, Err(error.clone()))?;
                }
                return ControlFlow::Continue(());
            }
            Ok((mut outcomes, progress)) => {
                for question in taken {
                    match outcomes.remove(&question.name) {
                        Some(outcome) => {
                            let answer = outcome.and_then(|raw| self.read(&question.generate, raw));
                            desk.answer(question.ticket, answer)?;
                        }
                        None => left.push(question.ticket),
                    }
                }
                for ticket in left {
                    desk.answer(ticket, Err(progress.clone()))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn read(&self, generate: &Generate, mut raw: Value) -> Result<Reply<Generated>, ModelError> {
        let format = self.remote.format(generate)?;
        let read = format.read(&raw).map_err(|error| match error {
            crate::wire::ReadError::Final(error) => error,
            crate::wire::ReadError::Unreadable(what) => {
                ModelError::new(ErrorKind::Transport, what.to_string())
            }
        })?;
        self.remote.line.http.scrubber().value(&mut raw);
        let usage = self.remote.priced(read.usage, read.cache_writes, true);
        self.remote.ledger.add_spent(usage.cost.unwrap_or(0.0));
        Ok(self.remote.reply(generate, read, usage, raw, 0))
    }

    /// Submits what is new, waits as long as the user allows and fetches what is there. Returns the
    /// answers and, for what has none yet, how far it is.
    fn settle(&self, taken: &[Taken]) -> Result<(Outcomes, ModelError), ModelError> {
        let mut state = BatchState::load(&self.path, &self.remote.card.fingerprint)?;
        self.find_unsure(&mut state)?;
        self.submit_new(&mut state, taken)?;
        let until = Instant::now() + self.remote.options.batch_wait;
        loop {
            let (ended, under_way) = self.look(&state, taken)?;
            let now = Instant::now();
            if under_way.is_empty() || now >= until {
                let outcomes = self.collect(&mut state, taken, &ended)?;
                return Ok((outcomes, self.come_back(&under_way)));
            }
            std::thread::sleep(self.remote.options.batch_poll.min(until - now));
        }
    }

    /// Batches of which we do not know whether they were created (the process was killed in between).
    fn find_unsure(&self, state: &mut BatchState) -> Result<(), ModelError> {
        let unsure: Vec<usize> = (0..state.parts.len())
            .filter(|i| state.parts.get(*i).is_some_and(|p| p.id.is_none()))
            .collect();
        for index in unsure.into_iter().rev() {
            let Some(part) = state.parts.get(index).cloned() else {
                continue;
            };
            match self.find(&part)? {
                Some(id) => {
                    if let Some(part) = state.parts.get_mut(index) {
                        part.id = Some(id);
                    }
                }
                // It never came to be; its requests are new again.
                None => {
                    state.parts.remove(index);
                }
            }
            state.save(&self.path)?;
        }
        Ok(())
    }

    fn find(&self, part: &BatchPart) -> Result<Option<String>, ModelError> {
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
            let habits = self.remote.line.habits();
            let shared = self.remote.shared_prefix(&question.generate);
            let body = format.body(&self.remote.asked(&question.generate, &habits, shared));
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
            requests: names,
            estimate: submission.estimate,
            fetched: false,
        };
        let name = part.name.clone();
        state.parts.push(part.clone());
        state.save(&self.path)?;
        let remote = Arc::clone(self.remote);
        let created = wait(async move { Entrance::new(&remote).create(&name, submission).await });
        let id = match created {
            Ok(id) => id,
            Err(error) => match self.find(&part) {
                // The answer broke, but the batch is there.
                Ok(Some(id)) => id,
                Ok(None) => {
                    state.parts.pop();
                    state.save(&self.path)?;
                    return Err(error);
                }
                // Still unsure; the state file says so.
                Err(_) => return Err(error),
            },
        };
        if let Some(part) = state.parts.last_mut() {
            part.id = Some(id);
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
        state: &mut BatchState,
        taken: &[Taken],
        ended: &[Progress],
    ) -> Result<Outcomes, ModelError> {
        let asked: HashSet<&str> = taken.iter().map(|t| t.name.as_str()).collect();
        let mut outcomes = Outcomes::new();
        for progress in ended {
            let remote = Arc::clone(self.remote);
            let copy = progress.clone();
            let results = wait(async move { Entrance::new(&remote).results(&copy).await })?;
            outcomes.extend(results);
            let part = state
                .parts
                .iter_mut()
                .find(|p| p.id.as_deref() == Some(&progress.id));
            let Some(part) = part else { continue };
            part.fetched = true;
            // What the provider has no answer for is told once, and is new the next time.
            for name in &part.requests {
                outcomes.entry(name.clone()).or_insert_with(|| {
                    Err(ModelError::new(
                        ErrorKind::Transport,
                        format!(
                            "the batch {} ended without an answer to this: {}",
                            progress.id, progress.said
                        ),
                    )
                    .hint("give the same command again: it is submitted anew"))
                });
            }
            let failed = |n: &String| matches!(outcomes.get(n.as_str()), Some(Err(_)));
            part.requests
                .retain(|n| !(failed(n) && asked.contains(n.as_str())));
        }
        state.parts.retain(|p| !p.requests.is_empty());
        state.save(&self.path)?;
        Ok(outcomes)
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
