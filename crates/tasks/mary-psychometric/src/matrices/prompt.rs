//! Matrices as text: the paper's panels and its eight instructions, byte for byte, because published
//! numbers rest on them.

use std::sync::LazyLock;

use super::matrix::{Matrix, Panel};

/// The eight instructions of Shah et al. 2024, Appendix B.4.2, in its order.
pub static INSTRUCTIONS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!("instructions.txt").lines().collect());

/// What lm-raven puts before every matrix.
const LM_RAVEN_OPENING: &str = "let's think step by step. ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `row1: …`, one row a line (the paper).
    Lines,
    /// lm-raven's text, byte for byte (Hu et al. 2023, all three rows, the panel as a whole): its opening
    /// sentence, `row 1: …; row 2: …; row 3: …`, and a semicolon after the candidate.
    LmRaven,
    /// The paper's, with the choices listed and the answer after them.
    Choices,
}

/// `(Type+2,(Size+1)/10,Color*10)`.
pub fn panel(panel: &Panel) -> String {
    let [kind, size, colour] = panel;
    format!("({},{},{})", kind + 2, tenths(size + 1), colour * 10)
}

fn tenths(value: i32) -> String {
    match (value / 10, value % 10) {
        (whole, 0) => whole.to_string(),
        (whole, tenths) => format!("{whole}.{tenths}"),
    }
}

fn row(panels: &[Panel]) -> String {
    panels.iter().map(panel).collect::<Vec<_>>().join(", ")
}

pub fn question(matrix: &Matrix) -> String {
    rows(matrix, "row").join("\n") + ","
}

fn rows(matrix: &Matrix, name: &str) -> Vec<String> {
    let rows = matrix.context.chunks(3).zip(1..);
    rows.map(|(panels, i)| format!("{name}{i}: {}", row(panels)))
        .collect()
}

/// What stands before a candidate; every candidate follows with a blank (a line's end where choices
/// are listed).
pub fn prefix(matrix: &Matrix, layout: Layout, instruction: usize) -> String {
    let said = INSTRUCTIONS.get(instruction).copied().unwrap_or_default();
    match layout {
        Layout::Lines => format!("{said}\n{}", question(matrix)),
        Layout::LmRaven => LM_RAVEN_OPENING.to_owned() + &rows(matrix, "row ").join("; ") + ",",
        Layout::Choices => {
            let choices = row(&matrix.candidates);
            format!("{said}\n{} ?\nChoices: {choices}", question(matrix))
        }
    }
}

pub fn continuation(candidate: &Panel, layout: Layout) -> String {
    let panel = panel(candidate);
    match layout {
        Layout::Lines => format!(" {panel}"),
        // The blank and the semicolon are among the tokens that lm-raven averages over.
        Layout::LmRaven => format!(" {panel};"),
        Layout::Choices => format!("\n{panel}"),
    }
}
