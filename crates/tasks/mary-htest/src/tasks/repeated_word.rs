//! Repeated word: one word stands twice in a row.

use crate::dataset::{Twins, same_letters};
use crate::draw::{noun, word};
use crate::words::WORDS;
use mary_generators::{Stream, below, coin, shuffle};

// A word that stands twice brings its letters twice, and fewer different runs of them.
paper_task! {
    "repeated-word" as "repeated_word", same_letters,
    ["relations", "letters", "character_ngrams", "words"]
}

fn any_word(rng: &mut Stream) -> &'static str {
    match below(rng, 5) {
        0 => noun(rng),
        1 => word(rng, &WORDS.verbs),
        2 => word(rng, &WORDS.ly_adverbs),
        3 => word(rng, &WORDS.not_ly),
        _ => word(rng, &WORDS.plurals),
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
    // A word that stands twice has fewer different letters than two words; the twins have as many.
    let has = |letter: char| twice.contains(letter) || rest.iter().any(|w| w.contains(letter));
    if !other.chars().all(has) {
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
    Twins::pair(text([twice, twice]), text(different))
}
