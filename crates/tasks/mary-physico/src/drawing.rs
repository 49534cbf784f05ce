//! An instance as an SVG picture for reports: inputs above, outputs below, in ARC's colours.

use std::fmt::Write as _;

use mary_contract::Picture;

use crate::grid::{Grid, Pair};
use crate::instances::Instance;
use crate::picture::ARC_COLOURS;

const CELL: usize = 7;
const GAP: usize = 10;

pub fn drawn(instance: &Instance) -> Picture {
    let widest = |p: &Pair| p.input.cols().max(p.output.cols());
    let width: usize = instance.pairs.iter().map(|p| widest(p) * CELL + GAP).sum();
    let tall = |of: fn(&Pair) -> usize| instance.pairs.iter().map(of).max().unwrap_or(1);
    let (above, below) = (tall(|p| p.input.rows()), tall(|p| p.output.rows()));
    let height = (above + below) * CELL + 3 * GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {height}\" width=\"{w}\" \
         height=\"{height}\" role=\"img\">",
        w = width + GAP
    );
    let mut left = GAP;
    for pair in &instance.pairs {
        grid(&mut svg, &pair.input, left, GAP);
        grid(&mut svg, &pair.output, left, 2 * GAP + above * CELL);
        left += widest(pair) * CELL + GAP;
    }
    svg.push_str("</svg>");
    let aspect = instance.aspect.as_deref().unwrap_or("as given");
    Picture {
        id: format!("physico-{}", instance.id),
        caption: format!(
            "{} ({aspect}); options: {}. Inputs above, outputs below.",
            instance.concept,
            instance.options.join(", ")
        ),
        svg,
    }
}

/// One grid: a black field, and runs of equal cells in a row as one box.
fn grid(svg: &mut String, grid: &Grid, x: usize, y: usize) {
    let (width, height) = (grid.cols() * CELL, grid.rows() * CELL);
    let _ = write!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#000\"/>"
    );
    for (r, row) in grid.to_rows().iter().enumerate() {
        let mut c = 0;
        for run in row.chunk_by(|a, b| a == b) {
            let colour = run.first().map_or(0, |c| usize::from(*c));
            let [red, green, blue] = ARC_COLOURS.get(colour).copied().unwrap_or_default();
            if colour != 0 {
                let _ = write!(
                    svg,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{CELL}\" \
                     fill=\"#{red:02x}{green:02x}{blue:02x}\"/>",
                    x + c * CELL,
                    y + r * CELL,
                    run.len() * CELL,
                );
            }
            c += run.len();
        }
    }
}
