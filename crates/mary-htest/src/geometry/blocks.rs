//! Four questions to one set of four options, each option the answer of exactly one: whoever does
//! not read the question is right one time in four, whatever the prior.

use mary_contract::TaskError;

use super::bank::{Kind, Question, bank};
use mary_items::{Stream, below, shuffle, stream};

/// One item: a question with its options in the order shown.
#[derive(Debug, Clone)]
pub struct GeometryItem {
    /// What is asked.
    pub question: &'static Question,
    /// Four symbols.
    pub options: Vec<char>,
    /// Index of the right one.
    pub correct: usize,
    /// Number of the block it belongs to.
    pub block: usize,
}

const OPTIONS: usize = 4;

/// `n` items of a seed, all questions distinct, the kinds by turns as long as each lasts.
pub fn items(seed: u64, n: usize) -> Result<Vec<GeometryItem>, TaskError> {
    if !n.is_multiple_of(OPTIONS) {
        return Err(TaskError::Setting(format!(
            "htest/letter-geometry: n={n}; expected a multiple of {OPTIONS}, since four questions share \
             their options"
        )));
    }
    let mut rng = stream(seed, "htest/letter-geometry");
    let mut pool = Pool::new(&mut rng);
    let mut nearness = Nearness::default();
    let mut items = Vec::with_capacity(n);
    for block in 0..n / OPTIONS {
        items.extend(pool.block(&mut rng, block, &mut nearness).ok_or_else(|| {
            TaskError::Generator(format!(
                "htest/letter-geometry: no further set of four questions after {} items; ask for fewer \
                 with --set n=…",
                block * OPTIONS
            ))
        })?);
    }
    shuffle(&mut rng, &mut items);
    Ok(items)
}

/// How often the right option was the nearest to the question's symbol in the order of Unicode, the
/// second nearest, and so on. A symbol and what becomes of it often stand in one block (⊂ and ⊃, ⌈ and
/// ⌉), so that whoever chooses the nearest number is right more often than one time in four, without a
/// picture of either; blocks are chosen so that each place is right as often.
#[derive(Debug, Clone, Default)]
struct Nearness([f64; OPTIONS]);

impl Nearness {
    /// Adds a block of questions to the count.
    fn with(&self, block: &[&'static Question]) -> Self {
        let mut counts = self.0;
        for question in block {
            let sources = question.operation.sources();
            let distance = |option: char| {
                let apart = |s: &char| u32::from(*s).abs_diff(u32::from(option));
                sources.iter().map(apart).min().unwrap_or(0)
            };
            let own = distance(question.answer);
            let others = || block.iter().map(|q| distance(q.answer));
            let nearer = others().filter(|d| *d < own).count();
            let tied = others().filter(|d| *d == own).count().max(1);
            for place in counts.iter_mut().skip(nearer).take(tied) {
                *place += 1.0 / tied as f64;
            }
        }
        Self(counts)
    }

    /// How far the places are from equally often.
    fn imbalance(&self) -> f64 {
        let mean = self.0.iter().sum::<f64>() / OPTIONS as f64;
        self.0.iter().map(|n| (n - mean).powi(2)).sum()
    }
}

/// Questions not yet asked, by kind, in random order.
struct Pool {
    kinds: Vec<Vec<&'static Question>>,
    turn: usize,
}

impl Pool {
    fn new(rng: &mut Stream) -> Self {
        let kinds = Kind::ALL
            .map(|kind| {
                let mut of: Vec<_> = bank()
                    .iter()
                    .filter(|q| q.operation.kind() == kind)
                    .collect();
                shuffle(rng, &mut of);
                of
            })
            .to_vec();
        Self { kinds, turn: 0 }
    }

