//! How the surface of an aspect's grids is spread (changed cells, filled cells, colours), and how
//! aspects whose spreads overlap are put into one block, so that all four can show the same surface.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use mary_contract::TaskError;
use mary_generators::{Stream, below, shuffle, stream};

use crate::grid::Pair;
use crate::worlds::{self, Concept, Level, Setting};

/// What can be counted in a pair without understanding it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub changed: usize,
    /// Cells of the input that are not background.
    pub filled: usize,
    /// Colours of the input, the background among them.
    pub colours: usize,
    /// Colours that only the output has.
    pub come: usize,
    /// Colours that only the input has.
    pub go: usize,
}

impl Counts {
    pub fn from_pair(pair: &Pair) -> Self {
        let (before, after) = (pair.input.counts(), pair.output.counts());
        let ground = pair.background();
        let both = || before.iter().zip(&after).skip(1);
        Self {
            changed: pair.changed(),
            filled: before.iter().sum::<usize>()
                - before.get(usize::from(ground)).copied().unwrap_or(0),
            colours: before.iter().filter(|n| **n > 0).count(),
            come: both().filter(|(b, a)| **b == 0 && **a > 0).count(),
            go: both().filter(|(b, a)| **b > 0 && **a == 0).count(),
        }
    }
}

/// Numbers of changed cells that are told apart: any number on the largest grid.
const CELLS: usize = 384;
const WORDS: usize = CELLS / 64;

/// What pairs with one number of changed cells are like.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    share: f32,
    /// Fewest and most filled cells.
    filled: (u16, u16),
}

#[derive(Debug)]
pub struct Spread {
    /// Which numbers of changed cells come at all, a bit each.
    there: [u64; WORDS],
    groups: Vec<Group>,
    /// Logarithms of the fewest and the most changed cells.
    changed: (f32, f32),
    filled: (u16, u16),
    colours: f32,
    come: f32,
    go: f32,
}

impl Spread {
    fn from_counts(counts: &[Counts]) -> Self {
        let n = counts.len().max(1) as f32;
        let mut there = [0; WORDS];
        let mut groups = vec![Group::default(); CELLS];
        let wider = |range: (u16, u16), filled: usize| {
            let filled = u16::try_from(filled).unwrap_or(u16::MAX);
            (range.0.min(filled), range.1.max(filled))
        };
        let (mut changed, mut filled) = ((f32::MAX, 0.0_f32), (u16::MAX, 0));
        for c in counts {
            let log = (c.changed as f32).ln_1p();
            changed = (changed.0.min(log), changed.1.max(log));
            filled = wider(filled, c.filled);
            let (Some(word), Some(group)) =
                (there.get_mut(c.changed / 64), groups.get_mut(c.changed))
            else {
                continue;
            };
            *word |= 1_u64 << (c.changed % 64);
            if group.share == 0.0 {
                group.filled = (u16::MAX, 0);
            }
            group.share += 1.0 / n;
            group.filled = wider(group.filled, c.filled);
        }
        let mean = |of: fn(&Counts) -> usize| counts.iter().map(|c| of(c) as f32).sum::<f32>() / n;
        near(&mut there, &mut groups);
        Self {
            there,
            groups,
            changed,
            filled,
            colours: mean(|c| c.colours),
            come: mean(|c| c.come),
            go: mean(|c| c.go),
        }
    }

    /// What it costs four to show the same surface: changes that not all of them can make, cells and
    /// colours that distractors would have to add.
    fn unlike(block: [&Self; BLOCK]) -> f32 {
        let [a, b, c, d] = block;
        let mut least = f32::MAX;
        let words = a.there.iter().zip(&b.there).zip(&c.there).zip(&d.there);
        for (i, (((a, b), c), d)) in words.enumerate() {
            let mut common = a & b & c & d;
            while common != 0 {
                let changed = i * 64 + common.trailing_zeros() as usize;
                common &= common - 1;
                let groups = block.map(|s| s.groups.get(changed).copied().unwrap_or_default());
                let share = groups.iter().map(|g| g.share).fold(1.0, f32::min);
                least = least.min(0.02 / share.max(0.005) + missing(groups.map(|g| g.filled)));
            }
        }
        if least == f32::MAX {
            let gap = block.iter().map(|s| s.changed.0).fold(f32::MIN, f32::max)
                - block.iter().map(|s| s.changed.1).fold(f32::MAX, f32::min);
            least = 4.0 + 20.0 * gap.max(0.0) + missing(block.map(|s| s.filled));
        }
        let most = block.iter().map(|s| s.colours).fold(0.0, f32::max);
        let come = block.iter().map(|s| s.come).fold(f32::MAX, f32::min);
        let go = block.iter().map(|s| s.go).fold(f32::MAX, f32::min);
        least
            + block
                .into_iter()
                .map(|s| 0.2 * (most - s.colours) + (s.come - come + s.go - go))
                .sum::<f32>()
    }
}

