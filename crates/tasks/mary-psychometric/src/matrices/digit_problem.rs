//! Matrices of digits after Webb, Holyoak & Lu 2023: one to three rules on digits, or logic on sets of
//! digits; ours, made from a seed, and theirs.
//!
//! Our candidates are balanced: with one rule eight different digits, with two a grid of four values by
//! two, with three all combinations of two values, with logic all eight sets that differ in three
//! digits. Answer digits are drawn first and evenly, so that no digit is right more often than another.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read as _;

use flate2::read::GzDecoder;
use mary_contract::{DataError, DataSource, TaskError};
use mary_generators::{Stream, below, coin, shuffle, stream};
use serde::Deserialize;

use super::matrix::RightPlaces;
use super::rules::predictions;

pub const DATASET: &str = "webb-digit-matrices";
const PROBLEMS: &str = "digit_mat/all_problems.json.gz";

pub type Cell = Vec<u8>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigitProblem {
    pub id: String,
    pub kind: String,
    /// The eight cells shown, row by row.
    pub context: Vec<Cell>,
    pub candidates: Vec<Cell>,
    pub correct: usize,
    /// The order of digits within a cell means nothing.
    pub unordered: bool,
}

/// Kinds of fresh problems, equally many of each.
pub const KINDS: [&str; 9] = [
    "row-constant",
    "column-constant",
    "distribute-three",
    "progression",
    "two-rule",
    "three-rule",
    "union",
    "intersection",
    "exclusive-or",
];

const TRIES: usize = 20_000;

/// Nine digits by one of the four rules, with this digit last and no second reading.
fn attribute(rng: &mut Stream, rule: usize, answer: u8) -> Option<[[i32; 3]; 3]> {
    let answer = i32::from(answer);
    (0..TRIES).find_map(|_| {
        let mut digits: Vec<i32> = (0..10).collect();
        shuffle(rng, &mut digits);
        let [a, b] = *digits.first_chunk::<2>()?;
        let rows = match rule {
            0 => [[a; 3], [b; 3], [answer; 3]],
            1 => [[a, b, answer]; 3],
            2 => {
                let three = [a, b, answer];
                let turn = |k: usize| [0, 1, 2].map(|i: usize| three[(i + k) % 3]);
                let (first, second) = if coin(rng) { (1, 2) } else { (2, 1) };
                [turn(first), turn(second), turn(0)]
            }
            _ => {
                let step = [-2, -1, 1, 2].get(below(rng, 4)).copied()?;
                let from = |first: i32| [first, first + step, first + 2 * step];
                [from(a), from(b), from(answer - 2 * step)]
            }
        };
        let inside = rows.iter().flatten().all(|v| (0..10).contains(v));
        (inside && one_reading(&rows)).then_some(rows)
    })
}

/// Whether every rule that fits what is shown gives the same last digit.
fn one_reading(rows: &[[i32; 3]; 3]) -> bool {
    let [first, second, third] = rows;
    let mut found = predictions(&[*first, *second], [third[0], third[1]]);
    if first == second && first[..2] == third[..2] {
        found.push(first[2]);
    }
    found.sort_unstable();
    found.dedup();
    found == [third[2]]
}

fn others(rng: &mut Stream, digit: u8, n: usize) -> Vec<u8> {
    let mut rest: Vec<u8> = (0..10).filter(|d| *d != digit).collect();
    shuffle(rng, &mut rest);
    rest.truncate(n);
    rest
}

type Drawn = (Vec<Cell>, Vec<Cell>);

fn by_rules(rng: &mut Stream, rules: &[usize]) -> Option<Drawn> {
    let mut columns = Vec::new();
    for &rule in rules {
        let answer = below(rng, 10) as u8;
        columns.push(attribute(rng, rule, answer)?);
    }
    let cell = |at: usize| -> Cell { columns.iter().map(|c| c[at / 3][at % 3] as u8).collect() };
    let right = cell(8);
    let wide = below(rng, right.len());
    let mut candidates: Vec<Cell> = vec![vec![]];
    for (place, digit) in right.iter().enumerate() {
        let more = match right.len() {
            1 => 7,
            2 if place == wide => 3,
            _ => 1,
        };
        let mut values = vec![*digit];
        values.extend(others(rng, *digit, more));
        let with = |c: &Cell, v: &u8| [c.as_slice(), &[*v]].concat();
        let longer = |c: &Cell| values.iter().map(|v| with(c, v)).collect();
        candidates = candidates.iter().flat_map::<Vec<Cell>, _>(longer).collect();
    }
    Some(((0..8).map(cell).collect(), candidates))
}

type Set = BTreeSet<u8>;

fn combine(operation: usize, a: &Set, b: &Set) -> Set {
    match operation {
        0 => a.union(b).copied().collect(),
        1 => a.intersection(b).copied().collect(),
        _ => a.symmetric_difference(b).copied().collect(),
    }
}

