//! Pooled vectors on their way into a statistic: one table of vectors for each layer.

use mary_contract::{
    Ask, Layers, Observed, Pool, PooledVectors, Reply, Request, TaskCard, TaskError, TaskSettings,
};

use crate::settings::no_shots;

/// How the tokens of a text become one vector, as the setting `pooling` names it.
pub(crate) const POOLINGS: [(&str, Pool); 3] = [
    ("mean", Pool::Mean),
    ("last", Pool::Last),
    ("first", Pool::First),
];

/// The settings `pooling` and `layers` of a task without shots.
pub(crate) fn pooling(
    card: &TaskCard,
    settings: &TaskSettings,
) -> Result<(Pool, Layers), TaskError> {
    settings.check(card)?;
    no_shots(card, settings)?;
    let pool = settings.choose(card, "pooling", &POOLINGS)?;
    let all = settings.choose(card, "layers", &[("last", false), ("all", true)])?;
    Ok((pool, if all { Layers::All } else { Layers::Last }))
}

pub(crate) fn look(text: &str, pooling: Pool, layers: Layers) -> Ask {
    Ask::subject(Request::vectors(text, pooling, layers))
}

/// One layer: a vector for each text asked, in order; `None` where the model does not know the text.
pub(crate) struct Layer {
    pub(crate) number: usize,
    pub(crate) vectors: Vec<Option<Vec<f64>>>,
}

/// The replies of several texts, turned into layers. A text outside a static vocabulary has a pool
/// of no tokens and counts as unknown. The error says why replies could not be read.
pub(crate) fn layers(replies: &[Reply]) -> Result<Vec<Layer>, String> {
    let observed = replies.iter().map(|reply| reply.answer.as_observed());
    let observed: Option<Vec<&Observed>> = observed.collect();
    let observed = observed.ok_or("expected hidden states, found another kind of answer")?;
    fn known(observed: &Observed) -> Option<&PooledVectors> {
        observed.pools.first().filter(|p| p.tokens > 0)
    }
    let first = observed.iter().find_map(|o| known(o));
    let numbers = first.into_iter().flat_map(|p| &p.layers).map(|l| l.layer);
    let mut out = Vec::new();
    for number in numbers {
        let vector = |o: &&Observed| -> Option<Vec<f64>> {
            let layer = known(o)?.layers.iter().find(|l| l.layer == number)?;
            Some(layer.vector.0.iter().map(|x| f64::from(*x)).collect())
        };
        let vectors: Vec<Option<Vec<f64>>> = observed.iter().map(vector).collect();
        if vectors.iter().flatten().flatten().any(|x| !x.is_finite()) {
            let what = "a value that is not a finite number";
            return Err(format!("layer {number} holds {what}"));
        }
        out.push(Layer { number, vectors });
    }
    Ok(out)
}

/// Cosine of two vectors; nothing for a zero vector or different lengths.
pub(crate) fn cosine(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() {
        return None;
    }
    let dot: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    let norms = norm(a) * norm(b);
    (norms > 0.0).then(|| (dot / norms).clamp(-1.0, 1.0))
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0usize);
    for value in values {
        sum += value;
        n += 1;
    }
    (n > 0).then(|| sum / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_by_hand() {
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), Some(0.0));
        assert!((cosine(&[1.0, 1.0], &[2.0, 0.0]).unwrap() - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), None);
        assert_eq!(cosine(&[1.0], &[1.0, 0.0]), None);
    }
}
