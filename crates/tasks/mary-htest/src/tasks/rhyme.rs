//! Rhyme: two words that sound alike at the end, whatever their letters do.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::dataset::Twins;
use crate::draw::relation;
use mary_generators::{Stream, below};

// Which letters stand in the two words, whatever they share, says how they sound.
paper_task! {
    "rhyme" as "rhyme", either_order,
    ["letters", "words", "character_ngrams", "first_character", "last_character"]
}

/// "moon tune" and "tune moon" are one item.
fn either_order(text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    words.sort_unstable();
    words.join(" ")
}

/// A word and the number of its sound within its family.
type Voiced = (&'static str, usize);

/// The words of every family; read once, since a set draws from them many thousand times.
static FAMILIES: LazyLock<Vec<Vec<Voiced>>> = LazyLock::new(|| {
    let words = |family: &'static str| {
        let sounds = family.split(' ').enumerate();
        let words = sounds.flat_map(|(sound, same)| same.split('/').map(move |w| (w, sound)));
        words.collect()
    };
    let lines = include_str!("../rhyme_families.txt").lines();
    let families = lines.filter(|line| !line.starts_with('#'));
    families.map(words).collect()
});

fn family(rng: &mut Stream) -> (usize, &'static [Voiced]) {
    let number = below(rng, FAMILIES.len());
    (number, FAMILIES.get(number).map_or(&[], Vec::as_slice))
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

/// Two words as an item shows them.
type Pair = (&'static str, &'static str);

/// Two rhyming pairs, and the same words with the second ones exchanged.
struct Four {
    rhymes: [Pair; 2],
    others: [Pair; 2],
}

impl Four {
    fn draw(rng: &mut Stream) -> Option<Self> {
        let ((f, one, two), (g, three, four)) = (rhyming(rng)?, rhyming(rng)?);
        let rhymes = [(one, two), (three, four)];
        let others = [(one, four), (three, two)];
        let spelled_alike = |&(a, b): &Pair| ending(a, 2) == ending(b, 2);
        let mut all = rhymes.iter().chain(&others);
        (f != g && !all.any(spelled_alike)).then_some(Self { rhymes, others })
    }

    /// What the rhymes have of relations that the others have not, and the other way round; 0 is none.
    fn surplus(&self) -> ([Relations; 2], [Relations; 2]) {
        let (mut more, mut less) = (self.rhymes.map(relations), self.others.map(relations));
        for own in &mut more {
            if let Some(other) = less.iter_mut().find(|other| *other == own) {
                (*own, *other) = (0, 0);
            }
        }
        more.sort_unstable();
        less.sort_unstable();
        (more, less)
    }

    fn words(&self) -> [&'static str; 4] {
        let [(one, two), (three, four)] = self.rhymes;
        [one, two, three, four]
    }

    fn twins(&self) -> impl Iterator<Item = Twins> {
        let text = |(a, b): Pair| format!("{a} {b}");
        let pairs = self.rhymes.into_iter().zip(self.others);
        pairs.map(move |(a, b)| Twins {
            a: text(a),
            b: text(b),
        })
    }
}

/// How two words stand to each other in their letters, and how much longer one is: a byte each. No two words
/// that differ have 0, since their distance is not.
type Relations = u64;

fn relations((one, two): Pair) -> Relations {
    let longer = one.len().abs_diff(two.len());
    let all = relation(one, two).into_iter().chain([longer]);
    all.fold(0, |packed, each| packed << 8 | each as u64)
}

/// Four items whose rhymes stand to each other as the others do; or eight, where what two draws have
/// too much of makes up for each other. Rhyming words share more letters than others do (two shared
/// letters alone told three in four): matched so, no relation between the spellings tells.
fn draw(rng: &mut Stream) -> Vec<Twins> {
    const FOURS: usize = 400;
    let mut waiting: BTreeMap<([Relations; 2], [Relations; 2]), Four> = BTreeMap::new();
    for _ in 0..FOURS {
        let Some(four) = Four::draw(rng) else {
            continue;
        };
        let (more, less) = four.surplus();
        if more == [0, 0] {
            return four.twins().collect();
        }
        let opposite = (less, more);
        match waiting.get(&opposite) {
            Some(other) if other.words().iter().all(|w| !four.words().contains(w)) => {
                return other.twins().chain(four.twins()).collect();
            }
            _ => {
                waiting.insert((opposite.1, opposite.0), four);
            }
        }
    }
    vec![]
}
