//! The rule of ties, in one place: several candidates that are equally best share the point.

/// Which candidate is best (the first of several), and how much of a right answer that is: 1 when
/// the right one is alone at the top, a share when it ties, 0 otherwise. Nothing when a value is not
/// a number or there is none.
pub fn best(values: &[f64], correct: usize) -> Option<(usize, f64)> {
    if values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    let wins = |i: &usize| values.get(*i) == Some(&most);
    let winners: Vec<usize> = (0..values.len()).filter(wins).collect();
    let score = if winners.contains(&correct) {
        1.0 / winners.len() as f64
    } else {
        0.0
    };
    winners.first().map(|&first| (first, score))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_point() {
        assert_eq!(best(&[-2.0, -1.0, -3.0], 1), Some((1, 1.0)));
        assert_eq!(best(&[-2.0, -1.0, -3.0], 0), Some((1, 0.0)));
        assert_eq!(best(&[-1.0, -1.0, -3.0], 1), Some((0, 0.5)));
        assert_eq!(best(&[-1.0, -1.0, -3.0], 2), Some((0, 0.0)));
    }

    #[test]
    fn what_is_no_number_gives_no_verdict() {
        assert_eq!(best(&[-1.0, f64::NAN], 0), None);
        assert_eq!(best(&[], 0), None);
    }
}
