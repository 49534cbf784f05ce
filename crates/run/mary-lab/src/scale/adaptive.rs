//! Tests that stop when they know enough: which items of a scale are asked next, the log of turns, and what the answers
//! predict for the whole bank.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use mary_contract::{Adaptive, Estimate, Item, Measure, Outcome, RunSummary};
use mary_platform::{counted, grouped, read_plain_text, replace_file};
use mary_stats::irt::adaptive::{Selection, Standing, Stop, next_items, standing, standing_on};
use mary_stats::irt::{self};
use mary_store::RunFolder;
use serde::{Deserialize, Serialize};

use super::answers::{MODELS, item_hash};
use super::kept::{FILE, Scale};
use crate::admission::Assignment;
use crate::error::unclear;
use crate::{AdaptiveChoice, Laboratory, RunError, TaskChoice};

/// What the display calls the only part of an adaptive run.
pub(crate) const ADAPTIVE: &str = "adaptive";
/// Items asked together of a model in this process; a paid one is asked one at a time.
pub(crate) const LOCAL_TURN: usize = 16;
/// Nobody is judged by fewer answers.
const FEWEST: usize = 10;
const TURNS: &str = "turns.jsonl";
/// What the score of a task is in an adaptive run.
const PREDICTED: &str = "irt-predictive";

/// An item that can be asked.
struct Held {
    task: usize,
    /// The task's id: items of two tasks may share theirs.
    of: String,
    item: Item,
}

/// The items of a scale as its tasks give them, and when to stop.
pub(crate) struct Bank {
    scale: Scale,
    stop: Stop,
    held: Vec<Held>,
    curves: Vec<irt::Item>,
    kinds: irt::Kinds,
}

/// The tasks of a scale with the settings they were run with.
pub(crate) fn choices(scale: &Scale) -> Result<Vec<TaskChoice>, RunError> {
    if scale.tasks.is_empty() {
        return unclear(
            "this scale was made of tables alone: there is no task that could be asked\nhint: make it from runs",
        );
    }
    let choice = |task: &mary_contract::TaskRun| TaskChoice {
        id: task.id.clone(),
        settings: task.settings.clone(),
        limit: None,
    };
    Ok(scale.tasks.iter().map(choice).collect())
}

impl Bank {
    /// Looks the scale's items up among those of the tasks; one that changed since is none of them.
    pub(crate) fn open(
        lab: &Laboratory,
        choice: &AdaptiveChoice,
        assignments: &[Assignment<'_>],
    ) -> Result<Self, RunError> {
        let scale = Scale::read(&choice.scale)?;
        if !scale
            .subjects
            .iter()
            .any(|s| s.group == MODELS && s.ability.is_some())
        {
            return unclear(format!(
                "{}: no model stands on this scale, so that it cannot measure one",
                choice.scale.display()
            ));
        }
        let bank = scale.bank(MODELS);
        let mut wanted: HashMap<&str, usize> = bank
            .iter()
            .map(|(at, item)| (item.hash.as_str(), *at))
            .collect();
        let (mut held, mut known) = (Vec::new(), Vec::new());
        for (task, assignment) in assignments.iter().enumerate() {
            let wrap = |source| crate::engine::EngineError::Task {
                task: assignment.id().to_owned(),
                source,
            };
            let items = assignment
                .task
                .items(&assignment.settings, lab.source())
                .map_err(wrap)?;
            for item in items {
                let item = item.map_err(wrap)?;
                if let Some(at) = wanted.remove(item_hash(assignment.id(), &item).as_str()) {
                    known.push(&scale.items[at]);
                    held.push(Held {
                        task,
                        of: assignment.id().to_owned(),
                        item,
                    });
                }
            }
        }
        if held.is_empty() || held.len() < wanted.len() {
            return unclear(format!(
                "only {} of {} of the scale are among what the tasks ask now: they changed since, or were asked with \
                 other settings or another seed\nhint: make the scale again from new runs",
                held.len(),
                counted(held.len() + wanted.len(), "item")
            ));
        }
        let most = choice.most.unwrap_or(held.len()).min(held.len());
        let stop = Stop {
            error: choice.error,
            fewest: FEWEST.min(most),
            most,
        };
        Ok(Self {
            curves: known.iter().map(|item| item.item.clone()).collect(),
            kinds: scale.kinds(known),
            scale,
            stop,
            held,
        })
    }

    /// As manifests keep it.
    pub(crate) fn stated(&self) -> Adaptive {
        Adaptive {
            scale: self.scale.hash(),
            error: self.stop.error,
            most: self.stop.most,
        }
    }

    /// Items asked of one model, at most.
    pub(crate) fn most(&self) -> usize {
        self.stop.most
    }

    /// A run keeps its scale, so that it can be continued without it.
    pub(crate) fn keep(&self, folder: &Path) -> Result<(), RunError> {
        match folder.join(FILE).exists() {
            true => Ok(()),
            false => self.scale.write(folder),
        }
    }

    /// Items of a turn by the place of their task.
    pub(crate) fn by_task(&self, turn: &[usize]) -> BTreeMap<usize, Vec<Item>> {
        let held = turn.iter().map(|&at| &self.held[at]);
        grouped(held.map(|held| (held.task, held.item.clone())))
    }

    /// Whether a model was asked enough.
    pub(crate) fn is_over(&self, folder: &RunFolder, model: &str) -> Result<bool, RunError> {
        let course = self.course(folder, model, 1)?;
        Ok(course.open().is_empty() && course.known_enough())
    }

    /// How far a model came, by the run's log.
    pub(crate) fn course<'a>(
        &'a self,
        folder: &RunFolder,
        model: &'a str,
        count: usize,
    ) -> Result<Course<'a>, RunError> {
        let mut course = Course {
            bank: self,
            model,
            count,
            log: folder.path().join(TURNS),
            turns: turns(folder),
            landed: HashMap::new(),
            tried: Vec::new(),
        };
        course.take_in(folder)?;
        Ok(course)
    }
}

