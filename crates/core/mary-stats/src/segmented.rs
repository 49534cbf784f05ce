//! Windows of growth: a flat start, a rise on the log axis, a flat end.
//!
//! `y = before + slope * clamp(log10 x, onset, end)` by least squares: for a given onset and end it is a line
//! fit, so that all of a fine grid are tried, with no starting value. A window is claimed only when the best
//! ramp beats no growth in a permutation test. The interval of the onset holds every onset whose best ramp
//! fits nearly as well, "nearly" being calibrated by a bootstrap of the residuals (Hansen 2017); plain
//! percentiles of a kink are too short.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::bootstrap::quantile_sorted;
use crate::matrix::zip_with;
use crate::{Interval, LEVEL, StatsError, input};

/// How a window is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Steps of the grid over the range of log x.
    pub grid: usize,
    /// Bootstrap resamples for the intervals.
    pub resamples: usize,
    /// Permutations for the test against no growth.
    pub permutations: usize,
    /// A window is claimed below this p-value.
    pub alpha: f64,
    /// Decides the draws of both.
    pub seed: u64,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            grid: 60,
            resamples: 1_000,
            permutations: 1_000,
            alpha: 0.05,
            seed: 0,
        }
    }
}

/// A fitted ramp. Onset and end are in the units of x, the slope per factor of ten in x.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ramp {
    /// Where growth begins.
    pub onset: f64,
    /// Where it ends.
    pub end: f64,
    /// Level before growth.
    pub before: f64,
    /// Level after growth.
    pub after: f64,
    /// Growth for each factor of ten in x.
    pub slope: f64,
    /// Share of the variance explained.
    pub r_squared: f64,
}

impl Ramp {
    /// Its value at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.before + self.slope * (x.clamp(self.onset, self.end) / self.onset).log10()
    }
}

/// A window of growth with its uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    /// Where growth begins.
    pub onset: Interval,
    /// Where it ends.
    pub end: Interval,
    /// Growth for each factor of ten in x.
    pub slope: Interval,
    /// Growth from the flat start to the flat end.
    pub rise: Interval,
    /// False when the rise has already begun at the first point: the onset is then only a bound.
    pub onset_seen: bool,
    /// False when the rise has not stopped at the last point.
    pub end_seen: bool,
    /// log10 onset of every resample, for [`order`].
    #[serde(skip)]
    pub onset_draws: Vec<f64>,
}

/// What was found in a trajectory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// The window, when growth is beyond chance.
    pub window: Option<Window>,
    /// p-value of no growth (one-sided, permutation).
    pub p: f64,
    /// The best ramp whether or not it is claimed; absent when no ramp rises.
    pub ramp: Option<Ramp>,
    /// Points it rests on.
    pub n: usize,
}

/// Looks for a window of growth of `y` over positive `x`; at least eight points.
pub fn growth(x: &[f64], y: &[f64], search: &Search) -> Result<Growth, StatsError> {
    const WHAT: &str = "window of growth";
    input::pairs(WHAT, x, y, 8)?;
    let expected = "x above 0 (it is taken on a log axis; leave step 0 out)";
    input::each(WHAT, expected, x, |v| v > 0.0)?;
    let grid = search.grid.max(4);
    let axis =
        Axis::new(x, grid).ok_or(StatsError::too_few("window of growth (distinct x)", 4, 1))?;
    let y = axis.order.iter().filter_map(|&i| y.get(i));
    let y: Vec<f64> = y.copied().collect();
    let n = y.len();
    let total = input::sum_squares(&y);
    let fine = Axis::new(x, FINER * grid);
    // The test compares like with like: the same grid for the data and for their permutations.
    let Some(coarse) = axis.fit(&y).filter(|_| total > 0.0) else {
        return Ok(Growth {
            window: None,
            p: 1.0,
            ramp: None,
            n,
        });
    };
    let best = fine.and_then(|axis| axis.fit(&y)).unwrap_or(coarse);
    let mut rng = ChaCha8Rng::seed_from_u64(search.seed);
    let p = permutation_p(&axis, &y, coarse.explained, search.permutations, &mut rng);
    let window = (p < search.alpha).then(|| window(&axis, &y, &best, search, &mut rng));
    Ok(Growth {
        window,
        p,
        ramp: Some(best.ramp(total)),
        n,
    })
}