    /// The next kind that still has questions.
    fn next_kind(&mut self) -> Option<usize> {
        let kinds = self.kinds.len();
        let found = (0..kinds)
            .map(|step| (self.turn + step) % kinds)
            .find(|&k| self.kinds.get(k).is_some_and(|of| !of.is_empty()))?;
        self.turn = (found + 1) % kinds;
        Some(found)
    }

    /// Four questions that go together, taken out of the pool.
    fn block(
        &mut self,
        rng: &mut Stream,
        number: usize,
        nearness: &mut Nearness,
    ) -> Option<Vec<GeometryItem>> {
        let questions = self.most_even(rng, nearness)?;
        *nearness = nearness.with(&questions);
        let mut options: Vec<char> = questions.iter().map(|q| q.answer).collect();
        shuffle(rng, &mut options);
        // Each place holds the right answer once in a block.
        let mut places: Vec<usize> = (0..OPTIONS).collect();
        shuffle(rng, &mut places);
        let items = questions
            .into_iter()
            .zip(places)
            .map(|(question, correct)| {
                let mut shown: Vec<char> = options
                    .iter()
                    .copied()
                    .filter(|o| *o != question.answer)
                    .collect();
                shuffle(rng, &mut shown);
                shown.insert(correct.min(shown.len()), question.answer);
                GeometryItem {
                    question,
                    options: shown,
                    correct,
                    block: number,
                }
            });
        Some(items.collect())
    }

    /// Of several foursomes the one that leaves the places of the right option most even.
    fn most_even(
        &mut self,
        rng: &mut Stream,
        nearness: &Nearness,
    ) -> Option<Vec<&'static Question>> {
        const ATTEMPTS: usize = 200;
        const CANDIDATES: usize = 16;
        let before = self.turn;
        let mut best: Option<(f64, usize, Vec<&'static Question>)> = None;
        let mut candidates = 0;
        for _ in 0..ATTEMPTS {
            self.turn = before;
            let Some(four) = self.four(rng) else { continue };
            let imbalance = nearness.with(&four).imbalance();
            for &question in &four {
                self.put_back(question)?;
            }
            if best.as_ref().is_none_or(|(least, ..)| imbalance < *least) {
                best = Some((imbalance, self.turn, four));
            }
            candidates += 1;
            if candidates == CANDIDATES {
                break;
            }
        }
        let (_, turn, four) = best?;
        self.turn = turn;
        for question in &four {
            for kind in &mut self.kinds {
                kind.retain(|q| !std::ptr::eq(*q, *question));
            }
        }
        Some(four)
    }

    fn put_back(&mut self, question: &'static Question) -> Option<()> {
        let kind = Kind::ALL
            .iter()
            .position(|k| *k == question.operation.kind())?;
        self.kinds.get_mut(kind)?.push(question);
        Some(())
    }

    fn four(&mut self, rng: &mut Stream) -> Option<Vec<&'static Question>> {
        let mut block: Vec<&'static Question> = Vec::with_capacity(OPTIONS);
        let mut kinds = Vec::with_capacity(OPTIONS);
        while block.len() < OPTIONS {
            let kind = self.next_kind()?;
            let Some(question) = self.fitting(rng, kind, &block) else {
                break;
            };
            self.kinds
                .get_mut(kind)?
                .retain(|q| !std::ptr::eq(*q, question));
            block.push(question);
            kinds.push(kind);
        }
        if block.len() == OPTIONS {
            return Some(block);
        }
        for (question, kind) in block.into_iter().zip(kinds) {
            self.kinds.get_mut(kind)?.push(question);
        }
        None
    }

