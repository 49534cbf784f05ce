//! Pairs of models on the same items: a vision-language model and the text model it was built on, or a
//! model before and after tuning. Differences are taken item by item and broken down by a tag, never
//! from two averages; several pairs are pooled, and an item that two pairs share stays one unit.
//!
//! Items are set side by side within one question only ([`mary_contract::Conditions`]); what just one
//! model of a pair was asked is named.

use std::collections::BTreeMap;

use mary_contract::{Cell, Conditions, Metric, Sample, Table, TaskRun, question_names};
use mary_stats::StatsError;
use mary_stats::difference::Difference;

use crate::DECLARED;
use crate::number::{ScoreScale, p_value};
use crate::paired::{Key, ScorePairs, Verdict, counted_units, holm, scale_of};

#[derive(Debug, Clone)]
struct Answered {
    verdict: Verdict,
    part: String,
}

#[derive(Debug, Clone, Default)]
pub struct Paired {
    tag: String,
    measure: Option<String>,
    order: Vec<String>,
    asked: BTreeMap<Conditions, Option<Metric>>,
    gathered: BTreeMap<(Conditions, String), BTreeMap<Key, Answered>>,
}

/// A pair by the models' names: the second is what the first was built on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    pub first: String,
    pub second: String,
}

/// Instruction-tuned models with their bases, by name: `X-Instruct`, `X-Chat` or `X-it` with `X`, `X-pt` or `X-base`.
pub fn tuned_pairs(models: &[String]) -> Vec<Pair> {
    const TUNED: [&str; 3] = ["instruct", "chat", "it"];
    const BASE: [&str; 2] = ["pt", "base"];
    let read = |model: &String| {
        let lower = model.to_lowercase();
        let (place, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let words: Vec<&str> = name.split(['-', '_']).collect();
        let marked = |marks: &[&str]| words.iter().any(|w| marks.contains(w));
        let kept = words
            .iter()
            .filter(|w| !TUNED.contains(w) && !BASE.contains(w));
        let kept: Vec<&str> = kept.copied().collect();
        (format!("{place}/{}", kept.join("-")), marked(&TUNED))
    };
    let all: Vec<(String, bool)> = models.iter().map(read).collect();
    let mut pairs = Vec::new();
    for (first, (name, tuned)) in models.iter().zip(&all) {
        let base = |(_, other): &(&String, &(String, bool))| other.0 == *name && !other.1;
        if let (true, Some((second, _))) = (*tuned, models.iter().zip(&all).find(base)) {
            pairs.push(Pair {
                first: first.clone(),
                second: second.clone(),
            });
        }
    }
    pairs
}

/// One line: a pair (or all pairs pooled) on one part of the items of one question.
#[derive(Debug, Clone, PartialEq)]
pub struct PairRow {
    /// `first − second`, or the pool; with the question, where there are several.
    pub pair: String,
    /// Value of the tag, or `all`.
    pub part: String,
    pub difference: Difference,
    pub scale: ScoreScale,
    /// Corrected by Holm over all lines.
    pub p_holm: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairLines {
    pub rows: Vec<PairRow>,
    /// Questions that only one model of a pair was asked.
    pub left_out: Vec<String>,
}

impl Paired {
    /// Broken down by this tag; scored by a measure where one is named, else by the verdict.
    pub fn new(tag: &str, measure: Option<&str>) -> Self {
        Self {
            tag: tag.to_owned(),
            measure: measure.map(str::to_owned),
            ..Self::default()
        }
    }

    /// The order in which values of the tag stand; others follow by name.
    #[must_use]
    pub fn ordered(mut self, values: impl IntoIterator<Item = String>) -> Self {
        self.order = values.into_iter().collect();
        self
    }

    pub fn add(&mut self, run: &TaskRun, sample: &Sample) {
        let mut verdict = Verdict::from_sample(sample);
        if let Some(measure) = &self.measure {
            let found = sample.judgement.measures.get(measure).copied();
            verdict.score = found.filter(|s| s.is_finite());
        }
        let answered = Answered {
            verdict,
            part: sample.item.tags.get(&self.tag).cloned().unwrap_or_default(),
        };
        let conditions = run.conditions();
        let metric = run.metric();
        self.asked.entry(conditions.clone()).or_insert(metric);
        let id = &sample.id;
        self.gathered
            .entry((conditions, id.model.clone()))
            .or_default()
            .insert((id.item.clone(), id.trial), answered);
    }

    pub fn models(&self) -> Vec<String> {
        let mut models: Vec<String> = self.gathered.keys().map(|(_, m)| m.clone()).collect();
        models.sort();
        models.dedup();
        models
    }

    /// Compares each pair, by part and altogether, and all pairs pooled; question by question.
    pub fn compare(&self, pairs: &[Pair]) -> Result<PairLines, StatsError> {
        let mut lines = PairLines::default();
        let questions: Vec<&Conditions> = self.asked.keys().collect();
        // Added to a pair's name, where there are several questions.
        let names: Vec<String> = question_names(&questions)
            .into_iter()
            .map(|name| {
                if name.is_empty() {
                    name
                } else {
                    format!(", {name}")
                }
            })
            .collect();
        for pair in pairs {
            self.say_left_out(pair, &questions, &names, &mut lines.left_out);
        }
        for (conditions, name) in questions.iter().zip(&names) {
            let mut pooled = Vec::new();
            for pair in pairs {
                let shared = self.shared(conditions, pair);
                let title = format!("{} − {}{name}", pair.first, pair.second);
                let rows = self.lines(conditions, &title, &shared, false)?;
                lines.rows.extend(rows);
                pooled.extend(shared);
            }
            if pairs.len() > 1 {
                let title = format!("{} pairs pooled{name}", pairs.len());
                let rows = self.lines(conditions, &title, &pooled, true)?;
                lines.rows.extend(rows);
            }
        }
        let p: Vec<Option<f64>> = lines.rows.iter().map(|r| r.difference.p).collect();
        for (row, p_holm) in lines.rows.iter_mut().zip(holm(&p)?) {
            row.p_holm = p_holm;
        }
        Ok(lines)
    }

    fn say_left_out(
        &self,
        pair: &Pair,
        questions: &[&Conditions],
        names: &[String],
        left_out: &mut Vec<String>,
    ) {
        for (conditions, name) in questions.iter().zip(names) {
            let has = |model: &String| {
                self.gathered
                    .contains_key(&((*conditions).clone(), model.clone()))
            };
            let (asked, other) = match (has(&pair.first), has(&pair.second)) {
                (true, false) => (&pair.first, &pair.second),
                (false, true) => (&pair.second, &pair.first),
                _ => continue,
            };
            let name = name.trim_start_matches(", ");
            let what = if name.is_empty() {
                &conditions.question.task
            } else {
                name
            };
            left_out.push(format!(
                "{what}, which {asked} was asked and {other} was not"
            ));
        }
    }

    fn shared(&self, conditions: &Conditions, pair: &Pair) -> Vec<Shared<'_>> {
        let of = |model: &String| self.gathered.get(&(conditions.clone(), model.clone()));
        let (Some(first), Some(second)) = (of(&pair.first), of(&pair.second)) else {
            return Vec::new();
        };
        let both = first.iter().filter_map(|(key, a)| {
            let b = second.get(key)?;
            Some(Shared {
                item: &key.0,
                trial: key.1,
                of: a,
                first: a.verdict.score?,
                second: b.verdict.score?,
            })
        });
        both.collect()
    }

    fn lines(
        &self,
        conditions: &Conditions,
        pair: &str,
        shared: &[Shared<'_>],
        pooled: bool,
    ) -> Result<Vec<PairRow>, StatsError> {
        if shared.is_empty() {
            return Ok(Vec::new());
        }
        // A measure has a scale of its own, which its values tell.
        let metric = self.asked.get(conditions).copied().flatten();
        let metric = metric.filter(|_| self.measure.is_none());
        let scale = scale_of(metric, shared.iter().flat_map(|s| [s.first, s.second]));
        let mut parts: Vec<&str> = shared
            .iter()
            .map(|s| s.of.part.as_str())
            .filter(|p| !p.is_empty())
            .collect();
        let place = |part: &str| self.order.iter().position(|o| o == part);
        parts.sort_by_key(|part| (place(part).unwrap_or(usize::MAX), *part));
        parts.dedup();
        let mut rows = vec![line(pair, "all", shared.iter().collect(), pooled, scale)?];
        for part in parts {
            let of = shared.iter().filter(|s| s.of.part == part).collect();
            rows.push(line(pair, part, of, pooled, scale)?);
        }
        Ok(rows)
    }
}

#[derive(Debug)]
struct Shared<'a> {
    item: &'a str,
    trial: u32,
    of: &'a Answered,
    first: f64,
    second: f64,
}

fn line(
    pair: &str,
    part: &str,
    shared: Vec<&Shared<'_>>,
    pooled: bool,
    scale: ScoreScale,
) -> Result<PairRow, StatsError> {
    // Trials of an item, and an item under several pairs, are one unit like the items of a cluster.
    let repeated = pooled || shared.iter().any(|s| s.trial > 0);
    let mut pairs = ScorePairs::default();
    for s in shared {
        pairs.push(s.first, s.second, s.of.verdict.unit(s.item, repeated));
    }
    Ok(PairRow {
        pair: pair.to_owned(),
        part: part.to_owned(),
        difference: pairs.difference(scale)?,
        scale,
        p_holm: None,
    })
}

pub fn pair_table(lines: &PairLines, tag: &str) -> Table {
    let dash = || "–".to_owned();
    let cells = lines.rows.iter().map(|row| {
        let d = &row.difference;
        let plain = |v: f64| match row.scale {
            ScoreScale::Proportion => format!("{:.2}", 100.0 * v),
            ScoreScale::Plain => format!("{v:.3}"),
        };
        let signed = |v: f64| match row.scale {
            ScoreScale::Proportion => format!("{:+.2}", 100.0 * v),
            ScoreScale::Plain => format!("{v:+.3}"),
        };
        vec![
            row.pair.clone(),
            row.part.clone(),
            counted_units(d.n, d.units),
            plain(d.first),
            plain(d.second),
            signed(d.value),
            d.bounds.map_or_else(dash, |(low, high)| {
                format!("[{}, {}]", signed(low), signed(high))
            }),
            d.counts
                .map_or_else(dash, |c| format!("{} : {}", c.only_first, c.only_second)),
            d.p.map_or_else(dash, p_value),
            row.p_holm.map_or_else(dash, p_value),
        ]
    });
    let mut table = DECLARED
        .table("pairs")
        .with_heads("tag", [tag])
        // Items and intervals have columns of their own here.
        .with_rows(Cell::figures(cells.collect()));
    for left_out in &lines.left_out {
        table.caption += &format!(" Left out: {left_out}.");
    }
    table
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
