//! Start vowel: the first word begins with a vowel.

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{capitalised, word};
use crate::words::{CONSONANT_NOUNS, LY_ADVERBS, VERBS, VOWEL_NOUNS};
use mary_items::Stream;

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/start-vowel",
        "Start Vowel",
        "A items begin with a vowel, B items with a consonant. Both twins hold the same two \
         capitalised nouns, one with each beginning, in exchanged places: the bag of words is the \
         same, and only which noun comes first tells them apart.",
    ),
    rule: Rule {
        name: "start-vowel",
        draw,
        key: same_letters,
    },
    upstream: "start_vowel",
};

const BETWEEN: &[&str] = &[
    "above the",
    "after the",
    "against the",
    "around the",
    "before the",
    "behind the",
    "below the",
    "beneath the",
    "beside the",
    "beyond the",
    "for the",
    "from the",
    "inside the",
    "near the",
    "on the",
    "past the",
    "through the",
    "toward the",
    "under the",
    "with the",
];

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let vowel = capitalised(word(rng, VOWEL_NOUNS));
    let consonant = capitalised(word(rng, CONSONANT_NOUNS));
    let verb = word(rng, VERBS);
    let between = word(rng, BETWEEN);
    let adverb = word(rng, LY_ADVERBS);
    let sentence =
        |first: &str, second: &str| format!("{first} {verb} {between} {second} {adverb}.");
    vec![Twins {
        a: sentence(&vowel, &consonant),
        b: sentence(&consonant, &vowel),
    }]
}
