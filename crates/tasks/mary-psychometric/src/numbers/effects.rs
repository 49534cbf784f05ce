//! The mental number line in one layer: what the cosines of all pairs of numbers say about distance,
//! ratio, size, and a line on which the numbers lie.

use std::collections::BTreeMap;

use mary_stats::correlation::pearson_r;
use mary_stats::exponential::exponential;
use mary_stats::linear::line;
use mary_stats::mds::{Smacof, mds};
use serde::Serialize;

use super::words::Range;
use crate::observed::{cosine, mean};

/// Whether pairs of equal distance (ratio, size) are averaged before a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// One point for each distance, ratio or size: the default.
    Averaged,
    /// One point for each pair.
    Each,
}

/// As JSON: the measures that are kept under these names.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Effects {
    /// R² of a line of cosine on distance.
    pub distance: f64,
    /// Its slope; people's is negative.
    pub distance_slope: f64,
    /// R² of a·exp(−b·x)+c of min-max normalised cosine on ratio.
    pub ratio: f64,
    /// How far the fitted curve falls from the smallest ratio to the largest; people's is positive.
    pub ratio_drop: f64,
    /// R² of a line of cosine, less the mean of its distance, on the smaller number.
    pub size: f64,
    /// Its slope; people's is positive (larger numbers are harder to tell apart).
    pub size_slope: f64,
    /// Kruskal's stress-1 of the numbers on one line.
    pub mds_stress: f64,
    /// Absolute correlation of the places on that line with the logarithms (a line has no direction).
    pub mds_correlation: f64,
    /// Places on the line, scaled to unit variance and turned so that larger numbers lie to the right.
    #[serde(skip)]
    pub positions: Vec<f64>,
    pub range: f64,
    pub max: f64,
    /// what tells numbers apart lies in the last digits.
    #[serde(skip)]
    pub min: f64,
    #[serde(skip)]
    pub by_distance: Vec<(f64, f64)>,
}

impl Effects {
    pub(super) fn by_name(&self) -> BTreeMap<String, f64> {
        // A structure of numbers can always be written and read.
        let written = serde_json::to_value(self).and_then(serde_json::from_value);
        written.unwrap_or_default()
    }
}

/// The cosines of all pairs of one layer, ready to be fitted under any labels.
#[derive(Debug, Clone)]
pub(super) struct Cosines {
    pairs: Vec<Pair>,
    /// 1 − cosine.
    table: Vec<Vec<f64>>,
}

/// Differences of cosines below this are rounding, not similarity.
const FLAT: f64 = 1e-12;

#[derive(Debug, Clone, Copy)]
struct Pair {
    ends: (usize, usize),
    distance: f64,
    ratio: f64,
    smaller: f64,
    cosine: f64,
}

/// All effects of one layer from one vector for each number. The error says what is missing.
pub fn effects(
    numbers: &[u64],
    vectors: &[Vec<f64>],
    range: Range,
    pairs: Pairs,
) -> Result<Effects, String> {
    if numbers.len() != vectors.len() {
        let (found, wanted) = (vectors.len(), numbers.len());
        return Err(format!("{found} vectors for {wanted} numbers"));
    }
    let cosines = Cosines::new(numbers, vectors, range)?;
    let (low, high) = cosines.ends();
    if high - low < FLAT {
        return Err("all pairs of numbers have the same cosine".into());
    }
    let fits = cosines.fits(&cosines.pairs, pairs)?;
    let (stress, correlation, positions) = on_a_line(numbers, &cosines.table)?;
    let of = cosines.pairs.iter().map(|p| (p.distance, p.cosine));
    let (x, y) = points(of, Pairs::Averaged);
    Ok(Effects {
        mds_stress: stress,
        mds_correlation: correlation,
        positions,
        range: high - low,
        max: high,
        min: low,
        by_distance: x.into_iter().zip(y).collect(),
        ..fits
    })
}

impl Cosines {
    pub(super) fn new(numbers: &[u64], vectors: &[Vec<f64>], range: Range) -> Result<Self, String> {
        let (pairs, table) = cosines(numbers, vectors, range)?;
        Ok(Self { pairs, table })
    }

    fn ends(&self) -> (f64, f64) {
        let values = || self.pairs.iter().map(|p| p.cosine);
        let low = values().fold(f64::INFINITY, f64::min);
        (low, values().fold(f64::NEG_INFINITY, f64::max))
    }

    /// The effects but for the line of places when the number at place `i` of the list has the vector of the number at place
    /// `order[i]`.
    pub(super) fn relabelled(&self, order: &[usize], pairs: Pairs) -> Result<Effects, String> {
        let at = |i: usize| order.get(i).copied().unwrap_or(i);
        let mut dealt = self.pairs.clone();
        for pair in &mut dealt {
            let row = self.table.get(at(pair.ends.0));
            let gap = row.and_then(|row| row.get(at(pair.ends.1)));
            pair.cosine = 1.0 - gap.copied().unwrap_or(f64::NAN);
        }
        self.fits(&dealt, pairs)
    }