/// Share of paired resamples in which the first window begins before the second, ties one half.
pub fn order(first: &Window, second: &Window) -> Result<f64, StatsError> {
    let n = first.onset_draws.len().min(second.onset_draws.len());
    input::at_least("order of onsets", 1, n)?;
    let draws = first.onset_draws.iter().zip(&second.onset_draws);
    let before = draws.map(|(a, b)| match a.total_cmp(b) {
        std::cmp::Ordering::Less => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Greater => 0.0,
    });
    let earlier: f64 = before.sum();
    Ok(earlier / n as f64)
}

/// How many times finer than the grid of the resamples the data themselves are searched.
const FINER: usize = 4;

/// What is held while the rest is searched.
#[derive(Clone, Copy, PartialEq)]
enum Hold {
    Nothing,
    Onset(f64),
    End(f64),
}

/// Best ramp on the log axis.
#[derive(Debug, Clone, Copy)]
struct Fit {
    onset: f64,
    end: f64,
    slope: f64,
    before: f64,
    explained: f64,
}

impl Fit {
    fn at(&self, t: f64) -> f64 {
        self.before + self.slope * (t.clamp(self.onset, self.end) - self.onset)
    }

    fn rise(&self) -> f64 {
        self.slope * (self.end - self.onset)
    }

    fn ramp(&self, total: f64) -> Ramp {
        Ramp {
            onset: 10f64.powf(self.onset),
            end: 10f64.powf(self.end),
            before: self.before,
            after: self.before + self.rise(),
            slope: self.slope,
            r_squared: self.explained / total,
        }
    }
}

/// The log axis with everything about it that does not depend on y.
struct Axis {
    order: Vec<usize>,
    t: Vec<f64>,
    sum_t: Vec<f64>,
    sum_tt: Vec<f64>,
    step: f64,
    /// Grid knots with the index of the first point beyond each.
    knots: Vec<(f64, usize)>,
}

impl Axis {
    fn new(x: &[f64], grid: usize) -> Option<Self> {
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
        let t: Vec<f64> = order.iter().map(|&i| x[i].log10()).collect();
        let (low, high) = (*t.first()?, *t.last()?);
        let mut distinct = t.clone();
        distinct.dedup();
        if distinct.len() < 4 {
            return None;
        }
        let step = (high - low) / grid as f64;
        let knots = (0..=grid).map(|i| low + step * i as f64);
        let knots = knots.map(|knot| (knot, t.partition_point(|v| *v <= knot)));
        let knots = knots.collect();
        Some(Self {
            sum_t: running(t.iter().copied()),
            sum_tt: running(t.iter().map(|v| v * v)),
            order,
            t,
            step,
            knots,
        })
    }

    /// The rising ramp that explains most of `y`, to a small part of a grid step.
    fn fit(&self, y: &[f64]) -> Option<Fit> {
        self.fit_holding(&self.sums(y), Hold::Nothing)
    }

    fn sums(&self, y: &[f64]) -> Sums {
        Sums {
            y: running(y.iter().copied()),
            ty: running(self.t.iter().zip(y).map(|(t, y)| t * y)),
        }
    }

    fn fit_holding(&self, sums: &Sums, hold: Hold) -> Option<Fit> {
        let mut best: Option<Fit> = None;
        match hold {
            Hold::Nothing => {
                for (i, &onset) in self.knots.iter().enumerate() {
                    for &end in self.knots.iter().skip(i + 1) {
                        self.consider(&mut best, sums, onset, end);
                    }
                }
            }
            Hold::Onset(onset) => {
                for &end in self.knots.iter().filter(|k| k.0 > onset + 1e-9) {
                    self.consider(&mut best, sums, self.knot(onset), end);
                }
            }
            Hold::End(end) => {
                for &onset in self.knots.iter().filter(|k| k.0 < end - 1e-9) {
                    self.consider(&mut best, sums, onset, self.knot(end));
                }
            }
        }
        self.refine(&mut best, sums, hold);
        best
    }

