//! From verdicts to numbers with intervals. Verdicts are sorted by a hash of item and trial before anything
//! is added up, so that a resumed run's summary is the same to the last bit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ahash::AHashMap;
use mary_contract::{
    Breakdown, ChanceTest, Estimate, FAMILIES_FIXED, Judgement, Measure, Metric, OVER_FLOOR,
    Outcome, RunManifest, RunSummary, START_MEASURE, Sample, SampleId, SummaryRow, Task, TaskCard,
    Usage,
};
use mary_stats::crossed::{Crossed, mean_crossed};
use mary_stats::{Interval, Moments, multiple, p_of_interval};
use rayon::prelude::*;

use crate::engine::constant::Answers;
use crate::engine::starts;

/// What is known of a finished sample when its questions are no longer at hand.
#[derive(Debug, Clone, Copy)]
pub struct Verdict<'a> {
    /// Which.
    pub id: &'a SampleId,
    /// Items that share a template or a question.
    pub cluster: Option<&'a str>,
    /// What results are broken down by.
    pub tags: &'a BTreeMap<String, String>,
    /// The verdict.
    pub judgement: &'a Judgement,
    /// What it took.
    pub usage: Usage,
}

impl<'a> From<&'a Sample> for Verdict<'a> {
    fn from(sample: &'a Sample) -> Self {
        Self {
            id: &sample.id,
            cluster: sample.item.cluster.as_deref(),
            tags: &sample.item.tags,
            judgement: &sample.judgement,
            usage: usage(sample),
        }
    }
}

/// Tokens and money of one sample.
pub fn usage(sample: &Sample) -> Usage {
    let mut total = Usage::default();
    let replies = sample.exchanges.iter().flat_map(|e| &e.reply);
    replies.for_each(|reply| total += reply.meta.usage);
    total
}

/// What was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Nothing: the items are all there are.
    Fixed,
    /// The families that this tag names, or items (or their clusters) one by one.
    Sampled(Option<&'static str>),
}

/// Values of a tag in a breakdown, at most: a column in which every row is different is no condition.
const MOST_VALUES: usize = 20_000;

/// One score: its place among the sorted samples, the number of its cluster, its value.
type Entry = (u64, u64, f64);

/// Families by a sample's place.
type Families = Vec<Option<u64>>;

/// Values of some samples, in two lists with samples by number, since there may be millions of them.
#[derive(Debug, Default, Clone)]
struct Values {
    of: Vec<u32>,
    values: Vec<f64>,
}

impl Values {
    fn push(&mut self, sample: u32, value: f64) {
        self.of.push(sample);
        self.values.push(value);
    }

    fn len(&self) -> usize {
        self.of.len()
    }

    fn each(&self) -> impl Iterator<Item = (u32, f64)> {
        self.of.iter().copied().zip(self.values.iter().copied())
    }

    fn entries(&self, places: &[(u64, u64)]) -> Vec<Entry> {
        let each = self.of.iter().zip(&self.values);
        each.filter_map(|(&sample, &value)| {
            let &(place, cluster) = places.get(sample as usize)?;
            Some((place, cluster, value))
        })
        .collect()
    }
}

#[derive(Debug, Default)]
struct Tally {
    samples: usize,
    ties: usize,
    answers: Answers,
    /// Of every sample that has a value, by what it is sorted and its cluster: hashes, then [numbers](Tally::rank).
    places: Vec<(u64, u64)>,
    scores: Values,
    unscored: BTreeMap<String, usize>,
    failed: BTreeMap<String, usize>,
    measures: BTreeMap<String, Values>,
    /// By tag and value, which of the scores.
    tags: BTreeMap<String, BTreeMap<String, Vec<u32>>>,
    /// Tags with more values than a breakdown has.
    too_many: BTreeSet<String>,
    clustered: bool,
    /// In billionths of a dollar, so that the order of adding up does not matter.
    nanodollars: Option<i128>,
    usage: Usage,
}

/// Collects verdicts of a run.
#[derive(Debug, Default)]
pub struct Summariser {
    tallies: BTreeMap<(String, String), Tally>,
}

