//! Four questions to one set of four options, each option the answer of exactly one: whoever does
//! not read the question is right one time in four, whatever the prior.
//!
//! Whoever reads it without seeing the shapes must not be right more often either. What could be used
//! instead is which symbols go together (`b`, `d`, `p` and `q`; ⊂ and ⊃ stand side by side in Unicode)
//! and which words go with which options (what is covered leaves little). Questions about turns and
//! flips therefore share not only their options but also their symbol: each option then goes with the
//! symbol as well as the others. Questions that add or take away share their symbols and the kind of
//! step; what comes of it is turned or flipped in some of them.

use mary_contract::TaskError;

use super::bank::{Class, OperationKind, Question, bank};
use mary_generators::{Stream, below, shuffle, stream};
use mary_platform::grouped;

/// One item: a question with its options in the order shown.
#[derive(Debug, Clone)]
pub struct GeometryItem {
    pub question: &'static Question,
    pub options: Vec<char>,
    pub correct: usize,
    /// Number of the block it belongs to.
    pub block: usize,
}

const OPTIONS: usize = 4;

/// Foursomes that are compared before one is taken.
const CANDIDATES: usize = 32;

/// What the blocks ask by turns, as long as each lasts.
const TURNS: [&[Class]; 5] = [
    &[Class::Moves],
    &[Class::Join, Class::Stroke],
    &[Class::Moves],
    &[Class::Without, Class::Half],
    &[Class::Moves],
];

type Four = Vec<&'static Question>;

/// `n` items of a seed, all questions distinct.
pub fn items(seed: u64, n: usize) -> Result<Vec<GeometryItem>, TaskError> {
    if !n.is_multiple_of(OPTIONS) {
        return Err(TaskError::Setting(format!(
            "htest/letter-geometry: n={n}; expected a multiple of {OPTIONS}, since four questions share \
             their options"
        )));
    }
    let mut rng = stream(seed, "htest/letter-geometry");
    let mut pool = Pool::new(&mut rng);
    let mut items = Vec::with_capacity(n);
    for block in 0..n / OPTIONS {
        let four = pool.take(&mut rng, block).ok_or_else(|| {
            TaskError::Generator(format!(
                "htest/letter-geometry: no further set of four questions after {} items; ask for fewer \
                 with --set n=…",
                block * OPTIONS
            ))
        })?;
        items.extend(shown(&mut rng, four, block));
    }
    shuffle(&mut rng, &mut items);
    Ok(items)
}

/// The questions of a block with their options; each place holds the right answer once.
fn shown(rng: &mut Stream, questions: Four, block: usize) -> Vec<GeometryItem> {
    let options: Vec<char> = questions.iter().map(|q| q.answer).collect();
    let mut places: Vec<usize> = (0..OPTIONS).collect();
    shuffle(rng, &mut places);
    let mut items = Vec::with_capacity(OPTIONS);
    for (question, correct) in questions.into_iter().zip(places) {
        let mut shown = options.clone();
        shown.retain(|o| *o != question.answer);
        shuffle(rng, &mut shown);
        shown.insert(correct.min(shown.len()), question.answer);
        items.push(GeometryItem {
            question,
            options: shown,
            correct,
            block,
        });
    }
    items
}

/// What the blocks so far would teach somebody who does not see the shapes.
#[derive(Debug, Clone, Default)]
struct Balance {
    /// How often the right option was the nearest to the question's symbol in the order of Unicode,
    /// the second nearest, and so on.
    nearness: [f64; OPTIONS],
    /// By the kind of step, how often the symbol of the question was among the options, and right.
    own: [[f64; 2]; STEPS],
    /// How many questions of each kind there are.
    kinds: [f64; OperationKind::ALL.len()],
}

/// Kinds of steps whose words differ: a turn, a flip, two turns, two flips, one of each, all others.
const STEPS: usize = 6;
const OTHER: usize = STEPS - 1;

