//! The grid worlds: for each of the paper's 67 concepts at least two aspects, each a small simulation
//! or construction that turns an input grid into an output grid because of that concept. What belongs
//! to one concept is a pair of files of `concepts`; what all of them stand on is here.
//!
//! An aspect draws one pair in a [`Setting`] that is made alike for all concepts (size, palette), so
//! that size and colours tell nothing. [`instance`] makes three pairs of one aspect, leaves out pairs
//! that the rule of another concept explains as well ([`readings`]), and adds distractors: objects
//! that take no part.

mod concepts;
mod distractors;
pub(crate) mod draw;
mod objects;
pub mod readings;
pub(crate) mod scenery;
mod setting;

use mary_generators::{Stream, below, coin};
use rand::SeedableRng as _;
use serde::Deserialize;

use crate::grid::Pair;
use readings::Reading;

pub(crate) use distractors::{Dress, SMALL, TargetCounts};
pub use objects::{Change, Object, PairObjects, objects};
pub use setting::{LONGEST_SIDE, SHORTEST_SIDE, Setting};

/// The paper's three sets of instances, named by what is in them, because the public release swapped the
/// names of the two core sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Core, the 25 concepts of Table 6 (friction, siphon, pulley …).
    CoreDev,
    /// Core, the 27 concepts of Table 7 (gravity, reflection, lever …).
    CoreTest,
    /// The 15 concepts that only the associative set has (mirror, magnet, vacuum …).
    Associative,
}

impl Split {
    pub fn name(self) -> &'static str {
        match self {
            Self::CoreDev => "core-dev",
            Self::CoreTest => "core-test",
            Self::Associative => "associative",
        }
    }

    /// The core split of a concept; `None` for concepts that core does not have.
    pub fn of_core(id: &str) -> Option<Self> {
        let split = concept(id)?.set;
        (split != Self::Associative).then_some(split)
    }
}

/// How plainly instances show their concept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// The aspect and little else: the paper's core sets.
    Core,
    /// The aspect among distractors, on any background, turned any way that the concept allows: the
    /// paper's associative set.
    Associative,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Associative => "associative",
        }
    }

    pub fn concepts(self) -> Vec<&'static Concept> {
        let wanted = |c: &&'static Concept| match self {
            Self::Core => c.set != Split::Associative,
            Self::Associative => c.associative,
        };
        concepts().iter().copied().filter(wanted).collect()
    }

    /// The set of a concept's instances.
    pub(crate) fn split(self, concept: &Concept) -> Split {
        match self {
            Self::Core => concept.set,
            Self::Associative => Split::Associative,
        }
    }
}

/// Which ways a scene may be turned and still mean the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// Down is down: only mirrored left to right.
    Upright,
    Free,
}

/// What a distractor needs so that it may stay where it is beside what happens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// Nothing: in this scene things do not fall.
    #[default]
    None,
    /// The floor or something at rest below it: here what hangs in the air falls.
    Below,
    /// Something at rest that it touches: here everything is drawn to the big body.
    Beside,
}

/// Draws on a pair of empty grids; `None` means draw again.
pub type Draw = fn(&mut Setting, Pair) -> Option<Pair>;

/// One way in which a concept shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aspect {
    /// Its name, unique within the concept.
    pub id: &'static str,
    /// What turns input into output, in one sentence.
    pub rule: &'static str,
    pub turn: Turn,
    #[serde(default)]
    pub support: Support,
    /// Whether it is kept for associative instances: whoever was tuned on core ones has never seen it.
    #[serde(default)]
    pub associative_only: bool,
    #[serde(skip, default = "undrawn")]
    make: Draw,
}

fn undrawn() -> Draw {
    |_, _| None
}

impl Aspect {
    pub fn draw(&self, setting: &mut Setting) -> Option<Pair> {
        let empty = setting.pair();
        (self.make)(setting, empty)
    }
}

/// A physical concept: how it is drawn, said and recognised, and what it could be taken for.
///
/// The definitions are ours, in school physics. The concept's own names stand as `[PHENOMENON]` and
/// whatever would give it away without understanding (a discoverer, an instrument named after it) as
/// `[MASK]`, as in Yu et al. 2025, §3.2.1.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concept {
    /// Its name with hyphens, lower case.
    pub id: &'static str,
    /// Its name as an option (the paper's spelling).
    pub name: &'static str,
    pub set: Split,
    /// Whether the paper's associative set has it.
    pub associative: bool,
    /// The ways in which it shows; at least two.
    pub aspects: Vec<Aspect>,
    /// Words and phrases that name it and mask it wherever a model writes about it; `gravit*` is every
    /// word that begins so.
    pub names: Vec<&'static str>,
    /// Words and phrases that give it away without naming it, masked apart.
    pub giveaways: Vec<&'static str>,
    /// Two or more, masked.
    pub definitions: Vec<&'static str>,
    pub readings: Vec<Reading>,
    /// Concepts that must not stand beside it as options, with the reason: a picture of the one could
    /// honestly be called the other, or one of its parts could. Symmetric, hence written down with
    /// either of the two, and deliberately generous: an option set has dozens of safe concepts to draw
    /// from, and a wrong option that is half right measures nothing.
    pub confusable: Vec<(&'static str, &'static str)>,
}

