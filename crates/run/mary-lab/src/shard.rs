//! Which part of the work one of several processes does.
//!
//! A run is laid out on a line, items with shared beginnings side by side, and cut into `n` pieces of equal
//! estimated cost where neighbours share least: a shard loads few models and keeps the shared prefixes.
//! Checkpoints of a sweep share nothing and differ a hundredfold in size: they are dealt out, the largest
//! first.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far a cut may move, in shares of a shard: both cuts keep it within a tenth of its estimate.
const SLACK: f64 = 0.04;

/// One of several parts of a piece of work, counted from 0.
///
/// ```
/// use mary_lab::{Shard, ShardChoice};
///
/// let choice: ShardChoice = "3/16".parse()?;
/// assert_eq!(choice.resolve(|_| None)?, Shard { index: 3, of: 16 });
/// // In a Slurm array the engine says which.
/// let slurm = |name: &str| (name == "SLURM_ARRAY_TASK_ID").then(|| "5".to_owned());
/// assert_eq!("/16".parse::<ShardChoice>()?.resolve(slurm)?.index, 5);
/// # Ok::<(), mary_lab::ShardError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shard {
    /// Which, from 0.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

/// What was given is no shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShardError(String);

/// A shard as it was asked for: in numbers, or to be taken from the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardChoice {
    /// `3/16`.
    Given(Shard),
    /// `/16`: which one, an engine's environment says.
    Of(usize),
    /// Which one and of how many, an engine's environment says.
    Auto,
}

impl Shard {
    /// Part `index` of `of`.
    pub fn new(index: usize, of: usize) -> Result<Self, ShardError> {
        if of == 0 || index >= of {
            return Err(ShardError(format!(
                "`{index}/{of}` is no shard\nhint: shards are counted from 0: 0/{n} is the first of {n}, {}/{n} the last",
                of.max(1) - 1,
                n = of.max(1)
            )));
        }
        Ok(Self { index, of })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for ShardChoice {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let wrong = || {
            ShardError(format!(
                "`{text}` is no shard\nhint: 3/16 is the fourth of sixteen; /16 takes the number from the \
                 engine that started the process, `auto` both"
            ))
        };
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        match text.trim().split_once('/') {
            None if text.trim() == "auto" => Ok(Self::Auto),
            None => Err(wrong()),
            Some(("", of)) => match number(of)? {
                0 => Err(wrong()),
                of => Ok(Self::Of(of)),
            },
            Some((index, of)) => Ok(Self::Given(Shard::new(number(index)?, number(of)?)?)),
        }
    }
}

impl ShardChoice {
    /// The shard meant, with what the environment says where it was left to it.
    pub fn resolve(self, variable: impl Fn(&str) -> Option<String>) -> Result<Shard, ShardError> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        if let Self::Given(shard) = self {
            return Ok(shard);
        }
        let slurm = number("SLURM_ARRAY_TASK_ID").map(|id| {
            let first = number("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
            let step = number("SLURM_ARRAY_TASK_STEP").unwrap_or(1).max(1);
            id.saturating_sub(first) / step
        });
        let index = slurm
            .or_else(|| number("JOB_COMPLETION_INDEX"))
            .or_else(|| number("HQ_TASK_ID"))
            .ok_or_else(|| {
                ShardError(
                    "no engine says which shard this is: neither SLURM_ARRAY_TASK_ID nor \
                     JOB_COMPLETION_INDEX nor HQ_TASK_ID is set\nhint: name it: --shard 3/16"
                        .into(),
                )
            })?;
        let of = match self {
            Self::Of(of) => Some(of),
            _ => slurm.and_then(|_| number("SLURM_ARRAY_TASK_COUNT")),
        };
        let of = of.ok_or_else(|| {
            ShardError(format!(
                "the engine says that this is shard {index}, and not of how many\nhint: --shard /16"
            ))
        })?;
        Shard::new(index, of)
    }
}

/// Cuts a line of pieces into `n` ranges of about equal cost, at the weakest bonds: `bonds[k]` says how much
/// piece `k` shares with the one before it.
pub fn cut(costs: &[u64], bonds: &[u32], n: usize) -> Vec<Range<usize>> {
    let n = n.max(1);
    // before[k]: cost of everything before piece k.
    let mut before = Vec::with_capacity(costs.len() + 1);
    let mut total = 0_u128;
    before.push(total);
    for &cost in costs {
        total += u128::from(cost);
        before.push(total);
    }
    let share = total as f64 / n as f64;
    let mut cuts = vec![0];
    for k in 1..n {
        let ideal = share * k as f64;
        let low = before.partition_point(|&b| (b as f64) < ideal - SLACK * share);
        let high = before.partition_point(|&b| (b as f64) <= ideal + SLACK * share);
        let distance = |place: usize| (before.get(place).map_or(0.0, |&b| b as f64) - ideal).abs();
        let found = (low..high).min_by(|&a, &b| {
            let bond = |place: usize| bonds.get(place).copied().unwrap_or(0);
            bond(a)
                .cmp(&bond(b))
                .then(distance(a).total_cmp(&distance(b)))
        });
        // Pieces larger than the slack: the nearer end of the one that the cut falls into.
        let nearest = || match low.checked_sub(1) {
            Some(left) if distance(left) <= distance(low.min(costs.len())) => left,
            _ => low.min(costs.len()),
        };
        let last = cuts.last().copied().unwrap_or(0);
        cuts.push(found.unwrap_or_else(nearest).max(last));
    }
    cuts.push(costs.len());
    cuts.windows(2)
        .map(|pair| pair.first().copied().unwrap_or(0)..pair.last().copied().unwrap_or(0))
        .collect()
}

/// Deals pieces that share nothing out to `n` shards, the largest first, each to the shard that has
/// least; the pieces of a shard come in their order.
///
/// ```
/// assert_eq!(mary_lab::deal(&[12, 1, 1, 1, 7, 2], 3), [vec![0], vec![4], vec![1, 2, 3, 5]]);
/// ```
pub fn deal(costs: &[u64], n: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&place| (std::cmp::Reverse(costs.get(place).copied()), place));
    let mut hands: Vec<Vec<usize>> = vec![Vec::new(); n.max(1)];
    let mut loads = vec![0_u128; n.max(1)];
    for place in order {
        let least = (0..loads.len()).min_by_key(|&hand| (loads.get(hand).copied(), hand));
        let Some(hand) = least else { continue };
        if let (Some(load), Some(cards)) = (loads.get_mut(hand), hands.get_mut(hand)) {
            *load += u128::from(costs.get(place).copied().unwrap_or(0));
            cards.push(place);
        }
    }
    for hand in &mut hands {
        hand.sort_unstable();
    }
    hands
}

