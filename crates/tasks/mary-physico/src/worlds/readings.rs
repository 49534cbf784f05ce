//! Readings: recognisers that look only at a pair and say whether a concept's rule explains it.
//!
//! They share no code with the generators. A pair that the reading of another, non-confusable concept
//! accepts is drawn again, so that no wrong option is also right. A reading asks for the plain rule of
//! a concept (every body fell, the form was turned) and for all that changed: what the rule leaves
//! unexplained is not accepted. Objects that stay as they are do not disturb most of them, so that
//! they can be asked of an instance as it is shown, too.

pub(crate) mod look;
pub(crate) mod part;
pub(crate) mod shared;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Concept, Turn, concepts};
use crate::grid::Pair;

use serde::Deserialize;

pub use look::Look;

/// A concept's rule as a question about any pair.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    #[serde(skip)]
    pub concept: &'static str,
    pub(crate) id: &'static str,
    /// The aspects whose plain pairs it knows.
    pub aspects: Vec<&'static str>,
    pub asks: &'static str,
    /// Whether the answer depends on where down is.
    pub turn: Turn,
    #[serde(default)]
    pub(crate) first: First,
    /// A question that comes first because its answer is the same whichever way the pair is turned.
    #[serde(skip)]
    pub(crate) may: Option<fn(&Look) -> bool>,
    #[serde(skip, default = "unread")]
    pub(crate) fits: fn(&Look) -> bool,
}

fn unread() -> fn(&Look) -> bool {
    |_| false
}

/// What a reading asks first of any pair, however it is turned: it costs next to nothing and is most
/// often answered with no.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct First {
    /// Fewest and most colours that take part in the change.
    touched: Option<(usize, usize)>,
    /// Fewest cells that differ.
    changed: usize,
    /// How many colours are new, where that matters.
    fresh: Option<usize>,
    /// How many colours are gone, where that matters.
    lost: Option<usize>,
    /// Nothing but empty cells changed.
    added: bool,
    /// No cell was or became empty.
    recoloured: bool,
    /// Every colour has as many cells as before.
    same_counts: bool,
    /// Of some colour that takes part there are as many cells as before, and at least so many.
    keeping: usize,
    /// So many of the colours that take part only went elsewhere.
    movers: usize,
    /// Of some colour that did more than go elsewhere there are as many cells as before, and at least
    /// so many.
    reshaping: usize,
}

impl First {
    fn holds(&self, look: &Look) -> bool {
        let touched = look.touched.len();
        let (fewest, most) = self.touched.unwrap_or((1, 9));
        (fewest..=most).contains(&touched)
            && self.changed <= look.changed.len()
            && self.fresh.is_none_or(|n| n == look.fresh.len())
            && self.lost.is_none_or(|n| n == look.lost.len())
            && (!self.added || look.only_added)
            && (!self.recoloured || look.only_recoloured)
            && (!self.same_counts || look.same_counts)
            && self.keeping <= look.keeps
            && (self.movers == 0 || self.movers <= look.ways().movers)
            && (self.reshaping == 0
                || (self.reshaping <= look.keeps && self.reshaping <= look.ways().reshaped))
    }
}

impl Reading {
    /// Whether the pair, as it lies, is explained by the concept's rule.
    pub fn fits(&self, look: &Look) -> bool {
        self.first.holds(look) && (self.fits)(look)
    }

    /// Whether the pair is explained as it lies or, where down matters, turned some way.
    pub fn fits_some_way(&self, look: &Look) -> bool {
        self.first.holds(look)
            && match self.turn {
                Turn::Free => (self.fits)(look),
                Turn::Upright => {
                    self.may.is_none_or(|asked| asked(look)) && look.some_way(self.fits)
                }
            }
    }
}

pub fn readings() -> impl Iterator<Item = &'static Reading> {
    concepts().iter().flat_map(|c| &c.readings)
}

type Rivals = Arc<Vec<&'static Reading>>;

/// The readings of concepts that may stand beside this one as options.
fn rivals(concept: &'static Concept) -> Rivals {
    static RIVALS: RwLock<BTreeMap<&'static str, Rivals>> = RwLock::new(BTreeMap::new());
    // Nothing that holds the lock can panic, so that a poisoned one holds whole values.
    let known = RIVALS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(concept.id) {
        return Arc::clone(found);
    }
    drop(known);
    let beside = |c: &&&'static Concept| c.id != concept.id && concept.confusable_with(c).is_none();
    let all = concepts().iter().filter(beside);
    let found: Rivals = Arc::new(all.flat_map(|c| &c.readings).collect());
    let mut known = RIVALS.write().unwrap_or_else(PoisonError::into_inner);
    known.insert(concept.id, Arc::clone(&found));
    found
}

/// The first concept, neither this one nor confusable with it, whose reading fits the pair. A concept
/// that may be turned any way must not be read as another, whichever way it is turned.
pub fn elsewhere(concept: &'static Concept, pair: &Pair) -> Option<&'static str> {
    let look = Look::new(pair);
    let turns = concept.aspects.iter().any(|a| a.turn == Turn::Free);
    rivals(concept)
        .iter()
        .find(|r| {
            if turns {
                r.fits_some_way(&look)
            } else {
                r.fits(&look)
            }
        })
        .map(|r| r.concept)
}
