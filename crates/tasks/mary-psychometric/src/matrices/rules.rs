//! The four rules of Raven's matrices on one attribute, and what a set of rows says about the missing
//! cell.

use mary_generators::{Stream, below, coin, shuffle};

mary_generators::named! {
    /// A rule that holds along every row of a matrix, for one attribute.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Rule {
        Constant = "constant",
        /// Steps of -2, -1, 1 or 2.
        Progression = "progression",
        /// The third is the sum or the difference of the first two.
        Arithmetic = "arithmetic",
        /// The same three values in every row, each once, moved on by one place.
        DistributeThree = "distribute-three",
    }
}

impl Rule {
    /// Three rows that follow the rule, with values of `low..=high`.
    pub fn draw(self, rng: &mut Stream, low: i32, high: i32) -> Option<[[i32; 3]; 3]> {
        let any = |rng: &mut Stream| low + below(rng, (high - low + 1) as usize) as i32;
        let step = [-2, -1, 1, 2].get(below(rng, 4)).copied()?;
        let minus = coin(rng);
        let mut three: Vec<i32> = (low..=high).collect();
        shuffle(rng, &mut three);
        let three: [i32; 3] = three.get(..3)?.try_into().ok()?;
        let forward = coin(rng);
        let mut rows = [[0; 3]; 3];
        for (index, row) in rows.iter_mut().enumerate() {
            let (first, second) = (any(rng), any(rng));
            *row = match self {
                Self::Constant => [first; 3],
                Self::Progression => [first, first + step, first + 2 * step],
                Self::Arithmetic if minus => [first, second, first - second],
                Self::Arithmetic => [first, second, first + second],
                Self::DistributeThree => {
                    let turn = if forward { index } else { 3 - index };
                    [0, 1, 2].map(|i: usize| three[(i + turn) % 3])
                }
            };
        }
        let fits = rows.iter().flatten().all(|v| (low..=high).contains(v));
        fits.then_some(rows)
    }
}

/// Every value that some rule gives for the last cell, when the rule holds in the first two rows and
/// in what is seen of the third.
pub fn predictions(seen: &[[i32; 3]; 2], third: [i32; 2]) -> Vec<i32> {
    let [first, second] = seen;
    let [a, b] = third;
    let mut found = Vec::new();
    if [first, second].iter().all(|r| r[0] == r[1] && r[1] == r[2]) && a == b {
        found.push(a);
    }
    let step = first[1] - first[0];
    let progresses = |r: &[i32; 3]| r[1] - r[0] == step && r[2] - r[1] == step;
    if step != 0 && step.abs() <= 2 && progresses(first) && progresses(second) && b - a == step {
        found.push(b + step);
    }
    for sign in [1, -1] {
        if [first, second].iter().all(|r| r[0] + sign * r[1] == r[2]) {
            found.push(a + sign * b);
        }
    }
    let sorted = |mut r: [i32; 3]| {
        r.sort_unstable();
        r
    };
    let three = sorted(*first);
    let apart = three[0] < three[1] && three[1] < three[2];
    if apart && sorted(*second) == three && a != b && three.contains(&a) && three.contains(&b) {
        found.extend(three.into_iter().find(|v| *v != a && *v != b));
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_comes_next() {
        let says = |rows: [[i32; 3]; 2], third| predictions(&rows, third);
        assert_eq!(says([[2, 2, 2], [5, 5, 5]], [4, 4]), [4]);
        assert_eq!(says([[1, 2, 3], [4, 5, 6]], [2, 3]), [4]);
        assert_eq!(says([[1, 2, 3], [4, 1, 5]], [2, 2]), [4]);
        assert_eq!(says([[1, 5, 7], [5, 7, 1]], [7, 1]), [5]);
        // Two rules that disagree, and none at all.
        assert_eq!(says([[1, 2, 3], [2, 1, 3]], [2, 3]), [1, 5]);
        assert_eq!(says([[1, 4, 2], [2, 1, 7]], [2, 3]), Vec::<i32>::new());
    }
}
