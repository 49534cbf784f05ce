//! Draws the four instances of a block together, so that they share one surface: the same sizes, as
//! many changed cells, as many filled cells, as many colours, as many that come or go.
//!
//! Whoever sees only such counts sees the same in all four and is right in one. Each pair is chosen
//! from a pool of draws; distractors then make up what is missing, up to a modest number of cells. Where
//! the pools have nothing in common, the nearest is taken.

use std::sync::LazyLock;

use mary_generators::Stream;

use crate::grid::Pair;
use crate::likeness::{Counts, Showing};
use crate::worlds::{self, Aspect, Dress, Level, Pose, SMALL, Setting, TargetCounts, readings};

const PAIRS: usize = 3;
/// Draws of each showing in a round.
const DRAWS: usize = 144;
/// Rounds of draws at most, each at a size of its own.
const ROUNDS: usize = 14;
/// A choice that costs less is good enough.
const GOOD: f32 = 9.0;
/// What it costs to take a second pair from a round, so that sizes differ.
const AGAIN: f32 = 2.0;

/// The most cells of distractors in a pair.
fn distractor_cells(level: Level) -> usize {
    match level {
        Level::Core => 16,
        Level::Associative => 24,
    }
}

struct Drawing<'a> {
    showing: &'a Showing,
    aspect: &'static Aspect,
    rng: Stream,
    palette: [u8; 9],
    pose: Pose,
    dress: Dress,
    /// The pairs so far, before they were turned and dressed.
    plain: Vec<Pair>,
    pairs: Vec<Pair>,
    /// Changed and filled cells that its pairs so far have more than the block wanted: the next one
    /// makes up for it, so that the four are alike on the whole.
    over: (i32, i32),
}

/// A count with what came before it.
fn carried(count: usize, over: i32) -> usize {
    (count as i32 + over).max(0) as usize
}

/// The pairs of each showing; `None` only if an aspect cannot be drawn at all.
pub fn block(showings: &[Showing], level: Level, rng: &mut Stream) -> Option<Vec<Vec<Pair>>> {
    let drawings = showings.iter().map(|s| Drawing::new(s, level, rng));
    let mut drawings: Vec<Drawing> = drawings.collect::<Option<_>>()?;
    let mut rounds: Vec<Round> = Vec::new();
    let mut tried = 0;
    for _ in 0..PAIRS {
        for round in &mut rounds {
            round.choose(&drawings);
        }
        loop {
            let mut best = cheapest(&rounds);
            // Small grids do not hold every aspect, hence the second bound.
            while best.is_none_or(|(cost, _)| cost >= GOOD) && rounds.len() < ROUNDS && tried < 100
            {
                rounds.extend(Round::draw(&mut drawings, level, rng));
                tried += 1;
                best = cheapest(&rounds);
            }
            let round = rounds.get_mut(best?.1)?;
            if round.is_safe(&drawings) {
                round.take(&mut drawings)?;
                break;
            }
            round.choose(&drawings);
        }
    }
    Some(drawings.into_iter().map(|d| d.pairs).collect())
}

/// The cost and the number of the round that has the best choice.
fn cheapest(rounds: &[Round]) -> Option<(f32, usize)> {
    let cost = |(i, r): (usize, &Round)| Some((r.best.as_ref()?.cost + AGAIN * r.taken, i));
    let costs = rounds.iter().enumerate().filter_map(cost);
    costs.min_by(|a, b| a.0.total_cmp(&b.0))
}

impl<'a> Drawing<'a> {
    fn new(showing: &'a Showing, level: Level, rng: &mut Stream) -> Option<Self> {
        let aspect = showing.concept.aspects.get(showing.aspect)?;
        let mut own = worlds::branch(rng);
        let palette = Setting::palette(&mut own);
        Some(Self {
            showing,
            aspect,
            pose: Pose::draw(&mut own, aspect.turn),
            dress: Dress::draw(&mut own, level, aspect.support, &palette),
            palette,
            rng: own,
            plain: Vec::with_capacity(PAIRS),
            pairs: Vec::with_capacity(PAIRS),
            over: (0, 0),
        })
    }

    /// Pairs that will have this size once they are turned.
    fn pool(&mut self, (rows, cols): (i32, i32), pose: Pose) -> Option<Vec<Draw>> {
        let size = if pose.lies() {
            (cols, rows)
        } else {
            (rows, cols)
        };
        let mut draw = || worlds::pair_of_size(self.aspect, &mut self.rng, self.palette, size);
        // What cannot be drawn once is not tried forty times.
        let first = draw()?;
        let rest = (1..DRAWS).filter_map(|_| draw());
        let all = std::iter::once(first).chain(rest);
        Some(all.map(|p| (Counts::from_pair(&p), p)).collect())
    }