    fn fits(&self, all: &[Pair], pairs: Pairs) -> Result<Effects, String> {
        let said = |e: mary_stats::StatsError| e.to_string();
        let (low, high) = self.ends();
        let (x, y) = points(all.iter().map(|p| (p.distance, p.cosine)), pairs);
        let by_distance = line(&x, &y).map_err(said)?;
        let span = high - low;
        let scaled = all.iter().map(|p| (p.ratio, (p.cosine - low) / span));
        let (x, y) = points(scaled, pairs);
        let by_ratio = exponential(&x, &y).map_err(said)?;
        let ends = [x.first(), x.last()].map(|end| end.map_or(0.0, |x| by_ratio.at(*x)));
        let (x, mut y) = points(of_equal_distance(all), pairs);
        if y.iter().all(|v| v.abs() < FLAT) {
            y.fill(0.0);
        }
        let by_size = line(&x, &y).map_err(said)?;
        Ok(Effects {
            distance: by_distance.r_squared,
            distance_slope: by_distance.slope,
            ratio: by_ratio.r_squared,
            ratio_drop: ends[0] - ends[1],
            size: by_size.r_squared,
            size_slope: by_size.slope,
            ..Effects::default()
        })
    }
}

fn scale(number: u64, range: Range) -> f64 {
    match range {
        Range::Units | Range::Tens => number as f64,
        Range::Magnitudes => (number as f64).log10(),
    }
}

fn cosines(
    numbers: &[u64],
    vectors: &[Vec<f64>],
    range: Range,
) -> Result<(Vec<Pair>, Vec<Vec<f64>>), String> {
    let n = numbers.len();
    let mut table = vec![vec![0.0; n]; n];
    let mut pairs = Vec::with_capacity(n * n / 2);
    for (i, (&first, a)) in numbers.iter().zip(vectors).enumerate() {
        for (j, (&second, b)) in numbers.iter().zip(vectors).enumerate().skip(i + 1) {
            let cosine = cosine(a, b).ok_or_else(|| {
                format!("the vector of {first} or {second} is zero or of another length")
            })?;
            for (row, column) in [(i, j), (j, i)] {
                if let Some(cell) = table.get_mut(row).and_then(|r| r.get_mut(column)) {
                    *cell = 1.0 - cosine;
                }
            }
            let (x, y) = (scale(first, range), scale(second, range));
            let ratio = match range {
                Range::Magnitudes => (x - y).abs(),
                _ => x.max(y) / x.min(y),
            };
            pairs.push(Pair {
                ends: (i, j),
                distance: (x - y).abs(),
                ratio,
                smaller: x.min(y),
                cosine,
            });
        }
    }
    Ok((pairs, table))
}

/// The points of a fit, ascending in x; those of equal x are averaged where asked.
fn points(of: impl Iterator<Item = (f64, f64)>, pairs: Pairs) -> (Vec<f64>, Vec<f64>) {
    let mut all: Vec<(f64, f64)> = of.collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    if pairs == Pairs::Averaged {
        let mut groups: Vec<(f64, f64, f64)> = Vec::new();
        for (x, y) in all {
            match groups.last_mut() {
                Some(last) if (last.0 - x).abs() < 1e-9 => {
                    last.1 += y;
                    last.2 += 1.0;
                }
                _ => groups.push((x, y, 1.0)),
            }
        }
        all = groups.into_iter().map(|(x, y, n)| (x, y / n)).collect();
    }
    all.into_iter().unzip()
}

/// Size and cosine, with what the distance alone says taken away: pairs are compared with pairs of
/// the same distance only. Distances with a single pair say nothing about size.
fn of_equal_distance(pairs: &[Pair]) -> impl Iterator<Item = (f64, f64)> + '_ {
    let key = |p: &Pair| (p.distance * 1e6).round() as i64;
    let mut sums: BTreeMap<i64, (f64, usize)> = BTreeMap::new();
    for pair in pairs {
        let sum = sums.entry(key(pair)).or_default();
        sum.0 += pair.cosine;
        sum.1 += 1;
    }
    pairs.iter().filter_map(move |pair| {
        let (sum, n) = sums.get(&key(pair)).copied()?;
        (n > 1).then(|| (pair.smaller, pair.cosine - sum / n as f64))
    })
}

/// Stress, correlation with the logarithms, and places.
fn on_a_line(
    numbers: &[u64],
    dissimilarities: &[Vec<f64>],
) -> Result<(f64, f64, Vec<f64>), String> {
    let settings = Smacof {
        dimensions: 1,
        starts: 8,
        ..Smacof::default()
    };
    let solution = mds(dissimilarities, &settings).map_err(|e| e.to_string())?;
    let points = solution.points.iter();
    let places: Vec<f64> = points.filter_map(|p| p.first().copied()).collect();
    let logarithms: Vec<f64> = numbers.iter().map(|n| (*n as f64).ln()).collect();
    let r = pearson_r(&places, &logarithms).map_err(|e| e.to_string())?;
    let deviation = mean(places.iter().map(|p| p * p)).unwrap_or(0.0).sqrt();
    let turn = if r < 0.0 { -1.0 } else { 1.0 };
    let positions = places.iter().map(|p| turn * p / deviation.max(1e-300));
    Ok((solution.stress1, r.abs(), positions.collect()))
}

/// Mean cosine within the numbers, between numbers and words, and within the words.
pub fn similarities(numbers: &[Vec<f64>], words: &[Vec<f64>]) -> [Option<f64>; 3] {
    let within = |set: &[Vec<f64>]| {
        mean(set.iter().enumerate().flat_map(|(i, a)| {
            let others = set.iter().skip(i + 1);
            others.filter_map(|b| cosine(a, b)).collect::<Vec<_>>()
        }))
    };
    let between = mean(numbers.iter().flat_map(|a| {
        words
            .iter()
            .filter_map(|b| cosine(a, b))
            .collect::<Vec<_>>()
    }));
    [within(numbers), between, within(words)]
}
