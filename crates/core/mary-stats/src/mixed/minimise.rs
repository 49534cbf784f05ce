//! Minimum of a smooth function of a few numbers: quasi-Newton steps (BFGS) with numerical gradients.

use crate::matrix::{dot, invert_spd, times, zip_with};

pub(super) struct Minimum {
    pub(super) at: Vec<f64>,
    pub(super) value: f64,
    pub(super) converged: bool,
}

impl Minimum {
    fn new(at: Vec<f64>, value: f64, converged: bool) -> Self {
        Self {
            at,
            value,
            converged,
        }
    }
}

/// From `start` downhill. Values that are not finite are walls.
pub(super) fn minimise(start: Vec<f64>, f: &dyn Fn(&[f64]) -> f64) -> Minimum {
    const STEPS: usize = 300;
    let n = start.len();
    let (mut x, mut value) = (start.clone(), f(&start));
    let mut gradient = slope(&x, f);
    let mut inverse = identity(n);
    let mut restarted = false;
    for _ in 0..STEPS {
        let mut direction: Vec<f64> = times(&inverse, &gradient).iter().map(|d| -d).collect();
        let mut descent = dot(&direction, &gradient);
        if descent >= 0.0 {
            inverse = identity(n);
            direction = gradient.iter().map(|g| -g).collect();
            descent = dot(&direction, &gradient);
        }
        // No parameter moves by more than 2 at once: likelihoods are flat far out.
        let largest = direction.iter().fold(0.0f64, |most, d| most.max(d.abs()));
        let mut length = (2.0 / largest.max(1e-300)).min(1.0);
        let mut moved = None;
        for _ in 0..40 {
            let trial = zip_with(&x, &direction, |x, d| x + length * d);
            let there = f(&trial);
            if there.is_finite() && there <= value + 1e-4 * length * descent {
                moved = Some((trial, there));
                break;
            }
            length *= 0.5;
        }
        let Some((next, lower)) = moved else {
            if restarted {
                return Minimum::new(x, value, flat(&gradient, value));
            }
            (inverse, restarted) = (identity(n), true);
            continue;
        };
        let step = zip_with(&next, &x, |a, b| a - b);
        let new = slope(&next, f);
        let change = zip_with(&new, &gradient, |a, b| a - b);
        update(&mut inverse, &step, &change, n);
        let mut moves = step.iter().zip(&next);
        let small = moves.all(|(s, x)| s.abs() < 1e-7 * (1.0 + x.abs()));
        let done = small || value - lower < 1e-10 * (1.0 + value.abs());
        (x, value, gradient) = (next, lower, new);
        if done {
            if restarted || flat(&gradient, value) {
                return Minimum::new(x, value, flat(&gradient, value));
            }
            // A start afresh from here tells a minimum from a stuck search.
            (inverse, restarted) = (identity(n), true);
        } else {
            restarted = false;
        }
    }
    Minimum::new(x, value, false)
}

fn flat(gradient: &[f64], value: f64) -> bool {
    let limit = 2e-3 * (1.0 + value.abs()).sqrt().min(30.0);
    gradient.iter().all(|g| g.abs() < limit)
}

fn slope(x: &[f64], f: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let slopes = (0..x.len()).map(|at| {
        let h = 1e-5 * (1.0 + x[at].abs());
        let shifted = |by: f64| {
            let mut copy = x.to_vec();
            copy[at] += by;
            f(&copy)
        };
        (shifted(h) - shifted(-h)) / (2.0 * h)
    });
    slopes.collect()
}

/// Covariance from the curvature of a deviance at its minimum (twice the inverse of the second derivatives).
pub(super) fn covariance(x: &[f64], f: &dyn Fn(&[f64]) -> f64) -> Option<Vec<f64>> {
    let n = x.len();
    let h: Vec<f64> = x.iter().map(|x| 1e-3 * (1.0 + x.abs())).collect();
    let at = |shifts: &[(usize, f64)]| {
        let mut copy = x.to_vec();
        shifts.iter().for_each(|(i, by)| copy[*i] += by * h[*i]);
        f(&copy)
    };
    let middle = at(&[]);
    let mut curvature = vec![0.0; n * n];
    for i in 0..n {
        curvature[i * n + i] = (at(&[(i, 1.0)]) - 2.0 * middle + at(&[(i, -1.0)])) / (h[i] * h[i]);
        for j in 0..i {
            let corners = at(&[(i, 1.0), (j, 1.0)]) + at(&[(i, -1.0), (j, -1.0)])
                - at(&[(i, 1.0), (j, -1.0)])
                - at(&[(i, -1.0), (j, 1.0)]);
            curvature[i * n + j] = corners / (4.0 * h[i] * h[j]);
            curvature[j * n + i] = curvature[i * n + j];
        }
    }
    let half: Vec<f64> = curvature.iter().map(|c| 0.5 * c).collect();
    invert_spd(&half, n)
}

fn update(inverse: &mut [f64], step: &[f64], change: &[f64], n: usize) {
    let along = dot(step, change);
    if along <= 1e-14 {
        return;
    }
    let image = times(inverse, change);
    let factor = (1.0 + dot(change, &image) / along) / along;
    for i in 0..n {
        for j in 0..n {
            inverse[i * n + j] +=
                factor * step[i] * step[j] - (image[i] * step[j] + step[i] * image[j]) / along;
        }
    }
}

fn identity(n: usize) -> Vec<f64> {
    let cell = |at| f64::from(u8::from(at / n == at % n));
    (0..n * n).map(cell).collect()
}
