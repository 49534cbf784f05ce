//! End ly: the last word ends in "ly".

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{capitalised, noun, word};
use crate::words::{LY_ADVERBS, LY_OTHERS, NOT_LY, VERBS};
use mary_items::{Stream, below};

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/end-ly",
        "End Ly",
        "A items end in \"ly\" before the full stop, B items do not. Each item is two short sentences \
         with one word in \"ly\" and one without; the twins exchange them. Not only adverbs end in \
         \"ly\" here, and the other words include some with an \"ly\" inside.",
    ),
    rule: Rule {
        name: "end-ly",
        draw,
        key: same_letters,
    },
    upstream: "end_ly",
};

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let with = if below(rng, 3) == 0 {
        word(rng, LY_OTHERS)
    } else {
        word(rng, LY_ADVERBS)
    };
    let without = word(rng, NOT_LY);
    let (one, two) = (capitalised(noun(rng)), capitalised(noun(rng)));
    let (does, then) = (word(rng, VERBS), word(rng, VERBS));
    let text = |first: &str, last: &str| format!("{one} {does} {first}. {two} {then} {last}.");
    vec![Twins {
        a: text(without, with),
        b: text(with, without),
    }]
}
