//! Masking a text about a concept: its names and their inflections become [PHENOMENON], what gives it
//! away without naming it becomes [MASK]. What a model writes is read here as bare text.

use crate::worlds::Concept;

pub const PHENOMENON: &str = "[PHENOMENON]";
pub const MASK: &str = "[MASK]";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked {
    pub text: String,
    pub names: usize,
    pub giveaways: usize,
}

/// A word of a text by its place in bytes, lower-cased.
struct Word {
    start: usize,
    end: usize,
    text: String,
}

fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if let Some(word) = text.get(from..at) {
                    found.push(Word {
                        start: from,
                        end: at,
                        text: word.to_lowercase(),
                    });
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// How many words from `at` on a pattern covers; 0 when it does not fit there. A pattern is one or
/// more words; a star at the end of a word stands for any ending.
fn covers(pattern: &str, text: &[Word], at: usize) -> usize {
    let parts = pattern.split(|c: char| !(c.is_alphanumeric() || c == '*'));
    let parts = parts.filter(|p| !p.is_empty()).map(str::to_lowercase);
    let parts: Vec<String> = parts.collect();
    let same = |word: &Word, part: &String| match part.strip_suffix('*') {
        Some(stem) => word.text.starts_with(stem),
        None => word.text == *part,
    };
    let mut numbered = parts.iter().enumerate();
    let fits = numbered.all(|(i, part)| text.get(at + i).is_some_and(|word| same(word, part)));
    if fits { parts.len() } else { 0 }
}

fn longest(patterns: &[&str], text: &[Word], at: usize) -> usize {
    let lengths = patterns.iter().map(|p| covers(p, text, at));
    lengths.max().unwrap_or(0)
}

/// The names of a concept that stand unmasked in a text.
#[cfg(test)]
pub fn names_in(concept: &Concept, text: &str) -> Vec<String> {
    let bare = text.replace(PHENOMENON, "").replace(MASK, "");
    let words = words(&bare);
    let patterns: Vec<&str> = [&concept.names[..], &concept.giveaways].concat();
    let masked = (0..words.len()).filter(|&at| longest(&patterns, &words, at) > 0);
    let masked = masked.filter_map(|at| words.get(at).map(|w| w.text.clone()));
    masked.collect()
}

/// Masks all names and inflections of a concept, the concept's own name as a phrase first, then its
/// give-aways. Neighbouring masked words that are parted by blanks or hyphens alone become one mask.
pub fn masked(concept: &Concept, text: &str) -> Masked {
    let words = words(text);
    let mut names: Vec<&str> = vec![concept.name];
    names.extend(&concept.names);
    let mut out = String::with_capacity(text.len());
    let (mut kept, mut counts) = (0, [0, 0]);
    let mut last: Option<(&str, usize)> = None;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let named = longest(&names, &words, at);
        let given = longest(&concept.giveaways, &words, at);
        let (mask, length) = match (named, given) {
            (0, 0) => {
                at += 1;
                continue;
            }
            (n, g) if n >= g => (PHENOMENON, n),
            (_, g) => (MASK, g),
        };
        let end = words.get(at + length - 1).map_or(word.end, |w| w.end);
        let between = text.get(kept..word.start).unwrap_or_default();
        let joined =
            last.is_some_and(|(m, _)| m == mask) && between.chars().all(|c| c == ' ' || c == '-');
        if !joined {
            out.push_str(between);
            out.push_str(mask);
            let place = usize::from(mask == MASK);
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
        }
        last = Some((mask, end));
        kept = end;
        at += length;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    let [names, giveaways] = counts;
    Masked {
        text: out,
        names,
        giveaways,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::worlds::{concept, concepts};

    #[test]
    fn no_definition_names_its_concept_in_any_inflection() {
        assert_eq!(concepts().len(), 67);
        for entry in concepts() {
            assert!(entry.definitions.len() >= 2, "{}", entry.name);
            for definition in &entry.definitions {
                assert!(
                    definition.contains(PHENOMENON),
                    "{}: {definition}",
                    entry.name
                );
                let named = names_in(entry, definition);
                assert!(
                    named.is_empty(),
                    "{}: {named:?} in {definition}",
                    entry.name
                );
            }
        }
    }

    /// "An electric and a magnetic field" gives the electromagnetic wave away as well as its name does.
    #[test]
    fn no_definition_holds_a_part_of_its_concepts_name() {
        // Words that share five letters with a name and say nothing of it: half-spheres, atmospheric pressure.
        const CHANCE: [&str; 1] = ["spheres"];
        for entry in concepts() {
            let name: String = entry.name.to_lowercase().split(' ').collect();
            for definition in &entry.definitions {
                let bare = definition.replace(PHENOMENON, "").replace(MASK, "");
                for word in words(&bare).iter().filter(|w| !CHANCE.contains(&&*w.text)) {
                    let part = word.text.get(..5).is_some_and(|stem| name.contains(stem));
                    assert!(!part, "{}: `{}` in {definition}", entry.name, word.text);
                }
            }
        }
    }

    #[test]
    fn every_word_of_a_concepts_name_is_masked() {
        for entry in concepts() {
            for word in entry
                .name
                .split(' ')
                .filter(|w| !["of", "and", "in", "out"].contains(w))
            {
                let found = names_in(entry, word);
                assert_eq!(found, [word.to_lowercase()], "{}", entry.name);
            }
            assert_eq!(masked(entry, entry.name).text, PHENOMENON, "{}", entry.name);
        }
    }

    #[test]
    fn inflections_phrases_and_give_aways_are_masked() {
        let cases = [
            (
                "gravity",
                "Gravity (gravitation) is what Isaac Newton's law of gravitational pull describes.",
                "[PHENOMENON] ([PHENOMENON]) is what Isaac [MASK]'s law of [PHENOMENON] pull describes.",
            ),
            (
                "wave interference",
                "Wave interference: two waves interfere. Young's test shows interfering beams.",
                "[PHENOMENON]: two [PHENOMENON]. [MASK]'s test shows [PHENOMENON] beams.",
            ),
            (
                "zoom in",
                "To zoom in, one zooms.",
                "To [PHENOMENON], one [PHENOMENON].",
            ),
            (
                "cut",
                "A cut-out is cutting paper.",
                "A [PHENOMENON]-out is [PHENOMENON] paper.",
            ),
            (
                "laser",
                "LASERS are **laser**-like.",
                "[PHENOMENON] are **[PHENOMENON]**-like.",
            ),
        ];
        for (name, text, expected) in cases {
            assert_eq!(masked(concept(name).unwrap(), text).text, expected);
        }
        let counts = masked(concept("gravity").unwrap(), "gravity, gravity, Newton");
        assert_eq!((counts.names, counts.giveaways), (2, 1));
    }

    proptest! {
        #[test]
        fn nothing_named_is_left_whatever_a_model_writes(text in "(\\PC|gravity|Newton| ){0,30}") {
            let entry = concept("gravity").unwrap();
            let masked = masked(entry, &text);
            prop_assert!(names_in(entry, &masked.text).is_empty(), "{}", masked.text);
        }
    }
}