    /// A question of a kind whose answer clearly is none of the others' and the other way round. One
    /// that shares symbols with the block comes first: then the symbol in the question stands among
    /// the options, and choosing or avoiding it is no way out.
    fn fitting(
        &self,
        rng: &mut Stream,
        kind: usize,
        block: &[&'static Question],
    ) -> Option<&'static Question> {
        let fits = |q: &Question| {
            block
                .iter()
                .all(|b| b.unlike.contains(&q.answer) && q.unlike.contains(&b.answer))
        };
        let related = |q: &Question| {
            block.iter().any(|b| {
                b.operation.sources().contains(&q.answer)
                    || q.operation.sources().contains(&b.answer)
            })
        };
        let fitting: Vec<_> = self
            .kinds
            .get(kind)?
            .iter()
            .copied()
            .filter(|q| fits(q))
            .collect();
        let close: Vec<_> = fitting.iter().copied().filter(|q| related(q)).collect();
        let from = if close.is_empty() { &fitting } else { &close };
        from.get(below(rng, from.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;

    #[test]
    fn every_option_set_serves_four_questions_and_each_option_once() {
        for seed in 0..20 {
            let items = items(seed, 200).unwrap();
            let mut blocks: BTreeMap<usize, Vec<&GeometryItem>> = BTreeMap::new();
            for item in &items {
                blocks.entry(item.block).or_default().push(item);
            }
            for block in blocks.values() {
                let sets: HashSet<Vec<char>> = block
                    .iter()
                    .map(|i| {
                        let mut options = i.options.clone();
                        options.sort_unstable();
                        options
                    })
                    .collect();
                let answers: HashSet<char> = block.iter().map(|i| i.options[i.correct]).collect();
                let places: HashSet<usize> = block.iter().map(|i| i.correct).collect();
                assert_eq!((sets.len(), answers.len(), places.len()), (1, 4, 4));
            }
            let distinct: HashSet<String> =
                items.iter().map(|i| i.question.operation.words()).collect();
            assert_eq!(distinct.len(), items.len());
        }
    }

    #[test]
    fn one_option_matches_and_the_others_clearly_do_not() {
        for item in items(5, 200).unwrap() {
            assert_eq!(item.options[item.correct], item.question.answer);
            for (place, option) in item.options.iter().enumerate() {
                assert_eq!(
                    place == item.correct,
                    !item.question.unlike.contains(option)
                );
            }
        }
    }

    #[test]
    fn the_symbol_in_the_question_gives_nothing_away() {
        let mut offered = 0.0;
        let mut right = 0.0;
        for seed in 0..10 {
            for item in items(seed, 200).unwrap() {
                for source in item.question.operation.sources() {
                    if item.options.contains(&source) {
                        offered += 1.0;
                        right += f64::from(u8::from(source == item.question.answer));
                    }
                }
            }
        }
        let share = right / offered;
        eprintln!("source offered {offered} times in 2000 items, right {share:.3}");
        assert!(
            share < 0.40,
            "choosing the symbol in the question is right {share:.3}"
        );
    }

    #[test]
    fn the_number_of_a_symbol_gives_nothing_away() {
        let mut places = [0.0; OPTIONS];
        for seed in 0..8 {
            for item in items(seed, 200).unwrap() {
                let sources = item.question.operation.sources();
                let distance = |option: &char| {
                    let apart = |s: &char| (*s as i64 - *option as i64).abs();
                    sources.iter().map(apart).min().unwrap()
                };
                let own = distance(&item.question.answer);
                let nearer = item.options.iter().filter(|o| distance(o) < own).count();
                let tied = item.options.iter().filter(|o| distance(o) == own).count();
                for place in &mut places[nearer..nearer + tied] {
                    *place += 1.0 / tied as f64;
                }
            }
        }
        let all: f64 = places.iter().sum();
        for (place, n) in places.iter().enumerate() {
            let share = n / all;
            assert!((share - 0.25).abs() < 0.02, "nearest {place}: {share:.3}");
        }
    }

    #[test]
    fn more_than_five_hundred_items_can_be_asked_for() {
        let items = items(1, 520).unwrap();
        let distinct: HashSet<String> =
            items.iter().map(|i| i.question.operation.words()).collect();
        assert_eq!(distinct.len(), 520);
        assert!(super::items(1, 6).is_err());
    }
}
