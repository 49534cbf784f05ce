//! Which samples a report carries. A run may hold millions; a report holds a bounded, seeded
//! selection with the troublesome ones first, and counts all the rest.

use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::rc::Rc;

use mary_contract::{RunSummary, Sample};

use crate::{sample::OutcomeClass, subject::Subject};

struct Drawn {
    lot: u64,
    sample: Rc<Sample>,
}

impl PartialEq for Drawn {
    fn eq(&self, other: &Self) -> bool {
        self.lot == other.lot
    }
}
impl Eq for Drawn {}
impl PartialOrd for Drawn {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Drawn {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.lot.cmp(&other.lot)
    }
}

type Cell = (usize, usize);

/// Keeps what a report will show while all samples pass by once.
pub(crate) struct Selection<'a> {
    subjects: &'a [Subject],
    runs: HashMap<String, usize>,
    tasks: Vec<String>,
    per_cell: usize,
    by_class: BTreeMap<(Cell, OutcomeClass), BinaryHeap<Drawn>>,
    by_value: HashMap<(Cell, String), Option<Drawn>>,
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
        let mut tasks: Vec<String> = Vec::new();
        for (_, of_family) in crate::subject::families(runs) {
            tasks.extend(of_family);
        }
        let cells: usize = runs.iter().map(|r| r.rows.len()).sum::<usize>().max(1);
        let per_cell = (most / cells).clamp(3, 60);
        let mut selection = Self {
            subjects,
            runs: runs
                .iter()
                .enumerate()
                .map(|(i, r)| (r.manifest.id.clone(), i))
                .collect(),
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
                let rank = if class == OutcomeClass::Right {
                    lot / 2 + u64::MAX / 2
                } else {
                    lot / 2
                };
                if place.as_ref().is_none_or(|d| rank < d.lot) {
                    *place = Some(Drawn {
                        lot: rank,
                        sample: Rc::clone(&sample),
                    });
                }
            }
        }
        let heap = self.by_class.entry((cell, class)).or_default();
        if heap.len() < self.per_cell {
            heap.push(Drawn { lot, sample });
        } else if heap.peek().is_some_and(|worst| lot < worst.lot) {
            heap.pop();
            heap.push(Drawn { lot, sample });
        }
    }

    /// The selection: for each model and task the troublesome outcomes first, a third of the places
    /// for right ones, then one for each value of a breakdown.
    pub fn finish(self) -> Selected {
        let mut cells: BTreeMap<Cell, Vec<(OutcomeClass, Vec<Drawn>)>> = BTreeMap::new();
        for ((cell, class), heap) in self.by_class {
            cells
                .entry(cell)
                .or_default()
                .push((class, heap.into_sorted_vec()));
        }
        let mut kept = Vec::new();
        for (cell, classes) in cells {
            for (class, drawn) in share(classes, self.per_cell) {
                kept.push(Kept {
                    subject: cell.0,
                    task: cell.1,
                    class,
                    sample: drawn,
                });
            }
        }
        let mut extra: Vec<_> = self
            .by_value
            .into_iter()
            .filter_map(|(k, d)| Some((k, d?)))
            .collect();
        extra.sort_by(|a, b| a.0.cmp(&b.0));
        let mut have: std::collections::HashSet<_> =
            kept.iter().map(|k| Rc::as_ptr(&k.sample)).collect();
        for ((cell, _), drawn) in extra {
            if have.insert(Rc::as_ptr(&drawn.sample)) {
                kept.push(Kept {
                    subject: cell.0,
                    task: cell.1,
                    class: OutcomeClass::from_outcome(&drawn.sample.judgement.outcome),
                    sample: drawn.sample,
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
    classes: Vec<(OutcomeClass, Vec<Drawn>)>,
    places: usize,
) -> Vec<(OutcomeClass, Rc<Sample>)> {
    let mut queues: Vec<_> = classes
        .into_iter()
        .map(|(c, d)| (c, d.into_iter()))
        .collect();
    let mut out = Vec::new();
    while out.len() < places {
        let before = out.len();
        for (class, queue) in &mut queues {
            if out.len() < places
                && let Some(drawn) = queue.next()
            {
                out.push((*class, drawn.sample));
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
