//! From pooled vectors to two cosines.

use mary_contract::{Observed, Reply, Response};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Nothing {
    OutOfVocabulary(&'static str),
    Broken(String),
    NotFinite,
}

/// The three words of a triple, in the order in which they are asked.
pub(super) const ROLES: [&str; 3] = ["word", "synonym", "antonym"];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cosines {
    pub(super) layer: usize,
    pub(super) synonym: f64,
    pub(super) antonym: f64,
}

/// Cosines by layer, ascending, from nine answers: three sentences for the word, the synonym and the
/// antonym. Vectors of one word are averaged over its sentences first.
pub(super) fn cosines(answers: &[Reply]) -> Result<Vec<Cosines>, Nothing> {
    let observed: Option<Vec<&Observed>> = answers.iter().map(|r| r.answer.as_observed()).collect();
    let observed = observed.ok_or_else(|| {
        let kinds = answers.iter().map(|r| match r.answer {
            Response::Generated(_) => "words",
            Response::Scored(_) => "scores",
            Response::Observed(_) => "hidden states",
        });
        let found: Vec<&str> = kinds.collect();
        Nothing::Broken(format!(
            "expected hidden states, found {}",
            found.join(", ")
        ))
    })?;
    if observed.len() != 9 {
        let found = observed.len();
        let why = format!("expected nine answers, found {found}");
        return Err(Nothing::Broken(why));
    }
    let mut words = Vec::new();
    for (role, sentences) in ROLES.into_iter().zip(observed.chunks_exact(3)) {
        words.push(layers_of(role, sentences)?);
    }
    let [word, synonym, antonym] = words.as_slice() else {
        return Err(Nothing::Broken("expected three words".into()));
    };
    let mut all = Vec::new();
    for ((layer, w), (s, a)) in word.iter().zip(synonym.iter().zip(antonym)) {
        all.push(Cosines {
            layer: *layer,
            synonym: cosine(w, &s.1)?,
            antonym: cosine(w, &a.1)?,
        });
    }
    if all.is_empty() {
        let why = "expected at least one layer, found none";
        return Err(Nothing::Broken(why.into()));
    }
    Ok(all)
}

fn layers_of(
    role: &'static str,
    sentences: &[&Observed],
) -> Result<Vec<(usize, Vec<f64>)>, Nothing> {
    let mut mean: Vec<(usize, Vec<f64>)> = Vec::new();
    for (place, observed) in sentences.iter().enumerate() {
        let [pool] = observed.pools.as_slice() else {
            return Err(Nothing::Broken("expected one pool".into()));
        };
        if pool.tokens == 0 {
            return Err(Nothing::OutOfVocabulary(role));
        }
        if place == 0 {
            let empty = |l: &mary_contract::LayerVector| (l.layer, vec![0.0; l.vector.0.len()]);
            mean = pool.layers.iter().map(empty).collect();
        }
        let shape = |l: &mary_contract::LayerVector| (l.layer, l.vector.0.len());
        let wanted = mean.iter().map(|(layer, v)| (*layer, v.len()));
        if !pool.layers.iter().map(shape).eq(wanted) {
            return Err(Nothing::Broken("the answers differ in their layers".into()));
        }
        for ((_, sum), layer) in mean.iter_mut().zip(&pool.layers) {
            for (sum, x) in sum.iter_mut().zip(&layer.vector.0) {
                *sum += f64::from(*x) / sentences.len() as f64;
            }
        }
    }
    Ok(mean)
}

fn cosine(a: &[f64], b: &[f64]) -> Result<f64, Nothing> {
    if a.len() != b.len() {
        return Err(Nothing::Broken("the vectors differ in length".into()));
    }
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let value = dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt());
    // A vector of zeros has no direction.
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Nothing::NotFinite)
    }
}
