//! Paired comparison of two or more runs. Samples are matched by task, item and trial, and only where both
//! sides were asked the same question; people by task and item alone. What cannot be matched is said, never
//! silently left out. P-values are corrected over all tasks and pairs shown (Holm).

mod people;
mod table;

pub use table::table;

use std::collections::BTreeMap;

use mary_contract::{Sample, TaskRun};
use mary_stats::StatsError;
use serde::Serialize;

use crate::number::{ScoreScale, count};
use crate::paired::{Key, ScorePairs, Verdict, holm};

type Scores = BTreeMap<Key, Verdict>;

#[derive(Debug, Clone, Default)]
pub struct Side {
    /// For people: the model, with its run where that is needed.
    pub label: String,
    scores: BTreeMap<String, Scores>,
    asked: BTreeMap<String, TaskRun>,
    people: bool,
}

/// How the names of studies with people begin; every person is a trial of the item.
pub(crate) const PEOPLE: &str = "people/";

impl Side {
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    pub fn asked(label: impl Into<String>, tasks: &[TaskRun]) -> Self {
        let tasks = tasks.iter().map(|t| (t.id.clone(), t.clone()));
        Self {
            asked: tasks.collect(),
            ..Self::new(label)
        }
    }

    /// Takes a sample in; only its score, item and cluster are kept.
    pub fn add(&mut self, sample: &Sample) {
        let id = &sample.id;
        self.people |= id.model.starts_with(PEOPLE);
        let of_task = self.scores.entry(id.task.clone()).or_default();
        of_task.insert((id.item.clone(), id.trial), Verdict::from_sample(sample));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub task: String,
    pub first: String,
    pub second: String,
    pub first_mean: f64,
    pub second_mean: f64,
    /// First minus second, with its 95 % interval.
    pub difference: f64,
    /// Lower bound; absent where no interval can be given.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// How interval and p-value were made, or why there are none.
    pub method: String,
    /// Two-sided p-value of no difference; absent when nothing can be said.
    pub p: Option<f64>,
    /// The same, corrected by Holm over everything compared.
    pub p_holm: Option<f64>,
    /// Whether so few units differ that no p-value below 0.05 was possible.
    pub too_few_differ: bool,
    /// Percent for shares of right answers, plain for every other number.
    pub scale: ScoreScale,
    /// Items scored on both sides.
    pub paired: usize,
    /// Independent units among them: clusters, or items where these were asked several times.
    pub units: usize,
    pub only_first: usize,
    pub only_second: usize,
    /// Items both have, but unscored or failed on at least one.
    pub unscored: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Compared {
    pub comparisons: Vec<Comparison>,
    pub warnings: Vec<String>,
}

impl Compared {
    fn say_unshared(
        &mut self,
        task: &str,
        (first, second): (&Side, &Side),
        shared: usize,
        (only_first, only_second): (usize, usize),
    ) {
        if only_first + only_second > 0 {
            self.warnings.push(format!(
                "{task}: items do not match: {} are shared, {} only in {}, {} only in {}; only shared items are compared",
                count(shared), count(only_first), first.label, count(only_second), second.label
            ));
        }
    }

    fn say_unscored(&mut self, task: &str, (first, second): (&Side, &Side)) {
        self.warnings.push(format!(
            "{task}: no item is scored by both {} and {}",
            first.label, second.label
        ));
    }
}

/// Compares sides pairwise: every other with the first, or all with all.
pub fn comparison(sides: &[Side], all_pairs: bool) -> Result<Compared, StatsError> {
    comparison_across(sides, all_pairs, &[])
}

/// The same where the settings named may differ: the effect of shots, say, on the same items.
pub fn comparison_across(
    sides: &[Side],
    all_pairs: bool,
    across: &[String],
) -> Result<Compared, StatsError> {
    let mut out = Compared::default();
    let mut tasks: Vec<&String> = sides.iter().flat_map(|s| s.scores.keys()).collect();
    tasks.sort();
    tasks.dedup();
    for task in tasks {
        for (i, first) in sides.iter().enumerate() {
            for second in sides.iter().skip(i + 1) {
                if i > 0 && !all_pairs {
                    continue;
                }
                if same_question(task, first, second, across, &mut out) {
                    one_task(task, first, second, &mut out)?;
                }
            }
        }
    }
    let p: Vec<Option<f64>> = out.comparisons.iter().map(|c| c.p).collect();
    for (comparison, p_holm) in out.comparisons.iter_mut().zip(holm(&p)?) {
        comparison.p_holm = p_holm;
    }
    Ok(out)
}

/// Whether two sides were asked the same question and judged alike; says what differs if not.
fn same_question(
    task: &str,
    first: &Side,
    second: &Side,
    across: &[String],
    out: &mut Compared,
) -> bool {
    let (Some(a), Some(b)) = (first.asked.get(task), second.asked.get(task)) else {
        return true;
    };
    if !(first.scores.contains_key(task) && second.scores.contains_key(task)) {
        return true;
    }
    if a.is_imported() != b.is_imported() {
        let foreign = if a.is_imported() { first } else { second };
        out.warnings.push(format!(
            "{task}: with which settings {} was asked is not known, since another program made the answers",
            foreign.label
        ));
    }
    let differences = a.differences(b);
    let hyphens = |name: &str| name.replace('_', "-");
    let may_differ = |name: &str| across.iter().any(|n| hyphens(n) == hyphens(name));
    let (allowed, refused): (Vec<_>, Vec<_>) =
        differences.iter().partition(|d| may_differ(&d.setting));
    let said = |of: &[&mary_contract::Difference]| {
        let said: Vec<String> = of.iter().map(ToString::to_string).collect();
        said.join(", ")
    };
    if !refused.is_empty() {
        out.warnings.push(format!(
            "{task}: {} and {} were not asked the same question ({}) and are not compared",
            first.label,
            second.label,
            said(&refused)
        ));
        return false;
    }
    if !allowed.is_empty() {
        out.warnings.push(format!(
            "{task}: {} and {} differ in {}, as was asked for",
            first.label,
            second.label,
            said(&allowed)
        ));
    }
    true
}

fn one_task(task: &str, first: &Side, second: &Side, out: &mut Compared) -> Result<(), StatsError> {
    let (Some(a), Some(b)) = (first.scores.get(task), second.scores.get(task)) else {
        let (has, lacks) = match first.scores.contains_key(task) {
            true => (first, second),
            false => (second, first),
        };
        if has.scores.contains_key(task) {
            out.warnings.push(format!(
                "{task}: only {} has it, {} does not",
                has.label, lacks.label
            ));
        }
        return Ok(());
    };
    if first.people || second.people {
        return people::one_task(task, (first, a), (second, b), out);
    }
    let mut pairs = ScorePairs::default();
    let mut unscored = 0;
    // Trials of an item, and items of a cluster, are not independent.
    let trials = a.keys().any(|(_, trial)| *trial > 0);
    for (id, va) in a {
        let Some(vb) = b.get(id) else { continue };
        match (va.score, vb.score) {
            (Some(sa), Some(sb)) => pairs.push(sa, sb, va.unit(&id.0, trials)),
            _ => unscored += 1,
        }
    }
    let shared = pairs.len() + unscored;
    let (only_first, only_second) = (a.len() - shared, b.len() - shared);
    out.say_unshared(task, (first, second), shared, (only_first, only_second));
    if pairs.len() == 0 {
        out.say_unscored(task, (first, second));
        return Ok(());
    }
    let asked = first.asked.get(task).or(second.asked.get(task));
    let scale = pairs.scale(asked.and_then(TaskRun::metric));
    let found = pairs.difference(scale)?;
    out.comparisons.push(Comparison {
        task: task.to_owned(),
        first: first.label.clone(),
        second: second.label.clone(),
        first_mean: found.first,
        second_mean: found.second,
        difference: found.first - found.second,
        low: found.bounds.map(|b| b.0),
        high: found.bounds.map(|b| b.1),
        method: found.method,
        p: found.p,
        p_holm: None,
        too_few_differ: found.too_few_differ,
        scale,
        paired: found.n,
        units: found.units,
        only_first,
        only_second,
        unscored,
    });
    Ok(())
}
