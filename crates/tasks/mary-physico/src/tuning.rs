//! Fine-tuning sets (the paper's RQ 5 and RQ 6, Appendix E): questions about matrices, ARC, and core
//! instances, as chat JSON lines or as a list of instructions.

use mary_contract::{DataSource, TaskError};
use mary_generators::{Stream, below, shuffle, stream};
use serde_json::json;

use crate::grid::Grid;
use crate::instances::{Instance, Level, planned};
use crate::prompt::{self, GridText, grid_text};
use crate::upstream;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub system: Option<String>,
    pub user: String,
    pub assistant: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuningKind {
    /// Size, transpose, corners of a subgrid, a moved and a copied subgrid.
    Matrix,
    /// ARC's 800 tasks, training and evaluation: the paper tunes on "the original ARC", so that all
    /// inputs of the associative set have been seen.
    Arc,
    /// Core instances, with the paper's template.
    Core,
}

impl TuningKind {
    /// The kind of a name (`physico/matrix`, `matrix`; core's tasks count as core).
    pub fn named(name: &str) -> Option<Self> {
        match name.strip_prefix("physico/").unwrap_or(name) {
            "matrix" => Some(Self::Matrix),
            "arc" => Some(Self::Arc),
            "core" | "core-text" => Some(Self::Core),
            _ => None,
        }
    }
}

/// The paper's number of synthetic grid pairs.
pub const MATRIX_PAIRS: usize = 3000;

/// The tuning streams' own seeds: a test set of the same seed shares no grid with them.
const APART: u64 = 0x7475_6e69_6e67;

/// Most rows and columns of a synthetic grid.
pub const MATRIX_SIDE: usize = 16;
/// Fewest rows and columns of a synthetic grid.
pub const LEAST_SIDE: usize = 4;

/// Most rows and columns of a grid of ARC.
pub const ARC_SIDE: usize = 30;

/// A tuning set. `n` is the number of grid pairs (matrix) or of instances of each concept (core); ARC has as
/// many as it has. Grids of matrix and ARC have at most `largest` rows and columns.
pub fn tuning_examples(
    kind: TuningKind,
    seed: u64,
    (n, largest): (usize, usize),
    data: &dyn DataSource,
) -> Result<Vec<Example>, TaskError> {
    match kind {
        TuningKind::Matrix => Ok(matrix(seed, n, largest)),
        TuningKind::Arc => arc(data, largest),
        TuningKind::Core => core(seed, n),
    }
}

fn core(seed: u64, per_concept: usize) -> Result<Vec<Example>, TaskError> {
    let planned = planned(Level::Core, seed ^ APART, per_concept)?;
    planned.iter().map(|p| Ok(asked(p.draw()?))).collect()
}

/// The authors' core instances with their labels, for tests on the associative ones: the paper's RQ 6.
/// What is tuned on them must not be tested on them.
pub fn released_core(data: &dyn DataSource) -> Result<Vec<Example>, TaskError> {
    let instances = upstream::published(data, Level::Core)?;
    Ok(instances.into_iter().map(asked).collect())
}

fn asked(instance: Instance) -> Example {
    let asked = prompt::grids(&instance.pairs, &instance.options, GridText::Rows, false);
    Example {
        system: asked.system.map(str::to_owned),
        user: asked.words,
        assistant: instance.concept,
    }
}

fn arc(data: &dyn DataSource, largest: usize) -> Result<Vec<Example>, TaskError> {
    let mut examples = Vec::new();
    for (_, task) in upstream::arc_tasks(data)? {
        let train = task.train.iter();
        let mut grids = train.chain(&task.test).flat_map(|p| [&p.input, &p.output]);
        if grids.any(|g| g.rows().max(g.cols()) > largest) {
            continue;
        }
        let mut shown = String::from(
            "Find the rule that turns each input grid into its output grid, and apply it to the last \
             input grid.\n",
        );
        for pair in &task.train {
            shown.push_str(&format!(
                "\nInput grid:\n{}\n\nOutput grid:\n{}\n",
                pair.input, pair.output
            ));
        }
        for test in &task.test {
            examples.push(Example {
                system: None,
                user: format!("{shown}\nInput grid:\n{}\n\nOutput grid:", test.input),
                assistant: test.output.to_string(),
            });
        }
    }
    Ok(examples)
}

