//! The penalised least squares behind every step of a fit.
//!
//! Random effects of the grouping with most columns do not meet each other in any row, so their block of the normal equations
//! is block-diagonal and is eliminated level by level; what is left (the other groupings, the fixed effects, the outcome) is
//! small and is factorised densely. This is why no sparse factorisation from elsewhere is needed for crossed designs.

use super::{Design, Term};
use crate::StatsError;
use crate::matrix::{add, dot};

/// Columns that meet a level, each with one value for each effect of the level.
type Meets = Vec<(usize, Vec<f64>)>;

/// Sums of products of a design's columns, weighted by row. Everything a fit needs of the rows.
pub(super) struct Products {
    first: usize,
    /// For each level of the first grouping its own square block.
    blocks: Vec<Vec<f64>>,
    /// For each level the columns of the rest that meet it, with one value for each of its effects.
    meets: Vec<Meets>,
    /// All pairs of the other columns: random, fixed, outcome.
    rest: Vec<f64>,
    size: usize,
    /// Where each term's columns begin in the rest; the first grouping has none.
    starts: Vec<Option<usize>>,
    random: usize,
}

impl Products {
    /// With fixed columns if `fixed`, and the given outcome.
    pub(super) fn new(
        design: &Design,
        fixed: bool,
        weights: Option<&[f64]>,
        outcome: &[f64],
    ) -> Self {
        let cost = |term: &Term| term.count() * term.width();
        let terms = 0..design.terms.len();
        let first = terms.max_by_key(|&at| cost(&design.terms[at])).unwrap_or(0);
        let (mut starts, mut random) = (Vec::new(), 0);
        for (at, term) in design.terms.iter().enumerate() {
            starts.push((at != first).then_some(random));
            if at != first {
                random += cost(term);
            }
        }
        let columns: &[Vec<f64>] = if fixed { &design.fixed } else { &[] };
        let size = random + columns.len() + 1;
        let own = &design.terms[first];
        let k = own.width();
        let mut products = Self {
            first,
            blocks: vec![vec![0.0; k * k]; own.count()],
            meets: vec![Vec::new(); own.count()],
            rest: vec![0.0; size * size],
            size,
            starts,
            random,
        };
        let mut dense: Vec<std::collections::BTreeMap<usize, Vec<f64>>> =
            vec![Default::default(); own.count()];
        let mut row: Vec<(usize, f64)> = Vec::new();
        for at in 0..outcome.len() {
            row.clear();
            for (term, start) in design.terms.iter().zip(&products.starts) {
                if let Some(start) = start {
                    let base = start + term.levels[at] * term.width();
                    row.extend(
                        term.columns
                            .iter()
                            .enumerate()
                            .map(|(c, column)| (base + c, column[at])),
                    );
                }
            }
            let fixed = columns.iter().enumerate();
            row.extend(fixed.map(|(c, column)| (random + c, column[at])));
            row.push((size - 1, outcome[at]));
            let weight = weights.map_or(1.0, |weights| weights[at]);
            for &(i, a) in &row {
                for &(j, b) in row.iter().filter(|(j, _)| *j <= i) {
                    products.rest[i * size + j] += weight * a * b;
                }
            }
            let level = own.levels[at];
            for (c, column) in own.columns.iter().enumerate() {
                let x = weight * column[at];
                for (d, other) in own.columns.iter().enumerate() {
                    products.blocks[level][c * k + d] += x * other[at];
                }
                for &(j, b) in &row {
                    dense[level].entry(j).or_insert_with(|| vec![0.0; k])[c] += x * b;
                }
            }
        }
        for (meets, dense) in products.meets.iter_mut().zip(dense) {
            *meets = dense.into_iter().collect();
        }
        products
    }

