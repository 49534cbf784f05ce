//! Repeated word: one word stands twice in a row.

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::{LY_ADVERBS, NOT_LY, PLURALS, VERBS};
use mary_items::{Stream, below, coin, shuffle};

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/repeated-word",
        "Repeated Word",
        "A items are five words of which one stands twice in a row, B items are five different words. \
         The twins share the other words; in place of one of the two, B has another word of the same \
         length from the same lists. Unlike the published items, A is no longer than B.",
    ),
    rule: Rule {
        name: "repeated-word",
        draw,
        key: same_letters,
    },
    upstream: "repeated_word",
};

fn any_word(rng: &mut Stream) -> &'static str {
    match below(rng, 5) {
        0 => noun(rng),
        1 => word(rng, VERBS),
        2 => word(rng, LY_ADVERBS),
        3 => word(rng, NOT_LY),
        _ => word(rng, PLURALS),
    }
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let (twice, other) = (any_word(rng), any_word(rng));
    let mut rest = [any_word(rng), any_word(rng), any_word(rng)];
    let mut all = vec![twice, other];
    all.extend(rest);
    all.sort_unstable();
    all.dedup();
    if all.len() < 5 || twice.len() != other.len() {
        return vec![];
    }
    shuffle(rng, &mut rest);
    let place = below(rng, rest.len() + 1);
    let text = |pair: [&str; 2]| {
        let mut words: Vec<&str> = rest.to_vec();
        words.splice(place..place, pair);
        format!("{}.", words.join(" "))
    };
    let different = if coin(rng) {
        [twice, other]
    } else {
        [other, twice]
    };
    vec![Twins {
        a: text([twice, twice]),
        b: text(different),
    }]
}
