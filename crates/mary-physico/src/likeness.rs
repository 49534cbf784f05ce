//! What the surface of a concept's grids usually is (colours, filled cells, changed cells), and how
//! concepts of like surface are put into one block, so that the surface tells little about which of
//! the four is right.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use mary_contract::TaskError;
use mary_items::{Stream, below, shuffle, stream};

use crate::grid::Pair;
use crate::worlds::{self, Concept, Setting};

/// Surface of some pairs: means, the counts as logarithms.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Surface {
    colours: f64,
    filled: f64,
    changed: f64,
    coloured: f64,
}

/// How much a difference in each counts: what a learner makes most of counts most.
const WEIGHTS: [f64; 4] = [0.5, 1.0, 1.0, 0.5];

impl Surface {
    /// Of these pairs.
    pub fn of(pairs: &[Pair]) -> Self {
        let n = pairs.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / n;
        Self {
            colours: mean(&|p| p.input.colours() as f64),
            filled: mean(&|p| (filled(p) as f64).ln_1p()),
            changed: mean(&|p| (p.changed() as f64).ln_1p()),
            coloured: mean(&|p| come_or_go(p) as f64),
        }
    }

    fn values(&self) -> [f64; 4] {
        [self.colours, self.filled, self.changed, self.coloured]
    }

    /// How far two surfaces are apart.
    pub fn distance(&self, other: &Self) -> f64 {
        let pairs = self.values().into_iter().zip(other.values());
        pairs
            .zip(WEIGHTS)
            .map(|((a, b), w)| w * (a - b).abs())
            .sum()
    }

    /// The mean of several.
    pub fn mean(of: &[Self]) -> Self {
        let n = of.len().max(1) as f64;
        let sum = |value: fn(&Self) -> f64| of.iter().map(value).sum::<f64>() / n;
        Self {
            colours: sum(|s| s.colours),
            filled: sum(|s| s.filled),
            changed: sum(|s| s.changed),
            coloured: sum(|s| s.coloured),
        }
    }
}

/// Cells of the input that are not background.
pub fn filled(pair: &Pair) -> usize {
    let all = pair.input.rows() * pair.input.cols();
    all - pair.input.count(pair.background())
}

/// Colours that are only in one of the two grids.
pub fn come_or_go(pair: &Pair) -> usize {
    let there = |c: u8| (pair.input.count(c) > 0, pair.output.count(c) > 0);
    (1u8..10).filter(|&c| there(c).0 != there(c).1).count()
}

/// The usual surface of an aspect, from a few pairs.
pub fn usual(concept: &Concept, aspect: usize) -> Surface {
    static USUAL: OnceLock<BTreeMap<(&'static str, usize), Surface>> = OnceLock::new();
    let all = USUAL.get_or_init(|| {
        let aspects = worlds::concepts()
            .iter()
            .flat_map(|c| (0..c.aspects.len()).map(move |a| (*c, a)));
        aspects.map(|(c, a)| ((c.id, a), measured(c, a))).collect()
    });
    all.get(&(concept.id, aspect)).copied().unwrap_or_default()
}

fn measured(concept: &'static Concept, aspect: usize) -> Surface {
    const PAIRS: usize = 4;
    let mut rng = stream(0, &format!("physico/usual/{}/{aspect}", concept.id));
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        let palette = Setting::palette(&mut rng);
        let aspect = concept.aspects.get(aspect);
        pairs.extend(aspect.and_then(|a| worlds::plain_pair(concept, a, &mut rng, palette)));
    }
    Surface::of(&pairs)
}

/// One showing of a concept: which, how often it came before, and the aspect shown.
#[derive(Debug, Clone, Copy)]
pub struct Card {
    /// The concept.
    pub concept: &'static Concept,
    /// How often it came before.
    pub turn: usize,
    /// Index of its aspect.
    pub aspect: usize,
}

impl Card {
    /// The aspects come by turns, beginning with one that differs by seed.
    pub fn new(concept: &'static Concept, turn: usize, seed: u64, level: &str) -> Self {
        let aspects = concept.aspects.len().max(1);
        let name = format!("physico/{level}/{}/first", concept.id);
        let first = below(&mut stream(seed, &name), aspects);
        Self {
            concept,
            turn,
            aspect: (first + turn) % aspects,
        }
    }