    /// Counts as if what the pairs so far have too much were in this one.
    fn carry(&self, counts: Counts) -> Counts {
        Counts {
            changed: carried(counts.changed, self.over.0),
            filled: carried(counts.filled, self.over.1),
            ..counts
        }
    }

    /// Whether the pair is new and no other concept explains it.
    fn may_take(&self, pair: &Pair) -> bool {
        !self.plain.contains(pair) && readings::elsewhere(self.showing.concept, pair).is_none()
    }
}

type Draw = (Counts, Pair);

/// Draws of all four at one size.
struct Round {
    poses: Vec<Pose>,
    pools: Vec<Vec<Draw>>,
    best: Option<Choice>,
    most: usize,
    taken: f32,
}

impl Round {
    /// `None` if one of the four cannot be drawn at the size.
    fn draw(drawings: &mut [Drawing], level: Level, rng: &mut Stream) -> Option<Self> {
        let size = Setting::size(rng);
        let mut round = Self {
            poses: Vec::with_capacity(drawings.len()),
            pools: Vec::with_capacity(drawings.len()),
            best: None,
            most: distractor_cells(level),
            taken: 0.0,
        };
        for drawing in drawings.iter_mut() {
            let pose = match level {
                Level::Core => drawing.pose,
                Level::Associative => Pose::draw(&mut drawing.rng, drawing.aspect.turn),
            };
            round.pools.push(drawing.pool(size, pose)?);
            round.poses.push(pose);
        }
        round.choose(drawings);
        Some(round)
    }

    fn choose(&mut self, drawings: &[Drawing]) {
        let pools = drawings.iter().zip(&self.pools);
        let counts = pools.map(|(own, pool)| pool.iter().map(|d| own.carry(d.0)).collect());
        self.best = choose(&counts.collect::<Vec<_>>(), self.most);
    }

    /// Whether no pair of the choice came before or is explained by another concept; those that are
    /// leave their pools.
    fn is_safe(&mut self, drawings: &[Drawing]) -> bool {
        let mut all = true;
        let picks = self.best.iter().flat_map(|b| &b.picks);
        for ((drawing, pool), &pick) in drawings.iter().zip(&mut self.pools).zip(picks) {
            if pool.get(pick).is_some_and(|(_, p)| !drawing.may_take(p)) {
                pool.swap_remove(pick);
                all = false;
            }
        }
        all
    }

    /// Gives each of the four its pair, turned and dressed.
    fn take(&mut self, drawings: &mut [Drawing]) -> Option<()> {
        let best = self.best.take()?;
        let parts = self.pools.iter_mut().zip(&self.poses).zip(&best.picks);
        for (drawing, ((pool, pose), &pick)) in drawings.iter_mut().zip(parts) {
            let plain = (pick < pool.len()).then(|| pool.swap_remove(pick).1)?;
            let posed = plain.map(|g| pose.apply(g));
            let own = TargetCounts {
                filled: carried(best.wanted.filled, -drawing.over.1),
                ..best.wanted
            };
            let dressed = drawing.dress.match_to(&posed, &own, &mut drawing.rng);
            let counts = Counts::from_pair(&dressed);
            drawing.over.0 += counts.changed as i32 - best.changed as i32;
            drawing.over.1 += counts.filled as i32 - best.wanted.filled as i32;
            drawing.pairs.push(dressed);
            drawing.plain.push(plain);
        }
        self.taken += 1.0;
        Some(())
    }
}

/// Which of each pool, and what distractors bring them to.
#[derive(Debug, Clone)]
struct Choice {
    picks: Vec<usize>,
    /// Changed cells that all four come nearest to.
    changed: usize,
    wanted: TargetCounts,
    cost: f32,
}

/// A count that is off by a factor of e costs this much: more than any number of distractors.
const OFF: f32 = 100.0;

fn apart(a: usize, b: usize) -> f32 {
    /// Logarithms of the counts a grid can have: a tenth of a first run went into computing them.
    static LOGS: LazyLock<Vec<f32>> =
        LazyLock::new(|| (0..1024).map(|n| (n as f32).ln_1p()).collect());
    let log = |n: usize| LOGS.get(n).copied().unwrap_or_else(|| (n as f32).ln_1p());
    (log(a) - log(b)).abs()
}

/// A draw of a pool: its number, its counts, and how far its changed cells are from the target.
type Candidate = (usize, Counts, f32);

