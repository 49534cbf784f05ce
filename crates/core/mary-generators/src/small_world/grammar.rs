//! Sentences with one grammatical point each, and the sentence that misses it, as `paradigms.json` writes them.
//!
//! Twelve phenomena, the ones the field's minimal-pair benchmarks test, in simple words of the
//! small world. The corpus uses the good sentence only; held-out pairs are used for evaluation.

use std::sync::LazyLock;

use super::MinimalPair;
use super::dice::Dice;
use crate::sentences::{Paradigm, Writer};

static WRITER: LazyLock<Writer> =
    LazyLock::new(|| Writer::read(include_str!("world.json"), include_str!("paradigms.json")));

pub(super) fn pair(dice: &mut Dice) -> MinimalPair {
    make(dice.pick(WRITER.paradigms()), dice)
}

/// `per_paradigm` pairs of each paradigm that `keep` accepts.
pub(super) fn pairs(
    dice: &mut Dice,
    per_paradigm: usize,
    keep: &mut dyn FnMut(&MinimalPair) -> bool,
) -> Vec<MinimalPair> {
    let mut out = Vec::new();
    for paradigm in WRITER.paradigms() {
        let tries = (0..per_paradigm * 2000).map(|_| make(paradigm, dice));
        out.extend(tries.filter(|pair| keep(pair)).take(per_paradigm));
    }
    out
}

fn make(paradigm: &'static Paradigm, dice: &mut Dice) -> MinimalPair {
    let (good, bad) = WRITER.pair(paradigm, dice.stream());
    MinimalPair {
        phenomenon: &paradigm.phenomenon,
        paradigm: &paradigm.name,
        good,
        bad,
    }
}
