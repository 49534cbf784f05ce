//! What can be guessed without understanding: a learner that sees only the surface of the grids (size,
//! colours, how many cells changed) and has to choose among the four options.
//!
//! It learns from fresh instances of other seeds how each concept's surface usually is, and takes the
//! option under which this surface is the most likely. At 25 % the surface tells nothing. The four
//! instances of a block are drawn to share one surface (`matching`), so that such a learner sees four
//! times the same; what it still reaches is what could not be matched. A strong learner beside it, a forest
//! on all counts at once, shows how much that is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{DataSource, SurfaceFinding, TaskError, TaskSettings};
use mary_stats::{distributions, intervals};

use crate::counting::{CountingForest, Sees};
use crate::grid::Pair;
use crate::grid_task::GRID_TASKS;
use crate::instances::{Instance, Level, instances, planned};
use crate::likeness::Counts;
use crate::setup::{InstanceSource, PhysicoSettings};

/// What a feature has to do with the concept. One that the concept decides in part (a vessel is full, a beam of
/// light adds cells and a fall does not) cannot be at chance without the concept ceasing to be itself: what is
/// left of it is stated, not called a shortcut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    Free,
    /// The concept decides it in part; fresh instances are matched so that it tells nothing.
    Matched,
    /// The concept decides it in part, and matching reaches only so far.
    Kept,
}

impl Tie {
    /// Whether what a learner makes of it comes from the concept.
    fn implied(self, source: InstanceSource) -> bool {
        match self {
            Self::Free => false,
            Self::Matched => source != InstanceSource::Fresh,
            Self::Kept => true,
        }
    }
}

type Of = fn(&[Pair]) -> Vec<usize>;

