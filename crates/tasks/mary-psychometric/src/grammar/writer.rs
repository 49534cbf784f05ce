//! Makes sets of minimal pairs: our own from the wide lexicon, or the small world's held-out ones.

use std::collections::HashSet;

use mary_contract::TaskError;
use mary_generators::small_world::HeldOut;
use mary_generators::{Paradigm, stream};

use super::Phenomenon;
use super::lexicon::LEXICON;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshPair {
    pub phenomenon: Phenomenon,
    pub paradigm: &'static str,
    pub good: String,
    pub bad: String,
}

/// Throws without a new pair after which a paradigm is exhausted.
const PATIENCE: usize = 20_000;

/// `n` distinct pairs of each phenomenon, its paradigms sharing as evenly as may be. The same seed
/// gives the same pairs; no sentence is good in one pair and bad in another.
pub fn fresh_pairs(seed: u64, n: usize) -> Result<Vec<FreshPair>, TaskError> {
    let mut pairs = Vec::with_capacity(n * Phenomenon::ALL.len());
    // Sentences already used, good and bad.
    let mut seen = HashSet::new();
    for phenomenon in Phenomenon::ALL {
        let own = LEXICON.paradigms().iter();
        let own: Vec<_> = own.filter(|p| p.phenomenon == phenomenon.name()).collect();
        for (place, paradigm) in own.iter().enumerate() {
            // The first n % len paradigms take one more.
            let share = n / own.len() + usize::from(place < n % own.len());
            write(seed, (phenomenon, paradigm), share, &mut seen, &mut pairs)?;
        }
    }
    Ok(pairs)
}

fn write(
    seed: u64,
    (phenomenon, paradigm): (Phenomenon, &'static Paradigm),
    share: usize,
    seen: &mut HashSet<String>,
    pairs: &mut Vec<FreshPair>,
) -> Result<(), TaskError> {
    let name = format!(
        "psychometric/grammar/{}/{}",
        phenomenon.name(),
        paradigm.name
    );
    let mut rng = stream(seed, &name);
    let (mut made, mut idle) = (0, 0);
    while made < share {
        let (good, bad) = LEXICON.pair(paradigm, &mut rng);
        if good != bad && !seen.contains(&good) && !seen.contains(&bad) {
            seen.extend([good.clone(), bad.clone()]);
            pairs.push(FreshPair {
                phenomenon,
                paradigm: &paradigm.name,
                good,
                bad,
            });
            (made, idle) = (made + 1, 0);
        } else {
            idle += 1;
        }
        if idle > PATIENCE {
            return Err(TaskError::Generator(format!(
                "{name}: only {made} of {share} distinct pairs could be written; ask for fewer with n=…"
            )));
        }
    }
    Ok(())
}

/// The small world's held-out pairs: those sentences the built-in model never read. Paradigms with few
/// held-out sentences give fewer than asked for.
pub fn small_pairs(seed: u64, n: usize) -> Result<Vec<FreshPair>, TaskError> {
    // No phenomenon of the small world has more than three paradigms.
    let held_out = HeldOut::new(seed, n.div_ceil(2).max(1));
    let mut pairs: Vec<FreshPair> = Vec::new();
    for pair in held_out.pairs {
        let unknown = || format!("the small world's `{}` is unknown", pair.phenomenon);
        let phenomenon = Phenomenon::of_small_world(pair.phenomenon)
            .ok_or_else(|| TaskError::Generator(unknown()))?;
        pairs.push(FreshPair {
            phenomenon,
            paradigm: pair.paradigm,
            good: pair.good,
            bad: pair.bad,
        });
    }
    // At most n of a phenomenon, taken from its paradigms by turns.
    let mut kept = Vec::with_capacity(pairs.len());
    for phenomenon in Phenomenon::ALL {
        let mut own: Vec<(usize, &FreshPair)> = Vec::new();
        let mut counts = std::collections::BTreeMap::new();
        for pair in pairs.iter().filter(|p| p.phenomenon == phenomenon) {
            let turn = counts.entry(pair.paradigm).or_insert(0usize);
            own.push((*turn, pair));
            *turn += 1;
        }
        own.sort_by_key(|(turn, _)| *turn);
        kept.extend(own.into_iter().take(n).map(|(_, pair)| pair.clone()));
    }
    Ok(kept)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
