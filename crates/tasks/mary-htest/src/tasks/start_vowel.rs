//! Start vowel: the first word begins with a vowel.

use std::sync::LazyLock;

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{capitalised, stand_in, vowels, word};
use crate::words::WORDS;
use mary_generators::Stream;

pub static TASK: AbTask = AbTask {
    card: LazyLock::new(|| card("htest/start-vowel")),
    rule: Rule {
        name: "start-vowel",
        draw,
        key: same_letters,
    },
    upstream: Some("start_vowel"),
    rule_baselines: &["first_character", "word_memory", "character_ngrams"],
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
    let vowel = word(rng, &WORDS.vowel_nouns);
    let verb = word(rng, &WORDS.verbs);
    let between = word(rng, BETWEEN);
    let adverb = word(rng, &WORDS.ly_adverbs);
    let as_many: Vec<&'static str> = WORDS
        .consonant_nouns
        .iter()
        .copied()
        .filter(|c| vowels(c) == vowels(vowel))
        .collect();
    let Some(consonant) = stand_in(rng, vowel, &as_many, &[verb, "the", adverb]) else {
        return vec![];
    };
    let (vowel, consonant) = (capitalised(vowel), capitalised(consonant));
    let sentence =
        |first: &str, second: &str| format!("{first} {verb} {between} {second} {adverb}.");
    vec![Twins {
        a: sentence(&vowel, &consonant),
        b: sentence(&consonant, &vowel),
    }]
}
