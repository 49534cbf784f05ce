//! Each request has a generator of its own, so that its answer does not depend on the rest of the batch.

use mary_contract::Sampling;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::kernels::Draw;

pub struct Sampler {
    temperature: f64,
    top_p: f64,
    top_k: usize,
    rng: ChaCha8Rng,
}

impl Sampler {
    /// As the request asks; a seed that is not given is 0.
    pub fn new(sampling: &Sampling) -> Self {
        Self {
            temperature: sampling.temperature,
            top_p: sampling.top_p.unwrap_or(1.0),
            top_k: sampling.top_k.map_or(0, |k| k as usize),
            rng: ChaCha8Rng::seed_from_u64(sampling.seed.unwrap_or(0)),
        }
    }

    /// Whether it always takes the likeliest token.
    pub fn is_greedy(&self) -> bool {
        self.temperature <= 0.0 || self.top_k == 1
    }

    pub fn on_device(&mut self) -> Draw {
        let greedy = self.is_greedy();
        Draw {
            inverse_temperature: if greedy { 0.0 } else { 1.0 / self.temperature },
            top_p: self.top_p,
            random: if greedy { 0 } else { self.rng.next_u64() },
            top_k: u32::try_from(self.top_k).unwrap_or(u32::MAX),
        }
    }

    /// The next token; `None` when the logits are not numbers.
    pub fn draw(&mut self, logits: &[f32]) -> Option<u32> {
        let (best, top) = argmax(logits)?;
        if self.is_greedy() {
            return Some(best);
        }
        let weight = |x: f32| ((f64::from(x) - f64::from(top)) / self.temperature).exp();
        let mut all: Vec<(f64, u32)> = logits
            .iter()
            .zip(0u32..)
            .map(|(&x, i)| (weight(x), i))
            .filter(|w| w.0 > 0.0)
            .collect();
        if self.top_k > 0 {
            lead(&mut all, self.top_k);
            all.truncate(self.top_k);
        }
        let mut total: f64 = all.iter().map(|w| w.0).sum();
        if self.top_p < 1.0 {
            let count = nucleus(&mut all, self.top_p * total);
            all.truncate(count);
            total = all.iter().map(|w| w.0).sum();
        }
        let mut left = self.uniform() * total;
        for &(weight, token) in &all {
            left -= weight;
            if left < 0.0 {
                return Some(token);
            }
        }
        all.last().map(|w| w.1)
    }

    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Ties are broken by token number, so that the order is the same everywhere.
fn lead(all: &mut [(f64, u32)], count: usize) {
    let order = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if count == 0 || count >= all.len() {
        return all.sort_unstable_by(order);
    }
    all.select_nth_unstable_by(count - 1, order);
    all[..count].sort_unstable_by(order);
}

/// A few hundred tokens nearly always weigh enough: the rest of a vocabulary is not sorted.
fn nucleus(all: &mut [(f64, u32)], wanted: f64) -> usize {
    let mut count = 128;
    loop {
        lead(all, count);
        let mut held = 0.0;
        let enough = all.iter().take(count).position(|w| {
            held += w.0;
            held >= wanted
        });
        match enough {
            Some(last) => return last + 1,
            None if count >= all.len() => return all.len().max(1),
            None => count *= 8,
        }
    }
}

fn argmax(logits: &[f32]) -> Option<(u32, f32)> {
    let mut best = None;
    for (&x, i) in logits.iter().zip(0u32..) {
        if x.is_nan() || x == f32::INFINITY {
            return None;
        }
        if best.is_none_or(|(_, top)| x > top) {
            best = Some((i, x));
        }
    }
    best.filter(|(_, top)| top.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(temperature: f64, top_p: Option<f64>, top_k: Option<u32>, seed: u64) -> Sampler {
        Sampler::new(&Sampling {
            temperature,
            top_p,
            top_k,
            max_tokens: 1,
            stop: vec![],
            seed: Some(seed),
        })
    }

    const LOGITS: [f32; 4] = [0.0, 2.0, 1.0, -1.0];

    #[test]
    fn greedy_takes_the_most_probable() {
        assert_eq!(sampler(0.0, None, None, 0).draw(&LOGITS), Some(1));
        assert_eq!(sampler(1.0, None, Some(1), 0).draw(&LOGITS), Some(1));
        assert_eq!(sampler(1.0, Some(0.01), None, 0).draw(&LOGITS), Some(1));
    }

    #[test]
    fn draws_follow_the_probabilities_and_the_seed() {
        let mut counts = [0u32; 4];
        let mut s = sampler(1.0, None, None, 7);
        for _ in 0..20_000 {
            counts[s.draw(&LOGITS).unwrap() as usize] += 1;
        }
        let total: f64 = LOGITS.iter().map(|&x| f64::from(x).exp()).sum();
        for (count, logit) in counts.iter().zip(LOGITS) {
            let want = f64::from(logit).exp() / total;
            assert!((f64::from(*count) / 20_000.0 - want).abs() < 0.015);
        }
        let run = |seed| {
            let mut s = sampler(1.0, Some(0.9), Some(3), seed);
            (0..50)
                .map(|_| s.draw(&LOGITS).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
        assert!(
            run(3).iter().all(|&t| t != 3),
            "the fourth token lies outside the top three"
        );
    }

    #[test]
    fn the_nucleus_is_that_of_the_sorted_vocabulary() {
        // Flat and peaked, with ties: the nucleus is small, and nearly everything.
        for (peak, top_p) in [
            (0.0, 0.5),
            (0.0, 0.99),
            (6.0, 0.3),
            (6.0, 0.999),
            (3.0, 1e-9),
        ] {
            let weigh =
                |n: u32| (f64::from(n.wrapping_mul(2_654_435_761) >> 22) / 99.0 * peak).exp();
            let all: Vec<(f64, u32)> = (0..5_000).map(|n| (weigh(n), n)).collect();
            let wanted = top_p * all.iter().map(|w| w.0).sum::<f64>();
            let mut sorted = all.clone();
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut held = 0.0;
            let before = sorted.iter().take_while(|w| {
                let before = held;
                held += w.0;
                before < wanted
            });
            let before = before.count();
            let mut led = all.clone();
            let count = nucleus(&mut led, wanted);
            assert_eq!(count, before, "{peak} {top_p}");
            assert_eq!(led[..count], sorted[..count], "{peak} {top_p}");
        }
        for k in [1, 7, 5_000] {
            let mut all: Vec<(f64, u32)> = (0..5_000).map(|n| (f64::from(n % 7), n)).collect();
            let mut sorted = all.clone();
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            lead(&mut all, k);
            assert_eq!(all[..k], sorted[..k]);
        }
    }

    #[test]
    fn numbers_that_are_not_numbers_are_noticed() {
        assert_eq!(sampler(0.0, None, None, 0).draw(&[0.0, f32::NAN]), None);
        assert_eq!(sampler(1.0, None, None, 0).draw(&[]), None);
        assert_eq!(sampler(1.0, None, None, 0).draw(&[f32::NEG_INFINITY]), None);
    }
}
