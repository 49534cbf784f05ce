//! Coverage of the intervals that claims rest on: scores in families (equal and unequal ones, two ways
//! in which families differ), single items, and differences of two models on the same items (in clusters:
//! `difference.rs`); from 5 items to 2,000, in the middle of the scale, near its ends and at 0 and 1
//! themselves. The quick form runs with every test; the long one prints the table of docs/history/statistics.md.

use mary_stats::difference::{ScoreRange, compare};
use mary_stats::score_interval;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Families and their mean size; `true` makes sizes unequal (from a quarter to about twice the mean).
const SETS: [(usize, usize, bool); 13] = [
    (3, 10, false),
    (5, 1, false),
    (5, 2, false),
    (6, 20, false),
    (9, 30, true),
    (10, 2, false),
    (10, 5, true),
    (12, 20, false),
    (20, 10, true),
    (25, 20, false),
    (41, 49, true),
    (67, 10, false),
    (200, 10, false),
];

/// Where the true share lies.
const SHARES: [(f64, f64); 6] = [
    (0.0, 0.0),
    (0.01, 0.1),
    (0.1, 0.2),
    (0.2, 0.8),
    (0.9, 0.99),
    (1.0, 1.0),
];

/// Two items of a family correlate by this much.
const ALIKE: f64 = 0.3;

/// How families differ.
#[derive(Clone, Copy, Debug)]
enum Families {
    /// Of two kinds: an item copies its family's common toss so often that items correlate.
    TwoKinds,
    /// By degrees: a family's own share follows a Beta distribution.
    Degrees,
}

/// A Beta-distributed share with mean `p` and the intraclass correlation [`ALIKE`], by Jöhnk's method
/// on the logarithms (small parameters underflow otherwise).
pub(crate) fn beta(rng: &mut ChaCha8Rng, p: f64) -> f64 {
    let k = (1.0 - ALIKE) / ALIKE;
    let (a, b) = (p * k, (1.0 - p) * k);
    if p <= 0.0 || p >= 1.0 {
        return p;
    }
    loop {
        let (u, v): (f64, f64) = (rng.random(), rng.random());
        let (x, y) = (u.ln() / a, v.ln() / b);
        let top = x.max(y);
        let sum = top + ((x - top).exp() + (y - top).exp()).ln();
        if sum <= 0.0 {
            return (x - sum).exp();
        }
    }
}

fn families(
    rng: &mut ChaCha8Rng,
    set: (usize, usize, bool),
    p: f64,
    how: Families,
) -> (Vec<f64>, Vec<usize>) {
    let (groups, size, unequal) = set;
    let (mut scores, mut ids) = (Vec::new(), Vec::new());
    for id in 0..groups {
        let size = match (unequal, id % 4) {
            (false, _) => size,
            (true, 0) => (size / 4).max(1),
            (true, 1) => size / 2,
            (true, 2) => size,
            (true, _) => size * 9 / 4,
        };
        let share = match how {
            Families::TwoKinds => {
                let common = f64::from(u8::from(rng.random::<f64>() < p));
                let copied = ALIKE.sqrt();
                copied * common + (1.0 - copied) * p
            }
            Families::Degrees => beta(rng, p),
        };
        for _ in 0..size.max(1) {
            scores.push(f64::from(u8::from(rng.random::<f64>() < share)));
            ids.push(id);
        }
    }
    (scores, ids)
}

fn share(rng: &mut ChaCha8Rng, (low, high): (f64, f64)) -> f64 {
    low + (high - low) * rng.random::<f64>()
}

fn covered(simulations: usize, seed: u64, mut one: impl FnMut(&mut ChaCha8Rng) -> bool) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let hits = (0..simulations).filter(|_| one(&mut rng)).count();
    hits as f64 / simulations as f64
}

fn of_families(
    simulations: usize,
    set: (usize, usize, bool),
    region: (f64, f64),
    how: Families,
) -> f64 {
    covered(simulations, 20, |rng| {
        let p = share(rng, region);
        let (scores, ids) = families(rng, set, p, how);
        holds(&scores, Some(&ids), p)
    })
}

/// A truth that sums to the bound but for rounding is within it.
fn holds(scores: &[f64], ids: Option<&[usize]>, p: f64) -> bool {
    let found = score_interval(scores, ids).unwrap();
    found.low - 1e-12 <= p && p <= found.high + 1e-12
}

/// Items that stand for themselves: yes and no, or (`ties`) a third of them undecided.
fn of_items(simulations: usize, n: usize, region: (f64, f64), ties: bool) -> f64 {
    covered(simulations, 22, |rng| {
        let p = share(rng, region);
        // Undecided items score one half; near the ends only as many as the mean allows.
        let undecided = if ties {
            (2.0 * p.min(1.0 - p)).min(0.33)
        } else {
            0.0
        };
        let right = p - 0.5 * undecided;
        let scores: Vec<f64> = (0..n)
            .map(|_| {
                let u = rng.random::<f64>();
                if u < undecided {
                    0.5
                } else {
                    f64::from(u8::from(u < undecided + right))
                }
            })
            .collect();
        holds(&scores, None, p)
    })
}

