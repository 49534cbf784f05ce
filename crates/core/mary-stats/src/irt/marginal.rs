//! Marginal maximum likelihood: item parameters with a normal distribution of abilities, by expectation and
//! maximisation on a fixed grid, accelerated (SQUAREM).

use serde::Serialize;

use super::{Item, Responses, information};
use crate::matrix::{add, invert_spd, times, zip_with};
use crate::{StatsError, input};

/// Grid of abilities: 61 nodes from -6 to 6.
pub(super) const NODES: usize = 61;

const WHAT: &str = "marginal item response model";

pub(super) fn node(at: usize) -> f64 {
    -6.0 + 12.0 * at as f64 / (NODES - 1) as f64
}

/// Whether all items rise equally steeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Slopes {
    /// One slope for all (1PL).
    Common,
    /// Each item its own (2PL; with guessing, 3PL).
    Own,
}

/// What is assumed of items before any answer: it keeps items that few answered, or all answered alike, finite.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prior {
    /// Standard deviation of the logarithm of a slope around 0, each one's own or the common one: few subjects who
    /// differ little would leave it at zero, and difficulties at infinity.
    pub log_slope: f64,
    /// Standard deviation of an intercept around 0.
    pub intercept: f64,
}

impl Default for Prior {
    fn default() -> Self {
        Self {
            log_slope: 0.5,
            intercept: 3.0,
        }
    }
}

/// What to fit and when to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct MarginalSettings {
    /// One slope, or one for each item.
    pub slopes: Slopes,
    /// Probability of a right guess, by item; empty for none.
    pub guessing: Vec<f64>,
    /// `None` is plain maximum likelihood.
    pub prior: Option<Prior>,
    /// Persons' groups, 0 the reference with mean 0 and standard deviation 1, the others with their own; empty for
    /// one group.
    pub groups: Vec<usize>,
    /// The fit ends when no parameter moves more than this in a step.
    pub tolerance: f64,
}

impl MarginalSettings {
    /// Without guessing, in one group, with the default prior.
    pub fn new(slopes: Slopes) -> Self {
        Self {
            slopes,
            guessing: Vec::new(),
            prior: Some(Prior::default()),
            groups: Vec::new(),
            tolerance: 1e-6,
        }
    }
}

/// What marginal likelihood finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Marginal {
    /// Items in their order.
    pub items: Vec<Item>,
    /// Mean and standard deviation of abilities by group; the first is (0, 1).
    pub groups: Vec<(f64, f64)>,
    /// Log-likelihood of the answers, without the prior.
    pub log_likelihood: f64,
    /// How many parameters were free.
    pub parameters: usize,
    /// Persons with at least one answer.
    pub persons: usize,
    /// Steps until the fit settled.
    pub steps: usize,
    slopes: Slopes,
    prior: Option<Prior>,
}

impl Marginal {
    /// Akaike's criterion: smaller is better.
    pub fn aic(&self) -> f64 {
        2.0 * self.parameters as f64 - 2.0 * self.log_likelihood
    }

    /// Schwarz's criterion: smaller is better.
    pub fn bic(&self) -> f64 {
        self.parameters as f64 * (self.persons as f64).ln() - 2.0 * self.log_likelihood
    }

    /// Standard errors of slope and intercepts of each item and of its difficulty, from the observed information
    /// (Louis). `clusters`, one name a person, takes persons of a cluster as one draw (sandwich): for checkpoints,
    /// sizes and quantisations of one model. Of one group only.
    pub fn errors(
        &self,
        responses: &Responses,
        clusters: Option<&[usize]>,
    ) -> Result<Vec<ItemErrors>, StatsError> {
        let why = "errors of items are given for one group only";
        input::refuse(self.groups.len() > 1, WHAT, why)?;
        information::errors(&self.items, self.slopes, self.prior, responses, clusters)
    }
}