/// A subgrid of several colours on black, and the same subgrid elsewhere.
struct Moved {
    input: Grid,
    output: Grid,
    from: (usize, usize),
    to: (usize, usize),
    size: (usize, usize),
}

impl Moved {
    /// The input with the subgrid at its second place too; where both overlap, the copy lies on top.
    fn copied(&self) -> Grid {
        let mut both = self.input.clone();
        for r in 0..self.size.0 {
            for c in 0..self.size.1 {
                let (row, col) = ((self.to.0 + r) as i32, (self.to.1 + c) as i32);
                both.set(row, col, self.output.at(row, col));
            }
        }
        both
    }
}

fn moved(rng: &mut Stream, largest: usize) -> Moved {
    let sides = largest.saturating_sub(LEAST_SIDE) + 1;
    let mut side = || LEAST_SIDE + below(rng, sides);
    let (rows, cols) = (side(), side());
    let size = (1 + below(rng, rows - 2), 1 + below(rng, cols - 2));
    let spot = |rng: &mut Stream| (below(rng, rows - size.0 + 1), below(rng, cols - size.1 + 1));
    let from = spot(rng);
    let to = loop {
        let to = spot(rng);
        if to != from {
            break to;
        }
    };
    let mut input = Grid::new(rows, cols);
    let mut output = Grid::new(rows, cols);
    for r in 0..size.0 {
        for c in 0..size.1 {
            let colour = 1 + below(rng, 9) as u8;
            input.set((from.0 + r) as i32, (from.1 + c) as i32, colour);
            output.set((to.0 + r) as i32, (to.1 + c) as i32, colour);
        }
    }
    Moved {
        input,
        output,
        from,
        to,
        size,
    }
}

/// The corners of a box in the order read: upper left, upper right, lower left, lower right.
fn corners((row, col): (usize, usize), (height, width): (usize, usize)) -> String {
    let (top, left, bottom, right) = (row + 1, col + 1, row + height, col + width);
    format!("({top}, {left}), ({top}, {right}), ({bottom}, {left}), ({bottom}, {right})")
}

fn matrix(seed: u64, n: usize, largest: usize) -> Vec<Example> {
    let mut rng = stream(seed, "physico/tuning/matrix");
    let ask = |question: &str, grids: &[(&str, &str)], assistant: String| Example {
        system: None,
        user: prompt::TEXTS.say(question, grids),
        assistant,
    };
    let mut examples = Vec::with_capacity(5 * n);
    for _ in 0..n {
        let made = moved(&mut rng, largest);
        let written = |grid: &Grid| grid_text(grid, GridText::Rows);
        let (input, output) = (written(&made.input), written(&made.output));
        let (copied, size) = (
            written(&made.copied()),
            (made.input.rows(), made.input.cols()),
        );
        let (from, to) = (corners(made.from, made.size), corners(made.to, made.size));
        let grids = [("input", &*input), ("output", &*output)];
        let copy = [("input", &*input), ("output", &*copied)];
        let transpose = written(&made.input.turned().mirrored());
        examples.extend([
            ask("matrix_size", &grids, format!("{} x {}", size.0, size.1)),
            ask("matrix_transpose", &grids, transpose),
            ask("matrix_corners", &grids, from.clone()),
            ask(
                "matrix_moved",
                &grids,
                format!("input: {from}\noutput: {to}"),
            ),
            ask("matrix_copied", &copy, to),
        ]);
    }
    shuffle(&mut rng, &mut examples);
    examples
}

pub fn chat_jsonl(examples: &[Example]) -> String {
    let mut lines = String::new();
    for e in examples {
        let system = e.system.iter();
        let system = system.map(|s| json!({ "role": "system", "content": s }));
        let rest = [
            json!({ "role": "user", "content": e.user }),
            json!({ "role": "assistant", "content": e.assistant }),
        ];
        let messages: Vec<_> = system.chain(rest).collect();
        lines.push_str(&json!({ "messages": messages }).to_string());
        lines.push('\n');
    }
    lines
}

