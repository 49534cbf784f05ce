//! Do the answers follow the model? Fit of items, pairs of items that share more than the ability, more than one
//! dimension.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::{Item, Responses};
use crate::matrix::{add, dot, times};
use crate::{StatsError, input};

/// How well an item's answers follow its curve. Both are 1 on average where the model holds; above, answers are more
/// erratic than the model says, below, more regular.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemFit {
    /// Answers counted.
    pub answers: usize,
    /// Mean squared standardised residual: moved most by surprising answers of persons far away.
    pub outfit: f64,
    /// The same weighted by information: moved most by persons near the item's difficulty.
    pub infit: f64,
    /// `outfit` as a standard normal value (Wilson and Hilferty).
    pub outfit_z: f64,
    /// `infit` as a standard normal value.
    pub infit_z: f64,
    /// Correlation of the score with the sum of the other items, over persons who answered; `None` without variation.
    pub item_rest: Option<f64>,
}

/// Fit of every item at the given abilities; persons without one (`None`) are not counted.
pub fn item_fit(
    items: &[Item],
    responses: &Responses,
    abilities: &[Option<f64>],
) -> Result<Vec<ItemFit>, StatsError> {
    const WHAT: &str = "fit of items";
    input::same_length(WHAT, items.len(), responses.items())?;
    input::same_length(WHAT, abilities.len(), responses.persons().len())?;
    let mut sums = vec![Sums::default(); items.len()];
    let mut rests: Vec<(Vec<f64>, Vec<f64>)> = vec![Default::default(); items.len()];
    for (row, theta) in responses.persons().iter().zip(abilities) {
        let total: f64 = row.iter().map(|answer| f64::from(answer.1)).sum();
        for &(item, score) in row {
            let score = f64::from(score);
            if row.len() > 1 {
                // The mean of the others: people are asked different numbers of items.
                rests[item].0.push(score);
                rests[item].1.push((total - score) / (row.len() - 1) as f64);
            }
            if let Some(theta) = theta {
                sums[item].add(&items[item], *theta, score);
            }
        }
    }
    let fits = sums.iter().zip(&rests).map(|(sums, (own, rest))| ItemFit {
        item_rest: crate::correlation::pearson_r(own, rest).ok(),
        ..sums.fit()
    });
    Ok(fits.collect())
}

#[derive(Clone, Default)]
struct Sums {
    n: f64,
    squares: f64,
    square_variance: f64,
    residuals: f64,
    variances: f64,
    residual_variance: f64,
}

impl Sums {
    fn add(&mut self, item: &Item, theta: f64, score: f64) {
        let (variance, fourth) = (item.variance(theta), item.central_moment(theta, 4));
        if variance > 1e-12 {
            let square = (score - item.expected(theta)).powi(2);
            self.n += 1.0;
            self.squares += square / variance;
            self.square_variance += fourth / (variance * variance) - 1.0;
            self.residuals += square;
            self.variances += variance;
            self.residual_variance += fourth - variance * variance;
        }
    }

    fn fit(&self) -> ItemFit {
        let z = |mean: f64, variance: f64| {
            let q = variance.max(1e-300).sqrt();
            (mean.cbrt() - 1.0) * 3.0 / q + q / 3.0
        };
        let (outfit, infit) = (self.squares / self.n, self.residuals / self.variances);
        ItemFit {
            answers: self.n as usize,
            outfit,
            infit,
            outfit_z: z(outfit, self.square_variance / (self.n * self.n)),
            infit_z: z(infit, self.residual_variance / self.variances.powi(2)),
            item_rest: None,
        }
    }
}

/// Yen's Q3: correlation of two items' residuals over persons who answered both, for all pairs with at least
/// `fewest` such persons, the largest first.
pub fn q3(
    items: &[Item],
    responses: &Responses,
    abilities: &[Option<f64>],
    fewest: usize,
) -> Result<Vec<(usize, usize, f64)>, StatsError> {
    input::same_length("Q3", abilities.len(), responses.persons().len())?;
    let columns = columns(responses, |person, item, score| {
        Some(f64::from(score) - items.get(item)?.expected(abilities[person]?))
    });
    let mut pairs = Vec::new();
    for first in 0..columns.len() {
        for second in first + 1..columns.len() {
            if let Some(r) = correlation(&columns[first], &columns[second], fewest.max(3)) {
                pairs.push((first, second, r));
            }
        }
    }
    pairs.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    Ok(pairs)
}

