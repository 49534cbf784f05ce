//! Our own material, so that both tasks run without any download: triples of words with their
//! sentences, and questions for all nine subtasks. Written for Mary; nothing is taken from the authors'
//! files (a test holds the two against each other where the files are there).
//!
//! The sets are text files beside this one, one line an entry, compiled in.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::{Language, Question, Sense, Subtask, Triple};

/// The triples of a language, sense by sense, in the same order: each Chinese one says of the same sense what
/// its twin says, with words of Chinese, not with a translation of every word.
pub fn triples(language: Language) -> &'static [Triple] {
    static SETS: LazyLock<[Vec<Triple>; 2]> = LazyLock::new(|| {
        [include_str!("triples.txt"), include_str!("triples.zh.txt")]
            .map(|text| entries(text).filter_map(triple).collect())
    });
    &SETS[language as usize]
}

/// The questions of a language, subtask by subtask, the right option first (the task shuffles them), in the
/// same order, so that a question has the same number in both.
pub fn questions(language: Language) -> &'static [Question] {
    static SETS: LazyLock<[Vec<Question>; 2]> = LazyLock::new(|| {
        let read = |text, language| {
            let read = entries(text).filter_map(|fields| question(fields, language));
            read.collect()
        };
        [
            read(include_str!("questions.txt"), Language::En),
            read(include_str!("questions.zh.txt"), Language::Zh),
        ]
    });
    &SETS[language as usize]
}

/// The lines of a set, cut at their bars; remarks and empty lines left out.
fn entries(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split(" | ").map(str::trim).collect())
}

fn triple(fields: Vec<&'static str>) -> Option<Triple> {
    let [sense, word, synonym, antonym, one, two, three] = fields.try_into().ok()?;
    let sense = Sense::named(sense)?;
    Some(Triple {
        sense,
        word: Cow::Borrowed(word),
        synonym: Cow::Borrowed(synonym),
        antonym: Cow::Borrowed(antonym),
        sentences: [one, two, three].map(Cow::Borrowed),
    })
}

fn question(fields: Vec<&'static str>, language: Language) -> Option<Question> {
    let [code, question, right, one, two, three] = fields.try_into().ok()?;
    let subtask = Subtask::ALL.into_iter().find(|s| s.name() == code)?;
    Some(Question {
        subtask,
        question: Cow::Borrowed(question),
        options: [right, one, two, three].map(Cow::Borrowed),
        correct: 0,
        language,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_lost() {
        let lines = |text| entries(text).count();
        for language in [Language::En, Language::Zh] {
            let (t, q) = (triples(language).len(), questions(language).len());
            assert_eq!(lines(include_str!("triples.txt")), t);
            assert_eq!(lines(include_str!("questions.txt")), q);
        }
    }
}
