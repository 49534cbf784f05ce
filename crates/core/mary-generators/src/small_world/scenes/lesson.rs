//! What is learned from: a picture with questions and their answers, or with a description.
//!
//! Descriptions are there for binding. In a list ("red circle top left") the word to be found stands right
//! behind the word that says where to look, and a picture of four shapes has eight such words; a question has
//! one, twenty words behind its subject. What is learned first in lists, choosing one of a picture's rows by
//! what the last word says, questions need too: with lists they are answered after half as many pictures
//! (docs/history/vision.md has the figures).

use super::{COLOURS, Content, PLACES, Question, QuestionKind, SHAPES, Scene, Thing};
use crate::small_world::dice::Dice;

/// One picture in so many is a grid.
const GRIDS: usize = 4;
/// Of the others, one in so many shows one shape alone: shapes are known before they are told apart.
const ALONE: usize = 6;
/// One picture of shapes in so many is asked about; the others are described.
const ASKED: usize = 3;
/// One description in so many is made of sentences; the others are lists.
const SENTENCES: usize = 4;
/// One picture in so many is asked how many shapes it has: that is the easiest, and needs the fewest questions.
const COUNTED: usize = 3;

#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    pub scene: Scene,
    pub phrases: Vec<Phrase>,
}

/// Words of a lesson that are learned or given as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    pub text: String,
    /// Whether they are learned: what the picture alone tells is.
    pub learned: bool,
    /// Whether a text ends behind them.
    pub ends: bool,
}

impl Phrase {
    fn given(text: String) -> Self {
        Self {
            text,
            learned: false,
            ends: false,
        }
    }

    fn learned(word: &str, ends: bool) -> Self {
        Self {
            text: format!(" {word}"),
            learned: true,
            ends,
        }
    }
}

impl Question {
    /// The question as a lesson asks it, with this answer.
    pub fn answered(&self, answer: &str) -> [Phrase; 2] {
        [Phrase::given(self.prompt()), Phrase::learned(answer, true)]
    }
}

pub fn lesson(seed: u64, number: u64) -> Lesson {
    let dice = &mut Dice::for_document(seed, number);
    let (grid, most) = (dice.one_in(GRIDS), if dice.one_in(ALONE) { 1 } else { 4 });
    let scene = loop {
        let scene = match grid {
            true => Scene::grid(dice),
            false => Scene::things(dice, 1, most),
        };
        if !scene.is_held_out() {
            break scene;
        }
    };
    let phrases = match &scene.content {
        Content::Grid { colour, .. } => asked(&scene, vec![(QuestionKind::Line, *colour)]),
        Content::Things(things) if dice.one_in(ASKED) => asked(&scene, subjects(dice, things)),
        Content::Things(things) => described(dice, things),
    };
    Lesson { scene, phrases }
}

/// What is asked about shapes, and of which.
fn subjects(dice: &mut Dice, things: &[Thing]) -> Vec<(QuestionKind, usize)> {
    // No shape is asked about twice: no answer can be read off another question's words.
    let mut kinds = dice.shuffled(&[
        QuestionKind::Colour,
        QuestionKind::Shape,
        QuestionKind::Place,
    ]);
    // Shapes are the hardest to see: a shape alone is mostly asked for what it is.
    if things.len() == 1 && !dice.one_in(3) {
        kinds = vec![QuestionKind::Shape];
    }
    let pairs = kinds.into_iter().zip(dice.shuffled(things));
    let mut asked: Vec<(QuestionKind, usize)> = pairs
        .map(|(kind, thing)| match kind {
            QuestionKind::Colour => (kind, thing.shape),
            _ => (kind, thing.colour),
        })
        .collect();
    if dice.one_in(COUNTED) {
        asked.push((QuestionKind::Count, 0));
    }
    dice.shuffled(&asked)
}

fn asked(scene: &Scene, asked: Vec<(QuestionKind, usize)>) -> Vec<Phrase> {
    let asked = asked.into_iter();
    let questions = asked.filter_map(|(kind, subject)| scene.ask(kind, subject));
    let answered = questions.flat_map(|question| question.answered(question.right()));
    answered.collect()
}

