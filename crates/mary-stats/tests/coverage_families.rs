//! Coverage of the intervals that claims rest on: scores in families (equal and unequal ones) and
//! differences of two models on the same items, from 5 items to 2,000, in the middle of the scale, near
//! its ends and at 0 and 1 themselves. The quick form runs with every test; the long one prints the table
//! of docs/statistics.md.

use mary_stats::paired::PairedCounts;
use mary_stats::{likelihood, score_interval};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Families and their mean size; `true` makes sizes unequal (from a quarter to about twice the mean).
const SETS: [(usize, usize, bool); 8] = [
    (5, 1, false),
    (5, 2, false),
    (10, 2, false),
    (10, 5, true),
    (20, 10, true),
    (67, 10, false),
    (41, 49, true),
    (200, 10, false),
];

/// Where the true share lies.
const SHARES: [(f64, f64); 5] = [(0.0, 0.0), (0.01, 0.1), (0.2, 0.8), (0.9, 0.99), (1.0, 1.0)];

/// Families that differ: an item copies its family's common toss so often that two items of a family
/// correlate by 0.3.
fn families(rng: &mut ChaCha8Rng, set: (usize, usize, bool), p: f64) -> (Vec<f64>, Vec<usize>) {
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
        let common = rng.random::<f64>() < p;
        for _ in 0..size.max(1) {
            let own = rng.random::<f64>() < p;
            let copies = rng.random::<f64>() < 0.3_f64.sqrt();
            scores.push(f64::from(u8::from(if copies { common } else { own })));
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

fn of_families(simulations: usize, set: (usize, usize, bool), region: (f64, f64)) -> f64 {
    covered(simulations, 20, |rng| {
        let p = share(rng, region);
        let (scores, ids) = families(rng, set, p);
        score_interval(&scores, Some(&ids)).unwrap().contains(p)
    })
}

/// Two models on the same items, of which `apart` are answered differently; the true difference is
/// drawn. At the ends both are right everywhere, or wrong everywhere.
fn of_pairs(simulations: usize, n: u64, region: (f64, f64)) -> f64 {
    covered(simulations, 21, |rng| {
        let base = share(rng, region);
        let apart = base.min(1.0 - base) * rng.random::<f64>();
        let (only_first, only_second) = {
            let part = rng.random::<f64>();
            (apart * part, apart * (1.0 - part))
        };
        let mut counts = [0u64; 4];
        for _ in 0..n {
            let u = rng.random::<f64>();
            let place = if u < only_first {
                0
            } else if u < only_first + only_second {
                1
            } else if u < only_first + only_second + (1.0 - apart) * base {
                2
            } else {
                3
            };
            counts[place] += 1;
        }
        let pairs = PairedCounts {
            both: counts[2],
            only_first: counts[0],
            only_second: counts[1],
            neither: counts[3],
        };
        likelihood::difference_paired(&pairs, 0.95)
            .unwrap()
            .contains(only_first - only_second)
    })
}

fn table(simulations: usize) -> Vec<(String, (f64, f64), f64)> {
    let mut rows = Vec::new();
    for set in SETS {
        for region in SHARES {
            let found = of_families(simulations, set, region);
            let equal = if set.2 { "unequal" } else { "equal" };
            rows.push((
                format!("{} families of {}, {equal}", set.0, set.1),
                region,
                found,
            ));
        }
    }
    for n in [5, 10, 20, 50, 200, 2_000] {
        for region in SHARES {
            rows.push((
                format!("paired, {n} items"),
                region,
                of_pairs(simulations, n, region),
            ));
        }
    }
    for (what, (low, high), found) in &rows {
        eprintln!("{what}, share {low} to {high}: {:.1} %", 100.0 * found);
    }
    rows
}

/// Bounds leave room for the noise of 400 simulations (a standard error of one point and more).
fn check(rows: &[(String, (f64, f64), f64)], slack: f64) {
    for (what, region, found) in rows {
        let least = match region {
            // At the very ends nothing varies; the interval must still hold the truth.
            (0.0, 0.0) | (1.0, 1.0) => 1.0 + slack,
            (0.2, 0.8) => 0.93,
            // What no interval can do, stated as it is: in large families near the ends of the scale, of
            // which one in twenty is all right and the others nearly all wrong, a draw without such a
            // family shows no sign of them.
            _ if what.starts_with("41 families of 49") => 0.70,
            _ => 0.91,
        };
        assert!(*found >= least - slack, "{what}, {region:?}: {found}");
    }
}

#[test]
fn intervals_cover_from_5_items_to_2000_and_at_0_and_1() {
    let rows = table(400);
    let ends = rows.iter().filter(|r| r.1.0 == r.1.1);
    assert!(ends.clone().count() > 20 && ends.clone().all(|r| r.2 == 1.0));
    check(&rows, 0.04);
}

#[test]
#[ignore = "the table of docs/statistics.md: 4,000 simulations of each"]
fn the_table_of_coverage() {
    check(&table(4_000), 0.02);
}