/// Two models on the same items, of which `apart` are answered differently; the true difference is
/// drawn. At the ends both are right everywhere, or wrong everywhere.
fn of_pairs(simulations: usize, items: usize, region: (f64, f64)) -> f64 {
    covered(simulations, 21, |rng| {
        let base = share(rng, region);
        let apart = base.min(1.0 - base) * rng.random::<f64>();
        let part = rng.random::<f64>();
        let (only_first, only_second) = (apart * part, apart * (1.0 - part));
        let (mut first, mut second) = (vec![], vec![]);
        for _ in 0..items {
            let u = rng.random::<f64>();
            let (a, b) = if u < only_first {
                (1.0, 0.0)
            } else if u < only_first + only_second {
                (0.0, 1.0)
            } else {
                let both = u < only_first + only_second + (1.0 - apart) * base;
                let both = f64::from(u8::from(both));
                (both, both)
            };
            first.push(a);
            second.push(b);
        }
        let found = compare(&first, &second, None, ScoreRange::Unit).unwrap();
        let (low, high) = found.bounds.unwrap();
        let truth = only_first - only_second;
        low - 1e-12 <= truth && truth <= high + 1e-12
    })
}

struct Row {
    what: String,
    region: (f64, f64),
    found: f64,
}

fn table(simulations: usize, largest: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut line = |what: String, find: &dyn Fn((f64, f64)) -> f64| {
        let mut cells = Vec::new();
        for region in SHARES {
            let found = find(region);
            cells.push(format!("{:.1}", 100.0 * found));
            rows.push(Row {
                what: what.clone(),
                region,
                found,
            });
        }
        eprintln!("| {what} | {} |", cells.join(" | "));
    };
    for n in [5, 10, 20, 200, 2_000]
        .into_iter()
        .filter(|n| *n <= largest)
    {
        line(format!("{n} items"), &|r| {
            of_items(simulations, n, r, false)
        });
    }
    for n in [5, 10, 20, 200] {
        let what = format!("{n} items with ties");
        line(what, &|r| of_items(simulations, n, r, true));
    }
    for how in [Families::TwoKinds, Families::Degrees] {
        let kind = match how {
            Families::TwoKinds => "two kinds",
            Families::Degrees => "degrees",
        };
        for set in SETS {
            let unequal = if set.2 { ", unequal" } else { "" };
            let what = format!("{} families of {}{unequal} ({kind})", set.0, set.1);
            line(what, &|r| of_families(simulations, set, r, how));
        }
    }
    for n in [5, 10, 20, 50, 200, 2_000]
        .into_iter()
        .filter(|n| *n <= largest)
    {
        line(format!("paired, {n} items"), &|r| {
            of_pairs(simulations, n, r)
        });
    }
    rows
}

/// Every printed interval covers at least 93 %, `slack` for the noise of the simulations.
fn check(rows: &[Row], slack: f64) {
    for row in rows {
        let ends = row.region.0 == row.region.1;
        // At the very ends nothing varies; the interval must still hold the truth, always.
        let least = if ends { 1.0 } else { 0.93 - slack };
        assert!(
            row.found >= least,
            "{}, {:?}: {}",
            row.what,
            row.region,
            row.found
        );
    }
}

#[test]
fn intervals_cover_from_5_items_to_2000_and_at_0_and_1() {
    let rows = table(300, 200);
    assert!(rows.iter().filter(|r| r.region.0 == r.region.1).count() > 60);
    // Four standard errors of 300 simulations are 5 points.
    check(&rows, 0.05);
}

#[test]
#[ignore = "the table of docs/history/statistics.md: 4,000 simulations of each, some minutes"]
fn the_table_of_coverage() {
    // Three standard errors of 4,000 simulations are 1.2 points.
    check(&table(4_000, 2_000), 0.012);
}

/// What an exact test of a fair coin finds at four and five tosses: no claim against it.
#[test]
fn four_heads_of_four_are_no_claim_against_a_coin() {
    for n in 1..10 {
        let found = score_interval(&vec![1.0; n], None).unwrap();
        assert_eq!(found.method, "exact");
        // Clopper and Pearson, all of n: the lower bound is the nth root of 0.025.
        assert!((found.low - 0.025f64.powf(1.0 / n as f64)).abs() < 1e-9);
        assert_eq!(found.low > 0.5, n >= 6, "{n}");
    }
}

/// By hand: 41 families of ten, none beyond the middle, 1 % right.
#[test]
fn a_kind_of_family_that_was_not_drawn_is_allowed_for() {
    let scores: Vec<f64> = (0..410)
        .map(|i| f64::from(u8::from(i % 100 == 3)))
        .collect();
    let ids: Vec<usize> = (0..410).map(|i| i / 10).collect();
    let found = score_interval(&scores, Some(&ids)).unwrap();
    let (mean, z2) = (5.0 / 410.0, 1.959_963_985_f64.powi(2));
    let unseen = z2 / (41.0 + z2);
    assert!(
        (found.high - (mean + unseen * (1.0 - mean))).abs() < 1e-6,
        "{found:?}"
    );
    // The same seen from the other end.
    let turned: Vec<f64> = scores.iter().map(|s| 1.0 - s).collect();
    let other = score_interval(&turned, Some(&ids)).unwrap();
    assert!((other.low - (1.0 - found.high)).abs() < 1e-9);
    assert!((other.high - (1.0 - found.low)).abs() < 1e-9);
}