/// One line of the log of turns, written before its items are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) model: String,
    /// Places in the scale's bank, with the items' ids for people.
    pub(super) items: Vec<(usize, String)>,
    /// Ability and error by the answers before it.
    pub(super) ability: Option<(f64, f64)>,
}

/// The turns of a run. A file that cannot be read is none: what was answered is in the samples.
pub(super) fn turns(folder: &RunFolder) -> Vec<Turn> {
    let text = read_plain_text(&folder.path().join(TURNS), 1 << 28).unwrap_or_default();
    let lines = text.lines().map(serde_json::from_str);
    lines.filter_map(Result::ok).collect()
}

/// The test of one model.
pub(crate) struct Course<'a> {
    bank: &'a Bank,
    model: &'a str,
    count: usize,
    log: PathBuf,
    turns: Vec<Turn>,
    /// Items that came to an end, with their score where they have one.
    pub(crate) landed: HashMap<usize, Option<u8>>,
    /// Items asked by this process, which are not asked again by it where they failed.
    tried: Vec<usize>,
}

impl Course<'_> {
    fn asked(&self) -> impl Iterator<Item = usize> {
        let own = self.turns.iter().filter(|turn| turn.model == self.model);
        own.flat_map(|turn| turn.items.iter().map(|item| item.0))
    }

    /// Items that a turn asked and that did not come to an end.
    fn open(&self) -> Vec<usize> {
        let held = self.bank.held.len();
        self.asked()
            .filter(|at| *at < held && !self.landed.contains_key(at) && !self.tried.contains(at))
            .collect()
    }

    fn answers(&self) -> Vec<(usize, u8)> {
        let known = |at: usize| Some((at, (*self.landed.get(&at)?)?));
        self.asked().filter_map(known).collect()
    }

    fn standing(&self) -> Option<Standing> {
        standing(&self.bank.curves, &self.answers(), &self.bank.kinds).ok()
    }

    fn known_enough(&self) -> bool {
        let ability = self.standing().map(|s| s.ability);
        let bank = self.bank.held.len();
        self.bank.stop.reached(self.asked().count(), bank, ability)
    }

    /// The items to ask now; nothing once enough is known.
    pub(crate) fn next_turn(&mut self, seed: u64) -> Result<Option<Vec<usize>>, RunError> {
        let open = self.open();
        if !open.is_empty() {
            self.tried.extend(&open);
            return Ok(Some(open));
        }
        if self.known_enough() {
            return Ok(None);
        }
        let ability = self.standing().map(|s| s.ability);
        let asked: Vec<usize> = self.asked().collect();
        let own = blake3::hash(self.model.as_bytes());
        let mut eight = [0u8; 8];
        eight.copy_from_slice(&own.as_bytes()[..8]);
        let seed = seed ^ u64::from_le_bytes(eight);
        let selection = Selection::fair(self.bank.kinds.of.clone(), seed);
        let count = self
            .count
            .min(self.bank.stop.most.saturating_sub(asked.len()));
        let theta = ability.map_or(0.0, |a| a.value);
        let next = next_items(&self.bank.curves, &asked, theta, count, &selection);
        if next.is_empty() {
            return Ok(None);
        }
        let named = next
            .iter()
            .map(|&at| (at, self.bank.held[at].item.id.clone()));
        self.turns.push(Turn {
            model: self.model.to_owned(),
            items: named.collect(),
            ability: ability.map(|a| (a.value, a.error)),
        });
        let mut text = String::new();
        for turn in &self.turns {
            text += &serde_json::to_string(turn).unwrap_or_default();
            text.push('\n');
        }
        replace_file(&self.log, text.as_bytes()).map_err(|source| RunError::Folder {
            path: self.log.clone(),
            message: "the log of turns cannot be written".into(),
            source,
        })?;
        self.tried.extend(&next);
        Ok(Some(next))
    }

    /// Reads what the log holds of this model.
    pub(crate) fn take_in(&mut self, folder: &RunFolder) -> Result<(), RunError> {
        let held = self.bank.held.iter().enumerate();
        let places: HashMap<(&str, &str), usize> = held
            .map(|(at, held)| ((held.of.as_str(), held.item.id.as_str()), at))
            .collect();
        for verdict in folder.verdicts()? {
            let verdict = verdict?;
            if verdict.id.model != self.model
                || matches!(verdict.judgement.outcome, Outcome::Failed(_))
            {
                continue;
            }
            if let Some(&at) = places.get(&(verdict.id.task.as_str(), verdict.id.item.as_str())) {
                let top = self.bank.curves[at].top();
                self.landed
                    .insert(at, whole_score(&verdict.judgement.outcome, top));
            }
        }
        Ok(())
    }
}

