//! Corrections for many tests at once.

use crate::{StatsError, input};

/// Holm's step-down adjusted p-values: no false claim among all with the stated probability.
///
/// ```
/// let adjusted = mary_stats::multiple::holm(&[0.01, 0.04, 0.03])?;
/// assert_eq!(adjusted, [0.03, 0.06, 0.06]);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn holm(p: &[f64]) -> Result<Vec<f64>, StatsError> {
    check("Holm correction", p)?;
    let order = ascending(p);
    let m = p.len();
    let mut adjusted = vec![1.0; m];
    let mut running: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        running = running.max((m - rank) as f64 * p[index]).min(1.0);
        adjusted[index] = running;
    }
    Ok(adjusted)
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}

fn check(what: &'static str, p: &[f64]) -> Result<(), StatsError> {
    input::values(what, p, 1)?;
    let unit = |v| (0.0..=1.0).contains(&v);
    input::each(what, "p-values between 0 and 1", p, unit)
}
