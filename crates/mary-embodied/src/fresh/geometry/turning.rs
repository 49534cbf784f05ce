//! Turns and flips: a board with a stone on it, and an arrow.

use mary_items::{Stream, below};

use crate::fresh::block::{Block, Posed, counted};
use crate::fresh::moves::{DIRECTIONS, draw_moves, told};
use crate::fresh::sketch::{BLACK, GREY, PAPER, Sketch, WIDTH};

/// Where a stone lies after its board was turned and flipped.
pub fn board(rng: &mut Stream) -> Option<Block> {
    let size = 4 + below(rng, 6);
    counted(rng, 60, |rng| {
        let start = (below(rng, size), below(rng, size));
        let moves = draw_moves(rng, 2, 2, 3);
        let end = moves.iter().fold(start, |at, m| m.square(size, at));
        let told = told(&moves, "board");
        let ask = "In which column and row, counted again from the left and from the top as you look at \
                   it, does the stone lie now?";
        let posed = Posed {
            words: format!(
                "A stone is glued to a square board of {size} columns and {size} rows, in column {} from the \
                 left and row {} from the top. {told} {ask}",
                start.0 + 1,
                start.1 + 1
            ),
            seen: format!("The picture shows a stone glued to a square board. {told} {ask}"),
            caption: "The picture shows the board at the start.",
            sketch: board_sketch(size, start),
        };
        Some((format!("column {}, row {}", end.0 + 1, end.1 + 1), posed))
    })
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

/// Where an arrow points after it was turned and flipped.
pub fn heading(rng: &mut Stream) -> Option<Block> {
    counted(rng, 60, |rng| {
        let start = below(rng, 8);
        let moves = draw_moves(rng, 1, 2, 4);
        let end = moves.iter().fold(start, |at, m| m.direction(at));
        let told = told(&moves, "arrow");
        let mut sketch = Sketch::new(320);
        let angle = start as f64 * std::f64::consts::FRAC_PI_4;
        let (x, y) = (110.0 * angle.sin(), -110.0 * angle.cos());
        sketch.arrow([256.0 - x, 160.0 - y], [256.0 + x, 160.0 + y], 12.0, BLACK);
        let posed = Posed {
            words: format!(
                "An arrow drawn on a sheet points {}. {told} Where does it point now?",
                DIRECTIONS[start]
            ),
            seen: format!("The picture shows an arrow. {told} Where does it point now?"),
            caption: "The picture shows the arrow at the start.",
            sketch,
        };
        Some((DIRECTIONS[end].to_owned(), posed))
    })
}