/// A score as a place on an item's curve; ties and what could not be read have none.
pub(super) fn whole_score(outcome: &Outcome, top: u8) -> Option<u8> {
    match outcome {
        Outcome::Scored(score)
            if score.fract() == 0.0 && (0.0..=f64::from(top)).contains(score) =>
        {
            Some(*score as u8)
        }
        _ => None,
    }
}

/// Puts in place of the share right of what was asked, which says nothing where items were chosen by ability, the share
/// expected on the whole bank; beside it stand the ability and the share itself.
pub(crate) fn predict(folder: &RunFolder, summary: &mut RunSummary) -> Result<(), RunError> {
    let scale = Scale::read(folder.path())?;
    let bank = scale.bank(MODELS);
    let curves: Vec<irt::Item> = bank.iter().map(|(_, item)| item.item.clone()).collect();
    let places: HashMap<(&str, &str), usize> = bank
        .iter()
        .enumerate()
        .map(|(at, (_, item))| ((item.task.as_str(), item.id.as_str()), at))
        .collect();
    let mut answers: BTreeMap<String, Vec<(usize, u8)>> = BTreeMap::new();
    for verdict in folder.verdicts()? {
        let verdict = verdict?;
        if let Some(&at) = places.get(&(verdict.id.task.as_str(), verdict.id.item.as_str()))
            && let Some(score) = whole_score(&verdict.judgement.outcome, curves[at].top())
        {
            answers
                .entry(verdict.id.model)
                .or_default()
                .push((at, score));
        }
    }
    let kinds = scale.kinds(bank.iter().map(|(_, item)| *item));
    for row in &mut summary.rows {
        let given = answers.get(&row.model).map_or(&[][..], Vec::as_slice);
        let found = standing_on(&curves, given, &kinds, |at| bank[at].1.task == row.task);
        let raw = row.score.take();
        (row.chance, row.chance_test) = (None, None);
        // Means over items that were chosen for the model that answered them.
        row.measures.clear();
        row.breakdowns.clear();
        let Ok(found) = found else { continue };
        let share = found.expected_share;
        row.score = Some(Estimate::new(
            share.value,
            (share.low, share.high),
            given.len(),
            PREDICTED,
        ));
        let ability = Estimate::new(
            found.ability.value,
            found.ability.bounds(),
            given.len(),
            "posterior",
        );
        let measure = |name: &str, estimate: Estimate| Measure {
            name: name.to_owned(),
            estimate,
        };
        row.measures.push(measure("ability", ability));
        row.measures
            .extend(raw.map(|raw| measure("share_right_of_asked", raw)));
    }
    for card in &mut summary.manifest.models {
        card.remarks.push(format!(
            "items were chosen by ability from {} of a scale: scores are shares expected on all of them",
            bank.len()
        ));
    }
    Ok(())
}
