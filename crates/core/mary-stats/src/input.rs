//! Checks every entry point makes before it computes: enough values, all finite, equal lengths.

use crate::StatsError;

/// At least `needed` finite values.
pub(crate) fn values(what: &'static str, x: &[f64], needed: usize) -> Result<(), StatsError> {
    if x.len() < needed {
        return Err(StatsError::too_few(what, needed, x.len()));
    }
    match x.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        Some((index, &value)) => Err(StatsError::NotFinite { what, index, value }),
        None => Ok(()),
    }
}

/// Two finite inputs of the same length, at least `needed` long.
pub(crate) fn pairs(
    what: &'static str,
    x: &[f64],
    y: &[f64],
    needed: usize,
) -> Result<(), StatsError> {
    same_length(what, x.len(), y.len())?;
    values(what, x, needed)?;
    values(what, y, needed)
}

/// Equal lengths.
pub(crate) fn same_length(what: &'static str, left: usize, right: usize) -> Result<(), StatsError> {
    if left == right {
        Ok(())
    } else {
        Err(StatsError::Length { what, left, right })
    }
}

/// A confidence level or a probability strictly between 0 and 1.
pub(crate) fn open_unit(what: &'static str, p: f64) -> Result<(), StatsError> {
    if p > 0.0 && p < 1.0 {
        Ok(())
    } else {
        Err(StatsError::domain(
            what,
            "a number strictly between 0 and 1",
            p.to_string(),
        ))
    }
}

/// `k` of `n`, with `n` at least 1.
pub(crate) fn count(what: &'static str, k: u64, n: u64) -> Result<(), StatsError> {
    if n == 0 {
        return Err(StatsError::too_few(what, 1, 0));
    }
    if k > n {
        return Err(StatsError::domain(
            what,
            "at most as many successes as trials",
            format!("{k} of {n}"),
        ));
    }
    Ok(())
}

/// Arithmetic mean; 0 for nothing (callers have checked).
pub(crate) fn mean(x: &[f64]) -> f64 {
    if x.is_empty() {
        0.0
    } else {
        x.iter().sum::<f64>() / x.len() as f64
    }
}

/// Sum of squared deviations from the mean.
pub(crate) fn sum_squares(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|v| (v - m) * (v - m)).sum()
}