/// Standard errors of an item's parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemErrors {
    /// Of the slope.
    pub slope: f64,
    /// Of each intercept.
    pub intercepts: Vec<f64>,
    /// Of the difficulty ([`Item::difficulty`]).
    pub difficulty: f64,
}

/// Fits items to answers, some of which may be missing by design.
///
/// Without a prior, an item that everybody (or nobody) has right has no finite parameters, which is an error.
pub fn marginal(
    responses: &Responses,
    settings: &MarginalSettings,
) -> Result<Marginal, StatsError> {
    const STEPS: usize = 3000;
    let mut state = start(responses, settings)?;
    let groups = match settings.groups.as_slice() {
        [] => vec![0; responses.persons().len()],
        groups => groups.to_vec(),
    };
    let fit = Fit {
        responses,
        settings,
        groups,
    };
    let mut steps = 0;
    loop {
        // Two steps give the direction and the bend of the path; a third one goes ahead along it.
        let (first, before) = fit.step(&state)?;
        let (second, _) = fit.step(&first)?;
        steps += 2;
        let (x0, x1, x2) = (state.pack(), first.pack(), second.pack());
        let moves = zip_with(&x2, &x1, |c, b| c - b);
        let moved = moves.iter().fold(0.0f64, |most, d| most.max(d.abs()));
        if moved < settings.tolerance {
            state = second;
            break;
        }
        if steps > STEPS {
            return Err(StatsError::unsettled(WHAT, STEPS));
        }
        let r = zip_with(&x1, &x0, |b, a| b - a);
        let v = zip_with(&moves, &r, |d, r| d - r);
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let ahead = (norm(&r) / norm(&v).max(1e-300)).clamp(1.0, 32.0);
        let straight = zip_with(&x0, &r, |x, r| x + 2.0 * ahead * r);
        let bent = zip_with(&straight, &v, |x, v| x + ahead * ahead * v);
        let trial = second.unpack(&bent);
        let (after, objective) = fit.step(&trial)?;
        steps += 1;
        let better = objective.is_finite() && objective >= before;
        state = if better { after } else { second };
    }
    let (_, objective) = fit.step(&state)?;
    let penalty = penalties(&state.items, settings);
    let per_item = state.items.iter().map(|item| item.intercepts.len());
    let rows = responses.persons().iter();
    let slopes = match settings.slopes {
        Slopes::Common => 1,
        Slopes::Own => state.items.len(),
    };
    Ok(Marginal {
        parameters: per_item.sum::<usize>() + slopes + 2 * (state.groups.len() - 1),
        log_likelihood: objective + penalty,
        persons: rows.filter(|row| !row.is_empty()).count(),
        items: state.items,
        groups: state.groups,
        steps,
        slopes: settings.slopes,
        prior: settings.prior,
    })
}

#[derive(Clone)]
struct State {
    items: Vec<Item>,
    groups: Vec<(f64, f64)>,
}

impl State {
    fn pack(&self) -> Vec<f64> {
        let of_item = |item: &Item| [[item.slope.ln()].as_slice(), &item.intercepts].concat();
        let items = self.items.iter().flat_map(of_item);
        let groups = self.groups.iter().flat_map(|(mean, sd)| [*mean, sd.ln()]);
        items.chain(groups).collect()
    }

    fn unpack(&self, packed: &[f64]) -> Self {
        let mut values = packed.iter().copied();
        let mut next = || values.next().unwrap_or(0.0);
        let mut copy = self.clone();
        for item in &mut copy.items {
            item.slope = next().clamp(-5.0, 3.0).exp();
            item.intercepts.iter_mut().for_each(|d| *d = next());
        }
        for group in &mut copy.groups {
            *group = (next(), next().clamp(-5.0, 3.0).exp());
        }
        copy
    }
}

