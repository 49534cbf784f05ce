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

/// The usual surface of a concept, from a few pairs of each aspect.
pub fn usual(concept: &Concept) -> Surface {
    static USUAL: OnceLock<BTreeMap<&'static str, Surface>> = OnceLock::new();
    let all = USUAL.get_or_init(|| {
        worlds::concepts()
            .iter()
            .map(|c| (c.id, measured(c)))
            .collect()
    });
    all.get(concept.id).copied().unwrap_or_default()
}

fn measured(concept: &'static Concept) -> Surface {
    const PAIRS: usize = 3;
    let mut rng = stream(0, &format!("physico/usual/{}", concept.id));
    let mut pairs = Vec::new();
    for aspect in concept.aspects {
        for _ in 0..PAIRS {
            let palette = Setting::palette(&mut rng);
            pairs.extend(worlds::plain_pair(concept, aspect, &mut rng, palette));
        }
    }
    Surface::of(&pairs)
}

/// Concepts in a block.
pub const BLOCK: usize = 4;
/// More than any likeness can make up for.
const NEVER: f32 = 1000.0;

/// Blocks of four concepts (by index) of which none could be taken for another, each concept `times`
/// times, a few once more where the numbers do not come out even. Concepts of like surface are put
/// together, with enough chance that a concept meets many others.
pub fn blocks(
    concepts: &[&'static Concept],
    times: usize,
    rng: &mut Stream,
) -> Result<Vec<Vec<usize>>, TaskError> {
    const DEALS: usize = 12;
    for _ in 0..DEALS {
        if let Some(dealt) = deal(concepts, times, rng) {
            return Ok(dealt);
        }
    }
    Err(TaskError::Generator(format!(
        "physico: {} concepts cannot be put into fours none of which could be taken for another",
        concepts.len()
    )))
}

/// A random deal, then exchanges between blocks as long as they make the blocks more alike.
fn deal(concepts: &[&'static Concept], times: usize, rng: &mut Stream) -> Option<Vec<Vec<usize>>> {
    let mut cards: Vec<usize> = (0..times).flat_map(|_| 0..concepts.len()).collect();
    let mut extra: Vec<usize> = (0..concepts.len()).collect();
    shuffle(rng, &mut extra);
    let missing = cards.len().next_multiple_of(BLOCK) - cards.len();
    cards.extend(extra.into_iter().take(missing));
    shuffle(rng, &mut cards);
    let costs = costs(concepts, &cards, rng);
    let n = cards.len();
    let mut order: Vec<usize> = (0..n).collect();
    let cost_in = |order: &[usize], place: usize, card: usize| -> f32 {
        let start = place / BLOCK * BLOCK;
        (start..start + BLOCK)
            .filter(|p| *p != place)
            .filter_map(|p| costs.get(card * n + order.get(p)?))
            .sum()
    };
    for _ in 0..400 * n {
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
    let mut dealt: Vec<Vec<usize>> = order
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
fn costs(concepts: &[&'static Concept], cards: &[usize], rng: &mut Stream) -> Vec<f32> {
    let n = cards.len();
    let surfaces: Vec<Surface> = concepts.iter().map(|c| usual(c)).collect();
    let mut costs = vec![0.0; n * n];
    for (i, &a) in cards.iter().enumerate() {
        for (j, &b) in cards.iter().enumerate().skip(i + 1) {
            let luck = below(rng, 1000) as f32 / 1000.0;
            let cost = match (
                concepts.get(a),
                concepts.get(b),
                surfaces.get(a),
                surfaces.get(b),
            ) {
                (Some(ca), Some(cb), Some(sa), Some(sb)) if apart(ca, cb) => {
                    sa.distance(sb) as f32 + 0.4 * luck
                }
                _ => NEVER,
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
