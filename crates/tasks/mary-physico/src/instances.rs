//! Four-choice instances: three pairs of one concept and an option set.
//!
//! Fresh instances come in blocks: four concepts share one set of four options, none of which could be
//! taken for another, and each is right once, each time at another place. Whoever does not look at the
//! grids scores 25 %, whatever is known about the options. Concepts whose grids can have the same surface
//! share a block, and its four instances are drawn together so that they have it.

use std::sync::{Arc, OnceLock};

use mary_contract::{DataSource, TaskError};
use mary_generators::{Stream, below, shuffle, stream};

use crate::grid::Pair;
use crate::likeness::{self, BLOCK as OPTIONS, Showing, apart};
use crate::matching;
use crate::setup::{InstanceSource, Part, PhysicoSettings};
use crate::upstream;
use crate::worlds::{self, Aspect, Concept};
pub use crate::worlds::{Level, Split};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The same in text, in pictures and at the low level.
    pub id: String,
    /// The concept's name, as it stands among the options.
    pub concept: String,
    pub split: Split,
    pub aspect: Option<String>,
    pub pairs: Vec<Pair>,
    /// Four labels in the order shown.
    pub options: Vec<String>,
    pub correct: usize,
    pub block: Option<String>,
    /// How often the concept came before, from 0.
    pub turn: usize,
}

/// Four showings that share an option set and a surface.
#[derive(Debug)]
struct Block {
    level: Level,
    seed: u64,
    number: usize,
    showings: Vec<Showing>,
    /// The pairs of each showing, drawn when the first of them is asked for.
    drawn: OnceLock<Option<Vec<Vec<Pair>>>>,
}

impl Block {
    fn pairs(&self, place: usize) -> Option<Vec<Pair>> {
        let drawn = self.drawn.get_or_init(|| {
            let name = format!("physico/{}/block/{}", self.level.name(), self.number);
            matching::block(&self.showings, self.level, &mut stream(self.seed, &name))
        });
        drawn.as_ref()?.get(place).cloned()
    }
}

/// A fresh instance before its grids are drawn.
#[derive(Debug, Clone)]
pub struct Planned {
    block: Arc<Block>,
    place: usize,
    showing: Showing,
    options: Vec<&'static str>,
    correct: usize,
}

impl Planned {
    pub fn concept(&self) -> &'static Concept {
        self.showing.concept
    }

    pub fn aspect(&self) -> Option<&'static Aspect> {
        self.showing.concept.aspects.get(self.showing.aspect)
    }

    /// The instance without its grids: what the low level needs.
    pub fn bare(&self) -> Instance {
        let (block, concept) = (&self.block, self.showing.concept);
        let level = block.level.name();
        Instance {
            id: format!("{}-{level}-{:03}-{}", block.seed, block.number, concept.id),
            concept: concept.name.to_owned(),
            split: block.level.split(concept),
            aspect: None,
            pairs: vec![],
            options: self.options.iter().map(|o| (*o).to_owned()).collect(),
            correct: self.correct,
            block: Some(format!("{level}-{:03}", block.number)),
            turn: self.showing.turn,
        }
    }

    pub fn draw(&self) -> Result<Instance, TaskError> {
        let concept = self.showing.concept;
        let fault = || format!("physico: no instance of `{}` could be drawn", concept.name);
        let pairs = self.block.pairs(self.place);
        let pairs = pairs.ok_or_else(|| TaskError::Generator(fault()))?;
        Ok(Instance {
            aspect: self.aspect().map(|a| a.id.to_owned()),
            pairs,
            ..self.bare()
        })
    }
}