fn by_logic(rng: &mut Stream, operation: usize) -> Option<Drawn> {
    // How many of the three digits in which candidates differ belong to the answer: drawn first, as if
    // by three coins, so that candidates of every size are right as often as they are shown.
    let inside = (0..3).filter(|_| coin(rng)).count();
    (0..TRIES).find_map(|_| {
        let mut cells: Vec<Set> = Vec::new();
        for _ in 0..3 {
            let mut pick = |least: usize, more: usize| -> Set {
                let mut digits: Vec<u8> = (0..10).collect();
                shuffle(rng, &mut digits);
                let n = least + below(rng, more);
                digits.into_iter().take(n).collect()
            };
            let (a, b) = match operation {
                0 => (pick(1, 3), pick(1, 3)),
                1 => (pick(3, 3), pick(3, 3)),
                _ => (pick(2, 2), pick(2, 2)),
            };
            let c = combine(operation, &a, &b);
            cells.extend([a, b, c]);
        }
        let [a1, b1, c1, a2, b2, c2, a3, b3, right] = cells.as_slice() else {
            return None;
        };
        let fits = |op: usize| combine(op, a1, b1) == *c1 && combine(op, a2, b2) == *c2;
        let unique = (0..3).all(|op| !fits(op) || combine(op, a3, b3) == *right);
        let shown: Set = cells.iter().flatten().copied().collect();
        let mut members: Vec<u8> = right.iter().copied().collect();
        let mut strangers: Vec<u8> = shown.difference(right).copied().collect();
        if !unique || members.len() < inside || strangers.len() < 3 - inside {
            return None;
        }
        shuffle(rng, &mut members);
        shuffle(rng, &mut strangers);
        let mut three: Vec<u8> = members.into_iter().take(inside).collect();
        three.extend(strangers.into_iter().take(3 - inside));
        let candidate = |bits: usize| {
            let turned = (0..three.len()).filter(|i| bits >> i & 1 == 1);
            let turned: Set = turned.map(|i| three[i]).collect();
            right.symmetric_difference(&turned).copied().collect()
        };
        let candidates = (0..8).map(candidate).collect();
        let list = |s: &Set| s.iter().copied().collect::<Cell>();
        Some((cells.iter().take(8).map(list).collect(), candidates))
    })
}

fn draw(rng: &mut Stream, kind: usize) -> Option<Drawn> {
    match kind {
        0..=3 => by_rules(rng, &[kind]),
        4 | 5 => {
            let rules: Vec<usize> = (0..kind - 2).map(|_| below(rng, 4)).collect();
            by_rules(rng, &rules)
        }
        _ => by_logic(rng, kind - 6),
    }
}

/// `n` fresh problems of a seed, kinds by turns, none twice, the right candidate equally often in each
/// place.
pub fn fresh_digits(seed: u64, n: usize) -> Result<Vec<DigitProblem>, TaskError> {
    let mut rng = stream(seed, "psychometric/digit-matrices");
    let mut places = stream(seed, "psychometric/digit-matrices/places");
    let mut seen: HashSet<Vec<Cell>> = HashSet::new();
    let mut dealt = RightPlaces::<8>::default();
    let mut made = Vec::with_capacity(n);
    for index in 0..n {
        let kind = index % KINDS.len();
        let found = (0..TRIES).find_map(|_| {
            let (context, candidates) = draw(&mut rng, kind)?;
            let new = seen.insert(context.clone());
            new.then_some((context, candidates))
        });
        let Some((context, mut candidates)) = found else {
            return Err(TaskError::Generator(format!(
                "psychometric/digit-matrices: no further problem of the kind {} was found after {index}",
                KINDS[kind]
            )));
        };
        let correct = dealt.deal(&mut places, &mut candidates);
        made.push(DigitProblem {
            id: format!("{seed}-{index:04}"),
            kind: KINDS[kind].to_owned(),
            context,
            candidates,
            correct,
            unordered: kind >= 6,
        });
    }
    Ok(made)
}

#[derive(Deserialize)]
struct UpstreamKind {
    prob: Vec<Vec<Vec<Cell>>>,
    answer_choices: Vec<Vec<Cell>>,
    correct_ind: Vec<usize>,
    perm_invariant: bool,
}

pub fn upstream_digits(data: &dyn DataSource) -> Result<Vec<DigitProblem>, TaskError> {
    let path = data.folder(DATASET)?.join(PROBLEMS);
    let damaged = |message: String| DataError::damaged(path.clone(), message);
    let file = mary_platform::open_plain(&path).map_err(|e| damaged(e.to_string()))?;
    let mut text = String::new();
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .map_err(|e| damaged(e.to_string()))?;
    let kinds: BTreeMap<String, UpstreamKind> =
        serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
    let mut all = Vec::new();
    for (name, kind) in kinds {
        let rest = kind.answer_choices.into_iter().zip(kind.correct_ind);
        for (index, (rows, (candidates, correct))) in kind.prob.into_iter().zip(rest).enumerate() {
            let mut cells: Vec<Cell> = rows.into_iter().flatten().collect();
            let answer = cells.pop();
            if cells.len() != 8 || answer.as_ref() != candidates.get(correct) {
                return Err(damaged(format!(
                    "{name}, problem {index}: expected nine cells, the last of them among the choices"
                ))
                .into());
            }
            all.push(DigitProblem {
                id: format!("{name}/{index:03}"),
                kind: name.clone(),
                context: cells,
                candidates,
                correct,
                unordered: kind.perm_invariant,
            });
        }
    }
    Ok(all)
}
