//! A matrix of three attributes, its eight candidates, and a generator of fresh ones.
//!
//! Candidates are made by bisection, as in I-RAVEN: for each attribute one other value, and all eight
//! combinations. Every value then stands in four of eight candidates, so that the candidates alone say
//! nothing. The other value is the answer of a second, independent draw of the same kind, and the two
//! are exchanged freely: not even the distribution of values tells which is right.

use std::collections::HashSet;

use mary_contract::TaskError;
use mary_generators::{Stream, below, shuffle, stream};

use super::rules::{Rule, predictions};

pub const ATTRIBUTES: [&str; 3] = ["type", "size", "colour"];

/// A panel: type, size and colour as level indices, upstream's counting.
pub type Panel = [i32; 3];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    pub id: String,
    /// The eight panels shown, row by row.
    pub context: Vec<Panel>,
    pub candidates: Vec<Panel>,
    pub correct: usize,
    pub rules: [String; 3],
}

/// Values as they are shown, times ten for size: whole numbers on which arithmetic holds.
struct Levels {
    low: i32,
    high: i32,
    /// What is added to a level before arithmetic is done on it.
    offset: i32,
}

impl Levels {
    const fn new(low: i32, high: i32, offset: i32) -> Self {
        Self { low, high, offset }
    }
}

/// Type is shown as level + 2 (3 to 9), size as (level + 1) / 10 (0.1 to 0.9), colour as ten times the
/// level (0 to 90).
const LEVELS: [Levels; 3] = [
    Levels::new(3, 9, 2),
    Levels::new(1, 9, 1),
    Levels::new(0, 9, 0),
];

/// One attribute: nine shown values, and another value for the last.
struct Column {
    rule: Rule,
    rows: [[i32; 3]; 3],
    other: i32,
}

/// Gives up on a draw that keeps failing; in practice a few tries do.
const TRIES: usize = 10_000;

fn drawn(rng: &mut Stream, levels: &Levels) -> Option<(Rule, [[i32; 3]; 3])> {
    let rule = Rule::ALL.get(below(rng, Rule::ALL.len())).copied()?;
    // The rule stays while rows are drawn anew: rules that fit less often are not rarer.
    (0..TRIES).find_map(|_| {
        let rows = rule.draw(rng, levels.low, levels.high)?;
        let [first, second, third] = rows;
        // Whoever knows the four rules must find one answer, whatever rule was meant.
        let unique = predictions(&[first, second], [third[0], third[1]]) == [third[2]];
        unique.then_some((rule, rows))
    })
}

fn column(rng: &mut Stream, levels: &Levels) -> Option<Column> {
    // Both are drawn anew when they agree, so that neither is favoured.
    let (rule, rows) = drawn(rng, levels)?;
    let (_, [.., [.., other]]) = drawn(rng, levels)?;
    (rows[2][2] != other).then_some(Column { rule, rows, other })
}

fn matrix(rng: &mut Stream) -> Option<(Vec<Panel>, Vec<Panel>, [Rule; 3])> {
    let mut drawn = |levels| (0..TRIES).find_map(|_| column(rng, levels));
    let [kind, size, colour] = &LEVELS;
    let columns = [drawn(kind)?, drawn(size)?, drawn(colour)?];
    let level = |attribute: usize, shown: i32| shown - LEVELS[attribute].offset;
    let panel = |at: usize| [0, 1, 2].map(|a| level(a, columns[a].rows[at / 3][at % 3]));
    let context = (0..8).map(panel).collect();
    // The first is right; bit a of the index says whether attribute a has its other value.
    let values = |column: &Column| [column.rows[2][2], column.other];
    let candidate = |bits: usize| [0, 1, 2].map(|a| level(a, values(&columns[a])[bits >> a & 1]));
    let candidates = (0..8).map(candidate).collect();
    Some((context, candidates, columns.map(|c| c.rule)))
}

/// `n` fresh problems of a seed, none twice, the right candidate equally often in each place.
pub fn fresh(seed: u64, n: usize) -> Result<Vec<Matrix>, TaskError> {
    let mut rng = stream(seed, "psychometric/matrices");
    let mut places = stream(seed, "psychometric/matrices/places");
    let mut seen: HashSet<Vec<Panel>> = HashSet::new();
    let mut dealt = RightPlaces::<8>::default();
    let mut made = Vec::with_capacity(n);
    for _ in 0..n.saturating_mul(20).saturating_add(TRIES) {
        if made.len() == n {
            break;
        }
        let found = matrix(&mut rng).filter(|(context, ..)| seen.insert(context.clone()));
        let Some((context, mut candidates, rules)) = found else {
            continue;
        };
        let correct = dealt.deal(&mut places, &mut candidates);
        made.push(Matrix {
            id: format!("{seed}-{:04}", made.len()),
            context,
            candidates,
            correct,
            rules: rules.map(|r| r.name().to_owned()),
        });
    }
    if made.len() < n {
        return Err(TaskError::Generator(format!(
            "psychometric/matrices: {n} different matrices were asked for, {} were found",
            made.len()
        )));
    }
    Ok(made)
}

/// What a reader of the candidates alone reaches: the one that shares most attribute values with the
/// others, ties shared. 1/8 where the candidates say nothing.
pub fn context_blind(matrix: &Matrix) -> f64 {
    most_alike(&matrix.candidates, matrix.correct)
}

pub(super) fn most_alike<V: PartialEq>(candidates: &[impl AsRef<[V]>], correct: usize) -> f64 {
    let shared = |own: &[V]| -> f64 {
        let alike = |other: &[V]| own.iter().zip(other).filter(|(a, b)| a == b).count();
        candidates.iter().map(|c| alike(c.as_ref()) as f64).sum()
    };
    let values: Vec<f64> = candidates.iter().map(|c| shared(c.as_ref())).collect();
    mary_contract::best(&values, correct).map_or(0.0, |(_, score)| score)
}

/// RightPlaces of right candidates among `N`: each comes once before any comes again.
#[derive(Default)]
pub(super) struct RightPlaces<const N: usize> {
    left: Vec<usize>,
}

impl<const N: usize> RightPlaces<N> {
    /// Moves the right candidate, which stands first, to its place among the others in any order.
    pub(super) fn deal<C>(&mut self, rng: &mut Stream, candidates: &mut Vec<C>) -> usize {
        if self.left.is_empty() {
            self.left = (0..N).collect();
            shuffle(rng, &mut self.left);
        }
        let correct = self.left.pop().unwrap_or(0);
        let right = candidates.remove(0);
        shuffle(rng, candidates);
        candidates.insert(correct, right);
        correct
    }
}