/// Checks, then every item at a slope of 1 with the intercepts of its shares.
fn start(responses: &Responses, settings: &MarginalSettings) -> Result<State, StatsError> {
    let n = responses.items();
    input::at_least(WHAT, 2, n)?;
    if !settings.guessing.is_empty() {
        input::same_length(WHAT, settings.guessing.len(), n)?;
    }
    if !settings.groups.is_empty() {
        input::same_length(WHAT, settings.groups.len(), responses.persons().len())?;
    }
    let scores = |item| usize::from(responses.top(item)) + 1;
    let mut counts: Vec<Vec<f64>> = (0..n).map(|item| vec![0.0; scores(item)]).collect();
    for &(item, score) in responses.persons().iter().flatten() {
        counts[item][usize::from(score)] += 1.0;
    }
    let mut items = Vec::with_capacity(n);
    for (at, counts) in counts.iter().enumerate() {
        let none = counts.iter().sum::<f64>() == 0.0;
        input::refuse(none, WHAT, "an item has no answer")?;
        let why = "nobody has one of an item's scores, and no prior was given";
        input::refuse(settings.prior.is_none() && counts.contains(&0.0), WHAT, why)?;
        let guessing = settings.guessing.get(at).copied().unwrap_or(0.0);
        if !(0.0..1.0).contains(&guessing) || (guessing > 0.0 && counts.len() > 2) {
            let expected = "a probability below 1, and none for items with more than two scores";
            return Err(StatsError::domain(WHAT, expected, guessing.to_string()));
        }
        let intercepts = counts
            .windows(2)
            .map(|pair| ((pair[1] + 0.5) / (pair[0] + 0.5)).ln());
        items.push(Item {
            slope: 1.0,
            intercepts: intercepts.collect(),
            guessing,
        });
    }
    let groups = settings.groups.iter().max().map_or(1, |most| most + 1);
    Ok(State {
        items,
        groups: vec![(0.0, 1.0); groups],
    })
}

/// Minus the logarithm of the prior's density, up to a constant.
fn penalty(item: &Item, settings: &MarginalSettings) -> f64 {
    let Some(prior) = settings.prior else {
        return 0.0;
    };
    let slope = match settings.slopes {
        Slopes::Common => 0.0,
        Slopes::Own => 0.5 * (item.slope.ln() / prior.log_slope).powi(2),
    };
    let steps = item.intercepts.iter();
    let steps = steps.map(|d| 0.5 * (d / prior.intercept).powi(2));
    slope + steps.sum::<f64>()
}

/// The same of all items; a common slope counts once.
fn penalties(items: &[Item], settings: &MarginalSettings) -> f64 {
    let shared = match (settings.slopes, settings.prior, items.first()) {
        (Slopes::Common, Some(prior), Some(item)) => {
            0.5 * (item.slope.ln() / prior.log_slope).powi(2)
        }
        _ => 0.0,
    };
    shared
        + items
            .iter()
            .map(|item| penalty(item, settings))
            .sum::<f64>()
}

struct Fit<'a> {
    responses: &'a Responses,
    settings: &'a MarginalSettings,
    groups: Vec<usize>,
}

impl Fit<'_> {
    /// One step of expectation and maximisation; with it the penalised log-likelihood before the step.
    fn step(&self, state: &State) -> Result<(State, f64), StatsError> {
        let tables: Vec<Vec<[f64; NODES]>> = state.items.iter().map(log_table).collect();
        let groups = state.groups.iter();
        let priors: Vec<_> = groups.map(|&(mean, sd)| log_normal(mean, sd)).collect();
        let blank = |table: &Vec<_>| vec![[0.0; NODES]; table.len()];
        let mut expected: Vec<Vec<[f64; NODES]>> = tables.iter().map(blank).collect();
        let mut moments = vec![(0.0, 0.0, 0.0); state.groups.len()];
        let mut objective = -penalties(&state.items, self.settings);
        for (row, &group) in self.responses.persons().iter().zip(&self.groups) {
            if row.is_empty() {
                continue;
            }
            let (weights, log) = weigh(row, &tables, &priors[group]);
            objective += log;
            for &(item, score) in row {
                add(&mut expected[item][usize::from(score)], 1.0, &weights);
            }
            let moment = &mut moments[group];
            moment.0 += 1.0;
            for (at, weight) in weights.iter().enumerate() {
                moment.1 += weight * node(at);
                moment.2 += weight * node(at) * node(at);
            }
        }
        let mut next = state.clone();
        for (item, counts) in next.items.iter_mut().zip(&expected) {
            maximise(item, counts, self.settings);
        }
        if self.settings.slopes == Slopes::Common {
            common_slope(&mut next.items, &expected, self.settings.prior);
        }
        for (group, (n, sum, square)) in next.groups.iter_mut().zip(&moments).skip(1) {
            if *n > 0.0 {
                let mean = sum / n;
                *group = (mean, (square / n - mean * mean).max(1e-4).sqrt());
            }
        }
        if next.pack().iter().all(|x| x.is_finite()) {
            Ok((next, objective))
        } else {
            let why = "an item's parameters grow without bound";
            Err(StatsError::degenerate(WHAT, why))
        }
    }
}

