//! End ly: the last word ends in "ly".

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{capitalised, noun, stand_in, word};
use crate::words::{LY_ADVERBS, LY_OTHERS, NOT_LY, VERBS};
use mary_items::{Stream, below};

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/end-ly",
        2,
        "End Ly",
        "A items end in \"ly\" before the full stop, B items do not. Each item is two short sentences \
         with one word in \"ly\" and one without, equally long and alike to the words beside them; the \
         twins exchange them. Not only adverbs end in \"ly\" here, and the other words include some \
         with an \"ly\" inside.",
    ),
    rule: Rule {
        name: "end-ly",
        draw,
        key: same_letters,
    },
    upstream: Some("end_ly"),
    rule_baselines: &["last_character", "word_memory", "character_ngrams"],
};

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let with = if below(rng, 3) == 0 {
        word(rng, LY_OTHERS)
    } else {
        word(rng, LY_ADVERBS)
    };
    let (one, two) = (noun(rng), noun(rng));
    let (does, then) = (word(rng, VERBS), word(rng, VERBS));
    let Some(without) = stand_in(rng, with, NOT_LY, &[does, then, two, one]) else {
        return vec![];
    };
    let (one, two) = (capitalised(one), capitalised(two));
    let text = |first: &str, last: &str| format!("{one} {does} {first}. {two} {then} {last}.");
    vec![Twins {
        a: text(without, with),
        b: text(with, without),
    }]
}
