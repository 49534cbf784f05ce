//! Every checkpoint of one or more models as one piece of work: the next is fetched, inspected and, where
//! both have room, loaded while the present one runs.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::{Laboratory, LoadAhead, PreparedRun, RunError, RunSpec, Shard, deal, size_in_name};
use mary_contract::training::TOKENS_SEEN;
use mary_contract::{
    ErrorKind, Event, EventObserver, Model, ModelCard, ModelError, ModelSettings, StoreError,
};

use crate::checkpoints::hub::{self, Fetched, Held};
use crate::checkpoints::inspect::{Inspection, inspect};
use crate::checkpoints::members::Member;
use crate::checkpoints::state::{Ending, Record, State};

/// The same questions to every checkpoint. Subjects of the specification do not count.
pub struct Sweep<'lab> {
    /// What it needs.
    pub lab: &'lab Laboratory,
    /// What every checkpoint is asked.
    pub spec: RunSpec,
    /// The checkpoints.
    pub members: Vec<Member>,
    /// Bytes of checkpoints fetched from the hub that may lie on the disk.
    pub disk_limit: u64,
    /// The part that this process does, where several share the sweep.
    pub shard: Option<Shard>,
}

/// What a checkpoint costs: its weights, as far as its name tells, and something for opening it.
fn cost(member: &Member) -> u64 {
    size_in_name(&member.size).unwrap_or(0) / 1_000_000 + 20
}

/// A checkpoint that is ready to run, or why it is not.
struct Ready {
    outcome: Result<(Inspection, ModelCard), ModelError>,
    held: Option<Held>,
    /// Loaded already, where there was room beside the one at work.
    opened: Option<Box<dyn Model>>,
}

impl Sweep<'_> {
    /// The sweep's folder below `root`, not named by checkpoints, since a later command may add some.
    pub fn open_state(&self, root: &Path, command: &[String]) -> Result<State, StoreError> {
        let mut sizes: Vec<&str> = self.members.iter().map(|m| m.size.as_str()).collect();
        sizes.dedup();
        let tasks = self.spec.tasks.iter().map(|choice| {
            let card = self.lab.task(&choice.id).map(|t| t.card());
            let version = card.map(|c| c.version);
            let mut asked = serde_json::json!({"id": choice.id, "version": version,
                "settings": choice.settings, "limit": choice.limit});
            if let Some(content) = card.and_then(|c| c.content.as_deref()) {
                asked["content"] = content.into();
            }
            asked
        });
        let mut essence = serde_json::json!({
            "sizes": sizes,
            "tasks": tasks.collect::<Vec<_>>(),
            "trials": self.spec.trials,
            "seed": self.spec.seed,
            "dtype": self.spec.opening.dtype,
            "model_args": self.spec.opening.args,
        });
        if !self.spec.judge.is_none() {
            essence["judge"] = serde_json::json!(self.spec.judge);
        }
        let digest = blake3::hash(essence.to_string().as_bytes()).to_hex();
        let name = format!("sweep-{}-{}", label(&sizes), &digest.as_str()[..10]);
        let mut about = essence;
        about["schema"] = 1.into();
        about["command"] = command.into();
        let state = State::open(&root.join(name), &about)?;
        match self.shard {
            Some(shard) => state.as_shard(shard),
            None => Ok(state),
        }
    }

    /// The checkpoints of each of `n` shards: dealt out by size, the largest first.
    pub fn parts(&self, n: usize) -> Vec<Vec<Member>> {
        let costs: Vec<u64> = self.members.iter().map(cost).collect();
        let member = |k| self.members.get(k).cloned();
        let hands = deal(&costs, n).into_iter();
        hands
            .map(|hand| hand.into_iter().filter_map(member).collect())
            .collect()
    }

    /// The checkpoints that this process does.
    pub fn ours(&self) -> Vec<Member> {
        match self.shard {
            Some(shard) => {
                let mut parts = self.parts(shard.of).into_iter();
                parts.nth(shard.index).unwrap_or_default()
            }
            None => self.members.clone(),
        }
    }

    /// The checkpoints that are not done.
    pub fn left(&self, state: &State) -> Vec<Member> {
        let mut left = self.ours();
        left.retain(|member| !state.is_done(member));
        left
    }

    /// Runs every checkpoint that is left. A missing or damaged one is recorded; other errors stop the sweep.
    pub fn go(
        &self,
        state: &mut State,
        events: &mut dyn EventObserver,
        stop: &AtomicBool,
    ) -> Result<(), RunError> {
        let left = self.left(state);
        let settings = self.spec.model_settings();
        let log = hub::Log::at(&state.own().join("fetched.txt"));
        let mut fetched = Fetched::new(self.disk_limit);
        // What an earlier process of this sweep brought is the sweep's to remove, once it is done.
        for model in &log.earlier {
            if !left.iter().any(|m| m.model == *model)
                && let Some(held) = mary_weights::hub::cached(model).and_then(|p| hub::held(&p))
            {
                fetched.put(held);
            }
        }
        let mut questions: Option<PreparedRun<'_>> = None;
        std::thread::scope(|scope| {
            let mut ahead = LoadAhead::new(scope);
            let (left, settings, log) = (&left, &settings, &log);
            let work = |place: usize| {
                let member = left.get(place)?;
                Some(move || self.ready(member, settings, log))
            };
            if let Some(first) = work(0) {
                ahead.begin(first);
            }
            for (place, member) in left.iter().enumerate() {
                let ready = match ahead.take() {
                    Some(ready) => ready.map_err(|broken| {
                        let message = format!("{}: {broken}", member.model);
                        ModelError::new(ErrorKind::Internal, message)
                    })?,
                    // Without room to fetch ahead, it is fetched now.
                    None => self.ready(member, settings, log),
                };
                fetched.all_done();
                if let Some(held) = ready.held {
                    fetched.put(held);
                }
                let mut trouble = Vec::new();
                let room = fetched.make_room(|held| trouble.extend(evict(held)));
                for text in trouble {
                    events.observe(&Event::Warning(&text))?;
                }
                if let Some(next) = work(place + 1).filter(|_| room) {
                    ahead.begin(next);
                }
                let record = match ready.outcome {
                    Ok((inspection, card)) => {
                        let run = self.prepare(&mut questions, card)?;
                        let run = run.open_below(&state.runs())?.with_opened(ready.opened);
                        let ending = carry_out(run, events, stop)?;
                        Record::new(member, Some(inspection), ending)
                    }
                    Err(error) => Record::new(member, None, unreadable(&error)?),
                };
                if let Ending::Unreadable { message } = &record.ending {
                    let text = format!("{}: {message}", member.model);
                    events.observe(&Event::Note(&text))?;
                }
                state.keep(record)?;
            }
            Ok(())
        })
    }

    /// Items are the same for every checkpoint: they are read once.
    fn prepare<'a>(
        &'a self,
        questions: &mut Option<PreparedRun<'a>>,
        card: ModelCard,
    ) -> Result<PreparedRun<'a>, RunError> {
        if let Some(known) = questions {
            return known.of_subject(card);
        }
        let mut spec = self.spec.clone();
        spec.subjects = vec![card.model.clone()];
        let prepared = self.lab.prepare_known(&spec, vec![card])?;
        *questions = Some(prepared.clone());
        Ok(prepared)
    }

    /// Fetches, looks at the weights, computes the fingerprint, and loads.
    fn ready(&self, member: &Member, settings: &ModelSettings, log: &hub::Log) -> Ready {
        let ours = member.hub && log.is_ours(&member.model);
        let provider = self
            .lab
            .provider(&member.model)
            .map_err(|e| ModelError::new(ErrorKind::NotFound, e.to_string()));
        let look = || -> Result<(Inspection, ModelCard), ModelError> {
            let inspection = inspect(&member.model)?;
            let provider = provider.as_ref().map_err(Clone::clone)?;
            let mut card = provider.card(&member.model, settings)?;
            card.fingerprint = provider.fingerprint(&member.model, settings)?;
            card.tokens_seen = member.tokens;
            if let Some(tokens) = member.tokens {
                card.conventions
                    .insert(TOKENS_SEEN.to_owned(), tokens.to_string());
            }
            Ok((inspection, card))
        };
        let outcome = look();
        let held = ours
            .then(|| mary_weights::hub::cached(&member.model))
            .flatten()
            .and_then(|path| hub::held(&path));
        // Whatever goes wrong here goes wrong again, and is said, when its turn comes.
        let opened = match &provider {
            Ok(provider) if outcome.is_ok() && provider.fits_beside(&member.model, settings) => {
                provider.open(&member.model, settings).ok()
            }
            _ => None,
        };
        Ready {
            outcome,
            held,
            opened,
        }
    }
}

