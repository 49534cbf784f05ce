//! Small pictures and questions about them, from a seed: coloured shapes in the four corners of a square,
//! and lines of coloured cells in a grid. Every question has four answers, which the question names.
//!
//! A lesson and an item of an exam are pure functions of a seed and a number. One layout in eight (what
//! stands where, in which colour) is kept for exams by a stable hash: whatever the seeds, no lesson shows it.

mod draw;
mod exam;
mod lesson;

pub use exam::{Posed, exam};
pub use lesson::{Lesson, Phrase, lesson};

use crate::small_world::dice::Dice;
use crate::small_world::stable_hash;

pub const COLOURS: [&str; 4] = ["red", "green", "blue", "yellow"];
pub const SHAPES: [&str; 4] = ["circle", "square", "triangle", "cross"];
pub const PLACES: [&str; 4] = ["top left", "top right", "bottom left", "bottom right"];
pub const COUNTS: [&str; 4] = ["one", "two", "three", "four"];
/// The ways a line of cells runs, seen from left to right.
pub const WAYS: [&str; 4] = ["across", "down", "rising", "falling"];

/// Cells of a grid's side.
const GRID: usize = 6;

crate::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum QuestionKind {
        Colour = "colour",
        Shape = "shape",
        Place = "place",
        Count = "count",
        /// How a line of cells runs through a grid.
        Line = "line",
    }
}

pub const KINDS: [QuestionKind; 5] = QuestionKind::ALL;

impl QuestionKind {
    pub fn answers(self) -> &'static [&'static str; 4] {
        match self {
            Self::Colour => &COLOURS,
            Self::Shape => &SHAPES,
            Self::Place => &PLACES,
            Self::Count => &COUNTS,
            Self::Line => &WAYS,
        }
    }

    /// The question about a subject (a shape or a colour, by its number).
    fn question(self, subject: usize) -> String {
        let [a, b, c, d] = self.answers();
        let (shape, colour) = (SHAPES[subject % 4], COLOURS[subject % 4]);
        let asked = match self {
            Self::Colour => format!("What colour is the {shape}"),
            Self::Shape => format!("What shape is the {colour} one"),
            Self::Place => format!("Where is the {colour} one"),
            Self::Count => "How many shapes are there".to_owned(),
            Self::Line => format!("How does the {colour} line run"),
        };
        format!("{asked}: {a}, {b}, {c} or {d}?")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub kind: QuestionKind,
    pub text: String,
    /// Which of the kind's answers is right.
    pub answer: usize,
}

impl Question {
    /// The question as it is put to a model that continues text, up to the answer.
    pub fn prompt(&self) -> String {
        format!("\nQuestion: {}\nAnswer:", self.text)
    }

    pub fn right(&self) -> &'static str {
        self.kind.answers()[self.answer % 4]
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Thing {
    shape: usize,
    colour: usize,
    place: usize,
    /// Centre and radius in parts of the picture's side.
    centre: (f32, f32),
    radius: f32,
    /// How far this colour is from its usual one.
    tint: [f32; 3],
}

#[derive(Debug, Clone, PartialEq)]
enum Content {
    /// Up to four shapes, each of its own shape and colour, each in a corner of its own.
    Things(Vec<Thing>),
    /// Cells of a grid, row by row; those of one colour make a line.
    Grid {
        cells: Vec<Option<usize>>,
        colour: usize,
        way: usize,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    content: Content,
    paper: f32,
}

impl Scene {
    /// Between `fewest` and `most` shapes.
    fn things(dice: &mut Dice, fewest: usize, most: usize) -> Self {
        let count = dice.between(fewest, most);
        let numbers = [0, 1, 2, 3];
        let (shapes, colours) = (dice.shuffled(&numbers), dice.shuffled(&numbers));
        let places = dice.shuffled(&numbers);
        let kinds = shapes.into_iter().zip(colours).zip(places);
        let things = kinds.take(count).map(|((shape, colour), place)| {
            let radius = 0.15 + 0.06 * dice.part();
            // Within its corner, and never at its edge.
            let room = 0.5 - 2.0 * (radius + 0.02);
            let corner = (0.5 * (place % 2) as f32, 0.5 * (place / 2) as f32);
            let centre = |edge: f32, part: f32| edge + radius + 0.02 + room * part;
            Thing {
                shape,
                colour,
                place,
                centre: (centre(corner.0, dice.part()), centre(corner.1, dice.part())),
                radius,
                tint: [0; 3].map(|_| 24.0 * (dice.part() - 0.5)),
            }
        });
        let content = Content::Things(things.collect());
        let paper = 225.0 + 30.0 * dice.part();
        Self { content, paper }
    }

