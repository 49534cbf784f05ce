//! Turns and flips of a whole figure, and what they do to directions and places.

use mary_generators::{Stream, below};

use super::said::{Said, phrase};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Move {
    /// Clockwise, in eighths of a full turn.
    Turn(usize),
    LeftRight,
    TopBottom,
}

impl Move {
    /// A turn by a multiple of `unit` eighths, or a flip.
    fn draw(rng: &mut Stream, unit: usize) -> Self {
        let turns = 8 / unit - 1;
        match below(rng, turns + 2) {
            0 => Self::LeftRight,
            1 => Self::TopBottom,
            turn => Self::Turn((turn - 1) * unit),
        }
    }

    fn words(self, thing: &Said) -> Said {
        let said = match self {
            Self::Turn(4) => phrase("move.half"),
            Self::Turn(eighths) if eighths < 4 => {
                phrase("move.clockwise").with("degrees", eighths * 45)
            }
            Self::Turn(eighths) => {
                phrase("move.counterclockwise").with("degrees", 360 - eighths * 45)
            }
            Self::LeftRight => phrase("move.left-right"),
            Self::TopBottom => phrase("move.top-bottom"),
        };
        said.fill("thing", thing)
    }

    /// A direction afterwards, in eighths clockwise from up.
    pub fn direction(self, from: usize) -> usize {
        match self {
            Self::Turn(eighths) => (from + eighths) % 8,
            Self::LeftRight => (8 - from) % 8,
            Self::TopBottom => (12 - from) % 8,
        }
    }

    /// A square of a board of `size` by `size` afterwards (column, row from 0).
    pub fn square(self, size: usize, (column, row): (usize, usize)) -> (usize, usize) {
        let last = size - 1;
        match self {
            Self::Turn(2) => (last - row, column),
            Self::Turn(4) => (last - column, last - row),
            Self::Turn(6) => (row, last - column),
            Self::Turn(_) => (column, row),
            Self::LeftRight => (last - column, row),
            Self::TopBottom => (column, last - row),
        }
    }
}

/// From `least` to `most` moves in multiples of `unit` eighths, none undoing or repeating the one before.
pub fn draw_moves(rng: &mut Stream, unit: usize, least: usize, most: usize) -> Vec<Move> {
    let number = least + below(rng, most - least + 1);
    let mut moves: Vec<Move> = Vec::with_capacity(number);
    while moves.len() < number {
        let next = Move::draw(rng, unit);
        let dull = match (moves.last(), next) {
            (Some(Move::Turn(_)), Move::Turn(_)) => true,
            (Some(last), next) => *last == next,
            (None, _) => false,
        };
        if !dull {
            moves.push(next);
        }
    }
    moves
}

pub fn told(moves: &[Move], thing: &str) -> Said {
    let thing = phrase(&format!("thing.{thing}"));
    let (mut en, mut zh) = (String::new(), String::new());
    for (number, one) in moves.iter().enumerate() {
        let (start, start_zh) = match (number, moves.len()) {
            (0, 1) => ("Now", "现在"),
            (0, _) => ("First", "先把"),
            _ => ("then", "再把"),
        };
        let (comma, comma_zh) = if number == 0 { ("", "") } else { (", ", "；") };
        let words = one.words(&thing);
        en.push_str(&format!("{comma}{start} {}", words.en));
        let object = if moves.len() == 1 { "把" } else { "" };
        zh.push_str(&format!("{comma_zh}{start_zh}{object}{}", words.zh));
    }
    en.push('.');
    zh.push('。');
    Said::new(en, zh)
}

/// A direction in eighths clockwise from up, in words.
pub fn direction_words(eighths: usize) -> Said {
    phrase(&format!("direction.{}", eighths % 8))
}