impl Concept {
    /// The aspects shown in instances of this level, with their numbers: those kept for associative
    /// instances show in these alone, and where a concept has such aspects, its associative instances
    /// show no other.
    pub fn shown(&self, level: Level) -> impl Iterator<Item = (usize, &Aspect)> {
        let kept = self.aspects.iter().any(|a| a.associative_only);
        let wanted = move |a: &Aspect| match level {
            Level::Core => !a.associative_only,
            Level::Associative => a.associative_only || !kept,
        };
        let all = self.aspects.iter().enumerate();
        all.filter(move |(_, a)| wanted(a))
    }

    /// Why another concept must not stand beside it as an option; `None` if it may.
    pub fn confusable_with(&self, other: &Self) -> Option<&'static str> {
        let of = |a: &Self, b: &Self| {
            let found = a.confusable.iter().find(|(id, _)| *id == b.id);
            found.map(|(_, why)| *why)
        };
        of(self, other).or_else(|| of(other, self))
    }
}

/// Three pairs of one aspect of one concept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub concept: &'static str,
    pub aspect: &'static str,
    pub pairs: [Pair; 3],
}

/// All 67 concepts: Table 6, Table 7, then the further associative ones.
pub fn concepts() -> &'static [&'static Concept] {
    &concepts::CONCEPTS
}

/// The concept with this id or name.
pub fn concept(id: &str) -> Option<&'static Concept> {
    let mut all = concepts::CONCEPTS.iter().copied();
    all.find(|c| c.id == id || c.name.eq_ignore_ascii_case(id))
}

/// Three pairs of one aspect, drawn with the aspect from the stream. `None` only if an aspect cannot
/// be drawn at all, which a test rules out.
pub fn instance(concept: &'static Concept, rng: &mut Stream, level: Level) -> Option<Instance> {
    let shown: Vec<&'static Aspect> = concept.shown(level).map(|(_, a)| a).collect();
    let aspect = shown.get(below(rng, shown.len()))?;
    instance_of(concept, aspect, rng, level)
}

pub fn instance_of(
    concept: &'static Concept,
    aspect: &'static Aspect,
    rng: &mut Stream,
    level: Level,
) -> Option<Instance> {
    let palette = Setting::palette(rng);
    let dress = Dress::draw(rng, level, aspect.support, &palette);
    let mut pose = Pose::draw(rng, aspect.turn);
    let mut pairs: Vec<Pair> = Vec::with_capacity(3);
    for _ in 0..60 {
        let plain = plain_pair(concept, aspect, rng, palette)?;
        if level == Level::Associative {
            pose = Pose::draw(rng, aspect.turn);
        }
        let pair = dress.put_on(&plain.map(|g| pose.apply(g)), rng);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
        if pairs.len() == 3 {
            break;
        }
    }
    Some(Instance {
        concept: concept.id,
        aspect: aspect.id,
        pairs: pairs.try_into().ok()?,
    })
}

/// One pair without distractors: the size is drawn first and kept while the aspect draws again, so
/// that what is hard to draw does not change the sizes.
pub fn plain_pair(
    concept: &'static Concept,
    aspect: &Aspect,
    rng: &mut Stream,
    palette: [u8; 9],
) -> Option<Pair> {
    for _ in 0..20 {
        let mut setting = Setting::new(Stream::from_rng(rng), palette);
        for _ in 0..80 {
            if let Some(pair) = aspect.draw(&mut setting)
                && pair.input != pair.output
                && readings::elsewhere(concept, &pair).is_none()
            {
                return Some(pair);
            }
        }
    }
    None
}

/// One pair of this size as the aspect draws it, not yet held against other concepts; `None` if it does
/// not come out.
pub(crate) fn pair_of_size(
    aspect: &Aspect,
    rng: &mut Stream,
    palette: [u8; 9],
    (rows, cols): (i32, i32),
) -> Option<Pair> {
    let mut setting = Setting::new(branch(rng), palette);
    (setting.rows, setting.cols) = (rows, cols);
    let mut drawn = (0..80).filter_map(|_| aspect.draw(&mut setting));
    drawn.find(|pair| pair.input != pair.output)
}

/// A stream of its own, drawn from another.
pub(crate) fn branch(rng: &mut Stream) -> Stream {
    Stream::from_rng(rng)
}

/// How a whole pair is turned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pose {
    mirrored: bool,
    quarters: usize,
}

impl Pose {
    pub(crate) fn draw(rng: &mut Stream, turn: Turn) -> Self {
        Self {
            mirrored: coin(rng),
            quarters: match turn {
                Turn::Upright => 0,
                Turn::Free => below(rng, 4),
            },
        }
    }

    pub(crate) fn lies(self) -> bool {
        self.quarters % 2 == 1
    }

    pub(crate) fn apply(self, grid: &crate::grid::Grid) -> crate::grid::Grid {
        let start = if self.mirrored {
            grid.mirrored()
        } else {
            grid.clone()
        };
        (0..self.quarters).fold(start, |g, _| g.turned())
    }
}

#[cfg(test)]
#[path = "added_tests.rs"]
mod added_tests;
