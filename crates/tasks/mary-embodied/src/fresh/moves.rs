//! Turns and flips of a whole figure, and what they do to directions and places.

use mary_generators::{Stream, below};

use super::said::Said;

/// Something done to the whole figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Move {
    /// Clockwise, in eighths of a full turn.
    Turn(usize),
    /// Left and right change places.
    LeftRight,
    /// Top and bottom change places.
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

    /// In words; `thing` is named in both languages.
    fn words(self, thing: (&str, &str)) -> Said {
        let (en, zh) = thing;
        match self {
            Self::Turn(4) => Said::new(
                format!("the {en} is rotated by 180 degrees"),
                format!("{zh}旋转 180 度"),
            ),
            Self::Turn(eighths) if eighths < 4 => {
                let degrees = eighths * 45;
                Said::new(
                    format!("the {en} is rotated by {degrees} degrees clockwise"),
                    format!("{zh}顺时针旋转 {degrees} 度"),
                )
            }
            Self::Turn(eighths) => {
                let degrees = 360 - eighths * 45;
                Said::new(
                    format!("the {en} is rotated by {degrees} degrees counterclockwise"),
                    format!("{zh}逆时针旋转 {degrees} 度"),
                )
            }
            Self::LeftRight => Said::new(
                format!("the {en} is flipped so that left and right change places"),
                format!("{zh}翻转，左右对调"),
            ),
            Self::TopBottom => Said::new(
                format!("the {en} is flipped so that top and bottom change places"),
                format!("{zh}翻转，上下对调"),
            ),
        }
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

/// The moves as a sentence.
pub fn told(moves: &[Move], thing: (&str, &str)) -> Said {
    let (mut en, mut zh) = (String::new(), String::new());
    for (number, one) in moves.iter().enumerate() {
        let (start, start_zh) = match (number, moves.len()) {
            (0, 1) => ("Now", "现在"),
            (0, _) => ("First", "先把"),
            _ => ("then", "再把"),
        };
        let (comma, comma_zh) = if number == 0 { ("", "") } else { (", ", "；") };
        let words = one.words(thing);
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
    let place = eighths % DIRECTIONS.len();
    Said::new(DIRECTIONS[place], DIRECTIONS_ZH[place])
}

/// The directions in words, clockwise from up.
const DIRECTIONS: [&str; 8] = [
    "up",
    "up and to the right",
    "to the right",
    "down and to the right",
    "down",
    "down and to the left",
    "to the left",
    "up and to the left",
];

const DIRECTIONS_ZH: [&str; 8] = [
    "上方",
    "右上方",
    "右方",
    "右下方",
    "下方",
    "左下方",
    "左方",
    "左上方",
];
