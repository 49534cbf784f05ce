//! Turns and flips: a board with a stone on it, and an arrow.

use mary_generators::{Stream, below};

use super::folding::square;
use crate::fresh::block::{Block, Posed, gather};
use crate::fresh::moves::{direction_words, draw_moves, told};
use crate::fresh::said::{Level, Said};
use crate::fresh::sketch::{BLACK, GREY, PAPER, Sketch, WIDTH};

/// Where a stone lies after its board was turned and flipped.
pub fn board(rng: &mut Stream, level: Level) -> Option<Block> {
    let size = 4 + below(rng, 6);
    let (least, most) = level.pick((2, 3), [(1, 1), (2, 2), (3, 3), (4, 4)]);
    let (answers, questions) = gather(rng, 60, |rng| {
        let start = (below(rng, size), below(rng, size));
        let moves = draw_moves(rng, 2, least, most);
        let end = moves.iter().fold(start, |at, m| m.square(size, at));
        let told = told(&moves, ("board", "板"));
        let ask = Said::new(
            "In which column and row, counted again from the left and from the top as you look at it, \
             does the stone lie now?",
            "按你看到的样子重新从左数列、从上数行，棋子现在在第几列、第几行？",
        );
        let (column, row) = (start.0 + 1, start.1 + 1);
        let words = Said::new(
            format!(
                "A stone is glued to a square board of {size} columns and {size} rows, in column {column} \
                 from the left and row {row} from the top."
            ),
            format!(
                "一颗棋子粘在一块 {size} 列 {size} 行的正方形板上，在从左数第 {column} 列、从上数第 {row} 行。"
            ),
        );
        let seen = Said::new(
            "The picture shows a stone glued to a square board.",
            "图中有一颗棋子粘在一块正方形板上。",
        );
        let posed = Posed {
            words: words.then(&told).then(&ask),
            seen: seen.then(&told).then(&ask),
            caption: Said::new(
                "The picture shows the board at the start.",
                "图中是开始时的板。",
            ),
            sketch: board_sketch(size, start),
        };
        Some((end, posed))
    })?;
    Some(Block {
        options: answers.iter().map(|(c, r)| square(c + 1, r + 1)).collect(),
        seen_options: None,
        questions,
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
pub fn heading(rng: &mut Stream, level: Level) -> Option<Block> {
    let (least, most) = level.pick((2, 4), [(1, 1), (2, 2), (3, 3), (5, 5)]);
    let (answers, questions) = gather(rng, 60, |rng| {
        let start = below(rng, 8);
        let moves = draw_moves(rng, 1, least, most);
        let end = moves.iter().fold(start, |at, m| m.direction(at));
        let told = told(&moves, ("arrow", "箭头"));
        let mut sketch = Sketch::new(320);
        let angle = start as f64 * std::f64::consts::FRAC_PI_4;
        let (x, y) = (110.0 * angle.sin(), -110.0 * angle.cos());
        sketch.arrow([256.0 - x, 160.0 - y], [256.0 + x, 160.0 + y], 12.0, BLACK);
        let ask = Said::new("Where does it point now?", "它现在指向哪里？");
        let way = direction_words(start);
        let words = Said::new(
            format!("An arrow drawn on a sheet points {}.", way.en),
            format!("画在纸上的一个箭头指向{}。", way.zh),
        );
        let seen = Said::new("The picture shows an arrow.", "图中有一个箭头。");
        let posed = Posed {
            words: words.then(&told).then(&ask),
            seen: seen.then(&told).then(&ask),
            caption: Said::new(
                "The picture shows the arrow at the start.",
                "图中是开始时的箭头。",
            ),
            sketch,
        };
        Some((end, posed))
    })?;
    Some(Block {
        options: answers.iter().map(|end| direction_words(*end)).collect(),
        seen_options: None,
        questions,
    })
}