    /// Factorises with the given triangles of relative spreads.
    pub(super) fn solve(&self, design: &Design, triangles: &[Vec<f64>]) -> Option<Solved> {
        let (n, k) = (self.size, design.terms[self.first].width());
        let t = &triangles[self.first];
        let mut matrix = self.rest.clone();
        let mut log_determinant = 0.0;
        let mut levels = Vec::with_capacity(self.blocks.len());
        for (block, meets) in self.blocks.iter().zip(&self.meets) {
            let mut own = congruent(block, t, k);
            (0..k).for_each(|i| own[i * k + i] += 1.0);
            cholesky(&mut own, k)?;
            log_determinant += (0..k).map(|i| 2.0 * own[i * k + i].ln()).sum::<f64>();
            let reduced: Meets = meets
                .iter()
                .map(|(j, column)| {
                    // The triangle transposed times the column, then forward through the factor.
                    let row = |i: usize| (i..k).map(|r| t[r * k + i] * column[r]).sum();
                    let mut x: Vec<f64> = (0..k).map(row).collect();
                    forward(&own, k, &mut x);
                    (*j, x)
                })
                .collect();
            for (at, (i, a)) in reduced.iter().enumerate() {
                for (j, b) in &reduced[..=at] {
                    matrix[i * n + j] -= dot(a, b);
                }
            }
            levels.push((own, reduced));
        }
        self.scale(design, triangles, &mut matrix);
        cholesky(&mut matrix, n)?;
        let pivots = (0..self.random).map(|i| 2.0 * matrix[i * n + i].ln());
        log_determinant += pivots.sum::<f64>();
        Some(Solved {
            log_determinant,
            matrix,
            levels,
            size: n,
            random: self.random,
        })
    }

    /// Scales rows and columns of the other groupings by their triangles and adds the penalty.
    fn scale(&self, design: &Design, triangles: &[Vec<f64>], matrix: &mut [f64]) {
        let n = self.size;
        for i in 0..n {
            for j in 0..i {
                matrix[j * n + i] = matrix[i * n + j];
            }
        }
        for ((term, start), t) in design.terms.iter().zip(&self.starts).zip(triangles) {
            let (Some(start), k) = (start, term.width()) else {
                continue;
            };
            for level in 0..term.count() {
                let base = start + level * k;
                for line in 0..n {
                    // Column effects in ascending order only use values not yet replaced.
                    for c in 0..k {
                        let below = (c..k).map(|r| matrix[line * n + base + r] * t[r * k + c]);
                        matrix[line * n + base + c] = below.sum();
                    }
                }
                for c in 0..k {
                    for column in 0..n {
                        let below = (c..k).map(|r| matrix[(base + r) * n + column] * t[r * k + c]);
                        matrix[(base + c) * n + column] = below.sum();
                    }
                }
            }
        }
        (0..self.random).for_each(|i| matrix[i * n + i] += 1.0);
    }

    /// Random effects in units of their spreads, by term as in the design.
    pub(super) fn effects(
        &self,
        design: &Design,
        solved: &Solved,
        triangles: &[Vec<f64>],
    ) -> Vec<Vec<f64>> {
        let tail = solved.tail();
        let mut effects = Vec::new();
        for (term, start) in design.terms.iter().zip(&self.starts) {
            effects.push(match start {
                Some(start) => tail[*start..start + term.count() * term.width()].to_vec(),
                None => Vec::new(),
            });
        }
        // What the rest predicts, in the units of the columns.
        let mut unscaled = tail;
        for ((term, start), t) in design.terms.iter().zip(&self.starts).zip(triangles) {
            if let Some(start) = start {
                let k = term.width();
                for level in 0..term.count() {
                    let base = start + level * k;
                    let own = unscaled[base..base + k].to_vec();
                    for r in 0..k {
                        unscaled[base + r] = (0..=r).map(|c| t[r * k + c] * own[c]).sum();
                    }
                }
            }
        }
        let k = design.terms[self.first].width();
        for (factor, reduced) in &solved.levels {
            let mut x = vec![0.0; k];
            for (j, column) in reduced {
                let outcome = *j == self.size - 1;
                let scale = if outcome { 1.0 } else { -unscaled[*j] };
                add(&mut x, scale, column);
            }
            backward(factor, k, &mut x);
            effects[self.first].extend(x);
        }
        effects
    }
}

/// A factorised system.
pub(super) struct Solved {
    /// Of the random effects' part.
    pub(super) log_determinant: f64,
    matrix: Vec<f64>,
    levels: Vec<(Vec<f64>, Meets)>,
    size: usize,
    random: usize,
}

impl Solved {
    /// Penalised sum of squared residuals.
    pub(super) fn residual_squares(&self) -> f64 {
        self.matrix[self.size * self.size - 1].powi(2)
    }

