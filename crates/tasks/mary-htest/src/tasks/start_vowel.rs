//! Start vowel: the first word begins with a vowel.

use crate::dataset::{Twins, same_letters};
use crate::draw::{stand_in, vowels, word};
use crate::words::WORDS;
use mary_generators::{Stream, capital};

paper_task! {
    "start-vowel" as "start_vowel", same_letters,
    ["first_character", "word_memory", "character_ngrams"]
}

const BETWEEN: &[&str] = &[
    "above", "after", "against", "around", "before", "behind", "below", "beneath", "beside",
    "beyond", "for", "from", "inside", "near", "on", "past", "through", "toward", "under", "with",
];

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let vowel = word(rng, &WORDS.vowel_nouns);
    let verb = word(rng, &WORDS.verbs);
    let between = word(rng, BETWEEN);
    let adverb = word(rng, &WORDS.ly_adverbs);
    let nouns = WORDS.consonant_nouns.iter().copied();
    let as_many: Vec<&str> = nouns.filter(|c| vowels(c) == vowels(vowel)).collect();
    let Some(consonant) = stand_in(rng, vowel, &as_many, &[verb, "the", adverb]) else {
        return vec![];
    };
    let (vowel, consonant) = (capital(vowel), capital(consonant));
    let sentence =
        |first: &str, second: &str| format!("{first} {verb} {between} the {second} {adverb}.");
    Twins::pair(sentence(&vowel, &consonant), sentence(&consonant, &vowel))
}
