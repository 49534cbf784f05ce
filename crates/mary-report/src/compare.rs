//! Paired comparison of two or more runs: the same items, difference by difference.
//!
//! Samples are matched by task, item and trial. What cannot be matched is counted and said, never
//! silently left out; a difference carries its interval, and p-values are corrected over all tasks
//! and pairs shown (Holm).

use std::collections::BTreeMap;

use mary_contract::{Outcome, Sample, Table};
use mary_stats::{LEVEL, StatsError, intervals, likelihood, multiple, paired};
use serde::Serialize;

use crate::number::{ScoreScale, count, p_value};

/// Sign patterns drawn where a permutation test cannot go through all.
const DRAWS: usize = 10_000;

/// Scores of one side (a model in a run), gathered sample by sample.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// For people: the model, with its run where that is needed.
    pub label: String,
    scores: BTreeMap<String, BTreeMap<(String, u32), Verdict>>,
}

#[derive(Debug, Clone)]
struct Verdict {
    /// `None` when unscored or failed.
    score: Option<f64>,
    cluster: Option<String>,
}

impl Side {
    /// A side with nothing in it yet.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scores: BTreeMap::new(),
        }
    }

    /// Takes a sample in; only its score, item and cluster are kept.
    pub fn add(&mut self, sample: &Sample) {
        let score = match sample.judgement.outcome {
            Outcome::Scored(score) if score.is_finite() => Some(score),
            _ => None,
        };
        let verdict = Verdict {
            score,
            cluster: sample.item.cluster.clone(),
        };
        self.scores
            .entry(sample.id.task.clone())
            .or_default()
            .insert((sample.id.item.clone(), sample.id.trial), verdict);
    }
}

/// One task, two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// `family/task`.
    pub task: String,
    /// Label of the first side.
    pub first: String,
    /// Label of the second side.
    pub second: String,
    /// Mean score of the first on the paired items.
    pub first_mean: f64,
    /// Mean score of the second on the paired items.
    pub second_mean: f64,
    /// First minus second, with its 95 % interval.
    pub difference: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// How interval and p-value were made.
    pub method: String,
    /// Two-sided p-value of no difference; absent when nothing can be said.
    pub p: Option<f64>,
    /// The same, corrected by Holm over everything compared.
    pub p_holm: Option<f64>,
    /// Percent where every score lies between 0 and 1, else plain.
    pub scale: ScoreScale,
    /// Items scored on both sides.
    pub paired: usize,
    /// Items that only the first side has.
    pub only_first: usize,
    /// Items that only the second side has.
    pub only_second: usize,
    /// Items both have, but unscored or failed on at least one.
    pub unscored: usize,
}

/// All comparisons of some sides, and what could not be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Compared {
    /// By task, then by pair.
    pub comparisons: Vec<Comparison>,
    /// Warnings a reader must see: tasks of one side only, items that do not match.
    pub warnings: Vec<String>,
}

/// Compares sides pairwise: every other with the first, or all with all.
pub fn comparison(sides: &[Side], all_pairs: bool, seed: u64) -> Result<Compared, StatsError> {
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
                one_task(task, first, second, seed, &mut out)?;
            }
        }
    }
    let known: Vec<f64> = out.comparisons.iter().filter_map(|c| c.p).collect();
    if !known.is_empty() {
        let mut corrected = multiple::holm(&known)?.into_iter();
        for comparison in &mut out.comparisons {
            if comparison.p.is_some() {
                comparison.p_holm = corrected.next();
            }
        }
    }
    Ok(out)
}

fn one_task(
    task: &str,
    first: &Side,
    second: &Side,
    seed: u64,
    out: &mut Compared,
) -> Result<(), StatsError> {
    let (Some(a), Some(b)) = (first.scores.get(task), second.scores.get(task)) else {
        let (has, lacks) = if first.scores.contains_key(task) {
            (first, second)
        } else {
            (second, first)
        };
        if has.scores.contains_key(task) {
            out.warnings.push(format!(
                "{task}: only {} has it, {} does not",
                has.label, lacks.label
            ));
        }
        return Ok(());
    };
    let (mut x, mut y, mut clusters) = (vec![], vec![], vec![]);
    let mut unscored = 0;
    for (id, va) in a {
        let Some(vb) = b.get(id) else { continue };
        match (va.score, vb.score) {
            (Some(sa), Some(sb)) => {
                x.push(sa);
                y.push(sb);
                clusters.push(va.cluster.clone());
            }
            _ => unscored += 1,
        }
    }
    let shared = x.len() + unscored;
    let (only_first, only_second) = (a.len() - shared, b.len() - shared);
    if only_first + only_second > 0 {
        out.warnings.push(format!(
            "{task}: items do not match: {} are shared, {} only in {}, {} only in {}; only shared items are compared",
            count(shared), count(only_first), first.label, count(only_second), second.label
        ));
    }
    if x.is_empty() {
        out.warnings.push(format!(
            "{task}: no item is scored by both {} and {}",
            first.label, second.label
        ));
        return Ok(());
    }
    let tested = test(&x, &y, &clusters, seed)?;
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    out.comparisons.push(Comparison {
        task: task.to_owned(),
        first: first.label.clone(),
        second: second.label.clone(),
        first_mean: mean(&x),
        second_mean: mean(&y),
        difference: mean(&x) - mean(&y),
        low: tested.low,
        high: tested.high,
        method: tested.method,
        p: tested.p,
        p_holm: None,
        scale: if x.iter().chain(&y).all(|s| (0.0..=1.0).contains(s)) {
            ScoreScale::Proportion
        } else {
            ScoreScale::Plain
        },
        paired: x.len(),
        only_first,
        only_second,
        unscored,
    });
    Ok(())
}