impl Summariser {
    /// Takes a verdict in. Each sample is given once.
    pub fn add(&mut self, verdict: Verdict<'_>) {
        let key = (verdict.id.model.clone(), verdict.id.task.clone());
        let tally = self.tallies.entry(key).or_default();
        tally.samples += 1;
        tally.add_usage(verdict.usage);
        let place = hash(&[&verdict.id.item, &verdict.id.trial.to_string()]);
        // Trials of one item are not independent: they share a cluster.
        let cluster = hash(&[verdict.cluster.unwrap_or(&verdict.id.item)]);
        tally.clustered |= verdict.cluster.is_some() || verdict.id.trial > 0;
        let number = u32::try_from(tally.places.len()).unwrap_or(u32::MAX);
        let valued = matches!(verdict.judgement.outcome, Outcome::Scored(_))
            || !verdict.judgement.measures.is_empty();
        if valued {
            tally.places.push((place, cluster));
        }
        match &verdict.judgement.outcome {
            Outcome::Scored(score) => {
                let which = u32::try_from(tally.scores.len()).unwrap_or(u32::MAX);
                tally.scores.push(number, *score);
                tally.ties += usize::from(*score == 0.5);
                if let Some(answer) = &verdict.judgement.parsed {
                    tally.answers.add(answer, *score);
                }
                for (tag, value) in verdict.tags {
                    if tally.too_many.contains(tag) {
                        continue;
                    }
                    let values = tally.tags.entry(tag.clone()).or_default();
                    if values.len() >= MOST_VALUES && !values.contains_key(value) {
                        tally.tags.remove(tag);
                        tally.too_many.insert(tag.clone());
                        continue;
                    }
                    match values.get_mut(value) {
                        Some(scores) => scores.push(which),
                        None => {
                            values.insert(value.clone(), vec![which]);
                        }
                    }
                }
            }
            Outcome::Unscored(reason) => {
                *tally.unscored.entry(reason.name().to_owned()).or_default() += 1;
            }
            Outcome::Failed(failure) => {
                let kind = serde_json::to_value(failure.kind).ok();
                let kind = kind
                    .as_ref()
                    .and_then(|k| k.as_str())
                    .unwrap_or("internal")
                    .to_owned();
                *tally.failed.entry(kind).or_default() += 1;
            }
        }
        for (name, value) in &verdict.judgement.measures {
            let values = tally.measures.entry(name.clone()).or_default();
            values.push(number, *value);
        }
    }

    /// The summary. `overall` gives a task's metrics that are not means (see [`Task::overall`]).
    pub fn finish(
        self,
        mut manifest: RunManifest,
        planned: usize,
        tasks: &[Arc<dyn Task>],
        mut overall: impl FnMut(&str, &dyn Task) -> Vec<Measure>,
    ) -> RunSummary {
        let seen: usize = self.tallies.values().map(|t| t.samples).sum();
        let failed: usize = self.tallies.values().flat_map(|t| t.failed.values()).sum();
        let mut rows = Vec::new();
        let mut depending: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // Rows stand in the order of the manifest: models as named, tasks as listed.
        let mut tallies = self.tallies;
        for card in &manifest.models {
            let model = card.model.to_string();
            for task in tasks {
                let key = (model.clone(), task.card().id.to_string());
                let Some(tally) = tallies.remove(&key) else {
                    continue;
                };
                let mut more = overall(&model, task.as_ref());
                let run = manifest.tasks.iter().find(|t| t.id == key.1);
                let settings = run.map(|t| t.settings.clone()).unwrap_or_default();
                // One half is a tie only where a score is a share of right answers.
                let is_share = run.is_none_or(|t| t.metric() == Some(Metric::Share));
                for (measure, said) in is_share.then(|| tally.starts()).into_iter().flatten() {
                    more.push(measure);
                    let said = said.map(|said| format!("{}: {said}", key.1));
                    depending.entry(model.clone()).or_default().extend(said);
                }
                let unit = if task.fixed_items(&settings) {
                    Unit::Fixed
                } else {
                    Unit::Sampled(task.family_tag(&settings))
                };
                let row = tally.row(key.0, task.card(), unit, more);
                rows.push(SummaryRow {
                    human: task.human(&settings).map(|h| h.value),
                    ties: if is_share { row.ties } else { 0 },
                    constant_answer: row.constant_answer.filter(|_| is_share),
                    ..row
                });
            }
        }
        starts::remark(&mut manifest);
        for card in &mut manifest.models {
            card.remarks.extend(
                depending
                    .remove(&card.model.to_string())
                    .unwrap_or_default(),
            );
        }
        test_against_chance(&mut rows);
        RunSummary {
            manifest,
            rows,
            complete: seen - failed == planned,
        }
    }
}

impl Tally {
    /// Scores beside those after other start tokens, where both were asked for.
    fn starts(&self) -> Vec<(Measure, Option<String>)> {
        let others = self
            .measures
            .iter()
            .filter(|(name, _)| name.starts_with(START_MEASURE));
        let mut scores = None;
        others
            .filter_map(|(name, values)| {
                let scores = scores.get_or_insert_with(|| self.scores.each().collect());
                starts::paired(name, scores, values.each())
            })
            .collect()
    }

    fn add_usage(&mut self, usage: Usage) {
        if let Some(cost) = usage.cost {
            *self.nanodollars.get_or_insert(0) += (cost * 1e9).round() as i128;
        }
        self.usage += Usage {
            cost: None,
            ..usage
        };
    }