    /// Its usual surface.
    pub fn surface(&self) -> Surface {
        usual(self.concept, self.aspect)
    }
}

/// Concepts in a block.
pub const BLOCK: usize = 4;
/// More than any likeness can make up for.
const NEVER: f32 = 1000.0;

/// Blocks of four showings of which none could be taken for another, each concept `times` times, a
/// few once more where the numbers do not come out even. Showings of like surface are put together,
/// with enough chance that a concept meets many others.
pub fn blocks(
    concepts: &[&'static Concept],
    times: usize,
    (seed, level): (u64, &str),
    rng: &mut Stream,
) -> Result<Vec<Vec<Card>>, TaskError> {
    const DEALS: usize = 12;
    let mut cards: Vec<Card> = concepts
        .iter()
        .flat_map(|c| (0..times).map(move |turn| Card::new(c, turn, seed, level)))
        .collect();
    let mut extra: Vec<&'static Concept> = concepts.to_vec();
    shuffle(rng, &mut extra);
    let missing = cards.len().next_multiple_of(BLOCK) - cards.len();
    let extra = extra.into_iter().take(missing);
    cards.extend(extra.map(|c| Card::new(c, times, seed, level)));
    for _ in 0..DEALS {
        if let Some(dealt) = deal(&mut cards, rng) {
            return Ok(dealt);
        }
    }
    Err(TaskError::Generator(format!(
        "physico: {} concepts cannot be put into fours none of which could be taken for another",
        concepts.len()
    )))
}

/// A random deal, then exchanges between blocks as long as they make the blocks more alike.
fn deal(cards: &mut [Card], rng: &mut Stream) -> Option<Vec<Vec<Card>>> {
    shuffle(rng, cards);
    let costs = costs(cards, rng);
    let n = cards.len();
    let mut order: Vec<usize> = (0..n).collect();
    let cost_in = |order: &[usize], place: usize, card: usize| -> f32 {
        let start = place / BLOCK * BLOCK;
        (start..start + BLOCK)
            .filter(|p| *p != place)
            .filter_map(|p| costs.get(card * n + order.get(p)?))
            .sum()
    };
    for _ in 0..600 * n {
        let (a, b) = (below(rng, n), below(rng, n));
        if a / BLOCK == b / BLOCK {
            continue;
        }
        let (Some(&x), Some(&y)) = (order.get(a), order.get(b)) else {
            continue;
        };
        let now = cost_in(&order, a, x) + cost_in(&order, b, y);
        let then = cost_in(&order, a, y) + cost_in(&order, b, x);
        if then < now {
            order.swap(a, b);
        }
    }
    let fits = (0..n).all(|p| order.get(p).is_some_and(|&c| cost_in(&order, p, c) < NEVER));
    let mut dealt: Vec<Vec<Card>> = order
        .chunks(BLOCK)
        .map(|block| {
            block
                .iter()
                .filter_map(|&c| cards.get(c).copied())
                .collect()
        })
        .collect();
    shuffle(rng, &mut dealt);
    fits.then_some(dealt)
}

/// What it costs to put two cards into one block.
fn costs(cards: &[Card], rng: &mut Stream) -> Vec<f32> {
    let n = cards.len();
    let surfaces: Vec<Surface> = cards.iter().map(Card::surface).collect();
    let mut costs = vec![0.0; n * n];
    for (i, (a, sa)) in cards.iter().zip(&surfaces).enumerate() {
        for (j, (b, sb)) in cards.iter().zip(&surfaces).enumerate().skip(i + 1) {
            let luck = below(rng, 1000) as f32 / 1000.0;
            let cost = if apart(a.concept, b.concept) {
                sa.distance(sb) as f32 + 0.2 * luck
            } else {
                NEVER
            };
            for place in [i * n + j, j * n + i] {
                if let Some(c) = costs.get_mut(place) {
                    *c = cost;
                }
            }
        }
    }
    costs
}

/// Whether two concepts are different and neither could be taken for the other.
pub fn apart(a: &Concept, b: &Concept) -> bool {
    a.id != b.id && worlds::confusable(a.id, b.id).is_none()
}
