//! Checks every entry point makes before it computes: enough values, all finite, equal lengths.

use crate::StatsError;

/// At least so many of something.
pub(crate) fn at_least(what: &'static str, needed: usize, found: usize) -> Result<(), StatsError> {
    match found < needed {
        true => Err(StatsError::too_few(what, needed, found)),
        false => Ok(()),
    }
}

/// An error where this holds: the data do not determine the answer.
pub(crate) fn refuse(holds: bool, what: &'static str, why: &'static str) -> Result<(), StatsError> {
    match holds {
        true => Err(StatsError::degenerate(what, why)),
        false => Ok(()),
    }
}

/// Only values of which this holds.
pub(crate) fn each(
    what: &'static str,
    expected: &'static str,
    values: &[f64],
    holds: impl Fn(f64) -> bool,
) -> Result<(), StatsError> {
    match values.iter().find(|v| !holds(**v)) {
        Some(found) => Err(StatsError::domain(what, expected, found.to_string())),
        None => Ok(()),
    }
}

/// At least `needed` finite values.
pub(crate) fn values(what: &'static str, x: &[f64], needed: usize) -> Result<(), StatsError> {
    at_least(what, needed, x.len())?;
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
    let expected = "a number strictly between 0 and 1";
    each(what, expected, &[p], |p| p > 0.0 && p < 1.0)
}

/// `k` of `n`, with `n` at least 1.
pub(crate) fn count(what: &'static str, k: u64, n: u64) -> Result<(), StatsError> {
    at_least(what, 1, n as usize)?;
    if k > n {
        let expected = "at most as many successes as trials";
        return Err(StatsError::domain(what, expected, format!("{k} of {n}")));
    }
    Ok(())
}

/// Arithmetic mean; 0 for nothing (callers have checked).
pub(crate) fn mean(x: &[f64]) -> f64 {
    ratio(x.iter().sum(), x.len() as f64, 0.0)
}

/// One number over another, or what holds where that other is not above 0.
pub(crate) fn ratio(over: f64, under: f64, otherwise: f64) -> f64 {
    if under > 0.0 { over / under } else { otherwise }
}

/// Sum of squared deviations from the mean.
pub(crate) fn sum_squares(x: &[f64]) -> f64 {
    let m = mean(x);
    x.iter().map(|v| (v - m) * (v - m)).sum()
}
