//! Three ways of saying with vectors that A is to B as C is to D.

use crate::observed::cosine;

#[derive(Debug, Clone, Copy)]
pub struct Quad<'a> {
    pub a: &'a [f64],
    pub b: &'a [f64],
    pub c: &'a [f64],
    pub d: &'a [f64],
}

pub fn cos_add(q: &Quad<'_>) -> Option<f64> {
    let words = q.c.iter().zip(q.a).zip(q.b);
    let sum: Vec<f64> = words.map(|((c, a), b)| c - a + b).collect();
    cosine(q.d, &sum)
}

const EPSILON: f64 = 1e-3;

/// `cos(D,B) · cos(D,C) / (cos(D,A) + e)`, as the paper writes it.
pub fn cos_mul(q: &Quad<'_>) -> Option<f64> {
    multiplied(q, |x| x)
}

/// The same with cosines moved to 0…1 first, as its inventors do (Levy & Goldberg 2014): without that,
/// two negative cosines count as an agreement.
pub fn cos_mul_shifted(q: &Quad<'_>) -> Option<f64> {
    multiplied(q, |x| (x + 1.0) / 2.0)
}

fn multiplied(q: &Quad<'_>, scale: impl Fn(f64) -> f64) -> Option<f64> {
    let to = |other: &[f64]| cosine(q.d, other).map(&scale);
    let value = to(q.b)? * to(q.c)? / (to(q.a)? + EPSILON);
    value.is_finite().then_some(value)
}

pub fn concat_cos(q: &Quad<'_>) -> Option<f64> {
    cosine(&[q.a, q.b].concat(), &[q.c, q.d].concat())
}

/// A formula by name; the first makes the score.
pub type Formula = (&'static str, fn(&Quad<'_>) -> Option<f64>);

pub const FORMULAS: [Formula; 4] = [
    ("cos_add", cos_add),
    ("cos_mul", cos_mul),
    ("cos_mul_shifted", cos_mul_shifted),
    ("concat_cos", concat_cos),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_by_hand() {
        // A and B at right angles; C is A, D is B: a perfect analogy.
        let (x, y) = ([1.0, 0.0], [0.0, 1.0]);
        let same = Quad {
            a: &x,
            b: &y,
            c: &x,
            d: &y,
        };
        assert_eq!(cos_add(&same), Some(1.0));
        assert!((concat_cos(&same).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(cos_mul(&same), Some(0.0));
        // D = C = A: D·(C − A + B) = 0, and the concatenations share half of their length.
        let other = Quad { d: &x, ..same };
        assert_eq!(cos_add(&other), Some(0.0));
        assert!((concat_cos(&other).unwrap() - 0.5).abs() < 1e-12);
        let half = 0.5_f64.sqrt();
        let between = [half, half];
        let mixed = Quad {
            d: &between,
            ..same
        };
        assert!((cos_mul(&mixed).unwrap() - 0.5 / (half + EPSILON)).abs() < 1e-12);
    }
}
