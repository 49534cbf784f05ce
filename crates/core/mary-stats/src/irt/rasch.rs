//! Rasch difficulties by conditional maximum likelihood: given how many answers of a person are right, which ones are
//! does not depend on the ability, so nothing is assumed about abilities.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Responses;
use crate::distributions::bisect;
use crate::matrix::{invert_spd, times, zip_with};
use crate::{StatsError, input};

/// Pairs of items times items are summed exactly up to here; beyond, errors take the covariance of two answers from
/// their variances, which is off by a term of the order of one over the number of items.
const EXACT_WORK: f64 = 4e9;

/// What conditional likelihood finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rasch {
    /// Difficulty of each item in logits, their mean zero; `None` where the data do not determine it.
    pub difficulties: Vec<Option<f64>>,
    /// Standard errors from the observed information.
    pub errors: Vec<Option<f64>>,
    /// Whether the errors are exact or come from variances alone (many items).
    pub exact_errors: bool,
    /// Conditional log-likelihood.
    pub log_likelihood: f64,
    /// Persons who were neither right nor wrong throughout: only they tell items apart.
    pub informative: usize,
}

impl Rasch {
    /// Difficulty of an item, where it is determined.
    pub fn difficulty(&self, item: usize) -> Option<f64> {
        self.difficulties.get(item).copied().flatten()
    }
}

/// Persons who answered the same items, by score.
struct Pattern {
    items: Vec<usize>,
    counts: BTreeMap<usize, f64>,
}

/// Fits the Rasch model to answers that are right (1) or wrong (0).
///
/// Difficulties are compared only among the largest set of items in which everybody's answers connect every item to
/// every other in both directions (somebody right on the first and wrong on the second, possibly by way of others):
/// Fischer's condition for a unique finite maximum. The others have no number.
pub fn rasch(responses: &Responses) -> Result<Rasch, StatsError> {
    const WHAT: &str = "conditional Rasch model";
    const SINGULAR: StatsError =
        StatsError::degenerate(WHAT, "the information about the items is singular");
    const STEPS: usize = 200;
    if let Some(item) = (0..responses.items()).find(|&item| responses.top(item) > 1) {
        let found = format!("{} for item {item}", responses.top(item));
        return Err(StatsError::domain(WHAT, "scores of 0 and 1", found));
    }
    let kept = connected(responses);
    let why = "no two items are connected by answers in both directions";
    input::refuse(kept.len() < 2, WHAT, why)?;
    let (patterns, right, informative) = patterns(responses, &kept);
    let n = kept.len();
    let mut easiness = vec![0.0; n];
    let mut current = evaluate(&patterns, &right, &easiness);
    for step in 0.. {
        if step == STEPS {
            return Err(StatsError::unsettled(WHAT, STEPS));
        }
        let mut information = current.information.clone();
        information.iter_mut().for_each(|x| *x += 1.0 / n as f64);
        let inverse = invert_spd(&information, n).ok_or(SINGULAR)?;
        let mut direction = times(&inverse, &current.gradient);
        let size = direction.iter().fold(0.0f64, |most, d| most.max(d.abs()));
        for _ in 0..40 {
            let mut trial = zip_with(&easiness, &direction, |e, d| e + d);
            let mean = trial.iter().sum::<f64>() / n as f64;
            trial.iter_mut().for_each(|e| *e -= mean);
            let found = evaluate(&patterns, &right, &trial);
            if found.log_likelihood >= current.log_likelihood - 1e-11 * current.log_likelihood.abs()
            {
                (easiness, current) = (trial, found);
                break;
            }
            direction.iter_mut().for_each(|d| *d *= 0.5);
        }
        if size < 1e-9 {
            break;
        }
    }
    let (information, exact_errors) = match exact_information(&patterns, &easiness) {
        Some(information) => (information, true),
        None => (current.information, false),
    };
    let shifted: Vec<f64> = information.iter().map(|x| x + 1.0 / n as f64).collect();
    let covariance = invert_spd(&shifted, n).ok_or(SINGULAR)?;
    let (mut difficulties, mut errors) =
        (vec![None; responses.items()], vec![None; responses.items()]);
    for (at, &item) in kept.iter().enumerate() {
        difficulties[item] = Some(-easiness[at]);
        errors[item] = Some((covariance[at * n + at] - 1.0 / n as f64).max(0.0).sqrt());
    }
    Ok(Rasch {
        difficulties,
        errors,
        exact_errors,
        log_likelihood: current.log_likelihood,
        informative,
    })
}

