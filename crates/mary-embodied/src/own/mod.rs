//! Our own material, so that both tasks run without any download: triples of words with their
//! sentences, and questions for all nine subtasks. Written for Mary; nothing is taken from the authors'
//! files (a test holds the two against each other where the files are there).
//!
//! The sets are text files beside this one, one line an entry, compiled in.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::{Language, Question, Sense, Subtask, Triple};

/// The triples, sense by sense.
pub fn triples() -> &'static [Triple] {
    static SET: OnceLock<Vec<Triple>> = OnceLock::new();
    SET.get_or_init(|| {
        entries(include_str!("triples.txt"))
            .filter_map(triple)
            .collect()
    })
}

/// The questions, subtask by subtask, the right option first; the task shuffles them.
pub fn questions() -> &'static [Question] {
    static SET: OnceLock<Vec<Question>> = OnceLock::new();
    SET.get_or_init(|| {
        entries(include_str!("questions.txt"))
            .filter_map(question)
            .collect()
    })
}

/// The lines of a set, cut at their bars; remarks and empty lines left out.
fn entries(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| line.split(" | ").map(str::trim).collect())
}

fn triple(fields: Vec<&'static str>) -> Option<Triple> {
    let [sense, word, synonym, antonym, one, two, three] = fields.try_into().ok()?;
    let sense = Sense::named(sense)?;
    Some(Triple::of(sense, word, synonym, antonym, [one, two, three]))
}

fn question(fields: Vec<&'static str>) -> Option<Question> {
    let [code, question, right, one, two, three] = fields.try_into().ok()?;
    let subtask = Subtask::ALL.into_iter().find(|s| s.code() == code)?;
    Some(Question {
        subtask,
        question: Cow::Borrowed(question),
        options: [right, one, two, three].map(Cow::Borrowed),
        correct: 0,
        language: Language::En,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_lost() {
        let lines = |text| entries(text).count();
        assert_eq!(lines(include_str!("triples.txt")), triples().len());
        assert_eq!(lines(include_str!("questions.txt")), questions().len());
    }
}