    /// Solution of everything but the first grouping: random effects in units of their spreads, then fixed effects.
    fn tail(&self) -> Vec<f64> {
        let (n, last) = (self.size, self.size - 1);
        let mut x: Vec<f64> = (0..last).map(|i| self.matrix[last * n + i]).collect();
        for i in (0..last).rev() {
            for r in i + 1..last {
                x[i] -= self.matrix[r * n + i] * x[r];
            }
            x[i] /= self.matrix[i * n + i];
        }
        x
    }

    pub(super) fn fixed(&self) -> Vec<f64> {
        self.tail()[self.random..].to_vec()
    }

    /// Inverse of the fixed effects' block, and the logarithm of its determinant.
    pub(super) fn fixed_inverse(&self) -> (Vec<f64>, f64) {
        let (n, p) = (self.size, self.size - 1 - self.random);
        let at = |i: usize, j: usize| self.matrix[(self.random + i) * n + self.random + j];
        let places = (0..p * p).map(|x| (x / p, x % p));
        let factor = places.map(|(i, j)| if j <= i { at(i, j) } else { 0.0 });
        let factor: Vec<f64> = factor.collect();
        let mut inverse = vec![0.0; p * p];
        for column in 0..p {
            let mut x = vec![0.0; p];
            x[column] = 1.0;
            forward(&factor, p, &mut x);
            backward(&factor, p, &mut x);
            (0..p).for_each(|i| inverse[i * p + column] = x[i]);
        }
        (inverse, (0..p).map(|i| 2.0 * at(i, i).ln()).sum())
    }
}

/// One number a cell of each triangle, row by row, to full square matrices.
pub(super) fn triangles(design: &Design, theta: &[f64]) -> Vec<Vec<f64>> {
    let mut values = theta.iter().copied();
    let triangle = |term: &Term| {
        let k = term.width();
        let mut t = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                t[i * k + j] = values.next().unwrap_or(0.0);
            }
        }
        t
    };
    design.terms.iter().map(triangle).collect()
}

/// No spread for slopes to begin with would be a saddle: every diagonal begins at 1.
pub(super) fn start(design: &Design) -> Vec<f64> {
    let mut theta = Vec::new();
    for term in &design.terms {
        for i in 0..term.width() {
            theta.extend((0..=i).map(|j| f64::from(u8::from(i == j))));
        }
    }
    theta
}

/// What a refusal to factorise means.
pub(super) const fn singular(what: &'static str) -> StatsError {
    let why = "the fixed columns depend on each other, or fit the outcome exactly";
    StatsError::degenerate(what, why)
}

fn congruent(block: &[f64], t: &[f64], k: usize) -> Vec<f64> {
    let mut right = vec![0.0; k * k];
    for i in 0..k {
        for j in 0..k {
            right[i * k + j] = (j..k).map(|r| block[i * k + r] * t[r * k + j]).sum();
        }
    }
    let mut both = vec![0.0; k * k];
    for i in 0..k {
        for j in 0..k {
            both[i * k + j] = (i..k).map(|r| t[r * k + i] * right[r * k + j]).sum();
        }
    }
    both
}

/// In place, lower triangle.
fn cholesky(a: &mut [f64], n: usize) -> Option<()> {
    for i in 0..n {
        for j in 0..=i {
            let (upper, lower) = a.split_at(i * n);
            let (mut sum, row) = (lower[j], &lower[..j]);
            let above = || &upper[j * n..j * n + j];
            sum -= dot(row, if i == j { row } else { above() });
            if i == j {
                if !sum.is_finite() || sum <= 1e-12 * lower[i].abs() {
                    return None;
                }
                a[i * n + i] = sum.sqrt();
            } else {
                a[i * n + j] = sum / a[j * n + j];
            }
        }
    }
    Some(())
}

fn forward(factor: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        let sum: f64 = (0..i).map(|j| factor[i * n + j] * x[j]).sum();
        x[i] = (x[i] - sum) / factor[i * n + i];
    }
}

fn backward(factor: &[f64], n: usize, x: &mut [f64]) {
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|j| factor[j * n + i] * x[j]).sum();
        x[i] = (x[i] - sum) / factor[i * n + i];
    }
}
