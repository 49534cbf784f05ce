//! The generated corpus: simple English about a small world, streamed from a seed; and small pictures with
//! questions about them ([`scenes`]).
//!
//! A document is a pure function of the seed and its number, so any amount of text can be had,
//! from any place, again. Sentences of the held-out evaluation items are never emitted:
//! [`is_held_out`] decides by a stable hash, the generator throws again when it says yes, and a test
//! checks the finished text independently.

mod dice;
mod facts;
mod grammar;
pub mod numbers;
mod patterns;
pub mod scenes;
mod world;

use dice::Dice;
use std::collections::HashSet;

/// Two sentences that differ in one grammatical point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinimalPair {
    pub phenomenon: &'static str,
    pub paradigm: &'static str,
    pub good: String,
    pub bad: String,
}

/// A comparison of two numbers, true and false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub a: usize,
    pub b: usize,
    pub good: String,
    pub bad: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GradedCategory {
    pub name: &'static str,
    pub members: &'static [&'static str],
}

/// The categories of the small world, with what is known about how often each member is met.
pub fn categories() -> impl Iterator<Item = GradedCategory> {
    let categories = world::WORLD.categories.iter();
    categories.map(|category| GradedCategory {
        name: category.name,
        members: &category.members,
    })
}

/// How often the member of this rank (from 0) is met, relative to the first of its category.
pub fn member_frequency(rank: usize) -> f64 {
    1.0 / (rank + 1) as f64
}

/// FNV-1a, written out so that the split never depends on a library's version.
pub fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// True for sentences kept back for evaluation: one in eight, by a stable hash of their letters.
pub fn is_held_out(sentence: &str) -> bool {
    let folded = sentence.trim().trim_end_matches(['.', '?']).to_lowercase();
    (stable_hash(&folded) >> 7).is_multiple_of(8)
}

#[derive(Debug, Clone, Copy)]
pub struct Corpus {
    seed: u64,
}

impl Corpus {
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The document of this number; its lines are separated by newlines.
    pub fn document(&self, number: u64) -> String {
        let dice = &mut Dice::for_document(self.seed, number);
        if dice.one_in(5) {
            return patterns::document(dice);
        }
        let lines = match dice.between(0, 3) {
            0 => 1,
            1 => dice.between(2, 4),
            _ => dice.between(4, 12),
        };
        let topic = dice.between(0, 9);
        let mixed = dice.one_in(3);
        let mut sentences = Vec::with_capacity(lines);
        for _ in 0..lines {
            let topic = if mixed { dice.between(0, 9) } else { topic };
            sentences.push(admitted(dice, topic));
        }
        sentences.join(if dice.one_in(2) { "\n" } else { " " })
    }
}

fn admitted(dice: &mut Dice, topic: usize) -> String {
    loop {
        let sentence = match topic {
            0..=4 => grammar::pair(dice).good,
            5 | 6 => numbers::line(dice),
            7 => facts::quality(dice),
            _ => facts::category(dice),
        };
        if !is_held_out(&sentence) {
            return sentence;
        }
    }
}

/// The evaluation items, none of which is in the corpus.
#[derive(Debug, Clone)]
pub struct HeldOut {
    /// Grammatical minimal pairs, equally many of each paradigm.
    pub pairs: Vec<MinimalPair>,
    /// Comparisons of number pairs that the corpus never compares.
    pub comparisons: Vec<Comparison>,
}

impl HeldOut {
    /// `per_paradigm` pairs of each paradigm, sampled with this seed, and every held-out comparison.
    pub fn new(seed: u64, per_paradigm: usize) -> Self {
        let mut dice = Dice::for_document(seed, u64::MAX);
        let mut seen = HashSet::new();
        let pairs = grammar::pairs(&mut dice, per_paradigm, &mut |pair| {
            pair.good != pair.bad && is_held_out(&pair.good) && seen.insert(pair.good.clone())
        });
        Self {
            pairs,
            comparisons: numbers::held_out(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The evaluation sentences found in a text, good or bad, independently of how it was made: none when the split holds.
    fn found_in(held_out: &HeldOut, text: &str) -> Vec<String> {
        let fold = |s: &str| s.trim().trim_end_matches(['.', '?']).to_lowercase();
        let pairs = held_out.pairs.iter().flat_map(|p| [&p.good, &p.bad]);
        let compared = held_out.comparisons.iter().flat_map(|c| [&c.good, &c.bad]);
        let items: HashSet<String> = pairs.chain(compared).map(|s| fold(s)).collect();
        let sentences = text.split(['\n', '.', '?']).map(fold);
        sentences.filter(|s| items.contains(s)).collect()
    }

    #[test]
    fn a_document_is_a_function_of_seed_and_number() {
        let corpus = Corpus::new(7);
        assert_eq!(corpus.document(41), Corpus::new(7).document(41));
        assert_ne!(corpus.document(41), corpus.document(42));
        assert_ne!(corpus.document(41), Corpus::new(8).document(41));
    }

    #[test]
    fn no_evaluation_sentence_is_in_the_corpus() {
        let held_out = HeldOut::new(1, 40);
        assert_eq!(held_out.pairs.len(), 25 * 40);
        assert!(held_out.comparisons.len() > 40);
        let corpus = Corpus::new(1);
        let text: Vec<String> = (0..60_000).map(|i| corpus.document(i)).collect();
        assert_eq!(found_in(&held_out, &text.join("\n")), Vec::<String>::new());
    }

    #[test]
    fn the_check_finds_a_leaked_sentence() {
        let held_out = HeldOut::new(1, 1);
        let leaked = format!("Tom slept. {} Anna laughed.", held_out.pairs[0].good);
        assert_eq!(found_in(&held_out, &leaked).len(), 1);
    }

    #[test]
    fn the_twelve_phenomena_are_all_there() {
        let phenomena: HashSet<_> = HeldOut::new(3, 2)
            .pairs
            .iter()
            .map(|p| p.phenomenon)
            .collect();
        assert_eq!(phenomena.len(), 12);
    }

    #[test]
    fn frequent_members_come_first() {
        let corpus = Corpus::new(5);
        let text: String = (0..40_000).map(|i| corpus.document(i) + "\n").collect();
        let count = |word: &str| text.matches(&format!("{word} is a bird")).count();
        assert!(
            count("robin") > 3 * count("ostrich"),
            "{} {}",
            count("robin"),
            count("ostrich")
        );
    }
}
