//! A strong learner that only counts: extremely randomised trees (Geurts et al. 2006) on what can be counted
//! in a pair of grids without understanding it. Every world leaves traces in such counts, however well four
//! instances are matched on the ones a reader would notice, so an audit must let this opponent try.

use std::collections::BTreeMap;

use mary_generators::{Stream, below, stream};

use crate::grid::{Grid, Pair};
use crate::instances::Instance;

/// A tree: a leaf's shares of the classes, or a question and two subtrees.
enum Tree {
    Leaf(Vec<f64>),
    Split(usize, f64, Box<[Tree; 2]>),
}

type Row<'a> = (&'a [f64], usize);

fn class_counts(rows: &[Row<'_>], classes: usize) -> Vec<f64> {
    let mut counts = vec![0.0; classes];
    for (_, class) in rows {
        if let Some(count) = counts.get_mut(*class) {
            *count += 1.0;
        }
    }
    counts
}

/// Gini impurity times the number of rows on both sides of a threshold.
fn cost(rows: &[Row<'_>], classes: usize, (feature, at): (usize, f64)) -> f64 {
    let (left, right) = parted(rows, feature, at);
    let side = |rows: &[Row<'_>]| {
        let n = rows.len() as f64;
        let squares: f64 = class_counts(rows, classes).iter().map(|c| c * c).sum();
        n - squares / n.max(1.0)
    };
    side(&left) + side(&right)
}

fn parted<'a>(rows: &[Row<'a>], feature: usize, at: f64) -> (Vec<Row<'a>>, Vec<Row<'a>>) {
    rows.iter().partition(|(x, _)| value(x, feature) < at)
}

fn value(x: &[f64], feature: usize) -> f64 {
    x.get(feature).copied().unwrap_or(0.0)
}

/// Random thresholds, the best of some features, grown to the end.
fn grow(rows: &[Row<'_>], classes: usize, rng: &mut Stream) -> Tree {
    let counts = class_counts(rows, classes);
    let pure = counts.iter().filter(|c| **c > 0.0).count() < 2;
    let width = rows.first().map_or(0, |(x, _)| x.len());
    let tries = (width as f64).sqrt().ceil() as usize + 2;
    let mut best: Option<(f64, usize, f64)> = None;
    for _ in 0..if pure { 0 } else { tries } {
        let feature = below(rng, width);
        let values = rows.iter().map(|(x, _)| value(x, feature));
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        if low >= high {
            continue;
        }
        let at = low + (high - low) * (below(rng, 1000) as f64 + 0.5) / 1000.0;
        let cost = cost(rows, classes, (feature, at));
        if best.is_none_or(|(least, ..)| cost < least) {
            best = Some((cost, feature, at));
        }
    }
    let Some((_, feature, at)) = best else {
        let n = rows.len().max(1) as f64;
        return Tree::Leaf(counts.iter().map(|c| c / n).collect());
    };
    let (left, right) = parted(rows, feature, at);
    let sides = [grow(&left, classes, rng), grow(&right, classes, rng)];
    Tree::Split(feature, at, Box::new(sides))
}

/// What can be counted in one pair without understanding it.
fn counts(pair: &Pair) -> Vec<f64> {
    let ground = pair.background();
    let filled = |g: &Grid| (g.rows() * g.cols() - g.count(ground)) as f64;
    let parts = |g: &Grid| {
        let parts = g.parts(ground);
        let largest = parts.iter().map(Vec::len).max().unwrap_or(0);
        [parts.len() as f64, largest as f64]
    };
    let changed = pair.input.places_unlike(&pair.output);
    let kind = |(came, went)| {
        let of = changed.iter().filter(|&&(r, c)| {
            (pair.output.at(r, c) != ground) == came && (pair.input.at(r, c) != ground) == went
        });
        of.count() as f64
    };
    let kept = (0..10u8).filter(|&c| c != ground && pair.input.count(c) == pair.output.count(c));
    let [a, b] = parts(&pair.input);
    let [c, d] = parts(&pair.output);
    let mut found = vec![pair.input.rows() as f64, pair.input.cols() as f64];
    let (before, after) = (filled(&pair.input), filled(&pair.output));
    found.extend([before, after, after - before, changed.len() as f64]);
    found.extend([(true, false), (false, true), (true, true)].map(kind));
    found.extend([pair.input.colours() as f64, pair.output.colours() as f64]);
    found.extend([kept.count() as f64, a, b, c, d, c - a, d - b]);
    found
}

/// Where things are: each ninth of the grid, filled before, filled after, changed.
fn shape(pair: &Pair) -> Vec<f64> {
    let ground = pair.background();
    let mut found = vec![0.0; 27];
    let (rows, cols) = (pair.input.rows() as i32, pair.input.cols() as i32);
    for (r, c) in pair.input.places() {
        let ninth = (3 * r / rows * 3 + 3 * c / cols) as usize;
        let (a, b) = (pair.input.at(r, c), pair.output.at(r, c));
        for (k, mark) in [a != ground, b != ground, a != b].into_iter().enumerate() {
            if let Some(sum) = found.get_mut(9 * k + ninth) {
                *sum += f64::from(u8::from(mark));
            }
        }
    }
    found
}

/// What the learner sees of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// 18 counts of each pair.
    Counts,
    /// These, and how full each ninth of the grid is.
    CountsAndShape,
}

