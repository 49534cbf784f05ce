//! Questions of the form A : B :: C : D with five choices, and the layout in which the SAT questions of
//! Turney are given out.
//!
//! A block of lines, blocks apart by empty lines, `#` for comments: the source (may be missing), the
//! stem, the choices, the letter of the right one. A pair is two words, with a third for their parts of
//! speech (`n:n`) or without; `word:word` is read too. A question that was printed with four choices is filled up
//! with `no:choice`, which is left out.

use std::path::Path;

use mary_contract::TaskError;

use crate::tables;

pub type WordPair = [String; 2];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub source: String,
    pub stem: WordPair,
    pub choices: Vec<WordPair>,
    pub correct: usize,
}

pub fn own() -> Result<Vec<Question>, TaskError> {
    parse(include_str!("questions.txt"), "questions.txt")
}

pub fn read(path: &Path) -> Result<Vec<Question>, TaskError> {
    let text = tables::text(path, "analogy questions in the SAT layout")?;
    parse(&text, &path.display().to_string())
}

pub fn parse(text: &str, file: &str) -> Result<Vec<Question>, TaskError> {
    let mut questions = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    let lines = text.trim_start_matches('\u{feff}').lines().chain([""]);
    for (index, line) in lines.enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if !line.is_empty() {
            block.push((index + 1, line));
            continue;
        }
        if !block.is_empty() {
            questions.push(question(&block, file)?);
            block.clear();
        }
    }
    if questions.is_empty() {
        return Err(TaskError::record(file, 1, "no question found"));
    }
    Ok(questions)
}

fn question(block: &[(usize, &str)], file: &str) -> Result<Question, TaskError> {
    let wrong = |line: usize, message: String| TaskError::record(file, line, message);
    let first = block.first().map_or(1, |(line, _)| *line);
    let expected = "expected a source, a stem, the choices and the letter of the right one";
    let short = || wrong(first, expected.into());
    let ((at, letter), rest) = block.split_last().ok_or_else(short)?;
    let letter = match letter.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => usize::from(byte.to_ascii_lowercase() - b'a'),
        _ => {
            let message = format!("expected the letter of the right choice, found `{letter}`");
            return Err(wrong(*at, message));
        }
    };
    // The source is whatever line comes before stem and five choices.
    let (source, pairs) = match rest {
        [_, _, _, _, _, _] => ("", rest),
        [(_, source), pairs @ ..] if pairs.len() >= 6 => (*source, pairs),
        _ => return Err(short()),
    };
    let mut pairs = pairs.iter().map(|(line, text)| {
        pair(text).ok_or_else(|| wrong(*line, format!("expected two words, found `{text}`")))
    });
    let stem = pairs.next().ok_or_else(short)??;
    let choices: Vec<WordPair> = pairs.collect::<Result<_, _>>()?;
    // Filled up at the end: the places of the others stay.
    let is_choice = |pair: &WordPair| *pair != FILLER;
    let choices: Vec<WordPair> = choices.into_iter().filter(is_choice).collect();
    if letter >= choices.len() {
        let (number, of) = (letter + 1, choices.len());
        let message = format!("the right choice is number {number}, of {of}");
        return Err(wrong(*at, message));
    }
    Ok(Question {
        source: source.to_owned(),
        stem,
        choices,
        correct: letter,
    })
}

/// Stands for a choice where there are fewer than five.
const FILLER: [&str; 2] = ["no", "choice"];

fn pair(text: &str) -> Option<WordPair> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (a, b) = match words.as_slice() {
        [one] => one.split_once(':')?,
        [a, b] | [a, b, _] => (*a, *b),
        _ => return None,
    };
    (!a.is_empty() && !b.is_empty()).then(|| [a.to_owned(), b.to_owned()])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_layout_with_and_without_source_and_parts_of_speech() {
        let text = "# comment\nKS 1\nhen egg n:n\ncow milk n:n\ndog bone n:n\ncat mouse n:n\nbee hive n:n\n\
                    ox plough n:n\na\n\nhot:cold\nup:down\na:b\nc:d\ne:f\ng:h\nA";
        let found = parse(text, "sat.txt").unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].source, "KS 1");
        assert_eq!(found[0].stem, ["hen", "egg"]);
        assert_eq!(found[1].choices[0], ["up", "down"]);
        assert_eq!(found[1].source, "");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let error = parse("x y\na b\nc d\ne f\ng h\ni j\nz", "sat.txt")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("sat.txt:7: the right choice is number 26, of 5"),
            "{error}"
        );
        let error = parse("a b\nc d\n", "sat.txt").unwrap_err().to_string();
        assert!(error.contains("sat.txt:2: expected the letter"), "{error}");
    }

    #[test]
    fn our_own_questions_are_well_formed_and_balanced() {
        let all = own().unwrap();
        assert!(all.len() >= 60, "{}", all.len());
        let stems: BTreeSet<&WordPair> = all.iter().map(|q| &q.stem).collect();
        assert_eq!(stems.len(), all.len());
        let mut places = [0usize; 5];
        for question in &all {
            assert_eq!(question.choices.len(), 5, "{question:?}");
            let different: BTreeSet<&WordPair> = question.choices.iter().collect();
            assert_eq!(different.len(), 5, "{question:?}");
            assert!(!different.contains(&question.stem), "{question:?}");
            places[question.correct] += 1;
        }
        assert!(
            places.iter().all(|n| n.abs_diff(all.len() / 5) <= 1),
            "{places:?}"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[ -~\n]{0,300}") {
            let _ = parse(&text, "any");
        }
    }
}
