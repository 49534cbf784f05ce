//! What a statistic is worth when labels mean nothing: recomputed with the labels dealt out anew, over all
//! orders where there are few, over random ones else. Several statistics share the orders, so that their
//! p-values belong together.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::{StatsError, input};

/// Differences below this are rounding: an order that gives the same value counts as reaching it.
const ROUNDING: f64 = 1e-12;

/// A statistic against its distribution under meaningless labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Null {
    /// With the labels as they are.
    pub observed: f64,
    /// Mean of the statistic over the shuffled orders.
    pub expected: f64,
    /// Share of orders that reach the observed value; with random ones it counts itself, so that p is never
    /// 0.
    pub p: f64,
    /// Shuffled orders that were tried.
    pub orders: usize,
    /// Whether these are all there are.
    pub exact: bool,
}

/// Relabels `n` things in all orders, if at most `most`, or in `most` random ones. `statistics` gets for each
/// label the place of the thing that carries it.
pub fn relabel(
    n: usize,
    most: usize,
    seed: u64,
    mut statistics: impl FnMut(&[usize]) -> Result<Vec<f64>, StatsError>,
) -> Result<Vec<Null>, StatsError> {
    const WHAT: &str = "permutation null";
    if n < 2 || most == 0 {
        return Err(StatsError::too_few(WHAT, 2, n.min(most)));
    }
    let mut order: Vec<usize> = (0..n).collect();
    let observed = statistics(&order)?;
    let mut sums = vec![0.0; observed.len()];
    let mut reached = vec![0usize; observed.len()];
    let mut take = |values: Vec<f64>| -> Result<(), StatsError> {
        input::same_length(WHAT, observed.len(), values.len())?;
        for (index, value) in values.into_iter().enumerate() {
            if !value.is_finite() {
                return Err(StatsError::not_finite(WHAT, index, value));
            }
            if let (Some(sum), Some(count), Some(seen)) = (
                sums.get_mut(index),
                reached.get_mut(index),
                observed.get(index),
            ) {
                *sum += value;
                *count += usize::from(value >= seen - ROUNDING * seen.abs().max(1.0));
            }
        }
        Ok(())
    };
    let all = (1..=n).try_fold(1usize, |product, k| product.checked_mul(k));
    let exact = all.is_some_and(|all| all <= most);
    let orders = if exact {
        // Heap's algorithm: every order once, the first being the labels as they are.
        take(statistics(&order)?)?;
        let mut counters = vec![0usize; n];
        let mut at = 1;
        while at < n {
            let count = counters.get(at).copied().unwrap_or(at);
            if count < at {
                order.swap(if at.is_multiple_of(2) { 0 } else { count }, at);
                take(statistics(&order)?)?;
                if let Some(counter) = counters.get_mut(at) {
                    *counter += 1;
                }
                at = 1;
            } else {
                if let Some(counter) = counters.get_mut(at) {
                    *counter = 0;
                }
                at += 1;
            }
        }
        all.unwrap_or(most)
    } else {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..most {
            order.shuffle(&mut rng);
            take(statistics(&order)?)?;
        }
        most
    };
    let own = usize::from(!exact);
    let found = observed.iter().zip(sums).zip(reached);
    let nulls = found.map(|((observed, sum), reached)| Null {
        observed: *observed,
        expected: sum / orders as f64,
        p: (reached + own) as f64 / (orders + own) as f64,
        orders,
        exact,
    });
    Ok(nulls.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many things carry their own label.
    fn in_place(order: &[usize]) -> Result<Vec<f64>, StatsError> {
        let count = order.iter().enumerate().filter(|(i, o)| i == *o).count();
        Ok(vec![count as f64])
    }

    #[test]
    fn all_orders_of_four_are_counted_once() {
        let found = relabel(4, 24, 0, in_place).expect("a null")[0];
        assert!(found.exact);
        // One of 24 orders leaves everything in place; one thing is in place on average.
        assert_eq!((found.orders, found.observed), (24, 4.0));
        assert!((found.p - 1.0 / 24.0).abs() < 1e-12, "{found:?}");
        assert!((found.expected - 1.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn random_orders_never_give_p_zero() {
        let found = relabel(9, 199, 7, in_place).expect("a null")[0];
        assert!(!found.exact);
        assert!((found.p - 1.0 / 200.0).abs() < 1e-12, "{found:?}");
        assert_eq!(relabel(9, 199, 7, in_place).expect("again")[0], found);
    }

    #[test]
    fn a_nan_is_an_error() {
        let nan = |_: &[usize]| Ok(vec![f64::NAN]);
        assert!(relabel(4, 24, 0, nan).is_err());
        assert!(relabel(1, 24, 0, in_place).is_err());
    }
}
