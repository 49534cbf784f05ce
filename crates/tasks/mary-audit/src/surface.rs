//! The surface of an item as numbers, for a learner that combines them: one row for a question, or
//! one for each of its options. Every column belongs to a group, which bears the name of the simple
//! baseline that sees the same, so that what is the rule of a task can be left out.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::features::{ngrams, similarity_to_rivals, words};
use crate::sees::SEEN;
use crate::{Example, relations};

/// One number of every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) group: &'static str,
    pub(crate) name: String,
}

/// All rows of some examples: example by example, one row or one for each option.
pub(crate) struct Surface {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Vec<f64>>>,
}

/// The most frequent words and runs of characters have a column each, up to so many.
const WORDS: usize = 80;
const NGRAMS: usize = 80;
/// Words counted from either end.
const PLACES: usize = 6;

/// What is worth a column: chosen by how many texts hold it, without a look at the labels.
struct Vocabulary {
    group: &'static str,
    what: &'static str,
    known: HashMap<String, usize>,
    size: usize,
}

impl Vocabulary {
    fn from_texts(
        (group, what, most): (&'static str, &'static str, usize),
        texts: impl Iterator<Item = Vec<String>>,
    ) -> Self {
        let mut frequency: BTreeMap<String, usize> = BTreeMap::new();
        for features in texts {
            let distinct: HashSet<String> = features.into_iter().collect();
            for feature in distinct {
                *frequency.entry(feature).or_default() += 1;
            }
        }
        let mut order: Vec<(String, usize)> = frequency.into_iter().collect();
        order.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        order.truncate(most);
        let size = order.len();
        let known = order.into_iter().map(|(feature, _)| feature);
        let known = known.zip(0..).collect();
        Self {
            group,
            what,
            known,
            size,
        }
    }

    fn columns(&self) -> Vec<Column> {
        let mut names = vec![String::new(); self.size];
        for (feature, place) in &self.known {
            if let Some(name) = names.get_mut(*place) {
                *name = format!("{} `{feature}`", self.what);
            }
        }
        let group = self.group;
        let columns = names.into_iter().map(|name| Column { group, name });
        columns.collect()
    }

    fn row(&self, features: &[String]) -> Vec<f64> {
        let mut row = vec![0.0; self.size];
        for feature in features {
            if let Some(cell) = self.known.get(feature).and_then(|p| row.get_mut(*p)) {
                *cell = 1.0;
            }
        }
        row
    }
}

impl Surface {
    /// Rows of questions: the same labels stand for all of them.
    pub(crate) fn of_questions(examples: &[&Example]) -> Self {
        let texts = || examples.iter().map(|e| e.question.as_str());
        let vocabularies = [
            Vocabulary::from_texts(("words", "word", WORDS), texts().map(words)),
            Vocabulary::from_texts(("character_ngrams", "", NGRAMS), texts().map(ngrams)),
        ];
        let mut columns = text_columns();
        columns.extend(vocabularies.iter().flat_map(Vocabulary::columns));
        let rows = texts()
            .map(|text| {
                let mut row = text_numbers(text);
                row.extend(vocabularies[0].row(&words(text)));
                row.extend(vocabularies[1].row(&ngrams(text)));
                vec![row]
            })
            .collect();
        Self { columns, rows }
    }

    /// Rows of options: each is right or wrong.
    pub(crate) fn of_options(examples: &[&Example]) -> Self {
        let options = || examples.iter().flat_map(|e| &e.options);
        let whole = |text: &String| vec![text.clone()];
        let vocabularies = [
            Vocabulary::from_texts(("option_text", "option", WORDS), options().map(whole)),
            Vocabulary::from_texts(("words", "word", WORDS), options().map(|o| words(o))),
            Vocabulary::from_texts(
                ("question_words", "question with", WORDS),
                examples.iter().map(|e| words(&e.question)),
            ),
        ];
        let mut columns = text_columns();
        columns.extend(option_columns());
        columns.extend(vocabularies.iter().flat_map(Vocabulary::columns));
        let rows = examples
            .iter()
            .map(|example| {
                let asked = vocabularies[2].row(&words(&example.question));
                let numbers = option_numbers(example);
                example
                    .options
                    .iter()
                    .zip(numbers)
                    .map(|(option, numbers)| {
                        let mut row = text_numbers(option);
                        row.extend(numbers);
                        row.extend(vocabularies[0].row(&whole(option)));
                        row.extend(vocabularies[1].row(&words(option)));
                        row.extend(&asked);
                        row
                    })
                    .collect()
            })
            .collect();
        Self { columns, rows }
    }

    /// Which columns stand in one of the groups chosen.
    pub(crate) fn chosen(&self, keep: impl Fn(&str) -> bool) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let kept = columns.filter(|(_, c)| keep(c.group));
        kept.map(|(place, _)| place).collect()
    }
}

fn columns(of: &[(&'static str, &'static str)]) -> impl Iterator<Item = Column> {
    let column = |&(group, name): &(&'static str, &str)| Column {
        group,
        name: name.to_owned(),
    };
    of.iter().map(column)
}

fn relation(name: String) -> Column {
    let group = "relations";
    Column { group, name }
}

