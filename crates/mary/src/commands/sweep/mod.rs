//! `mary sweep`: every checkpoint of one or more models, as one piece of work.
//!
//! Each checkpoint is an ordinary run in its own folder below the sweep's `runs/`, so that cache,
//! report and viewer work on it as on any other. The next checkpoint is fetched, looked at and, where
//! both have room, loaded while the present one runs; each is loaded once for all tasks. What is done is in the sweep's state file,
//! and the same command goes on from there.

mod faults;
mod hub;
mod inspect;
mod members;
mod show;
mod state;

use std::path::PathBuf;

use anyhow::Context;
use mary_contract::{ErrorKind, Exhibits, Model, ModelCard, ModelError, ModelSettings, RunSummary};
use mary_data::LocalData;
use mary_store::RunFolder;
use mary_suites::psychometric::trajectories::TOKENS_SEEN;
use mary_suites::psychometric::windows;

use self::hub::{Held, Shelf};
use self::inspect::Inspection;
use self::members::Member;
use self::state::{Ending, Record, State};
use super::report;
use super::run::{self, Checked, Plan};
use crate::cli::run::RunArgs;
use crate::cli::sweep::SweepArgs;
use crate::exit::{Status, UsageError};
use crate::providers;
use crate::settings::Place;

/// Runs the sweep, or what is left of it.
pub fn sweep(place: &Place, args: &SweepArgs) -> anyhow::Result<Status> {
    let mut models: Vec<String> = args.models.iter().chain(&args.run.model).cloned().collect();
    models.retain(|m| !m.trim().is_empty());
    if models.is_empty() {
        models.push(run::DEFAULT_MODEL.to_owned());
    }
    let members = members::members(&models, &args.revisions, args.tokens_per_step)?;
    let mut plan = plan(place, args)?;
    let mut state = open_state(place, &plan, &members)?;
    let left: Vec<Member> = members
        .iter()
        .filter(|m| !state.is_done(m))
        .cloned()
        .collect();
    super::tell(&format!(
        "sweep: {} checkpoints, {} to do, in {}",
        members.len(),
        left.len(),
        state.path().display()
    ));
    let stopped = run_all(place, &mut plan, &left, &mut state, args.disk_limit);
    // Whatever happened, what is there is shown.
    let records = state.records(&members);
    let faulty = show::show(&place.registry, &state, &plan, &records)?;
    stopped?;
    Ok(if faulty || records.len() < members.len() {
        Status::Incomplete
    } else {
        Status::Done
    })
}

/// How a model grew so far: figures and windows of its checkpoints on two quick tasks.
pub struct Growth {
    /// What is to be seen.
    pub exhibits: Exhibits,
    /// The run of every checkpoint, earliest first.
    pub runs: Vec<(PathBuf, RunSummary)>,
}

/// Asks the checkpoints of a model that were not asked before, without a word, and adds up all.
pub fn growth(place: &Place, model: &str, tokens_per_step: Option<u64>) -> anyhow::Result<Growth> {
    let words = [
        "--quiet",
        "--no-report",
        "--limit=60",
        "--tasks=psychometric/grammar-small,psychometric/numbers",
    ];
    let mut plan = run::resolve(place, &RunArgs::typed(&words.map(str::to_owned))?)?;
    let members = members::members(&[model.to_owned()], &["all".to_owned()], tokens_per_step)?;
    let mut state = open_state(place, &plan, &members)?;
    let left: Vec<Member> = members
        .iter()
        .filter(|m| !state.is_done(m))
        .cloned()
        .collect();
    run_all(place, &mut plan, &left, &mut state, 0)?;
    let mut runs = Vec::new();
    for record in state.records(&members) {
        if let Some(folder) = record.run() {
            let path = state.runs().join(folder);
            let summary = report::load_summary(&place.registry, &RunFolder::open(&path)?)?;
            runs.push((path, summary));
        }
    }
    let summaries: Vec<RunSummary> = runs.iter().map(|(_, s)| s.clone()).collect();
    Ok(Growth {
        exhibits: windows::exhibits(&summaries),
        runs,
    })
}