/// The fresh instances of a seed, each concept at least `per_concept` times, in a random order. A block
/// holds concepts of one split only: whoever knows which split is asked can rule out no option.
pub fn planned(level: Level, seed: u64, per_concept: usize) -> Result<Vec<Planned>, TaskError> {
    let name = format!("physico/{}/blocks", level.name());
    let mut rng = stream(seed, &name);
    let mut blocks = Vec::new();
    for split in [Split::CoreDev, Split::CoreTest, Split::Associative] {
        let mut concepts = level.concepts();
        concepts.retain(|c| level.split(c) == split);
        if !concepts.is_empty() {
            let arranged = likeness::blocks(&concepts, per_concept, (seed, level), &mut rng)?;
            blocks.extend(arranged);
        }
    }
    let mut planned = Vec::with_capacity(blocks.len() * OPTIONS);
    for (number, showings) in blocks.into_iter().enumerate() {
        let block = Arc::new(Block {
            level,
            seed,
            number,
            showings,
            drawn: OnceLock::new(),
        });
        let mut places: Vec<usize> = (0..OPTIONS).collect();
        shuffle(&mut rng, &mut places);
        for (place, (&showing, correct)) in block.showings.iter().zip(places).enumerate() {
            let all = block.showings.iter().map(|c| c.concept);
            let others = all.filter(|c| c.id != showing.concept.id);
            let mut options: Vec<&'static str> = others.map(|c| c.name).collect();
            shuffle(&mut rng, &mut options);
            options.insert(correct.min(options.len()), showing.concept.name);
            planned.push(Planned {
                block: Arc::clone(&block),
                place,
                showing,
                options,
                correct,
            });
        }
    }
    shuffle(&mut stream(seed, &format!("{name}/order")), &mut planned);
    Ok(planned)
}

pub type Instances = Box<dyn Iterator<Item = Result<Instance, TaskError>> + Send>;

/// The instances of a task, fresh ones drawn as they are asked for.
pub fn instances(
    level: Level,
    setup: &PhysicoSettings,
    data: &dyn DataSource,
) -> Result<Instances, TaskError> {
    let mut chosen = Chosen::new(setup.part);
    let loaded = match setup.source {
        InstanceSource::Fresh => {
            let most = O1_INSTANCES.iter().map(|o| o.1).max().unwrap_or(1);
            let times = match setup.part {
                Part::O1 => setup.per_concept.max(most),
                _ => setup.per_concept,
            };
            let planned = planned(level, setup.seed, times)?.into_iter();
            let taken =
                planned.filter(move |p| chosen.takes(level.split(p.concept()), p.concept().name));
            return Ok(Box::new(taken.map(|p| p.draw())));
        }
        InstanceSource::Published => upstream::published(data, level)?,
        InstanceSource::ConceptArc => upstream::concept_arc(data, setup.seed)?,
        InstanceSource::Arc => upstream::arc(data, &setup.file, setup.seed)?,
    };
    let taken = loaded
        .into_iter()
        .filter(move |i| chosen.takes(i.split, &i.concept));
    Ok(Box::new(taken.map(Ok)))
}

/// The 50 instances that o1-preview was asked: the ten concepts that have a value in the paper's Table 10,
/// each as often as Table 7 has it, but for the last one, of which only two are left of the fifty.
pub const O1_INSTANCES: [(&str, usize); 10] = [
    ("gravity", 10),
    ("surface tension", 10),
    ("lever", 6),
    ("optical filters", 6),
    ("compression", 4),
    ("diffuse reflection of light", 4),
    ("wave interference", 4),
    ("nuclear fission", 2),
    ("nuclear fusion", 2),
    ("communicating vessels", 2),
];

/// Which instances a part takes; counts those of the subset.
struct Chosen {
    part: Part,
    taken: Vec<(&'static str, usize)>,
}

impl Chosen {
    fn new(part: Part) -> Self {
        Self {
            part,
            taken: O1_INSTANCES.map(|(name, _)| (name, 0)).to_vec(),
        }
    }

