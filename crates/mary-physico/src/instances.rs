//! Four-choice instances: three pairs of one concept and an option set.
//!
//! Fresh instances come in blocks: four concepts share one set of four options, none of which could be
//! taken for another, and each is right once, each time at another place. Whoever does not look at the
//! grids scores 25 %, whatever is known about the options. Within a block the grids are matched in
//! size, number of colours and number of changed cells as far as the concepts allow.

use mary_contract::{DataSource, TaskError};
use mary_items::{Stream, below, shuffle, stream};

use crate::grid::Pair;
use crate::setup::{Part, Setup, Source};
use crate::upstream;
use crate::worlds::{self, Concept, Mode, Set};

/// The paper's three sets of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Split {
    /// Core, the 25 concepts of Table 6.
    CoreDev,
    /// Core, the 27 concepts of Table 7.
    CoreTest,
    /// Analogies with distraction.
    Associative,
}

impl Split {
    /// As a tag.
    pub fn name(self) -> &'static str {
        match self {
            Self::CoreDev => "core-dev",
            Self::CoreTest => "core-test",
            Self::Associative => "associative",
        }
    }

    /// The core split of a concept, named by the paper's tables because the public release swapped
    /// the two; `None` for concepts that core does not have.
    pub fn of_core(concept: &str) -> Option<Self> {
        match worlds::concept(concept)?.set {
            Set::CoreDev => Some(Self::CoreDev),
            Set::CoreTest => Some(Self::CoreTest),
            Set::Associative => None,
        }
    }
}

/// Which of the two kinds of instances a task asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// One aspect, clearly.
    Core,
    /// Analogies.
    Associative,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Associative => "associative",
        }
    }

    fn mode(self) -> Mode {
        match self {
            Self::Core => Mode::Clear,
            Self::Associative => Mode::Analogy,
        }
    }

    /// Its concepts.
    pub fn concepts(self) -> Vec<&'static Concept> {
        let wanted = |c: &&'static Concept| match self {
            Self::Core => c.set != Set::Associative,
            Self::Associative => c.associative,
        };
        worlds::concepts().iter().copied().filter(wanted).collect()
    }

    fn split(self, concept: &Concept) -> Split {
        match (self, concept.set) {
            (Self::Core, Set::CoreDev) => Split::CoreDev,
            (Self::Core, Set::CoreTest) => Split::CoreTest,
            _ => Split::Associative,
        }
    }
}

/// One instance, whatever its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The same in text, in pictures and at the low level.
    pub id: String,
    /// The concept's name, as it stands among the options.
    pub concept: String,
    /// Which set.
    pub split: Split,
    /// The aspect shown, where known.
    pub aspect: Option<String>,
    /// Three pairs.
    pub pairs: Vec<Pair>,
    /// Four labels in the order shown.
    pub options: Vec<String>,
    /// Index of the right one.
    pub correct: usize,
    /// The block that shares the option set.
    pub block: Option<String>,
    /// How often the concept came before, from 0.
    pub turn: usize,
}

/// A fresh instance before its grids are drawn.
#[derive(Debug, Clone)]
pub struct Planned {
    level: Level,
    seed: u64,
    block: usize,
    turn: usize,
    concept: &'static Concept,
    options: Vec<&'static str>,
    correct: usize,
}

impl Planned {
    /// The concept.
    pub fn concept(&self) -> &'static Concept {
        self.concept
    }

    /// The instance without its grids: what the low level needs.
    pub fn bare(&self) -> Instance {
        let level = self.level.name();
        Instance {
            id: format!(
                "{}-{level}-{:03}-{}",
                self.seed, self.block, self.concept.id
            ),
            concept: self.concept.name.to_owned(),
            split: self.level.split(self.concept),
            aspect: None,
            pairs: vec![],
            options: self.options.iter().map(|o| (*o).to_owned()).collect(),
            correct: self.correct,
            block: Some(format!("{level}-{:03}", self.block)),
            turn: self.turn,
        }
    }

    /// Draws the grids.
    pub fn draw(&self) -> Result<Instance, TaskError> {
        let name = format!(
            "physico/{}/{}/{}",
            self.level.name(),
            self.concept.id,
            self.turn
        );
        let mut rng = stream(self.seed, &name);
        let wanted = Likeness::drawn(&mut stream(
            self.seed,
            &format!("physico/{}/block/{}", self.level.name(), self.block),
        ));
        let made = drawn(
            self.concept,
            self.turn,
            &mut rng,
            self.level.mode(),
            &wanted,
        )?;
        Ok(Instance {
            aspect: Some(made.aspect.to_owned()),
            pairs: made.pairs.to_vec(),
            ..self.bare()
        })
    }
}

