//! What people answered as a run: model `people/NAME`, every person a trial of the item, judged by the
//! task's own judge and written like any model's answers, so that report, compare and export read it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mary_contract::{
    Capabilities, Exchange, Generated, Item, Judgement, Key, ModelCard, ModelRef, Registry,
    RegistryError, Reply, Response, RunManifest, RunSummary, Sample, SampleId, Task, TaskCard,
    TaskRun, UnscoredReason,
};
use mary_lab::engine::summarise::{Summariser, Verdict, test_against_chance};
use mary_store::{RunFolder, SCHEMA, run_digest};
use serde_json::{Value, json};

use crate::analysis::{self, PeopleStatistics};
use crate::error::io_at;
use crate::folder::Study;
use crate::keys::{KeyedItem, Keys};
use crate::question::{Answer, AnswerForm, Question, reply};
use crate::reading;
use crate::session::{Participation, Session};
use crate::status::Unfinished;
use crate::store::{PersonState, StoredAnswer};
use crate::{Result, StudyError};

/// The provider under which people stand among models.
pub const PEOPLE: &str = "people";

pub struct Results {
    /// One for each answer of everybody who counts.
    pub samples: Vec<Sample>,
    /// The same with those whom the rules exclude.
    pub with_excluded: Vec<Sample>,
    pub finished: usize,
    pub excluded: usize,
    /// Those who did not finish: nothing of theirs is judged.
    pub unfinished: Unfinished,
}

/// Judges everybody who finished. The rules of `study.toml` say who counts.
pub fn judge(
    session: &Session,
    keys: &Keys,
    registry: &Registry,
    people: &[Participation],
) -> Result<Results> {
    let study = &session.study;
    let judged_card = keys.judging.as_ref().map(|judging| {
        let about = "What people say of what models wrote.";
        TaskCard::new(judging.task.clone(), "Judged by people", about)
    });
    let tasks: Vec<Arc<dyn Task>> = keys
        .tasks
        .iter()
        .map(|run| judge_of(registry, run))
        .collect::<Result<_, _>>()
        .map_err(|e| StudyError::refused(e.to_string()))?;
    let mut results = Results {
        samples: Vec::new(),
        with_excluded: Vec::new(),
        finished: 0,
        excluded: 0,
        unfinished: Unfinished::among(people),
    };
    let limit = study.settings.rules.attention_failures;
    for one in people {
        if one.person.state != PersonState::Finished {
            continue;
        }
        results.finished += 1;
        let out = limit > 0 && one.failures >= limit;
        results.excluded += usize::from(out);
        for answer in &one.answers {
            let Some(key) = keys.items.get(answer.item) else {
                continue;
            };
            let by = match (&judged_card, tasks.get(key.task), keys.tasks.get(key.task)) {
                (Some(card), ..) => By::Themselves(card),
                (None, Some(task), Some(run)) => By::Task(task.as_ref(), run),
                _ => continue,
            };
            let sample = sample(study, (key, by), one, answer)?;
            if !out {
                results.samples.push(sample.clone());
            }
            results.with_excluded.push(sample);
        }
    }
    Ok(results)
}

/// The task that judges: the registry's, or the study's own of sentences that were read.
fn judge_of(registry: &Registry, run: &TaskRun) -> Result<Arc<dyn Task>, RegistryError> {
    reading::judge(run).map_or_else(|| registry.judge_of(run).cloned(), Ok)
}

#[derive(Clone, Copy)]
enum By<'a> {
    Task(&'a dyn Task, &'a TaskRun),
    /// Nobody but the person: the answer is itself a verdict, on what a model wrote.
    Themselves(&'a TaskCard),
}

impl By<'_> {
    fn card(&self) -> &TaskCard {
        match self {
            Self::Task(task, _) => task.card(),
            Self::Themselves(card) => card,
        }
    }

    fn judge(&self, item: &Item, given: &Answer, reply: &Reply) -> Judgement {
        match (self, given) {
            (Self::Task(task, run), _) => {
                task.judge(&run.settings, item, std::slice::from_ref(reply))
            }
            (Self::Themselves(_), Answer::Choice(mark)) => {
                Judgement::scored(*mark as f64).read_as(mark.to_string())
            }
            (Self::Themselves(_), _) => Judgement::unscored(UnscoredReason::Unparsed),
        }
    }
}