/// The plan of every checkpoint; without tasks, the starter selection of the psychometric family.
fn plan(place: &Place, args: &SweepArgs) -> anyhow::Result<Plan> {
    if args.run.adapter.is_some() || args.run.dry_run {
        return Err(UsageError::new("a sweep takes neither --adapter nor --dry-run").into());
    }
    let mut plan = run::resolve(place, &args.run)?;
    if args.run.tasks.is_empty() {
        plan.tasks
            .retain(|(task, ..)| task.card().family == "psychometric");
        for (_, settings, _) in &mut plan.tasks {
            settings.shots = args.run.shots;
        }
    }
    Ok(plan)
}

/// The sweep's folder is named by its sizes and by what is asked, not by which checkpoints: a later
/// command may add some.
fn open_state(place: &Place, plan: &Plan, members: &[Member]) -> anyhow::Result<State> {
    let mut sizes: Vec<&str> = members.iter().map(|m| m.size.as_str()).collect();
    sizes.dedup();
    let tasks: Vec<_> = plan
        .tasks
        .iter()
        .map(|(task, settings, limit)| {
            let card = task.card();
            let mut asked = serde_json::json!({"id": card.id, "version": card.version,
                                               "settings": settings, "limit": limit});
            if let (Some(content), Some(fields)) = (&card.content, asked.as_object_mut()) {
                fields.insert("content".into(), content.as_ref().into());
            }
            asked
        })
        .collect();
    let essence = serde_json::json!({
        "sizes": sizes,
        "tasks": tasks,
        "trials": plan.trials,
        "seed": plan.seed,
        "dtype": plan.settings.dtype,
        "model_args": plan.settings.args,
    });
    let digest = blake3::hash(essence.to_string().as_bytes())
        .to_hex()
        .to_string();
    let first = sizes
        .first()
        .and_then(|s| s.rsplit('/').find(|p| !p.is_empty()))
        .unwrap_or("model");
    let safe = |c: char| {
        if c.is_ascii_alphanumeric() || "-._".contains(c) {
            c
        } else {
            '-'
        }
    };
    let label: String = first.chars().map(safe).take(40).collect();
    let more = if sizes.len() > 1 {
        format!("-and-{}-more", sizes.len() - 1)
    } else {
        String::new()
    };
    let name = format!(
        "sweep-{label}{more}-{}",
        digest.get(..10).unwrap_or(&digest)
    );
    let mut about = essence;
    about["schema"] = 1.into();
    about["command"] = std::env::args().skip(1).collect::<Vec<_>>().into();
    State::open(&place.runs.join(name), &about)
}

/// A checkpoint that is ready to run, or why it is not.
struct Prepared {
    outcome: Result<(Inspection, ModelCard), ModelError>,
    held: Option<Held>,
    /// Loaded already, where there was room beside the one at work.
    opened: Option<Box<dyn Model>>,
}

/// Fetches, looks at the weights, computes the fingerprint, and loads.
fn prepare(member: &Member, settings: &ModelSettings) -> Prepared {
    let before = if member.hub {
        hub::snapshots(&member.model)
    } else {
        Default::default()
    };
    let look = || -> Result<(Inspection, ModelCard), ModelError> {
        let inspection = inspect::inspect(&member.model)?;
        let provider = providers::of(&member.model)
            .map_err(|e| ModelError::new(ErrorKind::NotFound, e.to_string()))?;
        let mut card = provider.card(&member.model, settings)?;
        card.fingerprint = provider.fingerprint(&member.model, settings)?;
        if let Some(tokens) = member.tokens {
            card.conventions
                .insert(TOKENS_SEEN.to_owned(), tokens.to_string());
        }
        Ok((inspection, card))
    };
    let outcome = look();
    let held = member
        .hub
        .then(|| mary_weights::locate(&member.model).ok())
        .flatten()
        .and_then(|path| hub::brought(&before, &path));
    // Whatever goes wrong here goes wrong again, and is said, when its turn comes.
    let opened = match providers::of(&member.model) {
        Ok(provider) if outcome.is_ok() && provider.fits_beside(&member.model, settings) => {
            provider.open(&member.model, settings).ok()
        }
        _ => None,
    };
    Prepared {
        outcome,
        held,
        opened,
    }
}