    fn takes(&mut self, split: Split, concept: &str) -> bool {
        match self.part {
            Part::Dev => split == Split::CoreDev,
            Part::Test => split == Split::CoreTest,
            Part::All | Part::Core | Part::Associative => true,
            Part::O1 => {
                let both = self.taken.iter_mut().zip(O1_INSTANCES);
                let long = "spectrum of light and optical filters";
                let named = |known: &str| {
                    known.eq_ignore_ascii_case(concept)
                        || (known == "optical filters" && concept.eq_ignore_ascii_case(long))
                };
                both.filter(|(taken, _)| named(taken.0))
                    .any(|(taken, (_, most))| {
                        taken.1 += 1;
                        taken.1 <= most
                    })
            }
        }
    }
}

/// Three pairs to look at: of an instance as it is asked where the set has the concept, else of one
/// drawn alone.
pub fn sample_pairs(concept: &'static Concept, seed: u64, associative: bool) -> Option<Vec<Pair>> {
    let level = if associative {
        Level::Associative
    } else {
        Level::Core
    };
    let asked = planned(level, seed, 1).ok()?;
    if let Some(asked) = asked.iter().find(|p| p.concept().id == concept.id) {
        return asked.draw().ok().map(|i| i.pairs);
    }
    let mut rng = stream(seed, &format!("physico/sample/{}", concept.id));
    let made = worlds::instance(concept, &mut rng, level)?;
    Some(made.pairs.to_vec())
}

/// Core instances for shots, from a stream of their own so that they never are the test instances.
pub fn shot(
    concept: &'static Concept,
    rivals: &[&'static Concept],
    rng: &mut Stream,
) -> Result<Instance, TaskError> {
    let others = rivals.iter().copied().filter(|r| apart(concept, r));
    let mut others: Vec<&'static Concept> = others.collect();
    shuffle(rng, &mut others);
    let mut options: Vec<&'static Concept> = Vec::new();
    for other in others {
        if options.len() < OPTIONS - 1 && options.iter().all(|o| apart(other, o)) {
            options.push(other);
        }
    }
    let correct = below(rng, options.len() + 1);
    options.insert(correct, concept);
    let fault = || format!("physico: no shot of `{}` could be drawn", concept.name);
    let made =
        worlds::instance(concept, rng, Level::Core).ok_or_else(|| TaskError::Generator(fault()))?;
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
                assert_eq!(p.options[p.correct], p.concept().name);
                blocks.entry(p.block.number).or_default().push(p);
            }
            for block in blocks.values() {
                let sets: HashSet<BTreeSet<&str>> = block
                    .iter()
                    .map(|p| p.options.iter().copied().collect())
                    .collect();
                let answers: HashSet<&str> = block.iter().map(|p| p.concept().id).collect();
                let places: HashSet<usize> = block.iter().map(|p| p.correct).collect();
                assert_eq!((sets.len(), answers.len(), places.len()), (1, 4, 4));
            }
            let ids: HashSet<String> = planned.iter().map(|p| p.bare().id).collect();
            assert_eq!(ids.len(), planned.len());
        }
    }

    #[test]
    fn whoever_knows_the_split_knows_nothing_about_the_options() {
        for p in planned(Level::Core, 2, 4).unwrap() {
            let own = Level::Core.split(p.concept());
            for o in &p.options {
                assert_eq!(Level::Core.split(worlds::concept(o).unwrap()), own);
            }
        }
    }

    #[test]
    fn the_subset_of_o1_has_fifty_instances() {
        let mut chosen = Chosen::new(Part::O1);
        let planned = planned(Level::Core, 0, 10).unwrap();
        let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
        for p in &planned {
            if chosen.takes(Split::CoreTest, p.concept().name) {
                *taken.entry(p.concept().name).or_default() += 1;
            }
        }
        assert_eq!(taken.values().sum::<usize>(), 50);
        assert_eq!(taken, O1_INSTANCES.into_iter().collect());
    }

    #[test]
    fn every_concept_comes_as_often_and_no_option_could_be_taken_for_another() {
        for (level, times) in [(Level::Core, 1), (Level::Core, 4), (Level::Associative, 4)] {
            let planned = planned(level, 1, times).unwrap();
            let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
            for p in &planned {
                *uses.entry(p.concept().id).or_default() += 1;
                for (i, a) in p.options.iter().enumerate() {
                    for b in &p.options[i + 1..] {
                        let (a, b) = (worlds::concept(a).unwrap(), worlds::concept(b).unwrap());
                        assert_eq!(a.confusable_with(b), None, "{} {}", a.id, b.id);
                    }
                }
            }
            assert_eq!(uses.len(), level.concepts().len());
            assert!(
                uses.values().all(|u| (times..=times + 1).contains(u)),
                "{uses:?}"
            );
            let extra: usize = uses.values().map(|u| u - times).sum();
            let splits = if level == Level::Core { 2 } else { 1 };
            assert!(extra <= 3 * splits, "{extra} more than wanted: {uses:?}");
        }
    }
}
