//! Our own material, so that both tasks run without any download: triples of words with their
//! sentences, and questions for all nine subtasks. Written for Mary; nothing is taken from the authors'
//! files (a test holds the two against each other where the files are there).
//!
//! The sets are text files beside this one, one line an entry, compiled in.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::{Language, Question, Sense, Subtask, Triple};

/// The English triples, sense by sense.
pub fn triples() -> &'static [Triple] {
    static SET: OnceLock<Vec<Triple>> = OnceLock::new();
    SET.get_or_init(|| {
        entries(include_str!("triples.txt"))
            .filter_map(triple)
            .collect()
    })
}

/// The triples in Chinese, in the same order: each says of the same sense what its twin says, with words of
/// Chinese, not with a translation of every word.
pub fn triples_zh() -> &'static [Triple] {
    static SET: OnceLock<Vec<Triple>> = OnceLock::new();
    SET.get_or_init(|| {
        entries(include_str!("triples.zh.txt"))
            .filter_map(triple)
            .collect()
    })
}

pub fn triples_in(language: Language) -> &'static [Triple] {
    match language {
        Language::En => triples(),
        Language::Zh => triples_zh(),
    }
}

/// The English questions, subtask by subtask, the right option first; the task shuffles them.
pub fn questions() -> &'static [Question] {
    static SET: OnceLock<Vec<Question>> = OnceLock::new();
    SET.get_or_init(|| read(include_str!("questions.txt"), Language::En))
}

/// The same questions in Chinese, in the same order, so that a question has the same number in both.
pub fn questions_zh() -> &'static [Question] {
    static SET: OnceLock<Vec<Question>> = OnceLock::new();
    SET.get_or_init(|| read(include_str!("questions.zh.txt"), Language::Zh))
}

pub fn questions_in(language: Language) -> &'static [Question] {
    match language {
        Language::En => questions(),
        Language::Zh => questions_zh(),
    }
}

fn read(text: &'static str, language: Language) -> Vec<Question> {
    entries(text)
        .filter_map(|fields| question(fields, language))
        .collect()
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
    Some(Triple::compiled_in(
        sense,
        word,
        synonym,
        antonym,
        [one, two, three],
    ))
}

fn question(fields: Vec<&'static str>, language: Language) -> Option<Question> {
    let [code, question, right, one, two, three] = fields.try_into().ok()?;
    let subtask = Subtask::ALL.into_iter().find(|s| s.code() == code)?;
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
        assert_eq!(lines(include_str!("triples.txt")), triples().len());
        assert_eq!(lines(include_str!("questions.txt")), questions().len());
        assert_eq!(questions_zh().len(), questions().len());
        assert_eq!(triples_zh().len(), triples().len());
    }
}