/// Means over the pairs and, of counts, how far they lie apart.
fn features(instance: &Instance, sees: Sees) -> Vec<f64> {
    let columns = |of: fn(&Pair) -> Vec<f64>, spread: bool| -> Vec<f64> {
        let each: Vec<Vec<f64>> = instance.pairs.iter().map(of).collect();
        let width = each.first().map_or(0, Vec::len);
        let column = |i: usize| each.iter().map(move |e| value(e, i));
        let summary = |i: usize| {
            let mean = column(i).sum::<f64>() / each.len().max(1) as f64;
            let apart = column(i).fold(f64::MIN, f64::max) - column(i).fold(f64::MAX, f64::min);
            [mean, apart].into_iter().take(if spread { 2 } else { 1 })
        };
        (0..width).flat_map(summary).collect()
    };
    let mut found = columns(counts, true);
    if sees == Sees::CountsAndShape {
        found.extend(columns(shape, false));
    }
    found
}

/// A forest of so many trees that learnt which counts come with which concept.
pub struct CountingForest {
    trees: Vec<Tree>,
    concepts: BTreeMap<String, usize>,
    sees: Sees,
}

impl CountingForest {
    pub fn learn<'i>(
        lessons: impl IntoIterator<Item = &'i Instance>,
        sees: Sees,
        trees: usize,
    ) -> Self {
        let mut concepts: BTreeMap<String, usize> = BTreeMap::new();
        let mut rows: Vec<(Vec<f64>, usize)> = Vec::new();
        for lesson in lessons {
            let next = concepts.len();
            let class = *concepts.entry(lesson.concept.clone()).or_insert(next);
            rows.push((features(lesson, sees), class));
        }
        let rows: Vec<Row<'_>> = rows.iter().map(|(x, y)| (x.as_slice(), *y)).collect();
        let mut rng = stream(7, "forest");
        let grown = (0..trees).map(|_| grow(&rows, concepts.len(), &mut rng));
        Self {
            trees: grown.collect(),
            concepts,
            sees,
        }
    }

    /// How much of the trees' leaves is of the concept; `None` for a concept that was never learnt.
    fn share(&self, x: &[f64], concept: &str) -> Option<f64> {
        let class = *self.concepts.get(concept)?;
        let of = |tree: &Tree| {
            let mut at = tree;
            loop {
                match at {
                    Tree::Leaf(shares) => break shares.get(class).copied().unwrap_or(0.0),
                    Tree::Split(feature, t, sides) => {
                        let [left, right] = &**sides;
                        at = if value(x, *feature) < *t { left } else { right };
                    }
                }
            }
        };
        Some(self.trees.iter().map(of).sum())
    }

    /// What its choice among the four options is worth: 1 for the right one, ties shared.
    pub fn credit(&self, instance: &Instance) -> f64 {
        let x = features(instance, self.sees);
        let of = |o: &String| self.share(&x, o).unwrap_or(-1.0);
        let most = instance.options.iter().map(of).fold(f64::MIN, f64::max);
        let best = instance.options.iter().filter(|o| of(o) == most).count();
        let right = of(&instance.concept) == most;
        if right { 1.0 / best.max(1) as f64 } else { 0.0 }
    }

    /// The credit of guessing among the options that it has learnt: an option that it never met is ruled
    /// out without a look at the grids.
    pub fn chance(&self, instance: &Instance) -> f64 {
        let known = |o: &&String| self.concepts.contains_key(*o);
        let left = instance.options.iter().filter(known).count();
        match (known(&&instance.concept), left) {
            (true, left) => 1.0 / left.max(1) as f64,
            (false, 0) => 1.0 / instance.options.len().max(1) as f64,
            (false, _) => 0.0,
        }
    }
}
