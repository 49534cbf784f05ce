//! Grids inside a text: rows of digits (each a colour) or of bracketed cells, found without knowing the
//! task and drawn as grids. The text itself stays beside the drawing, so nothing depends on it.

use std::fmt::{self, Write};

use crate::escape::foreign;

const MOST: usize = 24;
const SIDE: usize = 40;

/// The colours of 0 to 9 in the Abstraction and Reasoning Corpus, with a light ground in place of black.
const COLOURS: [&str; 10] = [
    "#f0eee8", "#1e6fc0", "#d7372c", "#2c9a45", "#e5bf16", "#7d7d7d", "#c2338f", "#e37d1e",
    "#5fb8dc", "#7a1f2b",
];

/// A grid, and whether an arrow leads to it from the one before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    pub after_arrow: bool,
    pub cells: Cells,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cells {
    /// Digits that stand for colours.
    Colours(Vec<Vec<u8>>),
    /// Words; a place that is to be filled in is `None`.
    Words(Vec<Vec<Option<String>>>),
}

enum Row {
    Colours(Vec<u8>),
    Words(Vec<String>),
    Arrow,
    Other,
}

/// The grids of a text, in order; none when it holds more than anyone would look at.
pub(crate) fn grids(text: &str) -> Vec<Grid> {
    let mut found = Vec::new();
    let mut colours: Vec<Vec<u8>> = Vec::new();
    let mut words: Vec<Vec<String>> = Vec::new();
    let mut arrow = false;
    for line in text.lines().chain([""]) {
        match row(line) {
            Row::Colours(cells) => {
                if colours
                    .first()
                    .is_some_and(|first| first.len() != cells.len())
                {
                    close(&mut found, &mut colours, &mut words, &mut arrow);
                }
                colours.push(cells);
            }
            Row::Words(cells) => words.push(cells),
            Row::Arrow => {
                close(&mut found, &mut colours, &mut words, &mut arrow);
                arrow = true;
            }
            Row::Other => {
                close(&mut found, &mut colours, &mut words, &mut arrow);
                arrow = false;
            }
        }
        if found.len() > MOST || colours.len() > SIDE || words.len() > SIDE {
            return Vec::new();
        }
    }
    found
}

fn close(
    found: &mut Vec<Grid>,
    colours: &mut Vec<Vec<u8>>,
    words: &mut Vec<Vec<String>>,
    arrow: &mut bool,
) {
    let cells = match (colours.len(), words.len()) {
        (2.., 0) => Some(Cells::Colours(std::mem::take(colours))),
        (0, 2..) => {
            let width = words.iter().map(Vec::len).max().unwrap_or(0);
            let rows = std::mem::take(words).into_iter().map(|row| {
                let mut row: Vec<Option<String>> = row.into_iter().map(Some).collect();
                row.resize(width, None);
                row
            });
            (width > 1).then(|| Cells::Words(rows.collect()))
        }
        _ => None,
    };
    colours.clear();
    words.clear();
    if let Some(cells) = cells {
        found.push(Grid {
            after_arrow: std::mem::take(arrow),
            cells,
        });
    }
}

fn row(line: &str) -> Row {
    let line = line.trim();
    if ["->", "→", "=>"].contains(&line) {
        return Row::Arrow;
    }
    let digits: Option<Vec<u8>> = line
        .split_ascii_whitespace()
        .map(|word| match word.as_bytes() {
            [digit @ b'0'..=b'9'] => Some(digit - b'0'),
            _ => None,
        })
        .collect();
    match digits {
        Some(cells) if (2..=SIDE).contains(&cells.len()) => return Row::Colours(cells),
        _ => {}
    }
    match bracketed(line) {
        Some(cells) if (1..=SIDE).contains(&cells.len()) => Row::Words(cells),
        _ => Row::Other,
    }
}

/// `[0] [7] [4]` or `row1: (4,0.2,80), (6,0.7,60)`: nothing but cells in brackets.
fn bracketed(line: &str) -> Option<Vec<String>> {
    let line = match line.split_once(':') {
        Some((name, rest)) if name.starts_with("row") && name.len() < 8 => rest,
        _ => line,
    };
    let mut cells = Vec::new();
    let mut rest = line.trim_start_matches([' ', ',']);
    while let Some(open) = rest.chars().next() {
        let shut = match open {
            '[' => ']',
            '(' => ')',
            _ => return None,
        };
        let (cell, after) = rest.get(1..)?.split_once(shut)?;
        if cell.contains(['[', '(']) || cell.len() > 60 {
            return None;
        }
        cells.push(cell.trim().to_owned());
        rest = after.trim_start_matches([' ', ',']);
    }
    Some(cells)
}

