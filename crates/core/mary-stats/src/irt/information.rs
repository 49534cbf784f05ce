//! Standard errors of items from the observed information (Louis 1982): what complete data would tell, less what is
//! lost by not knowing the abilities.

use super::marginal::{ItemErrors, NODES, Prior, Slopes, log_normal, log_table, node, weigh};
use super::{Item, Responses};
use crate::matrix::{add, invert_spd, times};
use crate::{StatsError, input};

const WHAT: &str = "standard errors of items";

/// Where an item's parameters stand among all of them.
struct Layout {
    slope: Vec<usize>,
    intercept: Vec<usize>,
    size: usize,
}

impl Layout {
    fn new(items: &[Item], slopes: Slopes) -> Self {
        let mut size = usize::from(slopes == Slopes::Common);
        let (mut slope, mut intercept) = (Vec::new(), Vec::new());
        for item in items {
            slope.push(if slopes == Slopes::Own { size } else { 0 });
            size += usize::from(slopes == Slopes::Own);
            intercept.push(size);
            size += item.intercepts.len();
        }
        Self {
            slope,
            intercept,
            size,
        }
    }

    /// Place of the `at`th parameter of an item: slope, then intercepts.
    fn place(&self, item: usize, at: usize) -> usize {
        if at == 0 {
            self.slope[item]
        } else {
            self.intercept[item] + at - 1
        }
    }
}

pub(super) fn errors(
    items: &[Item],
    slopes: Slopes,
    prior: Option<Prior>,
    responses: &Responses,
    clusters: Option<&[usize]>,
) -> Result<Vec<ItemErrors>, StatsError> {
    if let Some(clusters) = clusters {
        input::same_length(WHAT, clusters.len(), responses.persons().len())?;
    }
    let layout = Layout::new(items, slopes);
    let n = layout.size;
    let mut information = vec![0.0; n * n];
    add_prior(&mut information, items, slopes, prior, &layout);
    let gradients = gather(&mut information, items, responses, &layout);
    let open = "the answers do not determine all items";
    let inverse = invert_spd(&information, n).ok_or(StatsError::degenerate(WHAT, open))?;
    let covariance = match clusters {
        Some(clusters) => sandwich(&inverse, &gradients, clusters, n),
        None => inverse,
    };
    let of = |at: usize| of_item(&items[at], at, &covariance, &layout);
    Ok((0..items.len()).map(of).collect())
}

fn add_prior(
    information: &mut [f64],
    items: &[Item],
    slopes: Slopes,
    prior: Option<Prior>,
    layout: &Layout,
) {
    let Some(prior) = prior else { return };
    for (at, item) in items.iter().enumerate() {
        if slopes == Slopes::Own || at == 0 {
            let place = layout.place(at, 0);
            let bend = (1.0 - item.slope.ln()) / (prior.log_slope * item.slope).powi(2);
            information[place * layout.size + place] += bend.max(0.0);
        }
        for step in 0..item.intercepts.len() {
            let place = layout.place(at, step + 1);
            information[place * layout.size + place] += prior.intercept.powi(-2);
        }
    }
}

/// Adds every person's part; gives the gradient of each person's log-likelihood.
fn gather(
    information: &mut [f64],
    items: &[Item],
    responses: &Responses,
    layout: &Layout,
) -> Vec<Vec<(usize, f64)>> {
    let n = layout.size;
    let tables: Vec<_> = items.iter().map(log_table).collect();
    let on_grid = |item: &Item| (0..NODES).map(|at| item.derivatives(node(at))).collect();
    let derivatives: Vec<Vec<_>> = items.iter().map(on_grid).collect();
    let prior = log_normal(0.0, 1.0);
    let mut gradients = Vec::with_capacity(responses.persons().len());
    for row in responses.persons() {
        if row.is_empty() {
            gradients.push(Vec::new());
            continue;
        }
        let (weights, _) = weigh(row, &tables, &prior);
        let places: Vec<usize> = places(row, items, layout);
        let mut mean = vec![0.0; places.len()];
        let mut scores = Vec::new();
        for (at, &weight) in weights.iter().enumerate().filter(|w| *w.1 > 1e-9) {
            let mut score = vec![0.0; places.len()];
            let mut next = usize::from(layout.slope.first() == layout.slope.get(1));
            let shared = next == 1;
            for &(item, answer) in row {
                let (first, second) = &derivatives[item][at][usize::from(answer)];
                let k = first.len();
                for i in 0..k {
                    for j in 0..k {
                        information[layout.place(item, i) * n + layout.place(item, j)] +=
                            weight * second[i * k + j];
                    }
                    if i == 0 && shared {
                        score[0] += first[0];
                    } else {
                        score[next] += first[i];
                        next += 1;
                    }
                }
            }
            add(&mut mean, weight, &score);
            scores.push((weight, score));
        }
        // Less the spread of the gradient over the abilities that the answers leave open.
        for (weight, score) in &mut scores {
            add(score, -1.0, &mean);
            for (i, a) in score.iter().enumerate() {
                let line = places[i] * n;
                let scaled = *weight * a;
                for (j, b) in score.iter().enumerate() {
                    information[line + places[j]] -= scaled * b;
                }
            }
        }
        gradients.push(places.into_iter().zip(mean).collect());
    }
    gradients
}

/// The places of all parameters that a person's answers speak about.
fn places(row: &[(usize, u8)], items: &[Item], layout: &Layout) -> Vec<usize> {
    let shared = layout.slope.first() == layout.slope.get(1);
    let mut places = if shared { vec![0] } else { Vec::new() };
    for &(item, _) in row {
        let first = usize::from(shared);
        places.extend((first..=items[item].intercepts.len()).map(|at| layout.place(item, at)));
    }
    places
}

/// Inverse information around the products of the clusters' gradients, times G/(G-1).
fn sandwich(
    inverse: &[f64],
    gradients: &[Vec<(usize, f64)>],
    clusters: &[usize],
    n: usize,
) -> Vec<f64> {
    let mut sums = std::collections::BTreeMap::<usize, Vec<f64>>::new();
    for (gradient, cluster) in gradients.iter().zip(clusters) {
        let sum = sums.entry(*cluster).or_insert_with(|| vec![0.0; n]);
        gradient.iter().for_each(|(place, g)| sum[*place] += g);
    }
    let factor = sums.len() as f64 / (sums.len() as f64 - 1.0).max(1.0);
    let mut covariance = vec![0.0; n * n];
    for sum in sums.values() {
        let influence = times(inverse, sum);
        for i in 0..n {
            for j in 0..n {
                covariance[i * n + j] += factor * influence[i] * influence[j];
            }
        }
    }
    covariance
}

fn of_item(item: &Item, at: usize, covariance: &[f64], layout: &Layout) -> ItemErrors {
    let n = layout.size;
    let cell = |i: usize, j: usize| covariance[layout.place(at, i) * n + layout.place(at, j)];
    let steps = item.intercepts.len();
    // Difficulty is -sum(d) / (steps·slope): the delta method.
    let total = steps as f64 * item.slope;
    let mut gradient = vec![-item.difficulty() / item.slope];
    gradient.extend(std::iter::repeat_n(-1.0 / total, steps));
    let mut variance = 0.0;
    for (i, a) in gradient.iter().enumerate() {
        for (j, b) in gradient.iter().enumerate() {
            variance += a * b * cell(i, j);
        }
    }
    ItemErrors {
        slope: cell(0, 0).max(0.0).sqrt(),
        intercepts: (1..=steps).map(|i| cell(i, i).max(0.0).sqrt()).collect(),
        difficulty: variance.max(0.0).sqrt(),
    }
}