/// One list of `instruction`, `input`, `output`.
pub fn instruction_json(examples: &[Example]) -> String {
    let list: Vec<_> = examples
        .iter()
        .map(|e| {
            let (instruction, input) = match &e.system {
                Some(system) => (system, &*e.user),
                None => (&e.user, ""),
            };
            json!({ "instruction": instruction, "input": input, "output": e.assistant })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(list))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use mary_contract::NoData;

    use super::*;

    #[test]
    fn matrix_answers_are_right() {
        let examples = tuning_examples(TuningKind::Matrix, 3, (20, MATRIX_SIDE), &NoData).unwrap();
        assert_eq!(examples.len(), 100);
        for e in &examples {
            let grid = |text: &str| -> Vec<Vec<u8>> {
                text.lines()
                    .map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect())
                    .collect()
            };
            if e.user.starts_with("Write the transpose") {
                let (_, shown) = e.user.split_once("\n\n").unwrap();
                let (a, b) = (grid(shown), grid(&e.assistant));
                for (r, row) in a.iter().enumerate() {
                    for (c, cell) in row.iter().enumerate() {
                        assert_eq!(b[c][r], *cell);
                    }
                }
            } else if e.user.contains("was copied") {
                let (_, shown) = e.user.split_once("Input grid:\n").unwrap();
                let (before, after) = shown.split_once("\n\nOutput grid:\n").unwrap();
                let (before, after) = (grid(before), grid(after));
                let numbers: Vec<usize> = e
                    .assistant
                    .split(|c: char| !c.is_ascii_digit())
                    .filter_map(|n| n.parse().ok())
                    .collect();
                let (top, left, bottom, right) = (numbers[0], numbers[1], numbers[6], numbers[7]);
                // The copy holds no empty cell, and nothing else changed.
                for (r, row) in after.iter().enumerate() {
                    for (c, cell) in row.iter().enumerate() {
                        let inside =
                            (top..=bottom).contains(&(r + 1)) && (left..=right).contains(&(c + 1));
                        assert!(if inside {
                            *cell > 0
                        } else {
                            *cell == before[r][c]
                        });
                    }
                }
            } else if e.user.starts_with("All cells") {
                let (_, shown) = e.user.split_once("\n\n").unwrap();
                let grid = grid(shown);
                let numbers: Vec<usize> = e
                    .assistant
                    .split(|c: char| !c.is_ascii_digit())
                    .filter_map(|n| n.parse().ok())
                    .collect();
                let (top, left, bottom, right) = (numbers[0], numbers[1], numbers[6], numbers[7]);
                for (r, row) in grid.iter().enumerate() {
                    for (c, cell) in row.iter().enumerate() {
                        let inside =
                            (top..=bottom).contains(&(r + 1)) && (left..=right).contains(&(c + 1));
                        assert_eq!(*cell > 0, inside);
                    }
                }
            }
        }
    }

    #[test]
    fn smaller_grids_have_no_side_over_the_largest() {
        let sides = |largest: usize| {
            let examples = tuning_examples(TuningKind::Matrix, 3, (50, largest), &NoData).unwrap();
            let sizes = examples
                .into_iter()
                .filter(|e| e.user.starts_with("How large"));
            sizes
                .flat_map(|e| {
                    let sides = e
                        .assistant
                        .split(" x ")
                        .map(|n| n.parse::<usize>().unwrap());
                    sides.collect::<Vec<_>>()
                })
                .fold((usize::MAX, 0), |(low, high), n| (low.min(n), high.max(n)))
        };
        assert_eq!((sides(6), sides(16)), ((4, 6), (4, 16)));
    }

    #[test]
    fn core_tuning_shares_no_grid_with_the_test() {
        let tuning = tuning_examples(TuningKind::Core, 5, (1, 0), &NoData).unwrap();
        let shown: HashSet<&str> = tuning.iter().map(|e| e.user.as_str()).collect();
        for p in planned(Level::Core, 5, 1).unwrap() {
            let instance = p.draw().unwrap();
            let grid = instance.pairs[0].input.to_string();
            assert!(shown.iter().all(|s| !s.contains(&grid)), "{}", instance.id);
        }
    }

    #[test]
    fn both_forms_hold_every_example() {
        let examples = tuning_examples(TuningKind::Core, 1, (1, 0), &NoData).unwrap();
        let chat = chat_jsonl(&examples);
        assert_eq!(chat.lines().count(), examples.len());
        let first: serde_json::Value = serde_json::from_str(chat.lines().next().unwrap()).unwrap();
        assert_eq!(first["messages"][0]["role"], "system");
        assert_eq!(first["messages"][2]["content"], examples[0].assistant);
        let list: Vec<serde_json::Value> =
            serde_json::from_str(&instruction_json(&examples)).unwrap();
        assert_eq!(list.len(), examples.len());
        assert_eq!(list[0]["output"], examples[0].assistant);
    }
}
