//! Spelled number: the number is written in words, not in digits.

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{capitalised, noun, of_same_size, word};
use crate::words::{LY_ADVERBS, NUMBERS, PLURALS, TRANSITIVE};
use mary_items::{Stream, below};

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/spelled-number",
        "Spelled Number",
        "A items spell a number out (seven), B items write it in digits (7). The twins share the \
         number and are of the same length in characters and words. Here the words are the rule: a \
         bag of words that knows the numbers solves it.",
    ),
    rule: Rule {
        name: "spelled-number",
        draw,
        key: same_letters,
    },
    upstream: "spelled_number",
};

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let Some(&(number, spelled)) = NUMBERS.get(below(rng, NUMBERS.len())) else {
        return vec![];
    };
    // The twins share how they begin and end: what makes up for the longer number stands in between.
    let (subject, adverb) = (capitalised(noun(rng)), word(rng, LY_ADVERBS));
    let mut sentence = |number: &str| {
        let (verb, things) = (word(rng, TRANSITIVE), word(rng, PLURALS));
        format!("{subject} {verb} {number} {things} {adverb}.")
    };
    let a = sentence(spelled);
    let digits = number.to_string();
    match of_same_size(&a, || sentence(&digits)) {
        Some(b) => vec![Twins { a, b }],
        None => vec![],
    }
}