struct Tested {
    low: f64,
    high: f64,
    p: Option<f64>,
    method: String,
}

/// Yes/no verdicts on independent items: the likelihood interval and McNemar's mid-p. Anything else:
/// a t interval of the differences (clustered where items are) and a permutation test.
fn test(
    x: &[f64],
    y: &[f64],
    clusters: &[Option<String>],
    seed: u64,
) -> Result<Tested, StatsError> {
    let clustered = clusters.iter().all(Option::is_some);
    if !clustered && let Some(counts) = paired::PairedCounts::from_scores(x, y) {
        let interval = likelihood::difference_paired(&counts, LEVEL)?;
        let test = paired::mcnemar(counts.only_first, counts.only_second);
        return Ok(Tested {
            low: interval.low,
            high: interval.high,
            p: Some(test.mid_p),
            method: "profile likelihood, McNemar mid-p".into(),
        });
    }
    let differences: Vec<f64> = x.iter().zip(y).map(|(a, b)| a - b).collect();
    let ids = clustered
        .then(|| intervals::cluster_ids(clusters.iter().map(|c| c.as_deref().unwrap_or_default())));
    let interval = match &ids {
        Some(ids) => intervals::mean_clustered_t(&differences, ids, LEVEL),
        None => intervals::mean_t(&differences, LEVEL),
    };
    // Differences that are all alike, or a single one, have no standard error: said by a missing p.
    let Ok(interval) = interval else {
        let same = differences.first().copied().unwrap_or(0.0);
        return Ok(Tested {
            low: same,
            high: same,
            p: None,
            method: "no spread".into(),
        });
    };
    let permuted = paired::permutation(&differences, ids.as_deref(), DRAWS, seed)?;
    Ok(Tested {
        low: interval.low,
        high: interval.high,
        p: Some(permuted.p),
        method: format!("{}, permutation", interval.method),
    })
}

/// The comparisons as a table for people. A single pair is named in the heading, several in columns.
pub fn table(compared: &Compared) -> Table {
    let mut pairs: Vec<(&str, &str)> = compared
        .comparisons
        .iter()
        .map(|c| (c.first.as_str(), c.second.as_str()))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let title = match pairs.as_slice() {
        [(first, second)] => format!("Paired comparison of {first} (first) with {second} (second)"),
        _ => "Paired comparison".into(),
    };
    let mut head = vec!["task"];
    if pairs.len() > 1 {
        head.extend(["first", "second"]);
    }
    head.extend(["first score", "second score", "difference", "95% interval"]);
    head.extend(["p", "p (Holm)", "verdict", "paired", "unpaired"]);
    Table {
        id: "comparison".into(),
        title,
        caption: caption(compared),
        head: head.into_iter().map(str::to_owned).collect(),
        rows: compared
            .comparisons
            .iter()
            .map(|c| row(c, pairs.len() > 1))
            .collect(),
        published: vec![],
    }
}

fn row(c: &Comparison, named: bool) -> Vec<String> {
    let signed = |v: f64| match c.scale {
        ScoreScale::Proportion => format!("{:+.1}", v * 100.0),
        ScoreScale::Plain => format!("{v:+.3}"),
    };
    let mut row = vec![c.task.clone()];
    if named {
        row.extend([c.first.clone(), c.second.clone()]);
    }
    row.extend([
        c.scale.value(c.first_mean),
        c.scale.value(c.second_mean),
        signed(c.difference),
        format!("[{}, {}]", signed(c.low), signed(c.high)),
        c.p.map_or("–".into(), p_value),
        c.p_holm.map_or("–".into(), p_value),
        verdict(c).to_owned(),
        count(c.paired),
        count(c.only_first + c.only_second + c.unscored),
    ]);
    row
}

fn caption(compared: &Compared) -> String {
    let mut methods: Vec<&str> = compared
        .comparisons
        .iter()
        .map(|c| c.method.as_str())
        .collect();
    methods.sort_unstable();
    methods.dedup();
    let mut caption = format!(
        "Differences are first minus second on the same items (percentage points for shares), with 95 % intervals ({}). p is two-sided; p (Holm) is corrected over all {} comparisons. Unpaired counts items missing or unscored on either side.",
        methods.join("; "),
        compared.comparisons.len()
    );
    for warning in &compared.warnings {
        caption.push_str(" Note: ");
        caption.push_str(warning);
        caption.push('.');
    }
    caption
}

fn verdict(c: &Comparison) -> &'static str {
    match c.p_holm {
        Some(p) if p < 0.05 && c.difference > 0.0 => "first better",
        Some(p) if p < 0.05 => "second better",
        Some(_) => "no difference shown",
        None => "",
    }
}