/// What the grids of one block should share, as far as their concepts allow.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    area: f64,
    colours: f64,
    changed: f64,
}

impl Likeness {
    fn drawn(rng: &mut Stream) -> Self {
        let side = |rng: &mut Stream| 13.0 + below(rng, 5) as f64;
        Self {
            area: side(rng) * side(rng),
            colours: 3.0 + below(rng, 3) as f64,
            changed: 10.0 * 1.25_f64.powi(below(rng, 8) as i32),
        }
    }

    /// How far three pairs are from what is wanted, in factors.
    fn distance(&self, pairs: &[Pair]) -> f64 {
        let n = pairs.len().max(1) as f64;
        let mean =
            |of: &dyn Fn(&Pair) -> usize| pairs.iter().map(|p| of(p) as f64).sum::<f64>() / n;
        let apart = |wanted: f64, found: f64| (found.max(0.5) / wanted).ln().abs();
        apart(self.area, mean(&|p| p.input.rows() * p.input.cols()))
            + apart(self.colours, mean(&|p| p.input.colours()))
            + apart(self.changed, mean(&Pair::changed))
    }
}

/// Draws from which the most fitting is taken.
const DRAWS: usize = 6;

/// Three pairs of the concept's next aspect, the most like what the block wants of a few draws.
fn drawn(
    concept: &'static Concept,
    turn: usize,
    rng: &mut Stream,
    mode: Mode,
    wanted: &Likeness,
) -> Result<worlds::Instance, TaskError> {
    let aspects = concept.aspects.len().max(1);
    // The first aspect differs by seed, then they come by turns.
    let aspect = concept
        .aspects
        .get((below(&mut rng.clone(), aspects) + turn) % aspects);
    (0..DRAWS)
        .filter_map(|_| worlds::instance_of(concept, aspect?, rng, mode))
        .min_by(|a, b| {
            wanted
                .distance(&a.pairs)
                .total_cmp(&wanted.distance(&b.pairs))
        })
        .ok_or_else(|| {
            TaskError::Generator(format!(
                "physico: no instance of `{}` could be drawn",
                concept.name
            ))
        })
}

const OPTIONS: usize = 4;

/// The fresh instances of a seed, each concept at least `per_concept` times, in a random order.
pub fn planned(level: Level, seed: u64, per_concept: usize) -> Result<Vec<Planned>, TaskError> {
    let concepts = level.concepts();
    let name = format!("physico/{}/blocks", level.name());
    let mut rng = stream(seed, &name);
    let blocks = blocks(&concepts, per_concept, &mut rng)?;
    let mut turns = vec![0; concepts.len()];
    let mut planned = Vec::with_capacity(blocks.len() * OPTIONS);
    for (number, block) in blocks.iter().enumerate() {
        let members: Vec<&'static Concept> = block
            .iter()
            .filter_map(|&i| concepts.get(i).copied())
            .collect();
        let mut places: Vec<usize> = (0..OPTIONS).collect();
        shuffle(&mut rng, &mut places);
        for ((&index, concept), correct) in block.iter().zip(&members).zip(places) {
            let mut options: Vec<&'static str> = members
                .iter()
                .filter(|c| c.id != concept.id)
                .map(|c| c.name)
                .collect();
            shuffle(&mut rng, &mut options);
            options.insert(correct.min(options.len()), concept.name);
            let turn = turns.get(index).copied().unwrap_or(0);
            planned.push(Planned {
                level,
                seed,
                block: number,
                turn,
                concept,
                options,
                correct,
            });
            if let Some(t) = turns.get_mut(index) {
                *t += 1;
            }
        }
    }
    shuffle(&mut stream(seed, &format!("{name}/order")), &mut planned);
    Ok(planned)
}