    fn of_tag<'t>(&'t self, scores: &'t [u32]) -> impl Iterator<Item = Entry> + 't {
        scores.iter().filter_map(|&which| {
            let sample = *self.scores.of.get(which as usize)?;
            let score = *self.scores.values.get(which as usize)?;
            let &(place, cluster) = self.places.get(sample as usize)?;
            Some((place, cluster, score))
        })
    }

    /// Sorts once for all that is added up: every hash becomes a number in the order of the sorted samples.
    fn rank(&mut self) {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_unstable_by_key(|&sample| self.places[sample]);
        let mut clusters: AHashMap<u64, u64> = AHashMap::new();
        for (rank, sample) in order.into_iter().enumerate() {
            let next = clusters.len() as u64;
            let cluster = *clusters.entry(self.places[sample].1).or_insert(next);
            self.places[sample] = (rank as u64, cluster);
        }
    }

    /// The number of every scored sample's family by its place; nothing unless each has one and there are two or more.
    fn families(&self, tag: Option<&'static str>) -> Option<Families> {
        let values = self.tags.get(tag?)?;
        let mut families = vec![None; self.places.len()];
        for (scores, number) in values.values().zip(0..) {
            self.of_tag(scores)
                .for_each(|e| families[e.0 as usize] = Some(number));
        }
        let known = families.iter().flatten().count();
        (values.len() > 1 && known == self.scores.len()).then_some(families)
    }

    fn row(mut self, model: String, card: &TaskCard, unit: Unit, more: Vec<Measure>) -> SummaryRow {
        self.rank();
        let clustered = self.clustered;
        let families = match unit {
            Unit::Fixed => None,
            Unit::Sampled(tag) => self.families(tag),
        };
        let by_family = |entries: Vec<Entry>| match &families {
            Some(families) if entries.iter().all(|e| families[e.0 as usize].is_some()) => {
                over_families(entries, families)
            }
            _ => account(entries, clustered).map(Account::OneWay),
        };
        let by_unit = |entries: Vec<Entry>| match unit {
            Unit::Fixed => range(&entries),
            Unit::Sampled(_) => by_family(entries)?.estimate(),
        };
        let entries = |values: &Values| values.entries(&self.places);
        let measure = |(name, values): (&String, &Values)| {
            Some(Measure::new(name.clone(), by_unit(entries(values))?))
        };
        let mut measures: Vec<Measure> = self.measures.par_iter().filter_map(measure).collect();
        let drawn = families.as_ref();
        let fixed = drawn.and_then(|_| over(entries(&self.scores), clustered));
        measures.extend(fixed.map(|e| Measure::new(FAMILIES_FIXED, e)));
        measures.extend(more);
        let of_value = |(value, scores): (&String, &Vec<u32>)| {
            Some((value.clone(), over(self.of_tag(scores), clustered)?))
        };
        let breakdowns = self.tags.par_iter().map(|(tag, values)| Breakdown {
            tag: tag.clone(),
            values: values.par_iter().filter_map(of_value).collect(),
        });
        // Of items that are all there are nothing is tested.
        let p = |values: &Values, null: f64| match unit {
            Unit::Fixed => None,
            Unit::Sampled(_) => by_family(entries(values))?.p_value(null),
        };
        let chance_test = card.chance.and_then(|chance| {
            let floor = self.measures.get(OVER_FLOOR);
            Some(ChanceTest {
                p: p(&self.scores, chance)?,
                p_floor: floor.and_then(|over| p(over, 0.0)),
                p_holm: 1.0,
                tasks: 1,
            })
        });
        SummaryRow {
            model,
            task: card.id.to_string(),
            scored: self.scores.len(),
            breakdowns: breakdowns.collect(),
            score: by_unit(entries(&self.scores)),
            chance: card.chance,
            human: None,
            samples: self.samples,
            ties: self.ties,
            constant_answer: self.answers.constant(),
            chance_test,
            unscored: self.unscored,
            failed: self.failed,
            measures,
            usage: Usage {
                cost: self.nanodollars.map(|n| n as f64 / 1e9),
                ..self.usage
            },
        }
    }
}

