//! Distractors: small objects that take no part, and the background of analogies.
//!
//! How many colours a pair shows is drawn first and distractors fill up to it, alike for all concepts,
//! so that the number of colours says little. They keep one empty cell between themselves and all
//! that is at work; in clear instances they stand at the edge.
//!
//! In a block they bring all four instances to the same counts ([`TargetCounts`]): strangers of new colours,
//! and where a colour comes or goes in this pair only, one of that colour that was there all along.

use mary_generators::{Stream, below, coin, shuffle};

use super::{Level, Setting, Support};
use crate::grid::{Grid, Pair, Place, around};

/// The most cells of each distractor that has the colour of something at work.
pub(crate) const SMALL: usize = 2;

/// The counts that distractors bring a pair to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TargetCounts {
    pub(crate) colours: usize,
    /// Filled cells of the input.
    pub(crate) filled: usize,
    /// Colours that only the output has.
    pub(crate) come: usize,
    /// Colours that only the input has.
    pub(crate) go: usize,
    /// The most cells that distractors may have.
    pub(crate) most: usize,
}

/// What an instance wears: the same in all its pairs.
#[derive(Debug, Clone)]
pub(crate) struct Dress {
    level: Level,
    support: Support,
    /// How many colours a pair should show.
    colours: usize,
    /// The colour that stands for the background, when it is not black.
    ground: u8,
    palette: [u8; 9],
}

impl Dress {
    pub(crate) fn draw(
        rng: &mut Stream,
        level: Level,
        support: Support,
        palette: &[u8; 9],
    ) -> Self {
        let (fewest, choices) = match level {
            Level::Core => (4, 2),
            Level::Associative => (6, 2),
        };
        let ground = match level {
            Level::Associative if coin(rng) => palette.last().copied().unwrap_or(0),
            _ => 0,
        };
        Self {
            level,
            support,
            colours: fewest + below(rng, choices),
            ground,
            palette: *palette,
        }
    }

    pub(super) fn put_on(&self, pair: &Pair, rng: &mut Stream) -> Pair {
        let mut out = pair.clone();
        let mut have = (0..10u8).filter(|&c| used(pair, c)).count();
        // The last colour is kept for the ground.
        for &colour in self.palette.iter().rev().skip(1) {
            if have >= self.colours {
                break;
            }
            let cells = 1 + below(rng, 3);
            if !used(pair, colour) && self.stand(&mut out, colour, cells, rng) {
                have += 1;
            }
        }
        self.on_ground(pair, out)
    }

    /// With another background where the instance has one and the pair allows it.
    fn on_ground(&self, plain: &Pair, dressed: Pair) -> Pair {
        if self.ground == 0 || used(plain, self.ground) || !rests_on(&dressed) {
            return dressed;
        }
        dressed.map(|g| g.recoloured(0, self.ground))
    }

    /// Brings a pair to the counts that are wanted, as far as there is room.
    pub(crate) fn match_to(&self, pair: &Pair, wanted: &TargetCounts, rng: &mut Stream) -> Pair {
        const TRIES: usize = 6;
        let mut best: Option<(usize, Pair)> = None;
        for _ in 0..TRIES {
            let (missing, dressed) = self.fill(pair, wanted, rng);
            if best.as_ref().is_none_or(|(least, _)| missing < *least) {
                best = Some((missing, dressed));
            }
            if missing == 0 {
                break;
            }
        }
        let dressed = best.map_or_else(|| pair.clone(), |(_, dressed)| dressed);
        self.on_ground(pair, dressed)
    }

    /// One try; with how many cells and bodies found no room.
    fn fill(&self, pair: &Pair, wanted: &TargetCounts, rng: &mut Stream) -> (usize, Pair) {
        const LARGEST: usize = 5;
        let mut out = pair.clone();
        let (own, strangers) = self.bodies(pair, wanted);
        let bodies = own.len() + strangers.len();
        let filled = pair.input.rows() * pair.input.cols() - pair.input.count(0);
        let most = if strangers.is_empty() {
            SMALL * bodies
        } else {
            wanted.most.max(bodies)
        };
        let mut cells = wanted.filled.saturating_sub(filled).clamp(bodies, most);
        let mut missing = 0;
        for (i, &colour) in own.iter().chain(&strangers).enumerate() {
            let after = bodies - i - 1;
            let room = cells.saturating_sub(after).clamp(1, LARGEST);
            let size = match (i < own.len(), after) {
                (true, _) => 1,
                (false, 0) => room,
                // About a fair share.
                (false, _) => 1 + below(rng, room.min(2 * cells / (after + 1)).max(1)),
            };
            let placed = self.stand_up_to(&mut out, colour, size, rng);
            cells = cells.saturating_sub(placed);
            missing += if placed == 0 { 10 } else { 0 };
        }
        // Then as many more as are needed to use the cells up.
        let again = if strangers.is_empty() { own } else { strangers };
        for &colour in again.iter().cycle().take(8 * again.len()) {
            if cells == 0 {
                break;
            }
            let size = 1 + below(rng, cells.min(LARGEST));
            cells -= self.stand_up_to(&mut out, colour, size, rng);
        }
        (missing + cells, out)
    }

