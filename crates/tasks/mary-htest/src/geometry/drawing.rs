//! Pictures of letter-geometry items for the report: what is given, what comes out, the options.

use std::fmt::Write as _;

use mary_contract::Picture;

use super::blocks::GeometryItem;
use mary_generators::glyphs::ink::Ink;
use mary_generators::glyphs::picture;

/// Dots of ink per unit of the drawing; halves the size of the file.
const COARSE: usize = 2;
const CELL: usize = 72;

pub fn drawn(id: &str, item: &GeometryItem) -> Picture {
    let operation = &item.question.operation;
    let sources = operation.sources().into_iter();
    let given = sources.map(|s| ("given", picture(s).cloned()));
    let mut cells: Vec<(&str, Option<Ink>)> = given.collect();
    cells.push(("becomes", operation.result()));
    for (place, &option) in item.options.iter().enumerate() {
        let right = place == item.correct;
        let name = if right { "right" } else { "option" };
        cells.push((name, picture(option).cloned()));
    }
    let width = cells.len() * CELL;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" role=\"img\">",
        CELL + 14
    );
    for (place, (name, ink)) in cells.iter().enumerate() {
        let left = place * CELL;
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" font-size=\"9\" text-anchor=\"middle\" \
             fill=\"currentColor\">{name}</text>",
            left + CELL / 2,
            CELL + 10
        );
        if let Some(ink) = ink {
            let path = path(ink, left);
            let _ = write!(svg, "<path fill=\"currentColor\" d=\"{path}\"/>");
        }
    }
    svg.push_str("</svg>");
    Picture {
        id: format!("htest-letter-geometry-{id}"),
        caption: format!(
            "{} Answer: {} (likeness {:.3}).",
            operation.words(),
            item.question.answer,
            item.question.likeness
        ),
        svg,
    }
}

/// The ink as runs of dots, centred in a cell; larger pictures are made smaller.
fn path(ink: &Ink, left: usize) -> String {
    let room = CELL - 8;
    let longer = ink.width().max(ink.height());
    let step = COARSE.max(longer.div_ceil(room));
    let (columns, rows) = (ink.width().div_ceil(step), ink.height().div_ceil(step));
    let (x0, y0) = (left + (CELL - columns) / 2, (CELL - rows) / 2);
    let mut path = String::new();
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let start = column;
            while column < columns && ink.dot(column * step, row * step) {
                column += 1;
            }
            if column > start {
                let run = column - start;
                let _ = write!(path, "M{} {}h{run}v1h-{run}z", x0 + start, y0 + row);
            } else {
                column += 1;
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::super::blocks::items;
    use super::*;

    #[test]
    fn an_item_is_drawn_in_a_few_kilobytes() {
        for item in items(3, 40).unwrap() {
            let picture = drawn("x", &item);
            assert!(picture.svg.starts_with("<svg") && picture.svg.ends_with("</svg>"));
            assert!(picture.svg.contains("<path"));
            assert!(picture.svg.len() < 16_000, "{} bytes", picture.svg.len());
        }
    }
}