/// The largest set of items each of which can be reached from each other over "right here, wrong there".
fn connected(responses: &Responses) -> Vec<usize> {
    let n = responses.items();
    let words = n.div_ceil(64);
    let mut beats = vec![vec![0u64; words]; n];
    let mut beaten = vec![vec![0u64; words]; n];
    for row in responses.persons() {
        let (mut right, mut wrong) = (vec![0u64; words], vec![0u64; words]);
        for &(item, score) in row {
            let set = if score > 0 { &mut right } else { &mut wrong };
            set[item / 64] |= 1 << (item % 64);
        }
        for &(item, score) in row {
            let (edges, others) = if score > 0 {
                (&mut beats[item], &wrong)
            } else {
                (&mut beaten[item], &right)
            };
            for (edge, other) in edges.iter_mut().zip(others) {
                *edge |= other;
            }
        }
    }
    let reach = |from: usize, edges: &[Vec<u64>]| {
        let mut seen = vec![false; n];
        let mut open = vec![from];
        seen[from] = true;
        while let Some(at) = open.pop() {
            for next in 0..n {
                if !seen[next] && edges[at][next / 64] >> (next % 64) & 1 == 1 {
                    seen[next] = true;
                    open.push(next);
                }
            }
        }
        seen
    };
    let (mut done, mut best) = (vec![false; n], Vec::new());
    for item in 0..n {
        if !done[item] {
            let (there, back) = (reach(item, &beats), reach(item, &beaten));
            let set: Vec<usize> = (0..n).filter(|&i| there[i] && back[i]).collect();
            set.iter().for_each(|&member| done[member] = true);
            if set.len() > best.len() {
                best = set;
            }
        }
    }
    best
}

/// Persons by what they were asked and how much was right; right answers by item; how many persons count.
fn patterns(responses: &Responses, kept: &[usize]) -> (Vec<Pattern>, Vec<f64>, usize) {
    let place: BTreeMap<usize, usize> = kept.iter().copied().zip(0..).collect();
    let mut found: BTreeMap<Vec<usize>, BTreeMap<usize, f64>> = BTreeMap::new();
    let mut right = vec![0.0; kept.len()];
    let mut informative = 0;
    for row in responses.persons() {
        let kept = |&(item, score): &(usize, u8)| Some((*place.get(&item)?, score));
        let answers: Vec<(usize, u8)> = row.iter().filter_map(kept).collect();
        let score = answers.iter().filter(|answer| answer.1 > 0).count();
        if score == 0 || score == answers.len() {
            continue;
        }
        informative += 1;
        for answer in answers.iter().filter(|answer| answer.1 > 0) {
            right[answer.0] += 1.0;
        }
        let items = answers.iter().map(|answer| answer.0).collect();
        *found.entry(items).or_default().entry(score).or_default() += 1.0;
    }
    let pattern = |(items, counts)| Pattern { items, counts };
    let patterns = found.into_iter().map(pattern).collect();
    (patterns, right, informative)
}

struct Evaluated {
    log_likelihood: f64,
    gradient: Vec<f64>,
    /// With the covariance of two answers taken from their variances.
    information: Vec<f64>,
}

fn evaluate(patterns: &[Pattern], right: &[f64], easiness: &[f64]) -> Evaluated {
    let n = easiness.len();
    let mut gradient = right.to_vec();
    let mut information = vec![0.0; n * n];
    let mut log_likelihood: f64 = right.iter().zip(easiness).map(|(t, e)| t * e).sum();
    for pattern in patterns {
        let own: Vec<f64> = pattern.items.iter().map(|&item| easiness[item]).collect();
        for (&score, &count) in &pattern.counts {
            let given = Conditional::new(&own, score);
            log_likelihood -= count * given.log_symmetric;
            let shares: Vec<f64> = (0..own.len()).map(|at| given.share(at)).collect();
            let spread: f64 = shares.iter().map(|p| p * (1.0 - p)).sum();
            // Exact where all items are equally hard.
            let scale = count * own.len() as f64 / (own.len() - 1) as f64;
            for (a, &i) in pattern.items.iter().enumerate() {
                let v = shares[a] * (1.0 - shares[a]);
                gradient[i] -= count * shares[a];
                information[i * n + i] += scale * v;
                for (b, &j) in pattern.items.iter().enumerate() {
                    information[i * n + j] -= scale * v * shares[b] * (1.0 - shares[b]) / spread;
                }
            }
        }
    }
    Evaluated {
        log_likelihood,
        gradient,
        information,
    }
}