/// Every checkpoint that is left, the next one being prepared while the present one runs.
fn run_all(
    place: &Place,
    plan: &mut Plan,
    left: &[Member],
    state: &mut State,
    limit: u64,
) -> anyhow::Result<()> {
    let settings = plan.settings.clone();
    let mut shelf = Shelf::new(limit);
    let mut surveyed: Option<Checked> = None;
    std::thread::scope(|scope| {
        let settings = &settings;
        let begin = |member: Option<&'_ Member>| {
            let member = member?.clone();
            Some(scope.spawn(move || prepare(&member, settings)))
        };
        let mut coming = begin(left.first());
        for (place_in_line, member) in left.iter().enumerate() {
            // Without room to fetch ahead, it is fetched now.
            let ready = match coming.take().or_else(|| begin(Some(member))) {
                Some(worker) => worker.join(),
                None => break,
            };
            let Prepared {
                outcome,
                held,
                opened,
            } = ready.map_err(|_| anyhow::anyhow!("preparing {} broke down", member.model))?;
            shelf.all_done();
            if let Some(held) = held {
                shelf.put(held);
            }
            if shelf.make_room(remove) {
                coming = begin(left.get(place_in_line + 1));
            }
            let record = match outcome {
                Ok((inspection, card)) => {
                    let ending =
                        run_one(place, plan, (member, card, opened), state, &mut surveyed)?;
                    Record::new(member, Some(inspection), ending)
                }
                Err(error) => Record::new(member, None, unreadable(&error)?),
            };
            if let Ending::Unreadable { message } = &record.ending {
                super::tell(&format!("{}: {message}", member.model));
            }
            state.keep(record)?;
        }
        Ok(())
    })
}

fn remove(held: &Held) {
    if let Err(error) = hub::evict(held) {
        super::tell(&format!(
            "{}: could not be removed: {error}",
            held.snapshot.display()
        ));
    }
}

/// A checkpoint that is missing or damaged is recorded and the sweep goes on; anything else (no
/// network, no memory, an interrupt) stops it, to be continued.
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

/// Runs one checkpoint on all tasks.
fn run_one(
    place: &Place,
    plan: &mut Plan,
    (member, card, opened): (&Member, ModelCard, Option<Box<dyn Model>>),
    state: &State,
    surveyed: &mut Option<Checked>,
) -> anyhow::Result<Ending> {
    let data = LocalData::new(place.data.clone(), place.datasets());
    plan.models = vec![member.model.clone()];
    // Items are the same for every checkpoint: they are read once.
    let known = match surveyed.take() {
        Some(known) => known,
        None => run::check(plan, &data)?,
    };
    let checked = Checked {
        cards: vec![card],
        ..known
    };
    let own = Place {
        runs: state.runs(),
        ..place.clone()
    };
    let answered = run::answer(&own, plan, &checked, &data, opened);
    let ending = match answered {
        Ok((folder, summary)) => {
            let name = folder
                .path()
                .file_name()
                .map(|n| n.to_string_lossy().into_owned());
            let folder = name.context("a run folder has a name")?;
            Ending::Run {
                folder,
                complete: summary.complete,
            }
        }
        Err(error) => match error.chain().find_map(|e| e.downcast_ref::<ModelError>()) {
            Some(model) => unreadable(model).map_err(|_| error)?,
            None => return Err(error),
        },
    };
    *surveyed = Some(checked);
    Ok(ending)
}
