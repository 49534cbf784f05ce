//! A shard of a prepared run: which items it asks of which model, and what that costs by estimate.
//!
//! Everything follows from the specification, nothing from the machine, the number of processes or earlier
//! answers, so that any process can find out its share alone.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::engine::EngineError;
use crate::engine::plan;
use crate::engine::select::Survey;
use mary_contract::{ModelCard, ModelRole, Request};

use crate::admission::Assignment;
use crate::shard::{Shard, cut, size_in_name};
use crate::{PreparedRun, RunError};

/// Cost of a question apart from its text, in tokens.
const QUESTION: u64 = 16;
/// A token that is written costs as much as this many that are read.
const WRITTEN: u64 = 4;
/// Bytes of text that make a token, about.
const TOKEN: u64 = 4;
/// A model of unknown size is taken for one of a billion weights.
const UNKNOWN_SIZE: u64 = 1_000_000_000;

/// A model boundary is the best place for a cut, a task boundary the second best.
const NEW_MODEL: u32 = 0;
const NEW_TASK: u32 = 1;

/// One shard's part of a run.
#[derive(Debug, Clone)]
pub struct Part {
    /// Which.
    pub shard: Shard,
    /// Samples in it.
    pub planned: usize,
    /// Its share of the estimated cost of the whole.
    pub share: f64,
    /// Which items, by model and task.
    surveys: HashMap<(usize, usize), Arc<Survey>>,
    /// Where it lies on the line.
    range: Range<usize>,
    nothing: Arc<Survey>,
}

impl Part {
    pub(crate) fn survey(&self, model: usize, task: usize) -> &Arc<Survey> {
        self.surveys.get(&(model, task)).unwrap_or(&self.nothing)
    }

    /// Places of the models it asks.
    pub fn models(&self) -> Vec<usize> {
        let mut models: Vec<usize> = self.surveys.keys().map(|(model, _)| *model).collect();
        models.sort_unstable();
        models.dedup();
        models
    }

    /// Indices of the items it asks of a model in a task, in the task's order.
    pub fn items(&self, model: usize, task: usize) -> Vec<usize> {
        let chosen = self.survey(model, task).chosen.iter().flatten();
        let mut items: Vec<usize> = chosen.copied().collect();
        items.sort_unstable();
        items
    }
}

/// The items of a task, those with shared beginnings side by side.
struct Laid {
    /// Index in the task's order, and id.
    items: Vec<(usize, String)>,
    /// Tokens each costs, what it shares with the one before it left out.
    costs: Vec<u64>,
    /// Bytes each shares with the one before it.
    bonds: Vec<u32>,
    available: usize,
}

/// Items of one model and task: their places in the specification, the items, how many there are in all.
type Block<'a> = ((usize, usize), &'a [(usize, String)], usize);

struct Weighed {
    index: usize,
    id: String,
    prefix: Vec<u32>,
    bytes: u64,
    cost: u64,
}

/// Lengths at which beginnings are compared, growing by half: a few hashes stand for any text.
fn lengths() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(16_usize), |&length| {
        (length < 1 << 20).then_some(length + length / 2)
    })
}

