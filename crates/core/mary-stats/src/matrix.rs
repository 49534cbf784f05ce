//! Small dense symmetric systems: the normal equations of the fits.

/// Inverse of a symmetric positive definite matrix (row-major, `k` by `k`), by Cholesky; `None` if singular.
pub(crate) fn invert_spd(a: &[f64], k: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; k * k];
    for i in 0..k {
        for j in 0..=i {
            let mut sum = *a.get(i * k + j)?;
            for m in 0..j {
                sum -= l[i * k + m] * l[j * k + m];
            }
            if i == j {
                if !sum.is_finite() || sum <= 1e-13 * a.get(i * k + i)?.abs() {
                    return None;
                }
                l[i * k + i] = sum.sqrt();
            } else {
                l[i * k + j] = sum / l[j * k + j];
            }
        }
    }
    let mut inverse = vec![0.0; k * k];
    for column in 0..k {
        let mut y = vec![0.0; k];
        for i in 0..k {
            let mut sum = if i == column { 1.0 } else { 0.0 };
            for m in 0..i {
                sum -= l[i * k + m] * y[m];
            }
            y[i] = sum / l[i * k + i];
        }
        for i in (0..k).rev() {
            let mut sum = y[i];
            for m in i + 1..k {
                sum -= l[m * k + i] * inverse[m * k + column];
            }
            inverse[i * k + column] = sum / l[i * k + i];
        }
    }
    Some(inverse)
}

/// Adds a multiple of one vector to another.
pub(crate) fn add(to: &mut [f64], factor: f64, x: &[f64]) {
    to.iter_mut().zip(x).for_each(|(a, b)| *a += factor * b);
}

/// One vector of two, number by number.
pub(crate) fn zip_with(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Matrix (row-major, `k` by `k`) times vector.
pub(crate) fn times(a: &[f64], x: &[f64]) -> Vec<f64> {
    a.chunks(x.len().max(1)).map(|row| dot(row, x)).collect()
}
