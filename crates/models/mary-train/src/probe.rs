//! Held-out items scored while a model grows: minimal pairs, comparisons, number distance.
//!
//! A diagnostic of the training, not an instrument of the laboratory: the psychometric suite
//! measures checkpoints properly, from their folders.

use crate::corpus::HeldOut;
use crate::net::{Net, Packed, Parameters, Workspace};
use crate::{Result, tokenizer};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use tokenizers::Tokenizer;

/// Pairs sampled of each paradigm; those whose two sentences have equally many tokens are kept, so
/// that a model that only counts tokens is at chance.
const PER_PARADIGM: usize = 48;

/// What the probe found at one step. A tie counts one half.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ProbeReport {
    pub step: u64,
    /// Share of held-out minimal pairs whose good sentence is more probable.
    pub minimal_pairs: f64,
    pub by_phenomenon: BTreeMap<String, f64>,
    /// Share of held-out comparisons whose true sentence is more probable.
    pub comparisons: f64,
    /// R² of a line fitted to the cosine of number words on their distance (1 to 9, cosines
    /// averaged at each distance), mean over words and digits and over the layers.
    pub distance_r2: f64,
    /// Mean slope of that line; negative is the distance effect.
    pub distance_slope: f64,
}

/// The same of a model that sees. A tie counts its share.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct VisionReport {
    pub step: u64,
    /// Share of right answers with the question's own picture.
    pub own: f64,
    pub by_kind: BTreeMap<String, f64>,
    pub blank: f64,
    pub other: f64,
}

type Pair = (Packed, Packed);

pub(crate) struct Prober {
    pairs: Vec<(&'static str, Pair)>,
    comparisons: Vec<Pair>,
    numbers: Vec<Vec<Packed>>,
}

impl Prober {
    pub(crate) fn new(tokenizer: &Tokenizer, end: u32, seed: u64) -> Result<Self> {
        let held_out = HeldOut::new(seed, PER_PARADIGM);
        let packed = |text: &str| -> Result<Packed> {
            let mut tokens = vec![end];
            tokens.extend(tokenizer::encode(tokenizer, text)?);
            Ok(Packed::from_window(&tokens))
        };
        let pairs = held_out
            .pairs
            .iter()
            .map(|p| Ok((p.phenomenon, (packed(&p.good)?, packed(&p.bad)?))))
            .filter(|p| !matches!(p, Ok((_, (a, b))) if a.tokens.len() != b.tokens.len()))
            .collect::<Result<_>>()?;
        let comparisons = held_out
            .comparisons
            .iter()
            .map(|c| Ok((packed(&c.good)?, packed(&c.bad)?)))
            .collect::<Result<_>>()?;
        let alone = |text: String| -> Result<Packed> {
            let mut tokens = tokenizer::encode(tokenizer, &text)?;
            tokens.push(end);
            Ok(Packed::from_window(&tokens))
        };
        let words = (1..=9).map(|i| alone(crate::corpus::numbers::word(i).to_owned()));
        let digits = (1..=9).map(|i| alone(i.to_string()));
        let numbers = vec![
            words.collect::<Result<_, _>>()?,
            digits.collect::<Result<_, _>>()?,
        ];
        Ok(Self {
            pairs,
            comparisons,
            numbers,
        })
    }

    pub(crate) fn run(&self, step: u64, net: &Net, p: &Parameters<'_>) -> Result<ProbeReport> {
        let prefer = |ws: &mut Workspace, (good, bad): &Pair| -> Result<f64> {
            let mut total = |packed: &Packed| -> Result<f64> {
                let found = net.log_probabilities(p, packed, ws)?;
                Ok(found.iter().map(|x| f64::from(*x)).sum())
            };
            let (good, bad): (f64, f64) = (total(good)?, total(bad)?);
            Ok(match good.partial_cmp(&bad) {
                Some(Ordering::Greater) => 1.0,
                Some(Ordering::Equal) => 0.5,
                _ => 0.0,
            })
        };
        let pairs: Vec<f64> = self
            .pairs
            .par_iter()
            .map_init(Workspace::default, |ws, (_, pair)| prefer(ws, pair))
            .collect::<Result<_, _>>()?;
        let comparisons: Vec<f64> = self
            .comparisons
            .par_iter()
            .map_init(Workspace::default, prefer)
            .collect::<Result<_, _>>()?;
        let mut by: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for ((phenomenon, _), score) in self.pairs.iter().zip(&pairs) {
            by.entry((*phenomenon).to_owned()).or_default().push(*score);
        }
        let (distance_r2, distance_slope) = self.distance(net, p)?;
        Ok(ProbeReport {
            step,
            minimal_pairs: mean(&pairs),
            by_phenomenon: by.into_iter().map(|(k, v)| (k, mean(&v))).collect(),
            comparisons: mean(&comparisons),
            distance_r2,
            distance_slope,
        })
    }

    fn distance(&self, net: &Net, p: &Parameters<'_>) -> Result<(f64, f64)> {
        let mut ws = Workspace::default();
        let (mut r2, mut slopes) = (Vec::new(), Vec::new());
        for format in &self.numbers {
            let vectors: Vec<Vec<Vec<f32>>> = format
                .iter()
                .map(|packed| net.pooled_layers(p, packed, &mut ws))
                .collect::<Result<_, _>>()?;
            for layer in 0..vectors.first().map_or(0, Vec::len) {
                let at: Vec<&[f32]> = vectors.iter().map(|v| v[layer].as_slice()).collect();
                let (slope, fit) = distance_line(&at);
                slopes.push(slope);
                r2.push(fit);
            }
        }
        Ok((mean(&r2), mean(&slopes)))
    }
}

fn mean(values: &[f64]) -> f64 {
    // A sum of nothing is minus zero, which a file would show.
    match values.is_empty() {
        true => 0.0,
        false => values.iter().sum::<f64>() / values.len() as f64,
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let product = |x: &[f32], y: &[f32]| -> f64 {
        x.iter()
            .zip(y)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum()
    };
    product(a, b) / (product(a, a) * product(b, b)).sqrt().max(1e-30)
}

/// Slope and R² of mean cosine on distance.
fn distance_line(vectors: &[&[f32]]) -> (f64, f64) {
    let points: Vec<(f64, f64)> = (1..vectors.len())
        .map(|gap| {
            let cosines: Vec<f64> = vectors
                .windows(gap + 1)
                .map(|w| cosine(w[0], w[gap]))
                .collect();
            (gap as f64, mean(&cosines))
        })
        .collect();
    let x = mean(&points.iter().map(|p| p.0).collect::<Vec<_>>());
    let y = mean(&points.iter().map(|p| p.1).collect::<Vec<_>>());
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>();
    let (xx, yy) = (sum(&|p| (p.0 - x).powi(2)), sum(&|p| (p.1 - y).powi(2)));
    let xy = sum(&|p| (p.0 - x) * (p.1 - y));
    if xx <= 0.0 || yy <= 0.0 {
        (0.0, 0.0)
    } else {
        (xy / xx, xy * xy / (xx * yy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_on_an_arc_show_a_distance_effect() {
        let arc: Vec<[f32; 2]> = (0..9)
            .map(|i| [(i as f32 * 0.1).cos(), (i as f32 * 0.1).sin()])
            .collect();
        let views: Vec<&[f32]> = arc.iter().map(|v| v.as_slice()).collect();
        let (slope, r2) = distance_line(&views);
        assert!(slope < 0.0 && r2 > 0.9, "{slope} {r2}");
    }
}
