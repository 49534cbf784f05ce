//! Pairs of models on the same items: a vision-language model and the text model it was built on, or a
//! model before and after tuning. Differences are taken item by item and broken down by a tag, never
//! from two averages; several pairs are pooled.

use std::collections::BTreeMap;

use mary_contract::{Outcome, Sample, Table};
use mary_stats::bootstrap::Bootstrap;
use mary_stats::paired::{self, PairedCounts};
use mary_stats::{Interval, LEVEL, StatsError, intervals, multiple};

/// Draws of the permutation test.
const DRAWS: usize = 10_000;

/// Which items are the same: task, item, trial.
type Key = (String, String, u32);

#[derive(Debug, Clone)]
struct Answered {
    score: Option<f64>,
    cluster: Option<String>,
    part: String,
}

/// Scores of several models, gathered sample by sample.
#[derive(Debug, Clone, Default)]
pub struct Paired {
    tag: String,
    measure: Option<String>,
    by_model: BTreeMap<String, BTreeMap<Key, Answered>>,
}

/// A pair by the models' names: the second is what the first was built on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The vision-language model, or the tuned one.
    pub first: String,
    /// The text model, or the untuned one.
    pub second: String,
}

/// One line: a pair (or all pairs pooled) on one part of the items.
#[derive(Debug, Clone, PartialEq)]
pub struct PairRow {
    /// `first − second`, or the pool.
    pub pair: String,
    /// Value of the tag, or `all`.
    pub part: String,
    /// Items scored on both sides.
    pub n: usize,
    /// Mean of the first.
    pub first: f64,
    /// Mean of the second.
    pub second: f64,
    /// First minus second, BCa bootstrap over clusters of items.
    pub difference: Option<Interval>,
    /// Items that only the first has right, and only the second.
    pub discordant: Option<(u64, u64)>,
    /// McNemar's mid-p, as if items were independent.
    pub mcnemar: Option<f64>,
    /// The p-value that is corrected: McNemar's where items are independent, else by flipping the signs
    /// of whole clusters, which is McNemar's test for clusters.
    pub p: f64,
    /// Corrected by Holm over all lines.
    pub p_holm: f64,
}

impl Paired {
    /// Broken down by this tag; scored by a measure where one is named, else by the verdict.
    pub fn new(tag: &str, measure: Option<&str>) -> Self {
        Self {
            tag: tag.to_owned(),
            measure: measure.map(str::to_owned),
            by_model: BTreeMap::new(),
        }
    }

    /// Takes a sample in.
    pub fn add(&mut self, sample: &Sample) {
        let judgement = &sample.judgement;
        let score = match (&self.measure, &judgement.outcome) {
            (Some(measure), _) => judgement.measures.get(measure).copied(),
            (None, Outcome::Scored(score)) => Some(*score),
            (None, _) => None,
        };
        let answered = Answered {
            score: score.filter(|s| s.is_finite()),
            cluster: sample.item.cluster.clone(),
            part: sample.item.tags.get(&self.tag).cloned().unwrap_or_default(),
        };
        let id = &sample.id;
        self.by_model
            .entry(id.model.clone())
            .or_default()
            .insert((id.task.clone(), id.item.clone(), id.trial), answered);
    }

    /// The models gathered.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.by_model.keys().map(String::as_str)
    }

    /// Compares each pair, by part and altogether, and all pairs pooled.
    pub fn compare(&self, pairs: &[Pair], seed: u64) -> Result<Vec<PairRow>, StatsError> {
        let mut rows = Vec::new();
        let mut pooled = Vec::new();
        for pair in pairs {
            let shared = self.shared(pair);
            let name = format!("{} − {}", pair.first, pair.second);
            rows.extend(lines(&name, &shared, seed)?);
            pooled.extend(shared);
        }
        if pairs.len() > 1 {
            let name = format!("{} pairs pooled", pairs.len());
            rows.extend(lines(&name, &pooled, seed)?);
        }
        let p: Vec<f64> = rows.iter().map(|r| r.p).collect();
        if !p.is_empty() {
            for (row, corrected) in rows.iter_mut().zip(multiple::holm(&p)?) {
                row.p_holm = corrected;
            }
        }
        Ok(rows)
    }

    fn shared(&self, pair: &Pair) -> Vec<Shared<'_>> {
        let (Some(first), Some(second)) = (
            self.by_model.get(&pair.first),
            self.by_model.get(&pair.second),
        ) else {
            return Vec::new();
        };
        let both = first.iter().filter_map(|(key, a)| {
            let b = second.get(key)?;
            Some(Shared {
                part: &a.part,
                cluster: a.cluster.as_deref(),
                first: a.score?,
                second: b.score?,
            })
        });
        both.collect()
    }
}