/// The columns of [`text_numbers`], in order.
fn text_columns() -> Vec<Column> {
    let related = relations::names().into_iter().map(relation);
    columns(&SEEN.text_columns).chain(related).collect()
}

fn text_numbers(text: &str) -> Vec<f64> {
    let is_vowel = |c: char| "aeiou".contains(c.to_ascii_lowercase());
    let code = |c: Option<char>| c.map_or(0.0, |c| f64::from(u32::from(c)));
    let flag = |b: bool| f64::from(u8::from(b));
    let count = |of: &dyn Fn(char) -> bool| text.chars().filter(|c| of(*c)).count() as f64;
    let bare = |w: &str| w.trim_matches(|c| ".,;:!?\"".contains(c)).chars().count();
    let lengths: Vec<f64> = text.split_whitespace().map(|w| bare(w) as f64).collect();
    let first = text.chars().next();
    let mut row = vec![
        text.chars().count() as f64,
        lengths.len() as f64,
        code(first),
        flag(first.is_some_and(is_vowel)),
        code(text.chars().next_back()),
        code(text.chars().rev().find(|c| c.is_alphanumeric())),
        count(&char::is_uppercase),
        flag(first.is_some_and(char::is_uppercase)),
        text.chars()
            .position(char::is_uppercase)
            .map_or(-1.0, |p| p as f64),
        count(&|c| !c.is_alphanumeric() && !c.is_whitespace()),
        count(&char::is_numeric),
        count(&|c| c == '-'),
        count(&|c| !c.is_ascii()),
        lengths.iter().copied().fold(0.0, f64::max),
        lengths.iter().copied().fold(f64::MAX, f64::min).min(99.0),
    ];
    for place in 0..PLACES {
        row.push(lengths.get(place).copied().unwrap_or(0.0));
        let back = lengths.len().checked_sub(place + 1);
        row.push(back.and_then(|p| lengths.get(p)).copied().unwrap_or(0.0));
    }
    let mut letters = [0.0; 26];
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        let place = (u32::from(c)).wrapping_sub(u32::from('a')) as usize;
        if let Some(cell) = letters.get_mut(place) {
            *cell += 1.0;
        }
    }
    row.extend(letters);
    row.push(count(&is_vowel));
    row.push(letters.iter().filter(|n| **n > 0.0).count() as f64);
    row.push(letters.iter().copied().fold(0.0, f64::max));
    row.extend(relations::within(text));
    row
}

/// The columns of [`option_numbers`], in order.
fn option_columns() -> Vec<Column> {
    let ends = relations::MEASURES.iter().flat_map(|measure| {
        ["most", "least"].map(|end| relation(format!("{end} with the question: {measure}")))
    });
    columns(&SEEN.option_columns).chain(ends).collect()
}

/// What the question holds that an option can be compared with: what it quotes, else its words.
fn parts(question: &str) -> Vec<String> {
    let quoted = question.split('"').skip(1).step_by(2);
    let quoted: Vec<String> = quoted.map(str::to_owned).collect();
    if quoted.is_empty() {
        words(question)
    } else {
        quoted
    }
}

fn option_numbers(example: &Example) -> Vec<Vec<f64>> {
    let parts = parts(&example.question);
    let rivals = similarity_to_rivals(&example.options);
    let length = |o: &String| o.chars().count();
    let code = |text: &str| text.chars().next().map(u32::from);
    let row = |(place, (option, likeness)): (usize, (&String, f64))| {
        let options = example.options.iter();
        let longer = options.filter(|o| length(o) > length(option)).count();
        let apart = |p: &String| Some(code(p)?.abs_diff(code(option)?));
        let distance = parts.iter().filter_map(apart).min();
        let mut row = vec![
            if example.unordered { 0.0 } else { place as f64 },
            likeness,
            longer as f64,
            distance.map_or(-1.0, f64::from),
        ];
        let all = parts.iter().map(|p| relations::between(p, option));
        let all: Vec<[usize; 6]> = all.collect();
        for place in 0..relations::MEASURES.len() {
            let of = || all.iter().filter_map(|r| r.get(place).copied());
            row.push(of().max().unwrap_or(0) as f64);
            row.push(of().min().unwrap_or(0) as f64);
        }
        row
    };
    let options = example.options.iter().zip(rivals);
    options.enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let options = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        let examples = [
            Example::new("1", "The oak rests.", options(["A", "B"]), 0),
            Example::new("2", "", options(["A", "B"]), 1),
            Example::new("3", "Given \"T\", what is it?", options(["⊢", "xyz ab"]), 1),
        ];
        let all: Vec<&Example> = examples.iter().collect();
        for surface in [Surface::of_questions(&all), Surface::of_options(&all)] {
            let width = surface.columns.len();
            assert!(surface.rows.iter().flatten().all(|row| row.len() == width));
            let finite = surface
                .rows
                .iter()
                .flatten()
                .flatten()
                .all(|v| v.is_finite());
            assert!(finite);
        }
    }

    #[test]
    fn what_is_quoted_is_compared() {
        assert_eq!(
            parts("Given the symbols \"a\" and \"b\", what?"),
            ["a", "b"]
        );
        assert_eq!(parts("What now?"), ["what", "now"]);
    }
}