    /// A line of four or five cells among a few cells of other colours.
    fn grid(dice: &mut Dice) -> Self {
        let (colour, way) = (dice.between(0, 3), dice.between(0, 3));
        let length = dice.between(4, 5);
        let (right, down) = [(1, 0), (0, 1), (1, -1), (1, 1)][way];
        let reach = |step: i32| if step == 0 { GRID } else { GRID - length + 1 };
        let column = dice.between(0, reach(right) - 1);
        let row = dice.between(0, reach(down) - 1) + if down < 0 { length - 1 } else { 0 };
        let mut cells = vec![None; GRID * GRID];
        for i in 0..length as i32 {
            let (x, y) = (column as i32 + i * right, row as i32 + i * down);
            cells[y as usize * GRID + x as usize] = Some(colour);
        }
        let mut others = dice.between(3, 6);
        while others > 0 {
            let place = dice.between(0, GRID * GRID - 1);
            if cells[place].is_none() {
                cells[place] = Some((colour + dice.between(1, 3)) % 4);
                others -= 1;
            }
        }
        let paper = 225.0 + 30.0 * dice.part();
        Self {
            content: Content::Grid { cells, colour, way },
            paper,
        }
    }

    /// The question of a kind about a subject, where the picture has an answer to it.
    fn ask(&self, kind: QuestionKind, subject: usize) -> Option<Question> {
        let answer = match (&self.content, kind) {
            (Content::Things(things), QuestionKind::Count) => things.len() - 1,
            (Content::Things(things), QuestionKind::Colour) => {
                things.iter().find(|t| t.shape == subject)?.colour
            }
            (Content::Things(things), QuestionKind::Shape | QuestionKind::Place) => {
                let thing = things.iter().find(|t| t.colour == subject)?;
                if kind == QuestionKind::Shape {
                    thing.shape
                } else {
                    thing.place
                }
            }
            (Content::Grid { colour, way, .. }, QuestionKind::Line) if *colour == subject => *way,
            _ => return None,
        };
        Some(Question {
            kind,
            text: kind.question(subject),
            answer,
        })
    }

    /// What stands where, without sizes and tints: what is kept back is decided by this.
    pub fn layout(&self) -> String {
        match &self.content {
            Content::Things(things) => {
                let words = |t: &Thing| format!("{} {} {}", t.place, t.colour, t.shape);
                let mut said: Vec<String> = things.iter().map(words).collect();
                said.sort();
                said.join(", ")
            }
            Content::Grid { cells, .. } => {
                let cell = |c: &Option<usize>| c.map_or('.', |c| char::from(b'0' + c as u8));
                cells.iter().map(cell).collect()
            }
        }
    }

    /// Whether lessons never show it.
    pub fn is_held_out(&self) -> bool {
        (stable_hash(&self.layout()) >> 7).is_multiple_of(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Asked of the cells alone, by another rule than the one that drew them.
    #[test]
    fn the_way_of_a_line_can_be_read_off_its_cells() {
        for number in 0..400 {
            let scene = Scene::grid(&mut Dice::for_document(2, number));
            let Content::Grid { cells, colour, way } = &scene.content else {
                panic!("a grid");
            };
            let own: Vec<(usize, usize)> = (0..GRID * GRID)
                .filter(|i| cells[*i] == Some(*colour))
                .map(|i| (i % GRID, i / GRID))
                .collect();
            let columns: HashSet<usize> = own.iter().map(|c| c.0).collect();
            let rows: HashSet<usize> = own.iter().map(|c| c.1).collect();
            let read = match (rows.len(), columns.len()) {
                (1, _) => "across",
                (_, 1) => "down",
                // Rows are counted from above: a line that rises is found lowest on the left.
                _ if own.iter().min() < own.iter().max()
                    && own.iter().min().map(|c| c.1) > own.iter().max().map(|c| c.1) =>
                {
                    "rising"
                }
                _ => "falling",
            };
            assert_eq!(read, WAYS[*way], "{}", scene.layout());
        }
    }
}