/// Hashes of the beginnings of a text.
fn prefixes(text: &str) -> Vec<u32> {
    let (mut hash, mut read) = (0xcbf2_9ce4_8422_2325_u64, 0);
    let mut hashes = Vec::new();
    let bytes = text.as_bytes();
    let mut add = |range: &[u8]| {
        for &byte in range {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        (hash ^ (hash >> 32)) as u32
    };
    for length in lengths() {
        let Some(range) = bytes.get(read..length) else {
            break;
        };
        hashes.push(add(range));
        read = length;
    }
    hashes.push(add(bytes.get(read..).unwrap_or_default()));
    hashes
}

/// About how many bytes two texts begin alike with.
fn shared(a: &[u32], b: &[u32]) -> u32 {
    let alike = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let length = alike.checked_sub(1).and_then(|k| lengths().nth(k));
    u32::try_from(length.unwrap_or(0)).unwrap_or(u32::MAX)
}

fn cost(request: &Request) -> u64 {
    let text = plan::weight(request) as u64 / TOKEN;
    match request {
        Request::Generate(generate) => {
            QUESTION + text + WRITTEN * u64::from(generate.sampling.max_tokens)
        }
        Request::Score(_) | Request::Observe(_) => QUESTION + text,
    }
}

/// Whether the size of a model is known, so that its time can be told.
pub(crate) fn weights_known(card: &ModelCard) -> bool {
    card.parameters.is_some() || size_in_name(&card.model.name).is_some()
}

/// Millions of weights: what a token costs.
fn size(card: &ModelCard) -> u64 {
    let known = card.parameters.or_else(|| size_in_name(&card.model.name));
    (known.unwrap_or(UNKNOWN_SIZE) / 1_000_000).max(1)
}

/// The whole work of a run on a line, ready to be cut.
pub struct Layout {
    tasks: Vec<Laid>,
    costs: Vec<u64>,
    bonds: Vec<u32>,
    models: usize,
    trials: usize,
    total: u128,
}

impl PreparedRun<'_> {
    /// The estimated cost of every item of every model, and its bond to the one before.
    pub fn layout(&self) -> Result<Layout, RunError> {
        let tasks = self
            .assignments
            .iter()
            .map(|assignment| self.lay(assignment))
            .collect::<Result<Vec<_>, _>>()?;
        let (mut costs, mut bonds) = (Vec::new(), Vec::new());
        for card in &self.cards {
            let factor = size(card).saturating_mul(u64::from(self.spec.trials));
            for (task, laid) in tasks.iter().enumerate() {
                for (place, (cost, bond)) in laid.costs.iter().zip(&laid.bonds).enumerate() {
                    costs.push(cost.saturating_mul(factor));
                    bonds.push(match (task, place) {
                        (0, 0) => NEW_MODEL,
                        (_, 0) => NEW_TASK,
                        _ => bond.saturating_add(2),
                    });
                }
            }
        }
        Ok(Layout {
            tasks,
            total: costs.iter().map(|&c| u128::from(c)).sum(),
            costs,
            bonds,
            models: self.cards.len(),
            trials: self.spec.trials as usize,
        })
    }

    /// The parts of this run for `n` processes: disjoint, together the whole, of about equal cost.
    pub fn parts(&self, n: usize) -> Result<Vec<Part>, RunError> {
        Ok(self.layout()?.parts(n))
    }

    fn lay(&self, assignment: &Assignment<'_>) -> Result<Laid, RunError> {
        let wrap = |source| EngineError::Task {
            task: assignment.id().to_owned(),
            source,
        };
        let items = assignment
            .task
            .items(&assignment.settings, self.lab.source())
            .map_err(wrap)?;
        let chosen = assignment.survey.chosen.as_ref();
        let mut weighed = Vec::new();
        for (index, item) in items.enumerate() {
            let item = item.map_err(wrap)?;
            if chosen.is_some_and(|chosen| !chosen.contains(&index)) {
                continue;
            }
            let mut asks = item.asks.iter().filter(|a| a.role == ModelRole::Subject);
            let beginning = asks.clone().next().map(|ask| plan::beginning(&ask.request));
            let beginning = beginning.unwrap_or_default();
            weighed.push(Weighed {
                index,
                prefix: prefixes(&beginning),
                bytes: beginning.len() as u64,
                cost: asks.by_ref().map(|ask| cost(&ask.request)).sum(),
                id: item.id,
            });
        }
        weighed.sort_by(|a, b| a.prefix.cmp(&b.prefix).then(a.index.cmp(&b.index)));
        let mut laid = Laid {
            items: Vec::with_capacity(weighed.len()),
            costs: Vec::with_capacity(weighed.len()),
            bonds: Vec::with_capacity(weighed.len()),
            available: assignment.survey.available,
        };
        let mut before: Option<Vec<u32>> = None;
        for item in weighed {
            let bond = before.as_deref().map_or(0, |b| shared(b, &item.prefix));
            let saved = u64::from(bond).min(item.bytes) / TOKEN;
            laid.costs.push(item.cost.saturating_sub(saved).max(1));
            laid.bonds.push(bond);
            laid.items.push((item.index, item.id));
            before = Some(item.prefix);
        }
        Ok(laid)
    }
}