    fn knot(&self, t: f64) -> (f64, usize) {
        (t, self.t.partition_point(|v| *v <= t))
    }

    /// Walks from the best knots in ever smaller steps, in all directions since onset and end pull on each
    /// other.
    fn refine(&self, best: &mut Option<Fit>, sums: &Sums, hold: Hold) {
        let (Some(&low), Some(&high)) = (self.t.first(), self.t.last()) else {
            return;
        };
        let mut reach = 0.5 * self.step;
        while reach > self.step / 64.0 {
            let Some(centre) = *best else { return };
            let steps = |held: bool| if held { [0.0; 3] } else { [-reach, 0.0, reach] };
            for d in steps(matches!(hold, Hold::Onset(_))) {
                let onset = self.knot((centre.onset + d).clamp(low, high));
                for d in steps(matches!(hold, Hold::End(_))) {
                    let end = self.knot((centre.end + d).clamp(low, high));
                    if end.0 > onset.0 + 1e-9 {
                        self.consider(best, sums, onset, end);
                    }
                }
            }
            if best.is_none_or(|b| b.explained <= centre.explained) {
                reach *= 0.5;
            }
        }
    }

    fn consider(
        &self,
        best: &mut Option<Fit>,
        sums: &Sums,
        (onset, first): (f64, usize),
        (end, beyond): (f64, usize),
    ) {
        let n = self.t.len() as f64;
        let width = end - onset;
        let inside = (beyond - first) as f64;
        let after = n - beyond as f64;
        let t = self.sum_t[beyond] - self.sum_t[first];
        let tt = self.sum_tt[beyond] - self.sum_tt[first];
        let y = sums.y[beyond] - sums.y[first];
        let all_y = sums.y[self.t.len()];
        let f = t - onset * inside + width * after;
        let ff = tt - 2.0 * onset * t + onset * onset * inside + width * width * after;
        let fy = sums.ty[beyond] - sums.ty[first] - onset * y + width * (all_y - sums.y[beyond]);
        let spread = ff - f * f / n;
        let shared = fy - f * all_y / n;
        if spread <= 1e-12 || shared <= 0.0 {
            return;
        }
        let explained = shared * shared / spread;
        if best.is_none_or(|b| explained > b.explained) {
            let slope = shared / spread;
            *best = Some(Fit {
                onset,
                end,
                slope,
                before: (all_y - slope * f) / n,
                explained,
            });
        }
    }
}

struct Sums {
    y: Vec<f64>,
    ty: Vec<f64>,
}

/// Running sums starting with 0.
fn running(values: impl Iterator<Item = f64>) -> Vec<f64> {
    std::iter::once(0.0)
        .chain(values.scan(0.0, |sum, v| {
            *sum += v;
            Some(*sum)
        }))
        .collect()
}

/// Shuffles as good as the data after which a curve plainly does not grow, and no more are drawn: p is then
/// their share among those drawn (Besag and Clifford 1991).
const PLAIN: usize = 100;

fn permutation_p(
    axis: &Axis,
    y: &[f64],
    observed: f64,
    permutations: usize,
    rng: &mut ChaCha8Rng,
) -> f64 {
    let mut shuffled = y.to_vec();
    let mut extreme = 0usize;
    for drawn in 1..=permutations {
        shuffled.shuffle(rng);
        if axis.fit(&shuffled).is_some_and(|f| f.explained >= observed) {
            extreme += 1;
        }
        if extreme == PLAIN {
            return extreme as f64 / drawn as f64;
        }
    }
    (extreme + 1) as f64 / (permutations + 1) as f64
}

/// How much worse the best ramp with something held is, in units of the residual variance.
fn loss(axis: &Axis, y: &[f64], sums: &Sums, best: f64, hold: Hold) -> f64 {
    let held = axis.fit_holding(sums, hold).map_or(0.0, |f| f.explained);
    let freedom = y.len() as f64 - 4.0;
    let residual = (input::sum_squares(y) - best).max(1e-300);
    (best - held).max(0.0) / residual * freedom
}