impl Balance {
    fn with(&self, block: &[&'static Question]) -> Self {
        let mut after = self.clone();
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
            for place in after.nearness.iter_mut().skip(nearer).take(tied) {
                *place += 1.0 / tied as f64;
            }
            if let Some([seen, right]) = after.own.get_mut(question.operation.steps_in_words())
                && block.iter().any(|q| sources.contains(&q.answer))
            {
                *seen += 1.0;
                *right += f64::from(u8::from(sources.contains(&question.answer)));
            }
            let kinds = OperationKind::ALL.iter().zip(&mut after.kinds);
            for (_, count) in kinds.filter(|(k, _)| **k == question.operation.kind()) {
                *count += 1.0;
            }
        }
        after
    }

    /// How much can be learnt from it, and how uneven the kinds are.
    fn imbalance(&self) -> f64 {
        let even = 1.0 / OPTIONS as f64;
        let mean = self.nearness.iter().sum::<f64>() * even;
        let near: f64 = self.nearness.iter().map(|n| (n - mean).powi(2)).sum();
        // A single turn of these symbols is never the symbol itself, which nothing can make up for.
        let off = |[seen, right]: &[f64; 2]| (right - seen * even).powi(2);
        let own: f64 = self.own.iter().skip(1).map(off).sum();
        let most = self.kinds.iter().copied().fold(0.0, f64::max);
        let least = self.kinds.iter().copied().fold(f64::MAX, f64::min);
        near + own + (most - least) / 2.0
    }
}

/// Questions not yet asked that name the same symbols and do the same kind of thing.
struct Group {
    class: Class,
    questions: Four,
}

/// All groups, in random order.
struct Pool {
    groups: Vec<Group>,
    balance: Balance,
}

impl Pool {
    fn new(rng: &mut Stream) -> Self {
        let mut all: Vec<&'static Question> = bank().iter().collect();
        shuffle(rng, &mut all);
        let kind = |q: &Question| (q.operation.class(), q.operation.sources());
        let groups = grouped(all.into_iter().map(|question| (kind(question), question)));
        let group = |((class, _), questions)| Group { class, questions };
        Self {
            groups: groups.into_iter().map(group).collect(),
            balance: Balance::default(),
        }
    }

    /// Four questions that go together, taken out of the pool: of the classes whose turn it is, else of
    /// any that is left.
    fn take(&mut self, rng: &mut Stream, block: usize) -> Option<Four> {
        let turn = TURNS.get(block % TURNS.len()).copied().unwrap_or_default();
        let four = self.best(rng, |class| turn.contains(&class));
        let four = four.or_else(|| self.best(rng, |_| true))?;
        self.balance = self.balance.with(&four);
        for group in &mut self.groups {
            let left = |q: &&'static Question| !four.iter().any(|f| std::ptr::eq(*f, *q));
            group.questions.retain(left);
        }
        Some(four)
    }

    /// Of several foursomes the one that leaves everything most even.
    fn best(&self, rng: &mut Stream, wanted: impl Fn(Class) -> bool) -> Option<Four> {
        let mut groups: Vec<&Group> = self.groups.iter().filter(|g| wanted(g.class)).collect();
        shuffle(rng, &mut groups);
        let fours = groups.into_iter().filter_map(|group| group.four(rng));
        let fours = fours.take(CANDIDATES);
        let weighed = fours.map(|four| (self.balance.with(&four).imbalance(), four));
        let best = weighed.min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, four)| four)
    }
}