/// Tests every untested score against chance (those of earlier programs from the interval), with Holm's
/// correction over the tasks of each model: a false verdict among them in at most 5 % of runs.
pub fn test_against_chance(rows: &mut [SummaryRow]) {
    let mut claims: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
    for (place, row) in rows.iter_mut().enumerate() {
        let (Some(score), Some(chance)) = (&row.score, row.chance) else {
            row.chance_test = None;
            continue;
        };
        let from_interval =
            |e: &Estimate, null: f64| p_of_interval((e.value, e.low, e.high), e.n, &e.method, null);
        let over = row.measure(OVER_FLOOR);
        let found = row.chance_test.or_else(|| {
            Some(ChanceTest {
                p: from_interval(score, chance)?,
                p_floor: over.and_then(|over| from_interval(over, 0.0)),
                p_holm: 1.0,
                tasks: 1,
            })
        });
        if let Some(found) = found {
            // Above chance and above the floor, or below both: else there is no claim.
            let same_side = over.is_none_or(|o| o.value * (score.value - chance) > 0.0);
            let claim = match found.p_floor {
                _ if !same_side => 1.0,
                floor => found.p.max(floor.unwrap_or(0.0)),
            };
            let own = claims.entry(row.model.clone()).or_default();
            own.push((place, claim));
        }
        row.chance_test = found;
    }
    for own in claims.into_values() {
        let p: Vec<f64> = own.iter().map(|claim| claim.1).collect();
        let corrected = multiple::holm(&p).unwrap_or_else(|_| vec![1.0; p.len()]);
        for ((place, _), p_holm) in own.iter().zip(corrected) {
            if let Some(test) = rows.get_mut(*place).and_then(|r| r.chance_test.as_mut()) {
                test.p_holm = p_holm;
                test.tasks = own.len();
            }
        }
    }
}

/// Scores added up by what was sampled.
enum Account {
    /// Items, clusters or families.
    OneWay(Moments),
    /// Families, and clusters that are asked in several of them.
    TwoWay(Crossed),
}

impl Account {
    fn estimate(&self) -> Option<Estimate> {
        match self {
            Self::OneWay(scores) => estimate(scores),
            Self::TwoWay(both) => Some(to_estimate(&both.interval)),
        }
    }

    fn p_value(&self, null: f64) -> Option<f64> {
        match self {
            Self::OneWay(scores) => scores.p_value(null).ok(),
            Self::TwoWay(both) => Some(both.p_value(null)),
        }
    }
}

/// Scores over families, each with its clusters in it, or over both where clusters run across families.
fn over_families(mut entries: Vec<Entry>, families: &Families) -> Option<Account> {
    let family = |e: &Entry| families[e.0 as usize].unwrap_or(e.1);
    let mut within: AHashMap<u64, u64> = AHashMap::new();
    let across = |e: &Entry| *within.entry(e.1).or_insert(family(e)) != family(e);
    let shares = entries.iter().all(|e| (0.0..=1.0).contains(&e.2));
    if shares && entries.iter().any(across) {
        entries.sort_unstable_by_key(|e| e.0);
        let scores: Vec<f64> = entries.iter().map(|e| e.2).collect();
        let of_families: Vec<usize> = entries.iter().map(|e| family(e) as usize).collect();
        let clusters: Vec<usize> = entries.iter().map(|e| e.1 as usize).collect();
        let found = mean_crossed(&scores, &of_families, &clusters);
        return found.ok().map(Account::TwoWay);
    }
    let of = |e: Entry| (e.0, family(&e), e.2);
    account(entries.into_iter().map(of), true).map(Account::OneWay)
}

/// Scores added up, in any order, since [`Moments`] do not depend on it; `None` when one is no number.
fn account(entries: impl IntoIterator<Item = Entry>, clustered: bool) -> Option<Moments> {
    let mut moments = Moments::new();
    for (_, cluster, score) in entries {
        match clustered {
            true => moments.push_clustered(score, cluster as usize).ok()?,
            false => moments.push(score).ok()?,
        }
    }
    Some(moments)
}

/// Mean with its 95 % interval; `None` when there is nothing to average.
fn estimate(scores: &Moments) -> Option<Estimate> {
    Some(to_estimate(&scores.interval().ok()?))
}

fn to_estimate(i: &Interval) -> Estimate {
    Estimate::new(i.value, (i.low, i.high), i.n, i.method)
}

fn over(entries: impl IntoIterator<Item = Entry>, clustered: bool) -> Option<Estimate> {
    estimate(&account(entries, clustered)?)
}

/// Mean with the range of the items, which are all there are.
fn range(entries: &[Entry]) -> Option<Estimate> {
    let mut sorted: Vec<Entry> = entries.to_vec();
    sorted.sort_unstable_by_key(|e| e.0);
    let values = || sorted.iter().map(|e| e.2);
    let n = sorted.len();
    (n > 0).then(|| Estimate {
        value: values().sum::<f64>() / n as f64,
        low: values().fold(f64::INFINITY, f64::min),
        high: values().fold(f64::NEG_INFINITY, f64::max),
        n,
        method: "range".to_owned(),
    })
}

/// A hash of several words, none of which can run into the next.
pub(crate) fn digest(parts: &[&str]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize()
}

fn hash(parts: &[&str]) -> u64 {
    let mut first = [0u8; 8];
    first.copy_from_slice(&digest(parts).as_bytes()[..8]);
    u64::from_le_bytes(first)
}