impl Layout {
    /// The parts for `n` processes.
    pub fn parts(&self, n: usize) -> Vec<Part> {
        let ranges = cut(&self.costs, &self.bonds, n).into_iter().enumerate();
        ranges
            .map(|(index, range)| {
                let pieces = self.costs.get(range.clone()).unwrap_or_default();
                let cost: u128 = pieces.iter().map(|&c| u128::from(c)).sum();
                let shard = Shard {
                    index,
                    of: n.max(1),
                };
                self.part(shard, range, cost as f64 / self.total.max(1) as f64)
            })
            .collect()
    }

    /// The estimated cost of everything: tokens read, times a million weights of the model that reads them.
    pub fn cost(&self) -> f64 {
        self.total as f64
    }

    /// The estimated cost of a task on a model, by their places.
    pub(crate) fn cost_of(&self, model: usize, task: usize) -> f64 {
        let lengths = || self.tasks.iter().map(|laid| laid.items.len());
        let before = model * lengths().sum::<usize>() + lengths().take(task).sum::<usize>();
        let count = lengths().nth(task).unwrap_or(0);
        let costs = self.costs.get(before..before + count).unwrap_or_default();
        costs.iter().map(|&cost| cost as f64).sum()
    }

    /// The share of the largest piece, which no shard can do a part of.
    pub fn largest(&self) -> f64 {
        let largest = self.costs.iter().max().copied().unwrap_or(0);
        largest as f64 / self.total.max(1) as f64
    }

    fn part(&self, shard: Shard, range: Range<usize>, share: f64) -> Part {
        let mut surveys = HashMap::new();
        let mut planned = 0;
        for (place, items, available) in self.blocks(&range) {
            planned += items.len() * self.trials;
            let survey = Survey {
                chosen: Some(items.iter().map(|(index, _)| *index).collect()),
                count: items.len(),
                available,
                cost: self.costs.get(range.clone()).map_or(1, |costs| {
                    costs.iter().sum::<u64>() / (costs.len() as u64).max(1)
                }),
                shortest_prompt: None,
            };
            surveys.insert(place, Arc::new(survey));
        }
        Part {
            shard,
            planned,
            share,
            surveys,
            range,
            nothing: Arc::default(),
        }
    }

    /// The items of a stretch of the line, by the places of their model and task.
    fn blocks<'a>(&'a self, range: &Range<usize>) -> impl Iterator<Item = Block<'a>> {
        let (range, mut start) = (range.clone(), 0);
        let places = (0..self.models).flat_map(move |model| {
            self.tasks
                .iter()
                .enumerate()
                .map(move |(t, laid)| (model, t, laid))
        });
        places.filter_map(move |(model, task, laid)| {
            let end = start + laid.items.len();
            let from = range.start.clamp(start, end) - start;
            let to = range.end.clamp(start, end) - start;
            start = end;
            let items = laid.items.get(from..to).filter(|items| !items.is_empty())?;
            Some(((model, task), items, laid.available))
        })
    }

    /// Ids of the items of a part, by the places of their model and task.
    pub(crate) fn ids(&self, part: &Part) -> HashMap<(usize, usize), HashSet<&str>> {
        self.blocks(&part.range)
            .map(|(place, items, _)| (place, items.iter().map(|(_, id)| id.as_str()).collect()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_are_compared_by_a_few_hashes() {
        let long = "the same beginning ".repeat(50);
        let a = prefixes(&format!("{long}one end"));
        let b = prefixes(&format!("{long}another"));
        let alike = shared(&a, &b) as usize;
        assert!(
            alike <= long.len() && alike * 3 > long.len() * 2 - 100,
            "{alike} of {}",
            long.len()
        );
        assert_eq!(shared(&a, &prefixes("something else entirely")), 0);
        assert_eq!(shared(&[], &a), 0);
        assert!(a.len() < 24);
    }
}
