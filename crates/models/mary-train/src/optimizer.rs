//! AdamW with a warm-up and a cosine, gradient clipping, and sums in a fixed order.

use crate::net::kernels::vectorised;
use rayon::prelude::*;
use std::ops::Range;

/// Numbers handled at a time; fixed, so that sums never depend on the number of threads.
const CHUNK: usize = 16_384;

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct AdamW {
    pub rate: f64,
    pub beta1: f64,
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    pub decay: f64,
    /// Largest norm of the gradient; larger ones are scaled down. Zero: never.
    pub clip: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Decline {
    Cosine,
    Linear,
    Constant,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Schedule {
    /// Steps over which the rate rises in a line from zero.
    pub warm_up: u64,
    pub steps: u64,
    /// Share of the highest rate left at the end.
    pub floor: f64,
    pub decline: Decline,
}

impl Schedule {
    /// The share of the highest rate at a step counted from 1.
    pub fn share(&self, step: u64) -> f64 {
        if step <= self.warm_up {
            return step as f64 / self.warm_up.max(1) as f64;
        }
        let span = self.steps.saturating_sub(self.warm_up).max(1) as f64;
        let way = ((step - self.warm_up) as f64 / span).min(1.0);
        let left = match self.decline {
            Decline::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * way).cos()),
            Decline::Linear => 1.0 - way,
            Decline::Constant => 1.0,
        };
        self.floor + (1.0 - self.floor) * left
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Moments {
    pub(crate) first: Vec<f32>,
    pub(crate) second: Vec<f32>,
}

impl Moments {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            first: vec![0.0; count],
            second: vec![0.0; count],
        }
    }
}

/// One step of AdamW, as the GPU's kernel takes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AdamStep {
    /// The rate with the first moment's correction, and without.
    rate: f32,
    whole_rate: f32,
    beta1: f32,
    beta2: f32,
    eps: f32,
    /// The second moment's correction: multiplies its root.
    root2: f32,
}

impl AdamStep {
    /// The step of this number, counted from 1, with this learning rate.
    pub(crate) fn new(settings: &AdamW, (step, rate): (u64, f64)) -> Self {
        let power = i32::try_from(step).unwrap_or(i32::MAX);
        let correction = |beta: f64| (1.0 - beta.powi(power)) as f32;
        Self {
            rate: rate as f32 / correction(settings.beta1),
            whole_rate: rate as f32,
            beta1: settings.beta1 as f32,
            beta2: settings.beta2 as f32,
            eps: settings.eps as f32,
            root2: 1.0 / correction(settings.beta2).sqrt(),
        }
    }

    /// Updates parameters and both moments; `decay` is the weight decay of these parameters, `scale` clips the
    /// gradient.
    fn apply(
        &self,
        (p, g, m, v): (&mut [f32], &[f32], &mut [f32], &mut [f32]),
        decay: f32,
        scale: f32,
    ) {
        let keep = 1.0 - self.whole_rate * decay;
        vectorised!({
            for (((p, g), m), v) in p.iter_mut().zip(g).zip(m.iter_mut()).zip(v.iter_mut()) {
                let g = g * scale;
                *m = self.beta1 * *m + (1.0 - self.beta1) * g;
                *v = self.beta2 * *v + (1.0 - self.beta2) * g * g;
                *p = *p * keep - self.rate * *m / ((*v).sqrt() * self.root2 + self.eps);
            }
        });
    }
}

/// Adds all gradients into the first, in order; returns the norm of the sum.
pub(crate) fn reduce(gradients: &mut [Vec<f32>]) -> f64 {
    let Some((first, rest)) = gradients.split_first_mut() else {
        return 0.0;
    };
    let squares: Vec<f64> = first
        .par_chunks_mut(CHUNK)
        .enumerate()
        .map(|(index, chunk)| {
            let at = index * CHUNK;
            for other in rest.iter() {
                crate::net::kernels::add(chunk, &other[at..at + chunk.len()]);
            }
            f64::from(crate::net::kernels::dot(chunk, chunk))
        })
        .collect();
    squares.iter().sum::<f64>().sqrt()
}

/// One step of AdamW. `groups` are the places of the parameters with their weight decay, in
/// order and without gaps; `step` counts from 1.
pub(crate) fn update(
    settings: &AdamW,
    (step, rate): (u64, f64),
    (parameters, gradient, norm): (&mut [f32], &[f32], f64),
    moments: &mut Moments,
    groups: &[(Range<usize>, f64)],
) {
    let clipped = settings.clip > 0.0 && norm > settings.clip;
    let scale = match clipped {
        true => (settings.clip / (norm + 1e-6)) as f32,
        false => 1.0,
    };
    let adam = AdamStep::new(settings, (step, rate));
    let mut pieces = Vec::new();
    let (mut p, mut g) = (parameters, gradient);
    let (mut m, mut v) = (moments.first.as_mut_slice(), moments.second.as_mut_slice());
    for (place, decay) in groups {
        let mut left = place.len();
        while left > 0 {
            let size = left.min(CHUNK);
            let (p1, g1, m1, v1);
            (p1, p) = std::mem::take(&mut p).split_at_mut(size);
            (g1, g) = g.split_at(size);
            (m1, m) = std::mem::take(&mut m).split_at_mut(size);
            (v1, v) = std::mem::take(&mut v).split_at_mut(size);
            pieces.push((p1, g1, m1, v1, *decay as f32));
            left -= size;
        }
    }
    pieces
        .into_par_iter()
        .for_each(|(p, g, m, v, decay)| adam.apply((p, g, m, v), decay, scale));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_in_a_line_and_falls_along_a_cosine_to_the_floor() {
        let s = Schedule {
            warm_up: 10,
            steps: 110,
            floor: 0.1,
            decline: Decline::Cosine,
        };
        assert_eq!(s.share(5), 0.5);
        assert_eq!(s.share(10), 1.0);
        assert!((s.share(60) - 0.55).abs() < 1e-12);
        assert!((s.share(110) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_sum_of_gradients_does_not_depend_on_the_threads() {
        let make = || -> Vec<Vec<f32>> {
            (0..5)
                .map(|s| {
                    (0..40_000)
                        .map(|i| ((i * 7 + s * 13) as f32 * 0.01).sin())
                        .collect()
                })
                .collect()
        };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("a pool");
            let mut gradients = make();
            let norm = pool.install(|| reduce(&mut gradients));
            (norm, gradients.swap_remove(0))
        };
        assert_eq!(run(1), run(3));
    }
}