/// Number of weights that a model's name tells (`pythia-1.4b`, `Qwen2-500M`).
pub fn size_in_name(name: &str) -> Option<u64> {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    let words = last.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    words
        .filter_map(|word| {
            let (digits, unit) = match word.strip_suffix('b') {
                Some(digits) => (digits, 1e9),
                None => (word.strip_suffix('m')?, 1e6),
            };
            let number: f64 = digits.parse().ok()?;
            (number > 0.0).then_some((number * unit) as u64)
        })
        .next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str) -> Result<ShardChoice, ShardError> {
        text.parse()
    }

    #[test]
    fn shards_are_named_or_taken_from_an_engine() {
        let nothing = |_: &str| None;
        let given = choice("3/16").unwrap().resolve(nothing).unwrap();
        assert_eq!(
            (given.index, given.of, given.to_string()),
            (3, 16, "3/16".into())
        );
        for wrong in ["16/16", "1/0", "x", "/0", "-1/4", ""] {
            assert!(choice(wrong).is_err(), "{wrong}");
        }
        assert!(choice("auto").unwrap().resolve(nothing).is_err());
        let slurm = |name: &str| {
            let value = match name {
                "SLURM_ARRAY_TASK_ID" => "14",
                "SLURM_ARRAY_TASK_MIN" => "10",
                "SLURM_ARRAY_TASK_STEP" => "2",
                "SLURM_ARRAY_TASK_COUNT" => "5",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let shard = choice("auto").unwrap().resolve(slurm).unwrap();
        assert_eq!((shard.index, shard.of), (2, 5));
        for name in ["JOB_COMPLETION_INDEX", "HQ_TASK_ID"] {
            let engine = |asked: &str| (asked == name).then(|| "7".to_owned());
            assert_eq!(choice("/8").unwrap().resolve(engine).unwrap().index, 7);
            assert!(choice("/7").unwrap().resolve(engine).is_err());
            assert!(
                choice("auto").unwrap().resolve(engine).is_err(),
                "of how many?"
            );
        }
    }

    #[test]
    fn a_cut_falls_where_neighbours_share_least() {
        // 100 pieces of cost 10; those of each run of ten share a prefix, but for piece 49.
        let costs = vec![10; 100];
        let bonds: Vec<u32> = (0..100).map(|k| if k == 51 { 0 } else { 300 }).collect();
        assert_eq!(cut(&costs, &bonds, 2), [0..51, 51..100]);
        assert_eq!(cut(&costs, &vec![5; 100], 2), [0..50, 50..100]);
        assert_eq!(cut(&[], &[], 3), [0..0, 0..0, 0..0]);
    }

    #[test]
    fn large_pieces_are_dealt_first() {
        let hands = deal(&[12, 1, 1, 1, 7, 2], 3);
        assert_eq!(hands, [vec![0], vec![4], vec![1, 2, 3, 5]]);
        assert_eq!(deal(&[1, 1], 4).iter().filter(|h| h.is_empty()).count(), 2);
    }

    #[test]
    fn sizes_are_read_from_names() {
        assert_eq!(size_in_name("EleutherAI/pythia-1.4b"), Some(1_400_000_000));
        assert_eq!(
            size_in_name("EleutherAI/pythia-70m-deduped"),
            Some(70_000_000)
        );
        assert_eq!(size_in_name("builtin/nano"), None);
    }
}