/// A surface feature: name, tie to the concept, values (coarse numbers).
type Feature = (&'static str, Tie, Of);

/// What each feature sees, in words.
static SEES: LazyLock<BTreeMap<&str, &str>> =
    LazyLock::new(|| serde_json::from_str(include_str!("surface.json")).unwrap_or_default());

const FEATURES: [Feature; 8] = [
    ("grid_size", Tie::Free, size),
    ("main_colour", Tie::Free, main_colour),
    ("colours_used", Tie::Matched, colours),
    ("cells_filled", Tie::Kept, filled),
    ("cells_changed", Tie::Matched, changed),
    ("size_changed", Tie::Matched, size_changed),
    ("colours_changed", Tie::Matched, colours_changed),
    // How much a world's scenes vary is the world's doing, not the concept's.
    ("cells_vary", Tie::Matched, varying),
];

/// What is not on the surface of a grid but in what became of it: for comparison.
const GAINED: Feature = ("cells_gained", Tie::Kept, gained);

fn mean(pairs: &[Pair], of: impl Fn(&Pair) -> usize) -> f64 {
    pairs.iter().map(|p| of(p) as f64).sum::<f64>() / pairs.len().max(1) as f64
}

/// Steps of a fifth: finer differences are noise.
fn band(value: f64) -> usize {
    (value.max(0.0).ln_1p() / 1.2_f64.ln()).round() as usize
}

fn size(pairs: &[Pair]) -> Vec<usize> {
    vec![
        mean(pairs, |p| p.input.rows()).round() as usize,
        mean(pairs, |p| p.input.cols()).round() as usize,
    ]
}

fn main_colour(pairs: &[Pair]) -> Vec<usize> {
    let total = |c: u8| pairs.iter().map(|p| p.input.count(c)).sum::<usize>();
    let most = (1u8..10).max_by_key(|&c| total(c)).unwrap_or(0);
    vec![usize::from(most)]
}

fn colours(pairs: &[Pair]) -> Vec<usize> {
    vec![mean(pairs, |p| p.input.colours()).round() as usize]
}

fn filled(pairs: &[Pair]) -> Vec<usize> {
    vec![band(mean(pairs, |p| Counts::from_pair(p).filled))]
}

fn changed(pairs: &[Pair]) -> Vec<usize> {
    vec![band(mean(pairs, Pair::changed))]
}

fn varying(pairs: &[Pair]) -> Vec<usize> {
    let spread = |of: &dyn Fn(&Pair) -> usize| {
        let least = pairs.iter().map(of).min().unwrap_or(0);
        band((pairs.iter().map(of).max().unwrap_or(0) - least) as f64)
    };
    let filled = spread(&|p| Counts::from_pair(p).filled);
    vec![spread(&|p| p.changed()), filled]
}

fn gained(pairs: &[Pair]) -> Vec<usize> {
    let cells = |p: &Pair| (p.output.rows() * p.output.cols()) as f64;
    let full = |p: &Pair| cells(p) - p.output.count(p.background()) as f64;
    let more = |p: &Pair| full(p) - Counts::from_pair(p).filled as f64;
    let mean = pairs.iter().map(more).sum::<f64>() / pairs.len().max(1) as f64;
    vec![usize::from(mean >= 0.0), band(mean.abs())]
}

fn size_changed(pairs: &[Pair]) -> Vec<usize> {
    let differs = |p: &Pair| {
        usize::from((p.input.rows(), p.input.cols()) != (p.output.rows(), p.output.cols()))
    };
    vec![pairs.iter().map(differs).sum()]
}

fn colours_changed(pairs: &[Pair]) -> Vec<usize> {
    let turned = |p: &Pair| Counts::from_pair(p).come + Counts::from_pair(p).go;
    vec![mean(pairs, turned).round() as usize]
}

/// How often each value of each part of a feature came with each concept.
#[derive(Default)]
struct Learnt {
    counts: BTreeMap<(String, usize, usize), f64>,
    totals: BTreeMap<String, f64>,
    values: BTreeMap<usize, std::collections::BTreeSet<usize>>,
}

impl Learnt {
    fn add(&mut self, concept: &str, features: &[usize]) {
        *self.totals.entry(concept.to_owned()).or_default() += 1.0;
        for (part, &value) in features.iter().enumerate() {
            let key = (concept.to_owned(), part, value);
            *self.counts.entry(key).or_default() += 1.0;
            self.values.entry(part).or_default().insert(value);
        }
    }

    /// Log-likelihood of features under a concept, with half a count added everywhere. With `own`,
    /// they are one of the concept's lessons and do not count.
    fn likelihood(&self, concept: &str, features: &[usize], own: bool) -> f64 {
        let own = f64::from(u8::from(own));
        let total = self.totals.get(concept).copied().unwrap_or(0.0) - own;
        let one = |(part, value): (usize, &usize)| {
            let kinds = self.values.get(&part).map_or(1, |v| v.len() + 1) as f64;
            let key = (concept.to_owned(), part, *value);
            let count = self.counts.get(&key).copied().unwrap_or(0.0) - own;
            ((count + 0.5) / (total + 0.5 * kinds)).ln()
        };
        features.iter().enumerate().map(one).sum()
    }
}

/// Instances of each concept from which the learner learns.
const LESSONS: usize = 12;
/// Trees of the strong learner.
const TREES: usize = 100;
const TRAIN: u64 = 0x6c65_7373_6f6e;

/// What surface features reach on the instances of a high-level task with these settings; none on
/// other tasks.
pub fn surface(
    task: &str,
    settings: &TaskSettings,
    data: &dyn DataSource,
) -> Result<Vec<SurfaceFinding>, TaskError> {
    let Some(&(task, level)) = GRID_TASKS.iter().find(|(t, _)| t.card.id == task) else {
        return Ok(Vec::new());
    };
    let setup = task.setup(settings)?;
    let asked: Vec<Instance> = instances(level, &setup, data)?.collect::<Result<_, _>>()?;
    let other = match setup.source {
        InstanceSource::Fresh => lessons(level, &setup)?,
        _ => vec![],
    };
    // Of loaded grids there are no others: each is then left out of its own lesson.
    let lessons = if other.is_empty() { &asked } else { &other };
    let mut found = Vec::with_capacity(FEATURES.len() + 2);
    for feature in FEATURES {
        found.push(reached(feature, setup.source, lessons, &asked)?);
    }
    let all = |i: &Instance| FEATURES.iter().flat_map(|f| f.2(&i.pairs)).collect();
    let named = ("all_surface", true);
    found.push(summary(named, &scores(&all, lessons, &asked), &asked)?);
    let named = ("forest_counts", true);
    found.push(summary(named, &forest(lessons, &asked), &asked)?);
    found.push(reached(GAINED, setup.source, lessons, &asked)?);
    Ok(found)
}

fn lessons(level: Level, setup: &PhysicoSettings) -> Result<Vec<Instance>, TaskError> {
    let planned = planned(level, setup.seed ^ TRAIN, LESSONS)?;
    planned.iter().map(|p| p.draw()).collect()
}

fn reached(
    (feature, tie, of): Feature,
    source: InstanceSource,
    lessons: &[Instance],
    asked: &[Instance],
) -> Result<SurfaceFinding, TaskError> {
    let scores = scores(&|i| of(&i.pairs), lessons, asked);
    summary((feature, tie.implied(source)), &scores, asked)
}

/// What the learner scores on each instance; ties are shared.
fn scores(
    of: &dyn Fn(&Instance) -> Vec<usize>,
    lessons: &[Instance],
    asked: &[Instance],
) -> Vec<f64> {
    let mut learnt = Learnt::default();
    for lesson in lessons {
        learnt.add(&lesson.concept, &of(lesson));
    }
    let own = std::ptr::eq(lessons, asked);
    let one = |instance: &Instance| {
        let features = of(instance);
        let likelihoods: Vec<f64> = instance
            .options
            .iter()
            .map(|o| learnt.likelihood(o, &features, own && *o == instance.concept))
            .collect();
        let most = likelihoods.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let winners = likelihoods.iter().filter(|l| **l == most).count().max(1) as f64;
        let right = likelihoods.get(instance.correct) == Some(&most);
        if right { 1.0 / winners } else { 0.0 }
    };
    asked.iter().map(one).collect()
}

/// What a strong learner scores on each instance: the same lessons, all counts at once. Of loaded grids it
/// learns on four fifths, whole blocks, and is asked about the rest.
fn forest(lessons: &[Instance], asked: &[Instance]) -> Vec<f64> {
    let learn = |some: Vec<&Instance>| CountingForest::learn(some, Sees::Counts, TREES);
    if !std::ptr::eq(lessons, asked) {
        let forest = learn(lessons.iter().collect());
        return asked.iter().map(|i| forest.credit(i)).collect();
    }
    let folds = folds(asked);
    let forests = [0, 1, 2, 3, 4].map(|fold| {
        let kept = lessons.iter().zip(&folds).filter(|(_, f)| **f != fold);
        learn(kept.map(|(i, _)| i).collect())
    });
    let one = |(i, fold): (&Instance, &usize)| forests.get(*fold).map_or(0.0, |f| f.credit(i));
    asked.iter().zip(&folds).map(one).collect()
}

fn folds(asked: &[Instance]) -> Vec<usize> {
    let blocks = intervals::cluster_ids(clusters(asked).iter().map(String::as_str));
    blocks.iter().map(|block| block % 5).collect()
}

fn clusters(asked: &[Instance]) -> Vec<String> {
    let cluster = |(index, i): (usize, &Instance)| i.block.clone().unwrap_or(index.to_string());
    asked.iter().enumerate().map(cluster).collect()
}

fn summary(
    (feature, implied): (&'static str, bool),
    scores: &[f64],
    asked: &[Instance],
) -> Result<SurfaceFinding, TaskError> {
    let ids = intervals::cluster_ids(clusters(asked).iter().map(String::as_str));
    let accuracy = mary_stats::score_interval(scores, Some(&ids))
        .map_err(|e| TaskError::Generator(format!("physico: surface audit: {e}")))?;
    let chance: f64 = 0.25;
    let spread = (chance * (1.0 - chance) / scores.len().max(1) as f64).sqrt();
    Ok(SurfaceFinding {
        feature,
        sees: SEES.get(feature).copied().unwrap_or_default(),
        accuracy: accuracy.value,
        low: accuracy.low,
        high: accuracy.high,
        n: accuracy.n,
        method: accuracy.method,
        chance,
        p: 1.0 - distributions::normal_cdf((accuracy.value - chance) / spread),
        implied,
    })
}

#[cfg(test)]
#[path = "surface_tests.rs"]
mod tests;