/// The choice in which all change equally many cells and that needs the fewest and smallest distractors.
fn choose(pools: &[Vec<Counts>], most: usize) -> Option<Choice> {
    /// Numbers of changed cells that are looked at closely.
    const TARGETS: usize = 8;
    /// How much farther off than the nearest a draw may be, if it needs fewer distractors.
    const SLACK: f32 = 0.06;
    let nearest = |pool: &[Counts], changed: usize| {
        let off = pool.iter().map(|c| apart(c.changed, changed));
        off.min_by(f32::total_cmp)
    };
    let mut targets: Vec<usize> = pools.iter().flatten().map(|c| c.changed).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut off = Vec::with_capacity(targets.len());
    for &target in &targets {
        let each = pools.iter().map(|pool| nearest(pool, target));
        let each: Vec<f32> = each.collect::<Option<_>>()?;
        off.push((each.iter().sum::<f32>(), target, each));
    }
    off.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Option<Choice> = None;
    for (sum, target, each) in off.iter().take(TARGETS) {
        if best.as_ref().is_some_and(|b| OFF * sum >= b.cost) {
            break;
        }
        let near = |pool: &Vec<Counts>, least: f32| {
            let mut list: Vec<Candidate> = Vec::new();
            for (i, c) in pool.iter().enumerate() {
                let off = apart(c.changed, *target);
                if off <= least + SLACK && list.iter().all(|(_, other, _)| other != c) {
                    list.push((i, *c, off));
                }
            }
            list
        };
        let lists = pools.iter().zip(each);
        let lists: Vec<_> = lists.map(|(pool, least)| near(pool, *least)).collect();
        fill_up(&lists, *target, most, &mut best);
    }
    best
}

/// The numbers of colours and of filled cells to which these can be brought most easily, if that is
/// easier than the best so far.
fn fill_up(lists: &[Vec<Candidate>], changed: usize, most: usize, best: &mut Option<Choice>) {
    let all = || lists.iter().flatten().map(|(_, c, _)| c);
    // Colours that come or go can be kept from it by a distractor of that colour, not made to.
    let fewest = |of: fn(&Counts) -> usize| {
        let most_of = |list: &Vec<Candidate>| list.iter().map(|(_, c, _)| of(c)).max();
        lists.iter().filter_map(most_of).min().unwrap_or(0)
    };
    let (come, go) = (fewest(|c| c.come), fewest(|c| c.go));
    let low = all().map(|c| c.colours).min().unwrap_or(0);
    let high = all().map(|c| c.colours + c.come).max().unwrap_or(0) + 1;
    for colours in low..=high.min(8) {
        // The fullest needs no more than one cell for each colour that it lacks.
        let needed = all().map(|c| c.filled + colours.saturating_sub(c.colours));
        let mut levels: Vec<usize> = needed.collect();
        levels.sort_unstable();
        levels.dedup();
        for filled in levels {
            let wanted = TargetCounts {
                colours,
                filled,
                come,
                go,
                most,
            };
            let mut picks = Vec::with_capacity(lists.len());
            let mut cost = 0.0;
            for list in lists {
                let costs = list.iter();
                let costs = costs.filter_map(|(i, c, off)| Some((wanted.cost(c)? + OFF * off, *i)));
                let cheapest = costs.min_by(|a, b| a.0.total_cmp(&b.0));
                let Some((own, pick)) = cheapest else { break };
                cost += own;
                if best.as_ref().is_some_and(|b| cost >= b.cost) {
                    break;
                }
                picks.push(pick);
            }
            if picks.len() == lists.len() {
                *best = Some(Choice {
                    picks,
                    changed,
                    wanted,
                    cost,
                });
            }
        }
    }
}

impl TargetCounts {
    /// What it costs to bring a pair with these counts here; `None` where colours stand against it.
    fn cost(&self, c: &Counts) -> Option<f32> {
        let (stay, keep) = (c.come.checked_sub(self.come)?, c.go.checked_sub(self.go)?);
        let strangers = self.colours.checked_sub(c.colours + stay)?;
        let bodies = strangers + stay + keep;
        let least = c.filled + bodies;
        // Only strangers grow large: what has the colour of the thing at work would be taken for it.
        let reach = if strangers == 0 {
            c.filled + SMALL * bodies
        } else {
            c.filled + self.most
        };
        let missed = if self.filled < least {
            apart(self.filled, least)
        } else if self.filled > reach {
            apart(self.filled, reach)
        } else {
            0.0
        };
        let added = self.filled.clamp(least, reach.max(least)) - c.filled;
        let trouble = 0.15 * added as f32 + 0.4 * strangers as f32 + 2.0 * (stay + keep) as f32;
        Some(OFF * missed + trouble)
    }
}
