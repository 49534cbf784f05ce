//! Which of several options an answer in words names: by its letter, or by its own words.

use std::sync::LazyLock;

use mary_contract::{Generated, Item, Judgement};
use regex::Regex;

use super::text::{fold, holds};
use super::{Reading, fault};
use crate::asking::letter;
use crate::form::Ignore;

const BOTH: &[Ignore] = &[Ignore::Case, Ignore::Punctuation];

/// `The answer is (B)`.
static SAID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i:answer|option|choice)(?:\s+(?i:is))?\s*[:=]?\s*\**\(?([A-Z])(?:\)|\b)").ok()
});

/// `B. the cat`, `B)`, `(B)` or `B` at the beginning; `A cat` is an article.
static FIRST: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*(?:\(([A-Z])\)|\**([A-Z])\**(?:[.):,]|\s*$))").ok());

/// The named option is the right one.
pub(super) fn judge(item: &Item, said: &Generated) -> Reading {
    let Some((options, correct)) = item.target.choice() else {
        return Err(fault("expected options as target"));
    };
    let Some(at) = named(&said.text, options) else {
        return Ok(None);
    };
    let verdict = Judgement::scored(f64::from(at == correct));
    Ok(Some(verdict.read_as(letter(at))))
}

/// Which option a text names; nothing when it names none or several.
fn named(text: &str, options: &[String]) -> Option<usize> {
    let of_letter = |c: &str| (0..options.len()).find(|n| letter(*n) == c);
    let line = text.trim_start().lines().next().unwrap_or_default();
    let first = FIRST.as_ref().and_then(|p| p.captures(line));
    let first = first.and_then(|c| c.get(1).or_else(|| c.get(2)));
    let folded = [line, text].map(|t| fold(t, BOTH));
    let exactly = |t: &String| options.iter().position(|o| fold(o, BOTH) == *t);
    // An option that is itself a letter would be taken for another's place.
    if let Some(at) = exactly(&folded[0]).or_else(|| exactly(&folded[1])) {
        return Some(at);
    }
    if let Some(at) = first.and_then(|m| of_letter(m.as_str())) {
        return Some(at);
    }
    let said = SAID.as_ref().and_then(|p| p.captures_iter(text).last());
    if let Some(at) = said.and_then(|c| of_letter(c.get(1)?.as_str())) {
        return Some(at);
    }
    let mentioned = |text: &str| -> Vec<usize> {
        let holds = |n: &usize| options.get(*n).is_some_and(|o| holds(text, &fold(o, BOTH)));
        (0..options.len()).filter(holds).collect()
    };
    folded.iter().find_map(|text| {
        let found = mentioned(text);
        // `cat` is mentioned wherever `cat food` is.
        let longest = found.iter().copied().filter(|n| {
            let within = |m: &usize| {
                let (a, b) = (options.get(*n), options.get(*m));
                n != m
                    && a.zip(b)
                        .is_some_and(|(a, b)| holds(&fold(b, BOTH), &fold(a, BOTH)))
            };
            !found.iter().any(within)
        });
        let longest: Vec<usize> = longest.collect();
        match longest.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_words_are_read() {
        let options = ["red", "blue", "dark blue"].map(String::from);
        let of = |text: &str| named(text, &options);
        for text in [
            "B",
            "(B)",
            " B. blue",
            "b) blue is it",
            "The answer is B.",
            "Blue.",
            "blue\n\nQ: next",
            "**B**",
        ] {
            assert_eq!(of(text), Some(1), "{text}");
        }
        assert_eq!(of("It is dark blue, I think"), Some(2));
        assert_eq!(
            of("I thought of option A first, but the answer is C"),
            Some(2)
        );
        assert_eq!(of("A dog is neither"), None);
        assert_eq!(of("red or blue"), None);
        assert_eq!(of("D"), None);
    }
}