impl Group {
    /// Four whose answers clearly are none of the others'. Answers that are left most often come first,
    /// so that few are left alone in the end.
    fn four(&self, rng: &mut Stream) -> Option<Four> {
        let ordered = self.questions.iter().map(|q| {
            let same = self.questions.iter().filter(|o| o.answer == q.answer);
            // Of what is added or taken away in one step there is little.
            let rare = q.operation.steps_in_words() == OTHER
                && q.operation.kind() != OperationKind::Composition;
            let first = if rare { 0 } else { usize::MAX - same.count() };
            (first, below(rng, 1 << 16), *q)
        });
        let mut order: Vec<(usize, usize, &'static Question)> = ordered.collect();
        order.sort_by_key(|(first, draw, _)| (*first, *draw));
        let mut four: Four = Vec::with_capacity(OPTIONS);
        for (.., q) in order {
            let fits = |b: &&'static Question| {
                b.unlike.contains(&q.answer) && q.unlike.contains(&b.answer)
            };
            if four.iter().all(fits) {
                four.push(q);
            }
            if four.len() == OPTIONS {
                return Some(four);
            }
        }
        None
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

    /// Where the question's symbol is among the options it is right one time in four, whatever the
    /// words: as often by two turns as by two flips.
    #[test]
    fn the_symbol_in_the_question_gives_nothing_away() {
        let mut own = [[0.0; 2]; STEPS];
        for seed in 0..10 {
            for item in items(seed, 200).unwrap() {
                let operation = item.question.operation;
                let [seen, right] = &mut own[operation.steps_in_words()];
                let sources = operation.sources();
                if item.options.iter().any(|o| sources.contains(o)) {
                    *seen += 1.0;
                    *right += f64::from(u8::from(sources.contains(&item.question.answer)));
                }
            }
        }
        eprintln!("symbol among the options, and right, by steps: {own:?}");
        let all = |i: usize| own.iter().map(|o| o[i]).sum::<f64>();
        let share = all(1) / all(0);
        assert!((share - 0.25).abs() < 0.01, "{share:.3}");
        // A single turn of a symbol with four different turns is never the symbol itself: few are asked
        // where the symbol is an option.
        assert!(own[0][0] < 0.2 * all(0), "{own:?}");
        for [seen, right] in own.iter().skip(1).filter(|o| o[0] > 0.0) {
            assert!((right / seen - 0.25).abs() < 0.1, "{own:?}");
        }
    }

    #[test]
    fn the_four_of_a_block_share_their_symbols_and_their_steps() {
        let sets = [items(3, 200).unwrap(), items(4, 200).unwrap()];
        for item_set in &sets {
            let mut blocks: BTreeMap<usize, Vec<&GeometryItem>> = BTreeMap::new();
            for item in item_set {
                blocks.entry(item.block).or_default().push(item);
            }
            for block in blocks.values() {
                let classes: HashSet<Class> =
                    block.iter().map(|i| i.question.operation.class()).collect();
                assert_eq!(classes.len(), 1);
                let sources: HashSet<Vec<char>> = block
                    .iter()
                    .map(|i| i.question.operation.sources())
                    .collect();
                assert_eq!(sources.len(), 1);
            }
        }
        // One step that adds something is rare: few sums of two symbols are a symbol, whichever way they
        // are turned.
        for kind in OperationKind::ALL {
            let of = |i: &&GeometryItem| i.question.operation.kind() == kind;
            let many = sets.iter().flatten().filter(of).count();
            eprintln!("{}: {many} of 400", kind.name());
            assert!(many >= 1, "{}: {many}", kind.name());
        }
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

    /// What changes one of these numbers changes the items, and raises the task's version.
    #[test]
    fn the_same_seeds_give_the_questions_of_the_last_version() {
        // FNV-1a: the standard library's hasher may change between releases.
        let hash = |texts: &mut dyn Iterator<Item = String>| {
            texts.fold(0xcbf2_9ce4_8422_2325_u64, |hash, text| {
                let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
                text.bytes().fold(hash, step)
            })
        };
        let mut all = bank().iter().map(|q| {
            let unlike: String = q.unlike.iter().collect();
            format!("{} {} {unlike}\n", q.operation.words(), q.answer)
        });
        let mut asked = (0..3).flat_map(|seed| items(seed, 200).unwrap()).map(|i| {
            let words = i.question.operation.words();
            format!("{words} {:?} {} {}\n", i.options, i.correct, i.block)
        });
        let found = (bank().len(), hash(&mut all), hash(&mut asked));
        assert_eq!(
            found,
            (1965, 3_152_972_777_355_350_291, 15_627_838_420_622_096_668)
        );
    }
}
