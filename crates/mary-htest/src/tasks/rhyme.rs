//! Rhyme: two words that sound alike at the end, whatever their letters do.

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins};
use crate::rhyme_families::RHYME_FAMILIES;
use mary_items::{Stream, below};

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/rhyme",
        "Rhyme",
        "A items are two words that rhyme, B items two that do not. Items are drawn four at a time: \
         two rhyming pairs, and the same four words with the second ones exchanged, so that every \
         word stands as often in A as in B, in the same place. No pair shares its last two letters, \
         and pairs that share the last letter are as common in A as in B: spelling does not tell.",
    ),
    rule: Rule {
        name: "rhyme",
        draw,
        key: either_order,
    },
    upstream: "rhyme",
};

/// "moon tune" and "tune moon" are one item.
fn either_order(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    words.sort_unstable();
    words.join(" ")
}

/// A word and the number of its sound within its family.
type Voiced = (&'static str, usize);

fn family(rng: &mut Stream) -> (usize, Vec<Voiced>) {
    let number = below(rng, RHYME_FAMILIES.len());
    let words = RHYME_FAMILIES
        .get(number)
        .copied()
        .unwrap_or_default()
        .split(' ')
        .enumerate()
        .flat_map(|(sound, same)| same.split('/').map(move |word| (word, sound)))
        .collect();
    (number, words)
}

fn rhyming(rng: &mut Stream) -> Option<(usize, &'static str, &'static str)> {
    let (number, words) = family(rng);
    let one = words.get(below(rng, words.len()))?;
    let two = words.get(below(rng, words.len()))?;
    (one.1 != two.1).then_some((number, one.0, two.0))
}

fn ending(word: &str, letters: usize) -> &str {
    word.get(word.len().saturating_sub(letters)..)
        .unwrap_or(word)
}

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let (Some((f, one, two)), Some((g, three, four))) = (rhyming(rng), rhyming(rng)) else {
        return vec![];
    };
    let rhymes = [(one, two), (three, four)];
    let others = [(one, four), (three, two)];
    let alike = |(a, b): (&str, &str), letters| ending(a, letters) == ending(b, letters);
    let spelled_alike = rhymes.iter().chain(&others).any(|&pair| alike(pair, 2));
    let last_letters = |pairs: &[(&str, &str)]| pairs.iter().filter(|&&p| alike(p, 1)).count();
    if f == g || spelled_alike || last_letters(&rhymes) != last_letters(&others) {
        return vec![];
    }
    let text = |(a, b): (&str, &str)| format!("{a} {b}");
    rhymes
        .into_iter()
        .zip(others)
        .map(|(a, b)| Twins {
            a: text(a),
            b: text(b),
        })
        .collect()
}