/// A line for each shape, in any order, each a sentence or each a list of its colour, shape and corner. What
/// comes first is given, and the other two are learned.
fn described(dice: &mut Dice, things: &[Thing]) -> Vec<Phrase> {
    let listed = !dice.one_in(SENTENCES);
    let mut said = Vec::with_capacity(4 * things.len());
    for (i, thing) in dice.shuffled(things).iter().enumerate() {
        let ends = i + 1 == things.len();
        let colour = COLOURS[thing.colour % 4];
        let (shape, place) = (SHAPES[thing.shape % 4], PLACES[thing.place % 4]);
        let (given, first, between, second) = match (listed, dice.between(0, 2)) {
            (true, _) => {
                let words = dice.shuffled(&[colour, shape, place]);
                (format!("\n {}", words[0]), words[1], "", words[2])
            }
            (_, 0) => (format!("\nA {colour}"), shape, " at the", place),
            (_, 1) => (format!("\nThe {shape} is"), colour, " at the", place),
            _ => (format!("\nAt the {place} is a"), colour, "", shape),
        };
        said.push(Phrase::given(given));
        said.push(Phrase::learned(first, false));
        if !between.is_empty() {
            said.push(Phrase::given(between.to_owned()));
        }
        said.push(Phrase::learned(second, ends));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::super::{COUNTS, WAYS, exam};
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    #[test]
    fn a_lesson_is_a_function_of_seed_and_number() {
        assert_eq!(lesson(3, 9), lesson(3, 9));
        assert_ne!(lesson(3, 9), lesson(3, 10));
        assert_ne!(lesson(3, 9), lesson(4, 9));
    }

    #[test]
    fn no_lesson_shows_a_layout_of_an_exam() {
        let kept: HashSet<String> = exam(1, 40).iter().map(|p| p.scene.layout()).collect();
        assert!(kept.len() > 300, "{}", kept.len());
        for number in 0..20_000 {
            let layout = lesson(1, number).scene.layout();
            assert!(!kept.contains(&layout), "{layout}");
        }
    }

    #[test]
    fn lessons_ask_and_describe_every_answer() {
        let mut met: BTreeMap<(bool, String), usize> = BTreeMap::new();
        for number in 0..8_000 {
            for phrase in lesson(5, number).phrases.into_iter().filter(|p| p.learned) {
                // An answer ends, and so does a description, once.
                *met.entry((phrase.ends, phrase.text)).or_default() += 1;
            }
        }
        let words = [COLOURS, SHAPES, PLACES].concat();
        let all = [COUNTS, WAYS].concat();
        let times = |ends: bool, word: &str| met.get(&(ends, format!(" {word}"))).copied();
        for word in words.iter().chain(&all) {
            assert!(times(true, word) > Some(100), "{word}: {met:?}");
        }
        for word in &words {
            assert!(times(false, word) > Some(100), "{word}: {met:?}");
        }
        assert!(all.iter().all(|word| times(false, word).is_none()));
    }

    /// Held against the layout in numbers, sentence by sentence.
    #[test]
    fn a_description_says_what_there_is() {
        let mut seen = 0;
        for number in 0..400 {
            let Lesson { scene, phrases } = lesson(2, number);
            let text: String = phrases.iter().map(|p| p.text.as_str()).collect();
            if text.contains("Question") {
                continue;
            }
            let layout = scene.layout();
            let mut there: Vec<&str> = layout.split(", ").collect();
            let sentences = text.trim_start().lines();
            for sentence in sentences {
                let number = |words: &[&str]| {
                    let found = words.iter().position(|word| sentence.contains(word));
                    found.expect("named")
                };
                let thing = (number(&PLACES), number(&COLOURS), number(&SHAPES));
                let thing = format!("{} {} {}", thing.0, thing.1, thing.2);
                let place = there.iter().position(|t| *t == thing);
                there.remove(place.expect("it is there, and is named once"));
            }
            assert!(there.is_empty(), "{layout}: {text}");
            let learned = phrases.iter().filter(|p| p.learned).count();
            assert_eq!(learned, 2 * layout.split(", ").count());
            assert_eq!(phrases.iter().filter(|p| p.ends).count(), 1);
            seen += 1;
        }
        assert!(seen > 100, "{seen}");
    }
}