fn exact_information(patterns: &[Pattern], easiness: &[f64]) -> Option<Vec<f64>> {
    let work = |p: &Pattern| p.counts.len() as f64 * (p.items.len() as f64).powi(3);
    let cost = patterns.iter().map(work);
    if cost.sum::<f64>() > EXACT_WORK {
        return None;
    }
    let n = easiness.len();
    let mut information = vec![0.0; n * n];
    for pattern in patterns {
        let own: Vec<f64> = pattern.items.iter().map(|&item| easiness[item]).collect();
        for (&score, &count) in &pattern.counts {
            let given = Conditional::new(&own, score);
            let shares: Vec<f64> = (0..own.len()).map(|at| given.share(at)).collect();
            for (a, &i) in pattern.items.iter().enumerate() {
                information[i * n + i] += count * shares[a] * (1.0 - shares[a]);
                let without = given.without(&given.sums, a);
                for (b, &j) in pattern.items.iter().enumerate().skip(a + 1) {
                    let both = given.both(&without, a, b);
                    information[i * n + j] += count * (both - shares[a] * shares[b]);
                    information[j * n + i] += count * (both - shares[a] * shares[b]);
                }
            }
        }
    }
    Some(information)
}

/// Answers of a person with a given score. The ability is set where that score is expected, so that the probabilities
/// of sums neither vanish nor overflow with many items; what is asked does not depend on it.
struct Conditional {
    p: Vec<f64>,
    /// Probability of each sum.
    sums: Vec<f64>,
    score: usize,
    /// Logarithm of the elementary symmetric function of the score.
    log_symmetric: f64,
}

impl Conditional {
    fn new(easiness: &[f64], score: usize) -> Self {
        let share = |theta: f64| move |e: &f64| 1.0 / (1.0 + (-(theta + e)).exp());
        let shares = |theta: f64| easiness.iter().map(share(theta));
        let few = |theta: f64| shares(theta).sum::<f64>() < score as f64;
        let theta = bisect((-60.0, 60.0), 60, few);
        let p: Vec<f64> = shares(theta).collect();
        let mut sums = vec![0.0; p.len() + 1];
        sums[0] = 1.0;
        for (at, p) in p.iter().enumerate() {
            for k in (0..=at).rev() {
                sums[k + 1] += p * sums[k];
                sums[k] *= 1.0 - p;
            }
        }
        // P(sum = r) = exp(rθ)·γ_r·Π(1 − p)
        let none: f64 = easiness.iter().map(|e| -(theta + e).exp().ln_1p()).sum();
        let log_symmetric = sums[score].ln() - score as f64 * theta - none;
        Self {
            p,
            sums,
            score,
            log_symmetric,
        }
    }

    /// Probabilities of the sums of all items but one. The recursion runs in the direction in which errors shrink.
    fn without(&self, sums: &[f64], at: usize) -> Vec<f64> {
        let (p, q, n) = (self.p[at], 1.0 - self.p[at], sums.len() - 1);
        let mut rest = vec![0.0; n];
        if p <= 0.5 {
            let mut below = 0.0;
            for k in 0..n {
                below = (sums[k] - p * below) / q;
                rest[k] = below;
            }
        } else {
            let mut above = 0.0;
            for k in (0..n).rev() {
                above = (sums[k + 1] - q * above) / p;
                rest[k] = above;
            }
        }
        rest
    }

    /// Probability that an item is right.
    fn share(&self, at: usize) -> f64 {
        (self.p[at] * self.without(&self.sums, at)[self.score - 1] / self.sums[self.score])
            .clamp(0.0, 1.0)
    }

    /// Probability that two items are right, from the sums without the first.
    fn both(&self, without: &[f64], a: usize, b: usize) -> f64 {
        if self.score < 2 {
            return 0.0;
        }
        let rest = self.without(without, b)[self.score - 2];
        self.p[a] * self.p[b] * rest / self.sums[self.score]
    }
}