pub(crate) fn draw(out: &mut dyn Write, grids: &[Grid]) -> fmt::Result {
    out.write_str("<div class=\"grids\">")?;
    for grid in grids {
        if grid.after_arrow {
            out.write_str("<span class=\"leads\" aria-hidden=\"true\">→</span>")?;
        }
        match &grid.cells {
            Cells::Colours(rows) => colours(out, rows)?,
            Cells::Words(rows) => words(out, rows)?,
        }
    }
    out.write_str("</div>")
}

/// One path for each colour: a picture of 200 cells takes about a kilobyte.
fn colours(out: &mut dyn Write, rows: &[Vec<u8>]) -> fmt::Result {
    let (height, width) = (rows.len(), rows.first().map_or(0, Vec::len));
    let cell = (240 / width.max(height).max(1)).clamp(6, 16);
    write!(
        out,
        "<svg class=\"grid\" role=\"img\" aria-label=\"Grid of {height} rows and {width} columns\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" shape-rendering=\"crispEdges\"><path fill=\"{}\" d=\"M0 0h{width}v{height}H0z\"/>",
        width * cell,
        height * cell,
        COLOURS[0],
    )?;
    for (digit, colour) in (0u8..).zip(COLOURS).skip(1) {
        let mut path = String::new();
        for (y, row) in rows.iter().enumerate() {
            let mut x = 0;
            for run in row.chunk_by(|a, b| a == b) {
                if run.first() == Some(&digit) {
                    write!(path, "M{x} {y}h{0}v1h-{0}z", run.len())?;
                }
                x += run.len();
            }
        }
        if !path.is_empty() {
            write!(out, "<path fill=\"{colour}\" d=\"{path}\"/>")?;
        }
    }
    out.write_str("</svg>")
}

fn words(out: &mut dyn Write, rows: &[Vec<Option<String>>]) -> fmt::Result {
    out.write_str("<table class=\"cells\"><tbody>")?;
    for row in rows {
        out.write_str("<tr>")?;
        for cell in row {
            match cell {
                Some(text) => write!(out, "<td>{}</td>", foreign(text))?,
                None => out.write_str("<td class=\"gap\">?</td>")?,
            }
        }
        out.write_str("</tr>")?;
    }
    out.write_str("</tbody></table>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_coloured_grids_are_found_between_other_lines() {
        let found = grids("Look:\n0 0 1\n0 2 2\n->\n1 0 0\n2 2 0\n\n3 3\n3 3\nWhat is it? 1 2");
        assert_eq!(found.len(), 3);
        assert_eq!(
            found[0].cells,
            Cells::Colours(vec![vec![0, 0, 1], vec![0, 2, 2]])
        );
        assert_eq!(
            found.iter().map(|g| g.after_arrow).collect::<Vec<_>>(),
            [false, true, false]
        );
        let mut drawn = String::new();
        draw(&mut drawn, &found).unwrap();
        assert!(drawn.contains("M2 0h1v1h-1z") && drawn.contains("M1 1h2v1h-2z"));
        assert_eq!(drawn.matches("class=\"leads\"").count(), 1);
    }

    #[test]
    fn matrices_are_found_and_the_missing_cell_is_a_question() {
        for text in [
            "[0] [7] [4]\n[4] [0] [7]\n[7] [4]",
            "Solve.\nrow1: (0), (7), (4)\nrow2: (4), (0), (7)\nrow3: (7), (4),",
        ] {
            let found = grids(text);
            let [
                Grid {
                    cells: Cells::Words(rows),
                    ..
                },
            ] = found.as_slice()
            else {
                panic!("{text}: {found:?}");
            };
            assert_eq!(rows[2], [Some("7".into()), Some("4".into()), None]);
        }
    }

    #[test]
    fn prose_hostile_cells_and_endless_grids_draw_nothing_they_should_not() {
        assert_eq!(grids("One line: 1 2 3\nand (an aside).\n[see]"), []);
        assert_eq!(grids(&"1 2 3\n".repeat(5000)), []);
        let mut drawn = String::new();
        draw(&mut drawn, &grids("[<script>] [b]\n[c] [\u{202e}d]")).unwrap();
        assert!(drawn.contains("&lt;script&gt;") && drawn.contains("U+202E"));
    }
}