/// Numbers that hardly differ from one that comes count as rare ones: better than none in common.
fn near(there: &mut [u64; WORDS], groups: &mut [Group]) {
    const RARE: f32 = 0.008;
    let own: Vec<(usize, Group)> = groups.iter().copied().enumerate().collect();
    for (changed, group) in own.into_iter().filter(|(_, g)| g.share > 0.0) {
        let by = changed / 14;
        for close in changed.saturating_sub(by)..=changed + by {
            let (Some(word), Some(other)) = (there.get_mut(close / 64), groups.get_mut(close))
            else {
                continue;
            };
            if other.share == 0.0 {
                *word |= 1_u64 << (close % 64);
                *other = Group {
                    share: RARE,
                    ..group
                };
            }
        }
    }
}

/// What it costs to bring grids with these ranges of filled cells to one number.
fn missing(ranges: [(u16, u16); BLOCK]) -> f32 {
    // About what a clear picture bears.
    const MODEST: f32 = 14.0;
    let fullest = ranges.iter().map(|r| r.0).fold(0, u16::max);
    let each = ranges.iter().map(|r| {
        let cells = f32::from(fullest.saturating_sub(r.1));
        0.1 * cells + 0.3 * (cells - MODEST).max(0.0)
    });
    each.sum()
}

/// The spread of an aspect, from many pairs; measured once.
pub fn spread(concept: &'static Concept, aspect: usize) -> Arc<Spread> {
    type Known = BTreeMap<(&'static str, usize), Arc<Spread>>;
    static SPREADS: RwLock<Known> = RwLock::new(BTreeMap::new());
    let key = (concept.id, aspect);
    // Nothing that holds the lock can panic, so that a poisoned one holds whole values.
    let known = SPREADS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&key) {
        return Arc::clone(found);
    }
    drop(known);
    let found = Arc::new(Spread::from_counts(&measured(concept, aspect)));
    let mut known = SPREADS.write().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry(key).or_insert(found))
}

pub fn measured(concept: &'static Concept, aspect: usize) -> Vec<Counts> {
    const PAIRS: usize = 240;
    let mut rng = stream(0, &format!("physico/spread/{}/{aspect}", concept.id));
    let Some(aspect) = concept.aspects.get(aspect) else {
        return Vec::new();
    };
    let drawn = (0..2 * PAIRS).filter_map(|_| {
        let palette = Setting::palette(&mut rng);
        let size = Setting::size(&mut rng);
        let pair = worlds::pair_of_size(aspect, &mut rng, palette, size)?;
        Some(Counts::from_pair(&pair))
    });
    drawn.take(PAIRS).collect()
}

/// One showing of a concept: which, how often it came before, and the aspect shown.
#[derive(Debug, Clone, Copy)]
pub struct Showing {
    pub concept: &'static Concept,
    pub turn: usize,
    pub aspect: usize,
}

impl Showing {
    /// The aspects come by turns, beginning with one that differs by seed.
    pub fn new(concept: &'static Concept, turn: usize, seed: u64, level: Level) -> Self {
        let shown: Vec<usize> = concept.shown(level).map(|(a, _)| a).collect();
        let name = format!("physico/{}/{}/first", level.name(), concept.id);
        let first = below(&mut stream(seed, &name), shown.len());
        let place = (first + turn) % shown.len().max(1);
        Self {
            concept,
            turn,
            aspect: shown.get(place).copied().unwrap_or(0),
        }
    }
}

pub const BLOCK: usize = 4;
/// More than any likeness can make up for.
const NEVER: f32 = 1000.0;

