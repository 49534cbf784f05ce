//! Which items are run: all of them, or a stratified part that is the same for every model.

use std::collections::{BTreeMap, BinaryHeap, HashSet};

use mary_contract::{
    DataSource, Item, Limit, Request, StoreError, Task, TaskSettings, prompt_tokens,
};
use mary_platform::DigestMap;
use serde::{Deserialize, Serialize};

use crate::engine::{EngineError, plan};

/// What a first pass over a task's items found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// Indices of the chosen items in the task's order; `None` means all.
    pub chosen: Option<HashSet<usize>>,
    /// How many are chosen.
    pub count: usize,
    /// How many there are.
    pub available: usize,
    /// What asking one item costs on average, in no particular unit: comparable between tasks.
    pub cost: u64,
    /// The shortest prompt to be answered in words; `None` where an item has none.
    pub shortest_prompt: Option<PromptSize>,
}

/// How many tokens a prompt has, as far as that can be told without the model's tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PromptSize {
    /// About so many ([`mary_contract::prompt_tokens`]).
    pub about: usize,
    /// At least so many: one a word, since tokenizers do not join words across a blank.
    pub least: usize,
}

impl PromptSize {
    /// Of the longest prompt of an item. Texts that are scored may be longer than a context and do not count.
    pub fn of(item: &Item) -> Option<Self> {
        let prompts = item.asks.iter().filter_map(|ask| match &ask.request {
            Request::Generate(asked) => Some(Self {
                about: prompt_tokens(&asked.prompt) as usize,
                least: asked.prompt.text().split_whitespace().count(),
            }),
            Request::Score(_) | Request::Observe(_) => None,
        });
        prompts.max()
    }
}

/// Reads all items once, before a model is loaded, so that a bad line 60,000 does not cost an hour.
pub fn survey(
    task: &dyn Task,
    settings: &TaskSettings,
    data: &dyn DataSource,
    limit: Option<Limit>,
) -> Result<Survey, EngineError> {
    let id = &task.card().id;
    let wrap = |source| EngineError::Task {
        task: id.to_string(),
        source,
    };
    settings.check(task.card()).map_err(wrap)?;
    let mut seen = DigestMap::default();
    let mut strata: BTreeMap<String, Stratum> = BTreeMap::new();
    let most = match limit {
        Some(Limit::Count(n)) => n,
        _ => usize::MAX,
    };
    let mut available = 0;
    let mut cost = 0;
    let mut shortest: Option<PromptSize> = None;
    let mut all_words = true;
    for item in task.items(settings, data).map_err(wrap)? {
        let item = item.map_err(wrap)?;
        let before = seen.insert(DigestMap::digest(&item.id), available as u64);
        if before.map_err(temporary)?.is_some() {
            return Err(EngineError::DuplicateItem {
                task: id.to_string(),
                item: item.id,
            });
        }
        cost += item
            .asks
            .iter()
            .map(|ask| plan::cost(&ask.request))
            .sum::<u64>();
        match PromptSize::of(&item) {
            Some(size) => shortest = Some(shortest.map_or(size, |least| least.min(size))),
            None => all_words = false,
        }
        if limit.is_some() {
            let hash = rank(settings.seed, &item.id);
            let stratum = strata.entry(item.stratum).or_default();
            stratum.add((hash, available), most);
        }
        available += 1;
    }
    if available == 0 {
        return Err(EngineError::Empty {
            task: id.to_string(),
        });
    }
    let wanted = match limit {
        None => available,
        Some(Limit::Count(n)) => n.min(available),
        // At least one: a fraction of a small set still asks something.
        Some(Limit::Fraction(f)) => ((available as f64 * f).round() as usize).clamp(1, available),
    };
    let chosen = (wanted < available).then(|| stratified(strata, wanted, available));
    Ok(Survey {
        chosen,
        count: wanted,
        available,
        cost: cost.div_ceil(available as u64).max(1),
        shortest_prompt: shortest.filter(|_| all_words),
    })
}

/// Order of an item in the draw, from seed and id alone, so that every model gets the same items.
fn rank(seed: u64, id: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(id.as_bytes());
    let bytes = hasher.finalize();
    let mut first = [0u8; 8];
    first.copy_from_slice(&bytes.as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// A temporary file that tells ids apart could not be read.
fn temporary(source: std::io::Error) -> StoreError {
    StoreError::Io {
        path: std::env::temp_dir(),
        source,
    }
}

/// Items of one stratum.
#[derive(Debug, Default)]
struct Stratum {
    all: usize,
    /// Rank in the draw and index in the task's order, of those that may be drawn.
    lowest: BinaryHeap<(u64, usize)>,
}

impl Stratum {
    /// Takes an item in; no more than `most` can be drawn, so that no more are kept.
    fn add(&mut self, item: (u64, usize), most: usize) {
        self.all += 1;
        self.lowest.push(item);
        if self.lowest.len() > most {
            self.lowest.pop();
        }
    }
}

/// Keeps each stratum's share (largest remainders), and within a stratum the lowest ranks.
fn stratified(
    strata: BTreeMap<String, Stratum>,
    wanted: usize,
    available: usize,
) -> HashSet<usize> {
    let mut shares: Vec<(usize, usize, Stratum)> = strata
        .into_values()
        .map(|members| {
            let product = members.all * wanted;
            (product / available, product % available, members)
        })
        .collect();
    let given: usize = shares.iter().map(|s| s.0).sum();
    let mut by_remainder: Vec<usize> = (0..shares.len()).collect();
    by_remainder.sort_by_key(|&i| std::cmp::Reverse(shares[i].1));
    for &i in by_remainder.iter().take(wanted - given) {
        shares[i].0 += 1;
    }
    let mut chosen = HashSet::with_capacity(wanted);
    for (take, _, members) in shares {
        let members = members.lowest.into_sorted_vec();
        chosen.extend(members.into_iter().take(take).map(|(_, index)| index));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strata(sizes: &[usize], most: usize) -> BTreeMap<String, Stratum> {
        let mut index = 0;
        let mut out = BTreeMap::new();
        for (s, &size) in sizes.iter().enumerate() {
            let mut stratum = Stratum::default();
            for _ in 0..size {
                index += 1;
                stratum.add((rank(1, &index.to_string()), index - 1), most);
            }
            out.insert(s.to_string(), stratum);
        }
        out
    }

    proptest::proptest! {
        #[test]
        fn a_part_keeps_every_stratum_within_one_of_its_share(
            sizes in proptest::collection::vec(1usize..50, 1..6), share in 0.05f64..1.0
        ) {
            let available: usize = sizes.iter().sum();
            let wanted = ((available as f64 * share) as usize).max(1);
            let chosen = stratified(strata(&sizes, usize::MAX), wanted, available);
            assert_eq!(chosen, stratified(strata(&sizes, wanted), wanted, available));
            assert_eq!(chosen.len(), wanted);
            let mut start = 0;
            for size in sizes {
                let got = chosen.iter().filter(|&&i| i >= start && i < start + size).count();
                let exact = size as f64 * wanted as f64 / available as f64;
                assert!((got as f64 - exact).abs() < 1.0 + 1e-9, "{got} of {exact}");
                start += size;
            }
        }

        #[test]
        fn a_larger_part_of_one_stratum_holds_the_smaller(a in 1usize..40, b in 1usize..40) {
            let (small, large) = (a.min(b), a.max(b));
            let few = stratified(strata(&[40], usize::MAX), small, 40);
            let many = stratified(strata(&[40], large), large, 40);
            assert!(few.is_subset(&many));
        }
    }
}
