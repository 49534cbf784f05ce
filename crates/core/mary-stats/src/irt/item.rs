//! An item's curve: how probable each score is at an ability.

use serde::{Deserialize, Serialize};

use crate::input::ratio;
use crate::matrix::zip_with;

/// An item's parameters. A score `k` has probability proportional to `exp(k·slope·θ + d₁ + … + d_k)`: the two-parameter
/// logistic curve for right or wrong, (generalised) partial credit above. With `guessing`, the probability of a right
/// answer starts there instead of at zero; this is for items of two scores only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// How steeply the curve rises.
    pub slope: f64,
    /// The intercepts `d`, one for each score above zero.
    pub intercepts: Vec<f64>,
    /// Probability of a right answer without any ability: chance, in forced choice.
    #[serde(default)]
    pub guessing: f64,
}

impl Item {
    /// An item that is right or wrong, by difficulty: where the curve is halfway between `guessing` and 1.
    pub fn binary(slope: f64, difficulty: f64, guessing: f64) -> Self {
        Self {
            slope,
            intercepts: vec![-slope * difficulty],
            guessing,
        }
    }

    /// Difficulty on the scale of abilities; of partial credit the mean of where each score becomes as probable
    /// as the one below it.
    pub fn difficulty(&self) -> f64 {
        -self.intercepts.iter().sum::<f64>() / (self.slope * self.intercepts.len().max(1) as f64)
    }

    /// Highest score.
    pub fn top(&self) -> u8 {
        self.intercepts.len() as u8
    }

    /// Probability of every score from 0 up.
    pub fn probabilities(&self, theta: f64) -> Vec<f64> {
        let mut sum = 0.0;
        let mut logits = vec![0.0];
        for d in &self.intercepts {
            sum += self.slope * theta + d;
            logits.push(sum);
        }
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut p: Vec<f64> = logits.iter().map(|z| (z - most).exp()).collect();
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
        if let [wrong, right] = p.as_mut_slice() {
            *right = self.guessing + (1.0 - self.guessing) * *right;
            *wrong *= 1.0 - self.guessing;
        }
        p
    }

    /// Logarithm of the probability of a score.
    pub(super) fn log_p(&self, theta: f64, score: u8) -> f64 {
        let p = match self.intercepts.len() {
            1 => self.by_logit(theta)[usize::from(score > 0)].0,
            _ => {
                let p = self.probabilities(theta);
                p.get(usize::from(score)).copied().unwrap_or(0.0)
            }
        };
        p.max(1e-300).ln()
    }

    /// The score expected at an ability.
    pub fn expected(&self, theta: f64) -> f64 {
        match self.intercepts.len() {
            1 => self.guessing + (1.0 - self.guessing) * self.logistic(theta),
            _ => mean(&self.probabilities(theta)),
        }
    }

    /// Variance of the score at an ability.
    pub fn variance(&self, theta: f64) -> f64 {
        self.central_moment(theta, 2)
    }

    pub(super) fn central_moment(&self, theta: f64, power: i32) -> f64 {
        if self.intercepts.len() == 1 {
            let p = self.expected(theta);
            return p * (1.0 - p).powi(power) + (1.0 - p) * (-p).powi(power);
        }
        let p = self.probabilities(theta);
        let mean = mean(&p);
        let term = |(k, p): (usize, &f64)| p * (k as f64 - mean).powi(power);
        p.iter().enumerate().map(term).sum()
    }

    /// Fisher information about the ability.
    pub fn information(&self, theta: f64) -> f64 {
        let (first, _) = self.curve(theta);
        over(first * first, self.variance(theta))
    }

    /// First and second derivative of the expected score by ability.
    fn curve(&self, theta: f64) -> (f64, f64) {
        let a = self.slope;
        if self.guessing > 0.0 {
            let share = self.logistic(theta);
            let rise = (1.0 - self.guessing) * share * (1.0 - share);
            (a * rise, a * a * rise * (1.0 - 2.0 * share))
        } else {
            let skew = self.central_moment(theta, 3);
            (a * self.variance(theta), a * a * skew)
        }
    }

    /// Derivative of the log-probability of `score` by ability.
    pub(super) fn score_function(&self, theta: f64, score: u8) -> f64 {
        let away = f64::from(score) - self.expected(theta);
        if self.guessing == 0.0 {
            return self.slope * away;
        }
        let (first, _) = self.curve(theta);
        over(away * first, self.variance(theta))
    }

    /// What the item adds to Warm's `J`, the bias that weighted likelihood removes.
    pub(super) fn warm(&self, theta: f64) -> f64 {
        let (first, second) = self.curve(theta);
        over(first * second, self.variance(theta))
    }

    /// The curve without guessing, of an item with two scores.
    pub(super) fn logistic(&self, theta: f64) -> f64 {
        let z = self.slope * theta + self.intercepts.first().copied().unwrap_or(0.0);
        1.0 / (1.0 + (-z).exp())
    }

    /// Of an item with two scores, for wrong and right: probability, and first and minus second derivative of its
    /// logarithm by the logit.
    pub(super) fn by_logit(&self, theta: f64) -> [(f64, f64, f64); 2] {
        let share = self.logistic(theta);
        let (rise, right) = (
            share * (1.0 - share),
            self.guessing + (1.0 - self.guessing) * share,
        );
        let bend = (1.0 - self.guessing) * rise;
        let second = (rise * (1.0 - right) - bend * share) / right
            - (1.0 - right) * share * bend / (right * right);
        [
            ((1.0 - self.guessing) * (1.0 - share), -share, rise),
            (right, (1.0 - right) * share / right, -second),
        ]
    }

    /// For each score: derivatives of its log-probability by slope and intercepts, and minus the second ones
    /// (row-major).
    pub(super) fn derivatives(&self, theta: f64) -> Vec<(Vec<f64>, Vec<f64>)> {
        if self.intercepts.len() == 1 {
            let of_score = |(_, first, bend): (f64, f64, f64)| {
                let curvature = [theta * theta, theta, theta, 1.0].map(|x| bend * x);
                (vec![first * theta, first], curvature.to_vec())
            };
            return self.by_logit(theta).map(of_score).to_vec();
        }
        let p = self.probabilities(theta);
        let k = p.len();
        let feature = |score: usize| {
            let mut row = vec![score as f64 * theta];
            row.extend((1..k).map(|step| f64::from(u8::from(score >= step))));
            row
        };
        let mut mean = vec![0.0; k];
        let mut square = vec![0.0; k * k];
        for (score, p) in p.iter().enumerate() {
            let f = feature(score);
            for i in 0..k {
                mean[i] += p * f[i];
                for j in 0..k {
                    square[i * k + j] += p * f[i] * f[j];
                }
            }
        }
        for i in 0..k {
            for j in 0..k {
                square[i * k + j] -= mean[i] * mean[j];
            }
        }
        let gradient = |score| zip_with(&feature(score), &mean, |f, m| f - m);
        let of_score = |score| (gradient(score), square.clone());
        (0..k).map(of_score).collect()
    }
}

/// 0 where nothing varies.
fn over(value: f64, variance: f64) -> f64 {
    ratio(value, variance, 0.0)
}

fn mean(p: &[f64]) -> f64 {
    p.iter().enumerate().map(|(k, p)| k as f64 * p).sum()
}