fn sample(
    study: &Study,
    (key, by): (&KeyedItem, By<'_>),
    one: &Participation,
    given: &StoredAnswer,
) -> Result<Sample> {
    let model = model_ref(study).to_string();
    let trial = u32::try_from(one.person.place).unwrap_or(u32::MAX);
    let mut item = key.item.clone();
    let Some(ask) = (!item.asks.is_empty()).then(|| item.asks.remove(0)) else {
        return Err(StudyError::refused(format!(
            "item {} asks nothing",
            item.id
        )));
    };
    item.asks.clear();
    let said = reply(&given.answer, &key.said, &ask.request);
    let mut judgement = match (&said, &given.answer) {
        (Some(reply), given) => by.judge(&key.item, given, reply),
        // Whoever says that nothing fits has not found what fits.
        (None, Answer::NoneFits) => Judgement::scored(0.0).read_as("none"),
        (None, _) => Judgement::unscored(UnscoredReason::Unparsed),
    };
    let form = study.questions.get(given.item).map(|q| &q.answer);
    if let Some(AnswerForm::Choice {
        none_fits: true, ..
    }) = form
    {
        let none = matches!(given.answer, Answer::NoneFits | Answer::Flagged(_));
        judgement = judgement.measured("none_fits", if none { 1.0 } else { 0.0 });
    }
    if let Some(rt) = given.rt {
        judgement = judgement.measured("seconds", rt / 1_000.0);
    }
    note(&mut judgement, one, given);
    let key_of = Key::of(&model, by.card(), trial, &ask.request)
        .map_err(|e| StudyError::refused(e.to_string()))?;
    let said = said.unwrap_or_else(|| {
        Reply::bare(Response::Generated(Generated::whole(match given.answer {
            Answer::NoneFits => "none fits".into(),
            _ => String::new(),
        })))
    });
    Ok(Sample {
        id: SampleId::new(model, by.card().id.to_string(), item.id.clone(), trial),
        item,
        exchanges: vec![Exchange {
            key: key_of,
            ask,
            reply: Ok(said),
        }],
        judgement,
    })
}

/// What is known of the answer beside the verdict. No id of a platform, no address.
fn note(judgement: &mut Judgement, one: &Participation, given: &StoredAnswer) {
    let about = json!({
        "person": one.person.pseudonym,
        "trial_index": given.trial,
        "option_order": given.shown,
        "rt_ms": given.rt,
        "blurs": given.blurs,
        "window": given.window,
        "input": given.input,
        "views": given.views,
    });
    put_note(judgement, "study", about);
}

pub(crate) fn put_note(judgement: &mut Judgement, name: &str, value: Value) {
    match &mut judgement.notes {
        Value::Object(notes) => {
            notes.insert(name.to_owned(), value);
        }
        notes => *notes = json!({ name: value }),
    }
}

pub fn model_ref(study: &Study) -> ModelRef {
    ModelRef {
        provider: PEOPLE.into(),
        name: study.settings.name.clone(),
        revision: None,
    }
}

fn manifest(study: &Study, keys: &Keys, results: &Results) -> Result<RunManifest> {
    let settings = &study.settings;
    let mut card = ModelCard::new(model_ref(study), Capabilities::default());
    let written = serde_json::to_vec(keys).map_err(|e| StudyError::refused(e.to_string()))?;
    card.fingerprint = blake3::hash(&written).to_hex().to_string();
    card.remarks = vec![format!(
        "{} finished, {} of them excluded by the study's rules",
        mary_platform::counted(results.finished, "person"),
        results.excluded
    )];
    if !results.unfinished.is_empty() {
        card.remarks.push(results.unfinished.to_string());
    }
    let mut say = |name: &str, text: String| card.conventions.insert(name.to_owned(), text);
    say("trial", "the place of the person: one list each".into());
    say(
        "intervals",
        "over people and items (crossed), where both vary".into(),
    );
    say(
        "exclusion",
        format!(
            "people who failed {} attention checks or more",
            settings.rules.attention_failures
        ),
    );
    say("consent", format!("version {}", settings.consent.version));
    let beside = |q: &Question| matches!(q.answer, AnswerForm::Choice { beside: true, .. });
    let none_fits = if study.questions.iter().any(beside) {
        "a mark beside the answer, which counts as it is; its share is the measure `none_fits`, the score of the \
         answers with it `score_flagged`, of those without `score_unflagged`"
    } else {
        "counts as wrong; its share is the measure `none_fits`"
    };
    say("none fits", none_fits.into());
    let mut manifest = RunManifest {
        schema: SCHEMA,
        created: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        version: env!("CARGO_PKG_VERSION").into(),
        command: keys.command.clone(),
        models: vec![card],
        tasks: keys.tasks.clone(),
        trials: u32::try_from(settings.people).unwrap_or(u32::MAX),
        seed: settings.seed,
        ..RunManifest::default()
    };
    let digest = run_digest(&manifest)?;
    let short = digest.get(..10).unwrap_or(&digest);
    manifest.id = format!("people-{}-{short}", settings.name);
    Ok(manifest)
}

pub(crate) fn run_id(study: &Study, keys: &Keys) -> Result<String> {
    let nobody = Results {
        samples: Vec::new(),
        with_excluded: Vec::new(),
        finished: 0,
        excluded: 0,
        unfinished: Unfinished::default(),
    };
    Ok(manifest(study, keys, &nobody)?.id)
}

/// The folder of a run below `root`, empty.
pub(crate) fn made_anew(root: &Path, manifest: &RunManifest) -> Result<(PathBuf, RunFolder)> {
    let place = root.join(&manifest.id);
    if place.exists() {
        // Opened first: what is not this run is left alone.
        drop(RunFolder::continue_at(&place, manifest)?);
        std::fs::remove_dir_all(&place).map_err(io_at(&place))?;
    }
    let folder = RunFolder::create_or_open(root, manifest)?;
    Ok((place, folder))
}

/// Writes the run folder below `root`, anew where it was there: a person who withdrew since is not in it.
pub fn write_run(
    root: &Path,
    study: &Study,
    keys: &Keys,
    registry: &Registry,
    results: &Results,
) -> Result<(PathBuf, RunSummary)> {
    let manifest = manifest(study, keys, results)?;
    let (place, mut folder) = made_anew(root, &manifest)?;
    for sample in &results.samples {
        folder.append(sample)?;
    }
    folder.flush()?;
    // A closed study holds everything it will ever hold, however many places stayed free.
    let summary = summary(manifest, results.samples.len(), registry, &results.samples);
    folder.write_summary(&summary)?;
    Ok((place, summary))
}

/// The summary of a run of people: as for models, with intervals over people and items, agreement and
/// times beside the score.
pub fn summary(
    manifest: RunManifest,
    planned: usize,
    registry: &Registry,
    samples: &[Sample],
) -> RunSummary {
    let mut summariser = Summariser::default();
    for sample in samples {
        summariser.add(Verdict::from(sample));
    }
    let mut summary = finished(summariser, manifest, planned, registry, |_, task| {
        let own = samples.iter().filter(|s| *s.id.task == *task);
        own.cloned().collect::<Vec<_>>().into_iter()
    });
    enrich(&mut summary, samples);
    summary
}

/// The summary of what was added, with what each task says over the samples that a model has on it.
pub(crate) fn finished<I: Iterator<Item = Sample>>(
    summariser: Summariser,
    manifest: RunManifest,
    planned: usize,
    registry: &Registry,
    mut own: impl FnMut(&str, &str) -> I,
) -> RunSummary {
    let judges = manifest.tasks.iter();
    let judges = judges.filter_map(|run| judge_of(registry, run).ok());
    let tasks: Vec<_> = judges.collect();
    let runs = manifest.tasks.clone();
    summariser.finish(manifest, planned, &tasks, |model, task| {
        let id = &*task.card().id;
        let run = runs.iter().find(|r| *r.id == *id);
        let settings = run.map(|r| r.settings.clone()).unwrap_or_default();
        task.overall(&settings, &mut own(model, id))
    })
}

pub fn is_people(model: &str) -> bool {
    model
        .split_once('/')
        .is_some_and(|(first, _)| first == PEOPLE)
}

/// Puts what holds for people into their rows of a summary: intervals over people and items, agreement.
pub fn enrich(summary: &mut RunSummary, samples: &[Sample]) {
    for row in summary.rows.iter_mut().filter(|row| is_people(&row.model)) {
        let own = |s: &&Sample| s.id.task == row.task && s.id.model == row.model;
        let of_task: Vec<&Sample> = samples.iter().filter(own).collect();
        analysis::enrich(row, &PeopleStatistics::from_samples(&of_task));
        // Tested with the intervals of a model's trials; these are over people and items.
        row.chance_test = None;
    }
    test_against_chance(&mut summary.rows);
}
