//! Which samples a report carries: a bounded, seeded selection with the troublesome ones first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use mary_contract::{RunSummary, Sample};
use mary_platform::grouped;

use crate::{sample::OutcomeClass, subject::Subject};

type Cell = (usize, usize);

/// Samples by the rank that was drawn for them, then by their place in the log.
type Drawn = BTreeMap<(u64, usize), Rc<Sample>>;
type Ranked = (u64, Rc<Sample>);

/// Keeps what a report will show while all samples pass by once.
pub(crate) struct Selection<'a> {
    subjects: &'a [Subject],
    runs: HashMap<String, usize>,
    tasks: Vec<String>,
    per_cell: usize,
    /// By lot, and among equal lots in the order of the log.
    by_class: BTreeMap<(Cell, OutcomeClass), Drawn>,
    by_value: HashMap<(Cell, String), Option<Ranked>>,
    counts: BTreeMap<Cell, [usize; OutcomeClass::ALL.len()]>,
    seen: usize,
}

pub(crate) struct Kept {
    pub subject: usize,
    pub task: usize,
    pub class: OutcomeClass,
    pub sample: Rc<Sample>,
}

pub(crate) struct Selected {
    pub tasks: Vec<String>,
    pub kept: Vec<Kept>,
    pub counts: BTreeMap<Cell, [usize; OutcomeClass::ALL.len()]>,
    pub seen: usize,
}

impl<'a> Selection<'a> {
    /// Room for about `most` samples over all models and tasks.
    pub fn new(runs: &[RunSummary], subjects: &'a [Subject], most: usize) -> Self {
        let families = crate::subject::families(runs).into_iter();
        let tasks = families.flat_map(|(_, tasks)| tasks).collect();
        let cells: usize = runs.iter().map(|r| r.rows.len()).sum::<usize>().max(1);
        let per_cell = (most / cells).clamp(3, 60);
        let ids = runs.iter().map(|run| run.manifest.id.clone());
        let mut selection = Self {
            subjects,
            runs: ids.zip(0..).collect(),
            tasks,
            per_cell,
            by_class: BTreeMap::new(),
            by_value: HashMap::new(),
            counts: BTreeMap::new(),
            seen: 0,
        };
        selection.reserve_values(runs, most);
        selection
    }

    /// Every bar of a breakdown should lead somewhere: one place for each value, as far as there is
    /// room.
    fn reserve_values(&mut self, runs: &[RunSummary], most: usize) {
        for (index, run) in runs.iter().enumerate() {
            for row in &run.rows {
                let Some(cell) = self.cell(index, &row.model, &row.task) else {
                    continue;
                };
                for breakdown in &row.breakdowns {
                    for value in breakdown.values.keys() {
                        if self.by_value.len() >= most {
                            return;
                        }
                        self.by_value
                            .insert((cell, format!("{}={value}", breakdown.tag)), None);
                    }
                }
            }
        }
    }

    fn cell(&mut self, run: usize, model: &str, task: &str) -> Option<Cell> {
        let subject = self
            .subjects
            .iter()
            .position(|s| s.run == run && s.model == model)?;
        let task = match self.tasks.iter().position(|t| t == task) {
            Some(place) => place,
            None => {
                self.tasks.push(task.to_owned());
                self.tasks.len() - 1
            }
        };
        Some((subject, task))
    }

    pub fn offer(&mut self, run: &str, sample: Sample) {
        self.seen += 1;
        let Some(&run) = self.runs.get(run) else {
            return;
        };
        let Some(cell) = self.cell(run, &sample.id.model, &sample.id.task) else {
            return;
        };
        let class = OutcomeClass::from_outcome(&sample.judgement.outcome);
        if let Some(count) = self.counts.entry(cell).or_default().get_mut(class.index()) {
            *count += 1;
        }
        // The lot depends on the item alone, so that models are shown on the same items.
        let lot = lot(&sample.id.task, &sample.id.item, sample.id.trial);
        let sample = Rc::new(sample);
        for (tag, value) in &sample.item.tags {
            if let Some(place) = self.by_value.get_mut(&(cell, format!("{tag}={value}"))) {
                let rank = match class {
                    OutcomeClass::Right => lot / 2 + u64::MAX / 2,
                    _ => lot / 2,
                };
                if place.as_ref().is_none_or(|(first, _)| rank < *first) {
                    *place = Some((rank, Rc::clone(&sample)));
                }
            }
        }
        let drawn = self.by_class.entry((cell, class)).or_default();
        drawn.insert((lot, self.seen), sample);
        if drawn.len() > self.per_cell {
            drawn.pop_last();
        }
    }

    /// The selection: for each model and task the troublesome outcomes first, a third of the places
    /// for right ones, then one for each value of a breakdown.
    pub fn finish(self) -> Selected {
        let drawn = self.by_class.into_iter();
        let drawn = drawn.map(|((cell, class), drawn)| (cell, (class, drawn.into_values())));
        let mut kept = Vec::new();
        for ((subject, task), classes) in grouped(drawn) {
            let shared = share(classes, self.per_cell).into_iter();
            kept.extend(shared.map(|(class, sample)| Kept {
                subject,
                task,
                class,
                sample,
            }));
        }
        let mut extra: Vec<_> = self
            .by_value
            .into_iter()
            .filter_map(|(k, d)| Some((k, d?)))
            .collect();
        extra.sort_by(|a, b| a.0.cmp(&b.0));
        let mut have: HashSet<_> = kept.iter().map(|k| Rc::as_ptr(&k.sample)).collect();
        for (((subject, task), _), (_, sample)) in extra {
            if have.insert(Rc::as_ptr(&sample)) {
                kept.push(Kept {
                    subject,
                    task,
                    class: OutcomeClass::from_outcome(&sample.judgement.outcome),
                    sample,
                });
            }
        }
        Selected {
            tasks: self.tasks,
            kept,
            counts: self.counts,
            seen: self.seen,
        }
    }
}

/// Deals the places of a cell out to its classes, one after the other, so that none takes all.
fn share(
    mut queues: Vec<(OutcomeClass, impl Iterator<Item = Rc<Sample>>)>,
    places: usize,
) -> Vec<(OutcomeClass, Rc<Sample>)> {
    let mut out = Vec::new();
    while out.len() < places {
        let before = out.len();
        for (class, queue) in &mut queues {
            if out.len() < places
                && let Some(sample) = queue.next()
            {
                out.push((*class, sample));
            }
        }
        if out.len() == before {
            break;
        }
    }
    out.sort_by_key(|(class, _)| *class);
    out
}

/// FNV-1a: a lot that is the same on every machine.
pub(crate) fn lot(task: &str, item: &str, trial: u32) -> u64 {
    let bytes = task
        .bytes()
        .chain([0])
        .chain(item.bytes())
        .chain(trial.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 29)
}