/// Blocks of four concepts that may stand side by side, each concept `times` times, or once more
/// where the numbers do not come out even. Of several deals the one with the fewest extra is kept.
fn blocks(
    concepts: &[&'static Concept],
    times: usize,
    rng: &mut Stream,
) -> Result<Vec<Vec<usize>>, TaskError> {
    const DEALS: usize = 40;
    let fewest = (concepts.len() * times).div_ceil(OPTIONS);
    let mut best: Option<Vec<Vec<usize>>> = None;
    for _ in 0..DEALS {
        let Some(dealt) = deal(concepts, times, rng) else {
            continue;
        };
        if best.as_ref().is_none_or(|b| dealt.len() < b.len()) {
            best = Some(dealt);
        }
        if best.as_ref().is_some_and(|b| b.len() == fewest) {
            break;
        }
    }
    best.ok_or_else(|| {
        TaskError::Generator(format!(
            "physico: no four of {} concepts can stand side by side as options",
            concepts.len()
        ))
    })
}

fn deal(concepts: &[&'static Concept], times: usize, rng: &mut Stream) -> Option<Vec<Vec<usize>>> {
    let mut uses = vec![0usize; concepts.len()];
    let mut blocks = Vec::new();
    while uses.iter().any(|u| *u < times) {
        let mut order: Vec<usize> = (0..concepts.len()).collect();
        shuffle(rng, &mut order);
        let hard = |i: usize| {
            concepts
                .iter()
                .filter(|c| !apart(concepts.get(i), c))
                .count()
        };
        // Least used first; of those, the ones with the most rivals, while there is still choice.
        order.sort_by_key(|&i| (uses.get(i).copied(), std::cmp::Reverse(hard(i))));
        let mut block: Vec<usize> = Vec::with_capacity(OPTIONS);
        for i in order {
            let fits = block
                .iter()
                .all(|&b| concepts.get(b).is_some_and(|c| apart(concepts.get(i), c)));
            if fits {
                block.push(i);
            }
            if block.len() == OPTIONS {
                break;
            }
        }
        if block.len() < OPTIONS {
            return None;
        }
        for &i in &block {
            if let Some(u) = uses.get_mut(i) {
                *u += 1;
            }
        }
        blocks.push(block);
    }
    shuffle(rng, &mut blocks);
    Some(blocks)
}

/// Whether two concepts are different and neither could be taken for the other.
fn apart(a: Option<&&'static Concept>, b: &Concept) -> bool {
    a.is_some_and(|a| a.id != b.id && worlds::confusable(a.id, b.id).is_none())
}

/// A stream of instances.
pub type Instances = Box<dyn Iterator<Item = Result<Instance, TaskError>> + Send>;

/// The instances of a task, fresh ones drawn as they are asked for.
pub fn instances(
    level: Level,
    setup: &Setup,
    data: &dyn DataSource,
) -> Result<Instances, TaskError> {
    let part = setup.part;
    let wanted = move |split: Split| match part {
        Part::Dev => split == Split::CoreDev,
        Part::Test => split == Split::CoreTest,
        Part::All | Part::Core | Part::Associative => true,
    };
    let loaded = match setup.source {
        Source::Fresh => {
            let planned = planned(level, setup.seed, setup.per_concept)?;
            return Ok(Box::new(
                planned
                    .into_iter()
                    .filter(move |p| wanted(p.level.split(p.concept)))
                    .map(|p| p.draw()),
            ));
        }
        Source::Published => upstream::published(data, level)?,
        Source::ConceptArc => upstream::concept_arc(data, setup.seed)?,
        Source::Arc => upstream::arc(data, &setup.file, setup.seed)?,
    };
    Ok(Box::new(
        loaded.into_iter().filter(move |i| wanted(i.split)).map(Ok),
    ))
}

/// Three pairs to look at.
pub fn sample_pairs(concept: &'static Concept, seed: u64, associative: bool) -> Option<Vec<Pair>> {
    let mode = if associative {
        Mode::Analogy
    } else {
        Mode::Clear
    };
    let mut rng = stream(seed, &format!("physico/sample/{}", concept.id));
    let made = worlds::instance(concept, &mut rng, mode)?;
    Some(made.pairs.to_vec())
}

/// Core instances for shots, from a stream of their own so that they never are the test instances.
pub fn shot(
    concept: &'static Concept,
    rivals: &[&'static Concept],
    rng: &mut Stream,
) -> Result<Instance, TaskError> {
    let mut others: Vec<&'static Concept> = rivals
        .iter()
        .copied()
        .filter(|r| apart(Some(&concept), r))
        .collect();
    shuffle(rng, &mut others);
    let mut options: Vec<&'static Concept> = Vec::new();
    for other in others {
        if options.len() < OPTIONS - 1 && options.iter().all(|o| apart(Some(&other), o)) {
            options.push(other);
        }
    }
    let correct = below(rng, options.len() + 1);
    options.insert(correct, concept);
    let made = worlds::instance(concept, rng, Mode::Clear).ok_or_else(|| {
        TaskError::Generator(format!(
            "physico: no shot of `{}` could be drawn",
            concept.name
        ))
    })?;
    Ok(Instance {
        id: String::new(),
        concept: concept.name.to_owned(),
        split: Split::of_core(concept.id).unwrap_or(Split::Associative),
        aspect: Some(made.aspect.to_owned()),
        pairs: made.pairs.to_vec(),
        options: options.iter().map(|c| c.name.to_owned()).collect(),
        correct,
        block: None,
        turn: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashSet};

    use super::*;

    #[test]
    fn four_instances_share_an_option_set_and_each_option_is_right_once() {
        for (level, seed) in [(Level::Core, 0), (Level::Core, 7), (Level::Associative, 3)] {
            let planned = planned(level, seed, 4).unwrap();
            let mut blocks: BTreeMap<usize, Vec<&Planned>> = BTreeMap::new();
            for p in &planned {
                assert_eq!(p.options[p.correct], p.concept.name);
                blocks.entry(p.block).or_default().push(p);
            }
            for block in blocks.values() {
                let sets: HashSet<BTreeSet<&str>> = block
                    .iter()
                    .map(|p| p.options.iter().copied().collect())
                    .collect();
                let answers: HashSet<&str> = block.iter().map(|p| p.concept.id).collect();
                let places: HashSet<usize> = block.iter().map(|p| p.correct).collect();
                assert_eq!((sets.len(), answers.len(), places.len()), (1, 4, 4));
            }
            let ids: HashSet<String> = planned.iter().map(|p| p.bare().id).collect();
            assert_eq!(ids.len(), planned.len());
        }
    }

    #[test]
    fn every_concept_comes_as_often_and_no_option_could_be_taken_for_another() {
        for (level, times) in [(Level::Core, 1), (Level::Core, 4), (Level::Associative, 4)] {
            let planned = planned(level, 1, times).unwrap();
            let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
            for p in &planned {
                *uses.entry(p.concept.id).or_default() += 1;
                for (i, a) in p.options.iter().enumerate() {
                    for b in &p.options[i + 1..] {
                        let (a, b) = (worlds::concept(a).unwrap(), worlds::concept(b).unwrap());
                        assert_eq!(worlds::confusable(a.id, b.id), None, "{} {}", a.id, b.id);
                    }
                }
            }
            assert_eq!(uses.len(), level.concepts().len());
            assert!(
                uses.values().all(|u| (times..=times + 1).contains(u)),
                "{uses:?}"
            );
            let extra: usize = uses.values().map(|u| u - times).sum();
            assert!(extra <= 8, "{extra} more than wanted: {uses:?}");
        }
    }
}