/// One item that both sides have a score for.
#[derive(Debug, Clone, Copy)]
struct Shared<'a> {
    part: &'a str,
    cluster: Option<&'a str>,
    first: f64,
    second: f64,
}

fn lines(pair: &str, shared: &[Shared<'_>], seed: u64) -> Result<Vec<PairRow>, StatsError> {
    let mut parts: Vec<&str> = shared
        .iter()
        .map(|s| s.part)
        .filter(|p| !p.is_empty())
        .collect();
    parts.sort_by_key(|part| (place(part), *part));
    parts.dedup();
    let mut rows = Vec::new();
    if !shared.is_empty() {
        rows.push(line(pair, "all", shared, seed)?);
    }
    for part in parts {
        let of: Vec<Shared<'_>> = shared.iter().filter(|s| s.part == part).copied().collect();
        rows.push(line(pair, part, &of, seed)?);
    }
    Ok(rows)
}

/// Subtasks stand in the paper's order, other values by name.
fn place(part: &str) -> usize {
    let mut subtasks = crate::Subtask::ALL.iter();
    subtasks
        .position(|s| s.code() == part)
        .unwrap_or(usize::MAX)
}

fn line(pair: &str, part: &str, shared: &[Shared<'_>], seed: u64) -> Result<PairRow, StatsError> {
    let first: Vec<f64> = shared.iter().map(|s| s.first).collect();
    let second: Vec<f64> = shared.iter().map(|s| s.second).collect();
    let clustered = shared.iter().all(|s| s.cluster.is_some());
    let ids = clustered
        .then(|| intervals::cluster_ids(shared.iter().map(|s| s.cluster.unwrap_or_default())));
    let differences: Vec<f64> = first.iter().zip(&second).map(|(a, b)| a - b).collect();
    let counts = PairedCounts::from_scores(&first, &second);
    let mcnemar = counts.map(|c| paired::mcnemar(c.only_first, c.only_second).mid_p);
    let p = match (mcnemar, &ids) {
        (Some(p), None) => p,
        _ => paired::permutation(&differences, ids.as_deref(), DRAWS, seed)?.p,
    };
    let settings = Bootstrap {
        seed,
        level: LEVEL,
        ..Bootstrap::default()
    };
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
    Ok(PairRow {
        pair: pair.to_owned(),
        part: part.to_owned(),
        n: shared.len(),
        first: mean(&first),
        second: mean(&second),
        // Two sides that never differ have no bootstrap interval; the difference is zero all the same.
        difference: paired::bootstrap_difference(&first, &second, ids.as_deref(), &settings).ok(),
        discordant: counts.map(|c| (c.only_first, c.only_second)),
        mcnemar,
        p,
        p_holm: p,
    })
}

/// The lines as a table.
pub fn pair_table(rows: &[PairRow], tag: &str) -> Table {
    let percent = |v: f64| format!("{:.2}", 100.0 * v);
    let p_value = |p: f64| {
        if p < 0.001 {
            "< 0.001".to_owned()
        } else {
            format!("{p:.3}")
        }
    };
    let cells = rows.iter().map(|r| {
        vec![
            r.pair.clone(),
            r.part.clone(),
            r.n.to_string(),
            percent(r.first),
            percent(r.second),
            format!("{:+.2}", 100.0 * (r.first - r.second)),
            r.difference.as_ref().map_or_else(
                || "–".to_owned(),
                |d| format!("[{:+.2}, {:+.2}]", 100.0 * d.low, 100.0 * d.high),
            ),
            r.discordant
                .map_or_else(|| "–".to_owned(), |(a, b)| format!("{a} : {b}")),
            r.mcnemar.map_or_else(|| "–".to_owned(), p_value),
            p_value(r.p),
            p_value(r.p_holm),
        ]
    });
    Table {
        id: "embodied-pairs".into(),
        title: "Pairs of models, item by item".into(),
        caption: "Scores in %, differences in percentage points on the items that both models have a score \
                  for, with BCa bootstrap intervals over questions. only first : only second counts the \
                  items that one has right and the other wrong; McNemar's mid-p takes items as independent; \
                  p flips the signs of whole questions (both orders of options together) and is the one \
                  that Holm corrects over all lines. Pooled: every pair's items, questions as clusters."
            .into(),
        head: [
            "pair", tag, "items", "first", "second", "difference", "95% interval",
            "only first : only second", "McNemar", "p", "p (Holm)",
        ]
        .map(String::from)
        .to_vec(),
        rows: cells.collect(),
        published: vec![],
    }
}

#[cfg(test)]
mod tests {
    use mary_contract::{Item, Judgement, SampleId, Target};

    use super::*;

    fn sample(model: &str, item: usize, score: f64) -> Sample {
        let (id, part) = (
            format!("{}-{}", item / 2, item % 2),
            ["V-S", "A"][item / 2 % 2],
        );
        let mut of = Item::new(&id, Target::Text(String::new()), vec![]).tagged("subtask", part);
        of.cluster = Some(format!("q{}", item / 2));
        Sample {
            id: SampleId {
                model: model.into(),
                task: "t".into(),
                item: id,
                trial: 0,
            },
            item: of,
            exchanges: vec![],
            judgement: Judgement::scored(score).measured("exact", 1.0 - score),
        }
    }

    fn pair() -> Pair {
        Pair {
            first: "sees".into(),
            second: "reads".into(),
        }
    }

    fn gathered(measure: Option<&str>) -> Paired {
        let mut paired = Paired::new("subtask", measure);
        for item in 0..200 {
            // They differ in a fifth of the symbol questions, both orders alike.
            let (symbols, fifth) = (item / 2 % 2 == 0, item / 2 % 10 == 0);
            let base = f64::from(u8::from(item % 6 < 3));
            let better = if symbols && fifth { 1.0 } else { base };
            paired.add(&sample("sees", item, better));
            paired.add(&sample(
                "reads",
                item,
                if symbols && fifth { 0.0 } else { base },
            ));
        }
        paired
    }

    #[test]
    fn a_difference_is_found_where_it_is_and_nowhere_else() {
        let rows = gathered(None).compare(&[pair()], 1).unwrap();
        let row = |part: &str| rows.iter().find(|r| r.part == part).unwrap();
        assert_eq!(
            rows.iter().map(|r| r.part.as_str()).collect::<Vec<_>>(),
            ["all", "V-S", "A"]
        );
        assert_eq!(row("V-S").discordant, Some((20, 0)));
        assert!((row("V-S").first - row("V-S").second - 0.2).abs() < 1e-12);
        let interval = row("V-S").difference.unwrap();
        assert!(interval.low > 0.0 && interval.high < 0.4, "{interval:?}");
        // Ten questions flipped as wholes: 2 of 1,024 patterns; McNemar thinks they are twenty.
        assert!((row("V-S").p - 2.0 / 1024.0).abs() < 1e-12);
        assert!(row("V-S").mcnemar.unwrap() < 1e-4);
        assert_eq!(row("A").p, 1.0);
        assert!(row("V-S").p_holm > row("V-S").p);
    }

    #[test]
    fn several_pairs_are_pooled_and_a_measure_can_be_named() {
        let rows = gathered(Some("exact"))
            .compare(&[pair(), pair()], 1)
            .unwrap();
        assert_eq!(
            rows.iter().filter(|r| r.pair == "2 pairs pooled").count(),
            3
        );
        assert!(
            rows[0].first < rows[0].second,
            "exact is the other way round here"
        );
        let table = pair_table(&rows, "subtask");
        assert!(table.rows.iter().all(|r| r.len() == table.head.len()));
    }
}