/// Everything the resamples tell.
struct Draws {
    fits: Vec<Fit>,
    onset_loss: Vec<f64>,
    end_loss: Vec<f64>,
}

fn resample(axis: &Axis, y: &[f64], best: &Fit, search: &Search, rng: &mut ChaCha8Rng) -> Draws {
    let n = y.len();
    let fitted: Vec<f64> = axis.t.iter().map(|&t| best.at(t)).collect();
    // Four parameters were fitted: the residuals are too small by that much.
    let scale = (n as f64 / (n as f64 - 4.0)).sqrt();
    let residuals = zip_with(y, &fitted, |a, b| scale * (a - b));
    let mut draws = Draws {
        fits: Vec::with_capacity(search.resamples),
        onset_loss: Vec::with_capacity(search.resamples),
        end_loss: Vec::with_capacity(search.resamples),
    };
    let mut again = vec![0.0; n];
    for _ in 0..search.resamples {
        for (value, base) in again.iter_mut().zip(&fitted) {
            let residual = residuals.get(rng.random_range(0..n));
            *value = base + residual.copied().unwrap_or(0.0);
        }
        let sums = axis.sums(&again);
        let Some(fit) = axis.fit_holding(&sums, Hold::Nothing) else {
            continue;
        };
        let held = |hold| loss(axis, &again, &sums, fit.explained, hold);
        draws.onset_loss.push(held(Hold::Onset(best.onset)));
        draws.end_loss.push(held(Hold::End(best.end)));
        draws.fits.push(fit);
    }
    draws.onset_loss.sort_by(f64::total_cmp);
    draws.end_loss.sort_by(f64::total_cmp);
    draws
}

/// The smallest and largest place on the axis whose loss stays below the calibrated limit.
fn not_rejected(
    axis: &Axis,
    y: &[f64],
    best: &Fit,
    value: f64,
    limit: f64,
    hold: impl Fn(f64) -> Hold,
) -> Interval {
    let sums = axis.sums(y);
    let (mut low, mut high) = (value, value);
    let (first, last) = (
        axis.t.first().copied().unwrap_or(value),
        axis.t.last().copied().unwrap_or(value),
    );
    let places = FINER * axis.knots.len();
    for i in 0..=places {
        let place = first + (last - first) * i as f64 / places as f64;
        if loss(axis, y, &sums, best.explained, hold(place)) <= limit {
            low = low.min(place);
            high = high.max(place);
        }
    }
    Interval::new(value, (low, high), y.len(), "bootstrap-inversion")
}

fn window(axis: &Axis, y: &[f64], best: &Fit, search: &Search, rng: &mut ChaCha8Rng) -> Window {
    let draws = resample(axis, y, best, search, rng);
    let percentile = |value: f64, of: &dyn Fn(&Fit) -> f64| {
        let mut sorted: Vec<f64> = draws.fits.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        let tail = 0.5 * (1.0 - LEVEL);
        let [low, high] = [tail, 1.0 - tail].map(|p| quantile_sorted(&sorted, p));
        let bounds = (low.min(value), high.max(value));
        Interval::new(value, bounds, y.len(), "bootstrap-residual")
    };
    let power = |i: Interval| Interval {
        value: 10f64.powf(i.value),
        low: 10f64.powf(i.low),
        high: 10f64.powf(i.high),
        ..i
    };
    let first = axis.t.first().copied().unwrap_or(best.onset);
    let last = axis.t.last().copied().unwrap_or(best.end);
    let onset_limit = quantile_sorted(&draws.onset_loss, LEVEL);
    let end_limit = quantile_sorted(&draws.end_loss, LEVEL);
    let onset = not_rejected(axis, y, best, best.onset, onset_limit, Hold::Onset);
    let end = not_rejected(axis, y, best, best.end, end_limit, Hold::End);
    Window {
        onset_seen: onset.low > first + 1e-9,
        end_seen: end.high < last - 1e-9,
        onset: power(onset),
        end: power(end),
        slope: percentile(best.slope, &|f| f.slope),
        rise: percentile(best.rise(), &Fit::rise),
        onset_draws: draws.fits.iter().map(|f| f.onset).collect(),
    }
}
