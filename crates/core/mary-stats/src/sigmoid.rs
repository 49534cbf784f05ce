//! A sigmoid with four parameters by least squares, as R's `SSfpl`: from one level to another, around a middle.
//!
//! For a given middle and scale both levels are a line fit, so that a grid of these two is tried and then narrowed, with no
//! starting value.

use serde::Serialize;

use crate::linear::line;
use crate::{StatsError, input};

/// `y = after + (before - after) / (1 + exp((x - middle) / scale))`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sigmoid {
    /// Level far before the middle.
    pub before: f64,
    /// Level far behind it.
    pub after: f64,
    /// Where half of the way is gone.
    pub middle: f64,
    /// How slow it is; above 0.
    pub scale: f64,
}

impl Sigmoid {
    /// Its value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        let left = 1.0 / (1.0 + ((x - self.middle) / self.scale).exp());
        self.after + (self.before - self.after) * left
    }

    /// Where it passes a level, if it does.
    pub fn crossing(&self, level: f64) -> Option<f64> {
        let ratio = (self.before - self.after) / (level - self.after) - 1.0;
        let passes = ratio > 0.0 && ratio.is_finite();
        passes.then(|| self.middle + self.scale * ratio.ln())
    }
}

/// The best sigmoid through the points, its middle at most half their range outside of them.
pub fn sigmoid(x: &[f64], y: &[f64]) -> Result<Sigmoid, StatsError> {
    const WHAT: &str = "sigmoid";
    input::pairs(WHAT, x, y, 5)?;
    let low = x.iter().copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = high - low;
    let fit = |middle: f64, scale: f64| -> Option<(f64, Sigmoid)> {
        let left = x.iter().map(|x| 1.0 / (1.0 + ((x - middle) / scale).exp()));
        let found = line(&left.collect::<Vec<f64>>(), y).ok()?;
        let made = Sigmoid {
            before: found.intercept + found.slope,
            after: found.intercept,
            middle,
            scale,
        };
        let squares = x.iter().zip(y).map(|(x, y)| (y - made.at(*x)).powi(2));
        Some((squares.sum(), made))
    };
    let mut best: Option<(f64, Sigmoid)> = None;
    let look = |middle: f64, scale: f64, best: &mut Option<(f64, Sigmoid)>| {
        let inside = (low - 0.5 * range..=high + 0.5 * range).contains(&middle);
        if let Some(found) = fit(middle, scale).filter(|_| inside)
            && best.is_none_or(|(least, _)| found.0 < least)
        {
            *best = Some(found);
        }
    };
    for i in 0..=80 {
        for j in 0..=30 {
            let middle = low - 0.5 * range + 2.0 * range * f64::from(i) / 80.0;
            let scale = 0.005 * range * 200f64.powf(f64::from(j) / 30.0);
            look(middle, scale, &mut best);
        }
    }
    let (mut across, mut times) = (range / 40.0, 1.2f64);
    for _ in 0..60 {
        let Some((_, at)) = best else { break };
        for i in -2..=2 {
            for j in -2..=2 {
                let middle = at.middle + across * f64::from(i);
                look(middle, at.scale * times.powi(j), &mut best);
            }
        }
        if best.is_some_and(|(_, now)| now == at) {
            (across, times) = (0.6 * across, times.powf(0.6));
        }
    }
    let found = best.map(|(_, found)| found);
    found.ok_or_else(|| StatsError::degenerate(WHAT, "the values of x are all the same"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R 4.5: `nls(y ~ SSfpl(x, A, B, xmid, scal))`.
    #[test]
    fn fits_are_those_of_r() {
        let steps = [
            1e2, 2e2, 5e2, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6,
        ];
        let x: Vec<f64> = steps.iter().map(|s: &f64| s.log10()).collect();
        let cases = [
            (
                [
                    14.590526, 14.52403, 14.01053, 12.73985, 11.507863, 8.829659, 6.977148,
                    5.870604, 4.394406, 4.601256, 3.990456, 3.808701, 3.8696,
                ],
                [14.93602625, 3.84823039, 3.62294944, 0.41971456],
            ),
            (
                [
                    14.815468, 12.390205, 8.927254, 6.611053, 5.186806, 4.593876, 3.733753,
                    3.174548, 2.849144, 3.024, 2.484606, 2.858428, 2.760718,
                ],
                [23.54990164, 2.71304607, 2.19844161, 0.57682707],
            ),
            (
                [
                    15.036063, 15.016461, 14.876966, 14.717701, 14.848721, 14.29976, 13.15672,
                    11.448812, 9.664302, 9.314329, 9.224709, 9.019162, 8.888846,
                ],
                [14.94344160, 9.01738530, 4.20916226, 0.24688095],
            ),
            (
                [
                    0.127089, 0.138472, 0.150237, 0.222544, 0.245801, 0.388673, 0.463754, 0.614307,
                    0.759579, 0.797349, 0.830409, 0.885741, 0.87266,
                ],
                [0.11969836, 0.89374690, 4.03990354, 0.47490876],
            ),
        ];
        for (y, theirs) in cases {
            let found = sigmoid(&x, &y).unwrap();
            let ours = [found.before, found.after, found.middle, found.scale];
            for (a, b) in ours.iter().zip(theirs) {
                assert!(
                    (a - b).abs() < 2e-4 * b.abs().max(1.0),
                    "{ours:?} {theirs:?}"
                );
            }
            let level = 0.5 * (y[0] + y[12]);
            assert!((found.at(found.crossing(level).unwrap()) - level).abs() < 1e-9);
        }
        assert!(sigmoid(&[1.0; 5], &[1.0, 2.0, 3.0, 4.0, 5.0]).is_err());
    }
}