/// How many dimensions the answers have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dimensions {
    /// The largest eigenvalues of the correlations between items.
    pub eigenvalues: Vec<f64>,
    /// What 95 % of shuffled tables stay below, in the same order.
    pub shuffled: Vec<f64>,
    /// How many eigenvalues stand above it before the first that does not.
    pub dimensions: usize,
}

/// Parallel analysis (Horn): eigenvalues of the items' correlations beside those of tables in which each item's
/// answers are shuffled among the persons who gave them.
pub fn parallel_analysis(
    responses: &Responses,
    shuffles: usize,
    seed: u64,
) -> Result<Dimensions, StatsError> {
    const WHAT: &str = "parallel analysis";
    const COUNT: usize = 6;
    let mut table = columns(responses, |_, _, score| Some(f64::from(score)));
    table.retain(|column| {
        let mut scores = column.iter().flatten();
        let first = scores.next();
        scores.any(|score| Some(score) != first)
    });
    input::at_least(WHAT, 3, table.len())?;
    let eigenvalues = largest_eigenvalues(&correlations(&table), table.len(), COUNT);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draws = vec![Vec::new(); eigenvalues.len()];
    for _ in 0..shuffles.max(20) {
        let mut shuffled = table.clone();
        for column in &mut shuffled {
            let mut scores: Vec<f64> = column.iter().flatten().copied().collect();
            scores.shuffle(&mut random);
            let mut next = scores.into_iter();
            for score in column.iter_mut().flatten() {
                *score = next.next().unwrap_or(*score);
            }
        }
        let found = largest_eigenvalues(&correlations(&shuffled), shuffled.len(), COUNT);
        for (draws, x) in draws.iter_mut().zip(found) {
            draws.push(x);
        }
    }
    let limit = |draws: &mut Vec<f64>| {
        draws.sort_by(f64::total_cmp);
        draws[(draws.len() * 95).div_ceil(100) - 1]
    };
    let shuffled: Vec<f64> = draws.iter_mut().map(limit).collect();
    let pairs = eigenvalues.iter().zip(&shuffled);
    let dimensions = pairs.take_while(|(own, other)| own > other).count();
    Ok(Dimensions {
        eigenvalues,
        shuffled,
        dimensions,
    })
}

/// One column an item, one cell a person.
fn columns(
    responses: &Responses,
    cell: impl Fn(usize, usize, u8) -> Option<f64>,
) -> Vec<Vec<Option<f64>>> {
    let mut columns = vec![vec![None; responses.persons().len()]; responses.items()];
    for (person, row) in responses.persons().iter().enumerate() {
        for &(item, score) in row {
            columns[item][person] = cell(person, item, score);
        }
    }
    columns
}

fn correlation(a: &[Option<f64>], b: &[Option<f64>], fewest: usize) -> Option<f64> {
    let both = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?)));
    let (x, y): (Vec<f64>, Vec<f64>) = both.unzip();
    if x.len() < fewest {
        return None;
    }
    crate::correlation::pearson_r(&x, &y).ok()
}

/// Correlations over the persons that two columns share; 0 where there are too few.
fn correlations(table: &[Vec<Option<f64>>]) -> Vec<f64> {
    let n = table.len();
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        matrix[i * n + i] = 1.0;
        for j in 0..i {
            let r = correlation(&table[i], &table[j], 3).unwrap_or(0.0);
            matrix[i * n + j] = r;
            matrix[j * n + i] = r;
        }
    }
    matrix
}

/// By orthogonal iteration. Missing answers can make small eigenvalues negative; a shift keeps the order.
fn largest_eigenvalues(matrix: &[f64], n: usize, count: usize) -> Vec<f64> {
    let count = count.min(n);
    let shift = 1.0 + n as f64 * 0.05;
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut number = |_| rand::RngExt::random::<f64>(&mut random) - 0.5;
    let mut vector = |_| (0..n).map(&mut number).collect();
    let mut basis: Vec<Vec<f64>> = (0..count).map(&mut vector).collect();
    let mut values = vec![0.0; count];
    for _ in 0..300 {
        let mut moved = 0.0f64;
        for k in 0..count {
            let mut next = times(matrix, &basis[k]);
            add(&mut next, shift, &basis[k]);
            for earlier in &basis[..k] {
                let along = dot(&next, earlier);
                add(&mut next, -along, earlier);
            }
            let norm = dot(&next, &next).sqrt().max(1e-300);
            next.iter_mut().for_each(|x| *x /= norm);
            basis[k] = next;
            moved = moved.max((norm - shift - values[k]).abs());
            values[k] = norm - shift;
        }
        if moved < 1e-7 {
            break;
        }
    }
    values
}
