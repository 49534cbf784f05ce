//! Turns and flips: a board with a stone on it, and an arrow.

use mary_generators::{Stream, below};

use super::folding::square;
use crate::fresh::block::{Block, Posed, gathered};
use crate::fresh::moves::{direction_words, draw_moves, told};
use crate::fresh::said::Level;
use crate::fresh::sketch::{BLACK, GREY, PAPER, Sketch, WIDTH};

pub fn board(rng: &mut Stream, level: Level) -> Option<Block> {
    let size = 4 + below(rng, 6);
    let (least, most) = level.pick((2, 3), [(1, 1), (2, 2), (3, 3), (4, 4)]);
    let draw = |rng: &mut Stream| {
        let start = (below(rng, size), below(rng, size));
        let moves = draw_moves(rng, 2, least, most);
        let end = moves.iter().fold(start, |at, m| m.square(size, at));
        let told = told(&moves, "board");
        let posed = Posed::new("board", board_sketch(size, start), |said| {
            said.with("size", size)
                .with("column", start.0 + 1)
                .with("row", start.1 + 1)
                .fill("told", &told)
        });
        Some((end, posed))
    };
    gathered(rng, 60, draw, |(c, r)| square(c + 1, r + 1))
}

fn board_sketch(size: usize, stone: (usize, usize)) -> Sketch {
    let mut sketch = Sketch::new(400);
    let side = 384.0;
    let step = side / size as f64;
    let left = (WIDTH as f64 - side) / 2.0;
    let at = |c: f64, r: f64| [left + c * step, 8.0 + r * step];
    let n = size as f64;
    sketch.rect(at(0.0, 0.0), at(n, n), PAPER);
    for line in 0..=size {
        let l = line as f64;
        sketch.line(at(l, 0.0), at(l, n), 2.0, GREY);
        sketch.line(at(0.0, l), at(n, l), 2.0, GREY);
    }
    let centre = at(stone.0 as f64 + 0.5, stone.1 as f64 + 0.5);
    sketch.disc(centre, step * 0.32, BLACK);
    sketch
}

pub fn heading(rng: &mut Stream, level: Level) -> Option<Block> {
    let (least, most) = level.pick((2, 4), [(1, 1), (2, 2), (3, 3), (5, 5)]);
    let draw = |rng: &mut Stream| {
        let start = below(rng, 8);
        let moves = draw_moves(rng, 1, least, most);
        let end = moves.iter().fold(start, |at, m| m.direction(at));
        let (told, way) = (told(&moves, "arrow"), direction_words(start));
        let mut sketch = Sketch::new(320);
        let angle = start as f64 * std::f64::consts::FRAC_PI_4;
        let (x, y) = (110.0 * angle.sin(), -110.0 * angle.cos());
        sketch.arrow([256.0 - x, 160.0 - y], [256.0 + x, 160.0 + y], 12.0, BLACK);
        let posed = Posed::new("heading", sketch, |said| {
            said.fill("way", &way).fill("told", &told)
        });
        Some((end, posed))
    };
    gathered(rng, 60, draw, |end| direction_words(*end))
}
