//! Metric multidimensional scaling by SMACOF, and the exact solution on a line.
//!
//! On one dimension SMACOF nearly always stops at a wrong order of the points. Given the order, the positions
//! are a formula (Defays 1978), and the best order is found by dynamic programming over subsets (Hubert and
//! Arabie 1986): exact up to 16 points; beyond, many starts are used.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::{StatsError, input, input::ratio};

/// Points whose distances approximate the dissimilarities.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mds {
    /// One row of coordinates for each object, centred.
    pub points: Vec<Vec<f64>>,
    /// Kruskal's stress-1: root of squared errors over squared distances.
    pub stress1: f64,
    /// Root of squared errors over squared dissimilarities, as scikit-learn normalises.
    pub stress_normalised: f64,
    /// Sum of squared errors over all pairs.
    pub stress_raw: f64,
    /// Whether no better solution exists (`true` on a line with up to 16 objects).
    pub global: bool,
}

/// How a map is searched for by SMACOF (majorisation of the stress).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smacof {
    /// Dimensions of the map, usually two.
    pub dimensions: usize,
    /// Random starts; the best is kept.
    pub starts: usize,
    /// Most steps of one start.
    pub steps: usize,
    /// Decides the random starts.
    pub seed: u64,
}

impl Default for Smacof {
    fn default() -> Self {
        Self {
            dimensions: 2,
            starts: 32,
            steps: 500,
            seed: 0,
        }
    }
}

/// Scales a square matrix of dissimilarities (symmetric, zero diagonal) to few dimensions.
pub fn mds(dissimilarities: &[Vec<f64>], settings: &Smacof) -> Result<Mds, StatsError> {
    let delta = check(dissimilarities, settings)?;
    if settings.dimensions == 1 && dissimilarities.len() <= EXACT_UP_TO {
        let positions = best_line(&delta, dissimilarities.len());
        let points: Vec<Vec<f64>> = positions.into_iter().map(|x| vec![x]).collect();
        return Ok(describe(points, &delta, true));
    }
    Ok(best_start(&delta, dissimilarities.len(), settings))
}

const EXACT_UP_TO: usize = 16;

fn check(rows: &[Vec<f64>], settings: &Smacof) -> Result<Vec<f64>, StatsError> {
    const WHAT: &str = "multidimensional scaling";
    let n = rows.len();
    input::at_least(WHAT, 3, n)?;
    let wrong = |expected, found: String| StatsError::domain(WHAT, expected, found);
    if settings.dimensions == 0 || settings.starts == 0 {
        let found = format!("{} and {}", settings.dimensions, settings.starts);
        return Err(wrong("at least one dimension and one start", found));
    }
    let mut flat = Vec::with_capacity(n * n);
    for (i, row) in rows.iter().enumerate() {
        input::same_length(WHAT, n, row.len())?;
        input::values(WHAT, row, n)?;
        for (j, &value) in row.iter().enumerate() {
            let mirrored = rows.get(j).and_then(|r| r.get(i)).copied().unwrap_or(value);
            let scale = 1.0_f64.max(value.abs());
            if value < -1e-9 || (i == j && value.abs() > 1e-9) {
                let expected = "dissimilarities of 0 or more with a zero diagonal";
                return Err(wrong(expected, format!("{value} at ({i}, {j})")));
            }
            if (value - mirrored).abs() > 1e-9 * scale {
                let found = format!("{value} at ({i}, {j}) and {mirrored} at ({j}, {i})");
                return Err(wrong("a symmetric matrix", found));
            }
            flat.push(value.max(0.0));
        }
    }
    let zero = flat.iter().all(|v| *v == 0.0);
    input::refuse(zero, WHAT, "all dissimilarities are zero")?;
    Ok(flat)
}

/// Best positions on a line: maximises the sum of squared signed row sums over all orders.
fn best_line(delta: &[f64], n: usize) -> Vec<f64> {
    let row_sum: Vec<f64> = delta.chunks(n).map(|row| row.iter().sum()).collect();
    let full = 1usize << n;
    let mut best = vec![f64::NEG_INFINITY; full];
    let mut last = vec![0usize; full];
    best[0] = 0.0;
    let signed = |i: usize, before: usize| -> f64 {
        let left = (0..n).filter(|j| before >> j & 1 == 1);
        2.0 * left.map(|j| delta[i * n + j]).sum::<f64>() - row_sum[i]
    };
    for set in 1..full {
        for i in (0..n).filter(|i| set >> i & 1 == 1) {
            let before = set & !(1 << i);
            let gain = signed(i, before);
            let value = best[before] + gain * gain;
            if value > best[set] {
                best[set] = value;
                last[set] = i;
            }
        }
    }
    let mut positions = vec![0.0; n];
    let mut set = full - 1;
    while set != 0 {
        let i = last[set];
        let before = set & !(1 << i);
        positions[i] = signed(i, before) / n as f64;
        set = before;
    }
    orient(&mut positions);
    positions
}

/// A map may be mirrored freely; the first object is put left of the last.
fn orient(positions: &mut [f64]) {
    if let (Some(first), Some(last)) = (positions.first(), positions.last())
        && first > last
    {
        positions.iter_mut().for_each(|x| *x = -*x);
    }
}

fn best_start(delta: &[f64], n: usize, settings: &Smacof) -> Mds {
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    let scale = delta.iter().copied().fold(0.0, f64::max);
    let mut best: Option<Mds> = None;
    for _ in 0..settings.starts {
        let mut number = |_| scale * (rng.random::<f64>() - 0.5);
        let mut point = |_| (0..settings.dimensions).map(&mut number).collect();
        let start: Vec<Vec<f64>> = (0..n).map(&mut point).collect();
        let map = describe(descend(start, delta, settings.steps), delta, false);
        if best.as_ref().is_none_or(|b| map.stress_raw < b.stress_raw) {
            best = Some(map);
        }
    }
    best.unwrap_or_else(|| describe(vec![vec![0.0; settings.dimensions]; n], delta, false))
}

/// Guttman transforms until the stress settles.
fn descend(mut points: Vec<Vec<f64>>, delta: &[f64], steps: usize) -> Vec<Vec<f64>> {
    let n = points.len();
    let mut previous = f64::INFINITY;
    for _ in 0..steps {
        let mut moved = vec![vec![0.0; points.first().map_or(0, Vec::len)]; n];
        let mut stress = 0.0;
        for i in 0..n {
            for j in 0..n {
                if i == j {
                    continue;
                }
                let d = distance(&points[i], &points[j]);
                let target = delta[i * n + j];
                stress += (d - target) * (d - target);
                if d > 1e-12 {
                    for (k, m) in moved[i].iter_mut().enumerate() {
                        *m += target / d * (points[i][k] - points[j][k]) / n as f64;
                    }
                }
            }
        }
        points = moved;
        if previous - stress < 1e-10 * stress {
            break;
        }
        previous = stress;
    }
    points
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y));
    squares.sum::<f64>().sqrt()
}

fn describe(points: Vec<Vec<f64>>, delta: &[f64], global: bool) -> Mds {
    let n = points.len();
    let (mut raw, mut distances, mut targets) = (0.0, 0.0, 0.0);
    for i in 0..n {
        for j in 0..i {
            let d = distance(&points[i], &points[j]);
            let target = delta[i * n + j];
            raw += (d - target) * (d - target);
            distances += d * d;
            targets += target * target;
        }
    }
    let share = |whole: f64| ratio(raw, whole, 1.0).sqrt();
    Mds {
        stress1: share(distances),
        stress_normalised: share(targets),
        stress_raw: raw,
        points,
        global,
    }
}
