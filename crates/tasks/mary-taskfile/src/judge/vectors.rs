//! Vectors: cosines that are to go with a number, or that put the near text before the far one.

use std::collections::BTreeMap;

use mary_contract::{
    Estimate, Item, Judgement, Measure, Observed, PooledVectors, Reply, Sample, Target, best,
};
use mary_stats::correlation::{pearson, spearman};
use serde_json::json;

use super::{Verdict, fault, not_finite};

/// The cosine of two texts, kept beside the number it is compared with; the last layer is the score.
pub(super) fn correlation(item: &Item, answers: &[Reply]) -> Verdict {
    let Target::Data(data) = &item.target else {
        return Err(fault("expected a number as target"));
    };
    let mut values: BTreeMap<String, f64> = BTreeMap::new();
    let mut last = None;
    for (layer, vectors) in layers(answers)? {
        let [a, b] = vectors.as_slice() else {
            return Err(fault("expected the vectors of two texts"));
        };
        if let Some(cosine) = cosine(a, b) {
            values.insert(format!("layer_{layer:02}"), cosine);
            last = Some(cosine);
        }
    }
    let Some(last) = last else {
        return Ok(Judgement::not_applicable("a text has no vector"));
    };
    values.insert("cosine".into(), last);
    let mut judgement = Judgement::scored(last);
    judgement.notes = json!({ "with": data.get("with"), "values": values });
    Ok(judgement)
}

/// The near text is closer than the far one; the same by layer beside it.
pub(super) fn triple(answers: &[Reply]) -> Verdict {
    let mut verdicts = Vec::new();
    for (layer, vectors) in layers(answers)? {
        let [anchor, near, far] = vectors.as_slice() else {
            return Err(fault("expected the vectors of three texts"));
        };
        if let (Some(near), Some(far)) = (cosine(anchor, near), cosine(anchor, far))
            && let Some((_, score)) = best(&[near, far], 0)
        {
            verdicts.push((layer, score, near - far));
        }
    }
    let Some(&(_, score, margin)) = verdicts.last() else {
        return Ok(Judgement::not_applicable("a text has no vector"));
    };
    let mut judgement = Judgement::scored(score).measured("margin", margin);
    if verdicts.len() > 1 {
        for (layer, score, _) in &verdicts {
            judgement = judgement.measured(&format!("layer_{layer:02}"), *score);
        }
    }
    Ok(judgement)
}

/// Spearman's and Pearson's correlations over all items, by layer where there are several.
pub(crate) fn correlations(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    let mut pairs: BTreeMap<String, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    // Trials of one item are no independent pairs.
    for sample in samples.filter(|s| s.id.trial == 0) {
        let notes = &sample.judgement.notes;
        let with = notes.get("with").and_then(serde_json::Value::as_f64);
        let values = notes.get("values").and_then(|v| v.as_object());
        for (name, value) in values.into_iter().flatten() {
            if let (Some(with), Some(value)) = (with, value.as_f64()) {
                let (x, y) = pairs.entry(name.clone()).or_default();
                x.push(value);
                y.push(with);
            }
        }
    }
    let several = pairs.keys().filter(|k| k.starts_with("layer_")).count() > 1;
    let mut measures = Vec::new();
    for (name, (x, y)) in pairs {
        let layer = name.starts_with("layer_");
        if layer && !several {
            continue;
        }
        let called = |kind: &str| match layer {
            true => format!("{kind}_{name}"),
            false => kind.to_owned(),
        };
        let found = [("spearman", spearman(&x, &y)), ("pearson", pearson(&x, &y))];
        for (kind, found) in found {
            let wanted = !layer || kind == "spearman";
            // Fewer than four items, or one value for all, have no correlation.
            if let Some(found) = found.ok().filter(|_| wanted) {
                let r = &found.r;
                let estimate = Estimate::new(r.value, (r.low, r.high), x.len(), r.method);
                let name = called(kind);
                measures.push(Measure::new(name, estimate));
            }
        }
    }
    measures
}

/// The vectors of every text, by layer; a text without a vector is empty.
type ByLayer = Vec<(usize, Vec<Vec<f64>>)>;

fn layers(answers: &[Reply]) -> Result<ByLayer, Box<Judgement>> {
    let observed = answers.iter().map(|reply| reply.answer.as_observed());
    let observed: Option<Vec<&Observed>> = observed.collect();
    let observed = observed.ok_or_else(|| fault("expected hidden states"))?;
    let pools: Vec<_> = observed.iter().filter_map(|o| o.pools.first()).collect();
    let known = pools.iter().find(|p| p.tokens > 0);
    let numbers = known.map_or_else(Vec::new, |p| p.layers.iter().map(|l| l.layer).collect());
    let mut found = Vec::new();
    for number in numbers {
        let vector = |pool: &&PooledVectors| {
            let mut layers = pool.layers.iter().filter(|_| pool.tokens > 0);
            let layer = layers.find(|l| l.layer == number);
            let values = layer.into_iter().flat_map(|l| &l.vector.0);
            values.map(|x| f64::from(*x)).collect()
        };
        let vectors: Vec<Vec<f64>> = pools.iter().map(vector).collect();
        if vectors.iter().flatten().any(|x| !x.is_finite()) {
            let message = "a vector holds a value that is not a finite number";
            return Err(not_finite(message));
        }
        found.push((number, vectors));
    }
    Ok(found)
}

/// Cosine of two vectors; nothing for a zero vector, none, or different lengths.
fn cosine(a: &[f64], b: &[f64]) -> Option<f64> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    (a.len() == b.len() && norms > 0.0).then(|| (dot(a, b) / norms).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_by_hand() {
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), Some(0.0));
        assert_eq!(cosine(&[3.0, 4.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), None);
        assert_eq!(cosine(&[], &[]), None);
    }
}
