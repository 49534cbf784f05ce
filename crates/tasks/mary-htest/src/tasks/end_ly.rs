//! End ly: the last word ends in "ly".

use std::sync::LazyLock;

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{capitalised, noun, stand_in, word};
use crate::words::WORDS;
use mary_generators::{Stream, below};

pub static TASK: AbTask = AbTask {
    card: LazyLock::new(|| card("htest/end-ly")),
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
        word(rng, &WORDS.ly_others)
    } else {
        word(rng, &WORDS.ly_adverbs)
    };
    let (one, two) = (noun(rng), noun(rng));
    let (does, then) = (word(rng, &WORDS.verbs), word(rng, &WORDS.verbs));
    let Some(without) = stand_in(rng, with, &WORDS.not_ly, &[does, then, two, one]) else {
        return vec![];
    };
    let (one, two) = (capitalised(one), capitalised(two));
    let text = |first: &str, last: &str| format!("{one} {does} {first}. {two} {then} {last}.");
    vec![Twins {
        a: text(without, with),
        b: text(with, without),
    }]
}