/// Blocks of four showings of which none could be taken for another, each concept `times` times, a
/// few once more where the numbers do not come out even. Showings that can have the same surface are
/// put together, with enough chance that a concept meets many others.
pub fn blocks(
    concepts: &[&'static Concept],
    times: usize,
    (seed, level): (u64, Level),
    rng: &mut Stream,
) -> Result<Vec<Vec<Showing>>, TaskError> {
    const TRIES: usize = 12;
    let turns = |c| (0..times).map(move |turn| Showing::new(c, turn, seed, level));
    let mut showings: Vec<Showing> = concepts.iter().copied().flat_map(turns).collect();
    let mut extra: Vec<&'static Concept> = concepts.to_vec();
    shuffle(rng, &mut extra);
    let missing = showings.len().next_multiple_of(BLOCK) - showings.len();
    let extra = extra.into_iter().take(missing);
    showings.extend(extra.map(|c| Showing::new(c, times, seed, level)));
    for _ in 0..TRIES {
        if let Some(arranged) =
            Arrangement::new(concepts, &mut showings, rng).and_then(|t| t.arrange(rng))
        {
            return Ok(arranged);
        }
    }
    Err(TaskError::Generator(format!(
        "physico: {} concepts cannot be put into fours none of which could be taken for another",
        concepts.len()
    )))
}

/// Showings in a row, every four neighbours a block.
struct Arrangement {
    showings: Vec<(Showing, usize, Arc<Spread>)>,
    /// What it costs that two concepts meet, by their numbers.
    meeting: Vec<f32>,
    concepts: usize,
}

impl Arrangement {
    fn new(
        concepts: &[&'static Concept],
        showings: &mut [Showing],
        rng: &mut Stream,
    ) -> Option<Self> {
        shuffle(rng, showings);
        let number = |c: &Concept| concepts.iter().position(|o| o.id == c.id);
        let known = |c: &Showing| Some((*c, number(c.concept)?, spread(c.concept, c.aspect)));
        let showings = showings.iter().map(known).collect::<Option<Vec<_>>>()?;
        let n = concepts.len();
        let mut meeting = vec![NEVER; n * n];
        for (i, a) in concepts.iter().enumerate() {
            for (j, b) in concepts.iter().enumerate().skip(i + 1) {
                let luck = 0.1 * below(rng, 1000) as f32 / 1000.0;
                for place in [i * n + j, j * n + i] {
                    if let Some(cost) = meeting.get_mut(place).filter(|_| apart(a, b)) {
                        *cost = luck;
                    }
                }
            }
        }
        Some(Self {
            showings,
            meeting,
            concepts: n,
        })
    }

    /// Exchanges two showings unless that costs more than `bear`; whether it did.
    fn exchange(&mut self, costs: &mut [f32], (a, b): (usize, usize), bear: f32) -> bool {
        let (x, y) = (a / BLOCK, b / BLOCK);
        let (Some(&of_x), Some(&of_y)) = (costs.get(x), costs.get(y)) else {
            return false;
        };
        if x == y {
            return false;
        }
        self.showings.swap(a, b);
        let (new_x, new_y) = (self.cost(x), self.cost(y));
        if new_x + new_y > of_x + of_y + bear {
            self.showings.swap(a, b);
            return false;
        }
        for (block, new) in [(x, new_x), (y, new_y)] {
            if let Some(cost) = costs.get_mut(block) {
                *cost = new;
            }
        }
        true
    }

    fn cost(&self, block: usize) -> f32 {
        let start = block * BLOCK;
        let Some([a, b, c, d]) = self.showings.get(start..start + BLOCK) else {
            return 0.0;
        };
        let meet = |x: usize, y: usize| self.meeting.get(x * self.concepts + y).unwrap_or(&NEVER);
        meet(a.1, b.1)
            + meet(a.1, c.1)
            + meet(a.1, d.1)
            + meet(b.1, c.1)
            + meet(b.1, d.1)
            + meet(c.1, d.1)
            // One bad block gives more away than two that are half as bad.
            + Spread::unlike([&a.2, &b.2, &c.2, &d.2]).powf(1.5)
    }

    /// Exchanges showings between blocks if that makes the blocks more alike, at first also where it makes
    /// them a little less so, to come out of dead ends.
    fn arrange(mut self, rng: &mut Stream) -> Option<Vec<Vec<Showing>>> {
        let n = self.showings.len();
        let mut costs: Vec<f32> = (0..n / BLOCK).map(|b| self.cost(b)).collect();
        let all = 100_000 + 1500 * n;
        for done in 0..all {
            let (a, b, c) = (below(rng, n), below(rng, n), below(rng, n));
            // Of two the one in the worse block.
            let worse = costs.get(a / BLOCK) < costs.get(c / BLOCK);
            let a = if worse { c } else { a };
            let patience = 30.0 * (1.0 - done as f32 / all as f32).powi(3);
            let luck = (below(rng, 1 << 20) + 1) as f32 / (1 << 20) as f32;
            self.exchange(&mut costs, (a, b), -patience * luck.ln());
        }
        // At the end every exchange that helps.
        for _ in 0..4 {
            let mut better = false;
            for a in 0..n {
                for b in 0..a {
                    better |= self.exchange(&mut costs, (a, b), -0.001);
                }
            }
            if !better {
                break;
            }
        }
        let fits = costs.iter().all(|c| *c < NEVER);
        let shown = |block: &[(Showing, _, _)]| block.iter().map(|c| c.0).collect();
        let mut arranged: Vec<Vec<Showing>> = self.showings.chunks(BLOCK).map(shown).collect();
        shuffle(rng, &mut arranged);
        fits.then_some(arranged)
    }
}

pub fn apart(a: &Concept, b: &Concept) -> bool {
    a.id != b.id && a.confusable_with(b).is_none()
}