/// Asks one checkpoint everything.
fn carry_out(
    mut run: crate::Run<'_>,
    events: &mut dyn EventObserver,
    stop: &AtomicBool,
) -> Result<Ending, RunError> {
    match run.go(events, stop) {
        Ok(summary) => {
            let name = run.path().file_name().unwrap_or_default();
            Ok(Ending::Run {
                folder: name.to_string_lossy().into_owned(),
                complete: summary.complete,
            })
        }
        Err(error) => match error.model().map(unreadable) {
            Some(Ok(ending)) => Ok(ending),
            _ => Err(error),
        },
    }
}

fn evict(held: &Held) -> Option<String> {
    let error = hub::evict(held).err()?;
    Some(format!(
        "{}: could not be removed: {error}",
        held.snapshot.display()
    ))
}

/// Missing or damaged, or an error that stops the sweep (no network, no memory, an interrupt).
fn unreadable(error: &ModelError) -> Result<Ending, ModelError> {
    match error.kind {
        ErrorKind::NotFound | ErrorKind::BadModel | ErrorKind::NotFinite => {
            Ok(Ending::Unreadable {
                message: error.message.clone(),
            })
        }
        _ => Err(error.clone()),
    }
}

/// The readable part of the folder's name.
fn label(sizes: &[&str]) -> String {
    let first = sizes
        .first()
        .and_then(|s| s.rsplit('/').find(|p| !p.is_empty()))
        .unwrap_or("model");
    let unsafe_in_names = |c: char| !(c.is_ascii_alphanumeric() || "-._".contains(c));
    let label: String = first.chars().take(40).collect();
    let label = label.replace(unsafe_in_names, "-");
    match sizes.len() {
        0 | 1 => label,
        n => format!("{label}-and-{}-more", n - 1),
    }
}
