//! Metrics of a whole set: perplexities, F1, Matthews' correlation, BLEU and chrF, each with a bootstrap
//! interval over the items.

use mary_contract::{Estimate, Measure, Sample};
use mary_stats::bootstrap::{Bootstrap, Units, percentile};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::lm_eval::config::Config;
use crate::lm_eval::metrics::Metric;
use crate::lm_eval::translation::{BleuCounts, ChrfCounts};

const RESAMPLES: usize = 500;

pub fn overall(config: &Config, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    if config.metrics.iter().all(Metric::is_share) {
        return Vec::new();
    }
    // Trials of one item are no independent items.
    let first = samples.filter(|s| s.id.trial == 0);
    let notes: Vec<Json> = first.map(|s| s.judgement.notes).collect();
    let notes: Vec<&Json> = notes.iter().filter(|n| !n.is_null()).collect();
    let (logprobs, bytes) = (numbers(&notes, "logprob"), numbers(&notes, "bytes"));
    let mut measures = Vec::new();
    for metric in &config.metrics {
        match metric {
            Metric::Perplexity => {
                let ones = vec![1.0; logprobs.len()];
                measures.extend(ratio(metric, &logprobs, &ones, |x| (-x).exp()));
            }
            Metric::WordPerplexity => {
                let words = numbers(&notes, "words");
                measures.extend(ratio(metric, &logprobs, &words, |x| (-x).exp()));
            }
            Metric::BytePerplexity => {
                measures.extend(ratio(metric, &logprobs, &bytes, |x| (-x).exp()));
            }
            Metric::BitsPerByte => {
                let bits = |x: f64| -x / std::f64::consts::LN_2;
                measures.extend(ratio(metric, &logprobs, &bytes, bits));
            }
            Metric::F1 | Metric::Mcc => {
                let pairs: Vec<(i64, i64)> = notes.iter().filter_map(|n| labels(n)).collect();
                let of = |drawn: &[usize]| {
                    let drawn = drawn.iter().filter_map(|i| pairs.get(*i).copied());
                    let drawn: Vec<(i64, i64)> = drawn.collect();
                    match metric {
                        Metric::F1 => f1(&drawn),
                        _ => matthews(&drawn),
                    }
                };
                measures.extend(measure(metric.name(), pairs.len(), of));
            }
            Metric::Bleu | Metric::Chrf | Metric::ChrfWords => {
                for pipeline in &config.filters {
                    let name = match config.filters.len() {
                        1 => metric.name().to_owned(),
                        _ => format!("{},{}", metric.name(), pipeline.name),
                    };
                    measures.extend(translation(&name, metric, &notes));
                }
            }
            _ => {}
        }
    }
    measures
}

fn numbers(notes: &[&Json], name: &str) -> Vec<f64> {
    let all = notes.iter().filter_map(|n| n.get(name)?.as_f64());
    all.collect()
}

fn labels(notes: &Json) -> Option<(i64, i64)> {
    let gold = notes.get("gold")?.as_array()?.first()?.as_i64()?;
    Some((gold, notes.get("chosen")?.as_i64()?))
}

fn translation(name: &str, metric: &Metric, notes: &[&Json]) -> Option<Measure> {
    match metric {
        Metric::Bleu => corpus(name, notes, BleuCounts::add, |sum| sum.score()),
        _ => corpus(name, notes, ChrfCounts::add, |sum| sum.score()),
    }
}

/// A score of the counts of all texts together.
fn corpus<C: Default + DeserializeOwned>(
    name: &str,
    notes: &[&Json],
    add: impl Fn(&mut C, &C),
    score: impl Fn(&C) -> f64,
) -> Option<Measure> {
    let counts = notes.iter().filter_map(|n| n.get("counts")?.get(name));
    let read = counts.filter_map(|c| serde_json::from_value(c.clone()).ok());
    let all: Vec<C> = read.collect();
    measure(name, all.len(), |drawn| {
        let mut sum = C::default();
        for one in drawn.iter().filter_map(|i| all.get(*i)) {
            add(&mut sum, one);
        }
        score(&sum)
    })
}

/// A function of the ratio of two sums.
fn ratio(metric: &Metric, over: &[f64], under: &[f64], of: impl Fn(f64) -> f64) -> Option<Measure> {
    if over.len() != under.len() {
        return None;
    }
    measure(metric.name(), over.len(), |drawn| {
        let sum = |values: &[f64]| drawn.iter().filter_map(|i| values.get(*i)).sum::<f64>();
        of(sum(over) / sum(under))
    })
}

fn measure(name: &str, n: usize, of: impl Fn(&[usize]) -> f64) -> Option<Measure> {
    let all: Vec<usize> = (0..n).collect();
    let value = of(&all);
    if n == 0 || !value.is_finite() {
        return None;
    }
    let settings = Bootstrap {
        resamples: RESAMPLES,
        ..Bootstrap::default()
    };
    let estimate = match percentile(&Units::singles(n), of, &settings) {
        Ok(found) => Estimate::new(found.value, (found.low, found.high), n, found.method),
        // One item, or the same value whatever is drawn, tells nothing about others.
        Err(_) => Estimate::new(value, (value, value), n, "no interval"),
    };
    let name = name.to_owned();
    Some(Measure { name, estimate })
}

/// F1 of label 1, as scikit-learn's `f1_score` of two labels.
fn f1(pairs: &[(i64, i64)]) -> f64 {
    let count =
        |is: &dyn Fn(i64, i64) -> bool| pairs.iter().filter(|(g, c)| is(*g, *c)).count() as f64;
    let both = count(&|g, c| g == 1 && c == 1);
    let wrong = count(&|g, c| (g == 1) != (c == 1));
    if both == 0.0 {
        return 0.0;
    }
    2.0 * both / (2.0 * both + wrong)
}

/// Matthews' correlation of any number of labels (Gorodkin 2004), as in scikit-learn.
fn matthews(pairs: &[(i64, i64)]) -> f64 {
    let mut labels: Vec<i64> = pairs.iter().flat_map(|(g, c)| [*g, *c]).collect();
    labels.sort_unstable();
    labels.dedup();
    let n = pairs.len() as f64;
    let correct = pairs.iter().filter(|(g, c)| g == c).count() as f64;
    let (mut cross, mut golds, mut chosen) = (0.0, 0.0, 0.0);
    for label in labels {
        let gold = pairs.iter().filter(|(g, _)| *g == label).count() as f64;
        let said = pairs.iter().filter(|(_, c)| *c == label).count() as f64;
        cross += gold * said;
        golds += gold * gold;
        chosen += said * said;
    }
    let under = ((n * n - chosen) * (n * n - golds)).sqrt();
    let over = correct * n - cross;
    if under == 0.0 { 0.0 } else { over / under }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden numbers made with scikit-learn's `f1_score` and `matthews_corrcoef`.
    #[test]
    fn labels_are_judged_as_in_scikit_learn() {
        let pairs = [(1, 1), (1, 0), (0, 0), (0, 1), (1, 1), (0, 0), (1, 1)];
        assert!((f1(&pairs) - 0.75).abs() < 1e-12);
        assert!((matthews(&pairs) - 0.4166666666666667).abs() < 1e-12);
        let three = [(0, 0), (1, 2), (2, 2), (1, 1), (0, 1), (2, 2)];
        assert!((matthews(&three) - 0.5222329678670935).abs() < 1e-12);
        assert_eq!((f1(&[(1, 0)]), matthews(&[(1, 1), (1, 1)])), (0.0, 0.0));
    }
}