    /// One distractor of so many cells or as many as there is room for; how many.
    fn stand_up_to(&self, pair: &mut Pair, colour: u8, cells: usize, rng: &mut Stream) -> usize {
        let fewest = (1..=cells)
            .rev()
            .find(|&n| self.stand(pair, colour, n, rng));
        fewest.unwrap_or(0)
    }

    /// The colours that distractors have: of what comes and goes, and strange ones.
    fn bodies(&self, pair: &Pair, wanted: &TargetCounts) -> (Vec<u8>, Vec<u8>) {
        let comes = |c: u8| pair.input.count(c) == 0 && pair.output.count(c) > 0;
        let goes = |c: u8| pair.input.count(c) > 0 && pair.output.count(c) == 0;
        let of = |is: &dyn Fn(u8) -> bool| -> Vec<u8> {
            let all = self.palette.iter().copied();
            all.filter(|&c| is(c)).collect()
        };
        let (come, go) = (of(&comes), of(&goes));
        let stay = come.len().saturating_sub(wanted.come);
        let keep = go.len().saturating_sub(wanted.go);
        let strangers = wanted.colours.saturating_sub(pair.input.colours() + stay);
        // The last colour is kept for the ground.
        let free = self.palette.iter().rev().skip(1).copied();
        let own = come.into_iter().take(stay).chain(go.into_iter().take(keep));
        let strange = free.filter(|&c| !used(pair, c)).take(strangers);
        (own.collect(), strange.collect())
    }

    /// One distractor of so many cells where there is room in both grids; in clear instances at the edge.
    fn stand(&self, pair: &mut Pair, colour: u8, cells: usize, rng: &mut Stream) -> bool {
        let (rows, cols) = (pair.input.rows() as i32, pair.input.cols() as i32);
        let form = Setting::new(super::branch(rng), self.palette).blob(cells);
        let mut places: Vec<Place> = pair.input.places().collect();
        shuffle(rng, &mut places);
        let mut cells = form.clone();
        for at in places {
            for (cell, (r, c)) in cells.iter_mut().zip(&form) {
                *cell = (r + at.0, c + at.1);
            }
            let edge = |p: &Place| p.0 == 0 || p.1 == 0 || p.0 == rows - 1 || p.1 == cols - 1;
            let at_edge = cells.iter().any(edge);
            let fits = match self.support {
                Support::None => {
                    (at_edge || self.level == Level::Associative)
                        && pair.input.roomy(&cells)
                        && pair.output.roomy(&cells)
                }
                support => rests(pair, &cells, support),
            };
            if fits {
                pair.both(|g| g.paint(cells.iter().copied(), colour));
                return true;
            }
        }
        false
    }
}

/// Whether something could be put here and would stay: it lies on the floor or on something that rests
/// (or, where everything is drawn to a big body, against it), and keeps one empty cell between itself
/// and all that moves.
fn rests(pair: &Pair, cells: &[Place], support: Support) -> bool {
    let still = |r: i32, c: i32| {
        let before = pair.input.at(r, c);
        before != 0 && before == pair.output.at(r, c)
    };
    let near = || (-1..=1).flat_map(|dr| (-1..=1).map(move |dc| (dr, dc)));
    let apart = cells.iter().all(|&(r, c)| {
        near().all(|(dr, dc)| {
            let (r, c) = (r + dr, c + dc);
            let empty = pair.input.at(r, c) == 0 && pair.output.at(r, c) == 0;
            empty || (still(r, c) && pair.keeps(pair.input.at(r, c)))
        })
    });
    let held = cells.iter().any(|&(r, c)| match support {
        Support::None => true,
        Support::Below => !pair.input.holds(r + 1, c) || still(r + 1, c),
        Support::Beside => around(false).any(|(dr, dc)| still(r + dr, c + dc)),
    });
    pair.input.clear(cells) && pair.output.clear(cells) && apart && held
}

/// Whether a colour is in either grid.
fn used(pair: &Pair, colour: u8) -> bool {
    pair.input.count(colour) + pair.output.count(colour) > 0
}

/// Whether black is the most frequent colour of both grids: only then does a background of another
/// colour still read as one.
fn rests_on(pair: &Pair) -> bool {
    let rests = |g: &Grid| {
        let counts = g.counts();
        let (black, others) = (counts[0], &counts[1..]);
        others.iter().all(|&n| n < black)
    };
    rests(&pair.input) && rests(&pair.output)
}