/// Logarithm of each score's probability at every node.
pub(super) fn log_table(item: &Item) -> Vec<[f64; NODES]> {
    let mut table = vec![[0.0; NODES]; item.intercepts.len() + 1];
    for at in 0..NODES {
        if let [wrong, right] = table.as_mut_slice() {
            let [(p, ..), (q, ..)] = item.by_logit(node(at));
            (wrong[at], right[at]) = (p.max(1e-300).ln(), q.max(1e-300).ln());
            continue;
        }
        for (row, p) in table.iter_mut().zip(item.probabilities(node(at))) {
            row[at] = p.max(1e-300).ln();
        }
    }
    table
}

/// Logarithm of a normal distribution on the grid, its weights summing to one.
pub(super) fn log_normal(mean: f64, sd: f64) -> [f64; NODES] {
    let mut logs = [0.0; NODES];
    for (at, log) in logs.iter_mut().enumerate() {
        *log = -0.5 * ((node(at) - mean) / sd).powi(2);
    }
    let total: f64 = logs.iter().map(|log| log.exp()).sum();
    let total = total.max(1e-300).ln();
    logs.iter_mut().for_each(|log| *log -= total);
    logs
}

/// Distribution of a person's ability over the nodes, and the logarithm of the answers' probability.
pub(super) fn weigh(
    row: &[(usize, u8)],
    tables: &[Vec<[f64; NODES]>],
    prior: &[f64; NODES],
) -> ([f64; NODES], f64) {
    let mut logs = *prior;
    for &(item, score) in row {
        add(&mut logs, 1.0, &tables[item][usize::from(score)]);
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for log in &mut logs {
        *log = (*log - most).exp();
        total += *log;
    }
    logs.iter_mut().for_each(|weight| *weight /= total);
    (logs, most + total.ln())
}

/// Gradient and curvature of an item's expected log-likelihood by slope and intercepts.
fn expected_derivatives(item: &Item, counts: &[[f64; NODES]]) -> (Vec<f64>, Vec<f64>, f64) {
    let k = item.intercepts.len() + 1;
    let (mut gradient, mut curvature, mut value) = (vec![0.0; k], vec![0.0; k * k], 0.0);
    for at in 0..NODES {
        if counts.iter().all(|row| row[at] < 1e-12) {
            continue;
        }
        let theta = node(at);
        if k == 2 {
            for (row, (p, first, bend)) in counts.iter().zip(item.by_logit(theta)) {
                let n = row[at];
                value += n * p.max(1e-300).ln();
                let pairs = [n * bend * theta * theta, n * bend * theta, n * bend];
                gradient[0] += n * first * theta;
                gradient[1] += n * first;
                curvature[0] += pairs[0];
                curvature[1] += pairs[1];
                curvature[2] += pairs[1];
                curvature[3] += pairs[2];
            }
            continue;
        }
        let p = item.probabilities(theta);
        for (score, (first, second)) in item.derivatives(node(at)).into_iter().enumerate() {
            let n = counts[score][at];
            value += n * p[score].max(1e-300).ln();
            add(&mut gradient, n, &first);
            add(&mut curvature, n, &second);
        }
    }
    (gradient, curvature, value)
}

/// Newton steps for one item; with a common slope for its intercepts alone.
fn maximise(item: &mut Item, counts: &[[f64; NODES]], settings: &MarginalSettings) {
    let k = item.intercepts.len() + 1;
    let skip = usize::from(settings.slopes == Slopes::Common);
    let size = k - skip;
    // A step or two raise the likelihood; the next expectation moves the top anyway.
    for _ in 0..2 {
        let (mut gradient, mut curvature, value) = expected_derivatives(item, counts);
        if let Some(prior) = settings.prior {
            if settings.slopes == Slopes::Own {
                let (log, precision) = (item.slope.ln(), prior.log_slope.powi(-2));
                gradient[0] -= precision * log / item.slope;
                curvature[0] += (precision * (1.0 - log) / item.slope.powi(2)).max(0.0);
            }
            for (at, d) in item.intercepts.iter().enumerate() {
                gradient[at + 1] -= d / prior.intercept.powi(2);
                curvature[(at + 1) * k + at + 1] += prior.intercept.powi(-2);
            }
        }
        let rows = (skip..k).flat_map(|i| (skip..k).map(move |j| (i, j)));
        let mut block: Vec<f64> = rows.map(|(i, j)| curvature[i * k + j]).collect();
        let inverse = loop {
            match invert_spd(&block, size) {
                Some(inverse) => break inverse,
                // Guessing can bend the likelihood the wrong way far from the top: lean towards the gradient.
                None => {
                    (0..size).for_each(|i| block[i * size + i] += 1e-6 + block[i * size + i].abs())
                }
            }
            if !block.iter().all(|x| x.is_finite()) {
                return;
            }
        };
        let mut direction = times(&inverse, &gradient[skip..]);
        let before = value - penalty(item, settings);
        let largest = direction.iter().fold(0.0f64, |most, d| most.max(d.abs()));
        let mut moved = false;
        for _ in 0..20 {
            let mut trial = item.clone();
            if skip == 0 {
                trial.slope = (item.slope + direction[0]).clamp(0.01, 20.0);
            }
            add(&mut trial.intercepts, 1.0, &direction[1 - skip..]);
            let after = expected_value(&trial, counts) - penalty(&trial, settings);
            if after >= before - 1e-12 * before.abs() {
                *item = trial;
                moved = true;
                break;
            }
            direction.iter_mut().for_each(|d| *d *= 0.5);
        }
        if !moved || largest < 1e-8 {
            break;
        }
    }
}

fn expected_value(item: &Item, counts: &[[f64; NODES]]) -> f64 {
    let table = log_table(item);
    let cells = table.iter().flatten().zip(counts.iter().flatten());
    cells.map(|(log, n)| log * n).sum()
}

/// Newton steps for the slope that all items share.
fn common_slope(items: &mut [Item], expected: &[Vec<[f64; NODES]>], prior: Option<Prior>) {
    for _ in 0..3 {
        let (mut gradient, mut curvature) = (0.0, 0.0);
        for (item, counts) in items.iter().zip(expected) {
            let (first, second, _) = expected_derivatives(item, counts);
            gradient += first[0];
            curvature += second[0];
        }
        let slope = items.first().map_or(1.0, |item| item.slope);
        if let Some(prior) = prior {
            let (log, precision) = (slope.ln(), prior.log_slope.powi(-2));
            gradient -= precision * log / slope;
            curvature += (precision * (1.0 - log) / slope.powi(2)).max(0.0);
        }
        let step = (gradient / curvature.max(1e-12)).clamp(-0.5 * slope, 0.5 * slope + 0.1);
        for item in items.iter_mut() {
            item.slope = (slope + step).clamp(0.01, 20.0);
        }
        if step.abs() < 1e-9 {
            break;
        }
    }
}
