//! The grid: up to 20 × 20 cells of ten colours, as the paper draws its worlds, and the pair of
//! grids before and after.
//!
//! Only what is true of any grid lives here (cells, colours, connected parts, turning, text). What a
//! concept does to a grid lives in `worlds`.

use std::fmt;

use serde::{Deserialize, Serialize};

pub const LONGEST: usize = 20;

/// The names of the ten colours, in the order of their numbers (the paper's legend).
pub const COLOURS: [&str; 10] = [
    "black", "blue", "red", "green", "yellow", "gray", "magenta", "orange", "cyan", "brown",
];

/// A place in a grid: row from the top, column from the left. Signed, so that a step over the edge
/// is a place too (where no cell is).
pub type Place = (i32, i32);

/// Rows and columns of cells, each a colour from 0 to 9.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Vec<u8>>", into = "Vec<Vec<u8>>")]
pub struct Grid {
    rows: usize,
    cols: usize,
    cells: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    #[error("a grid needs at least one row and one column, found none")]
    Empty,
    #[error("row {row} has {found} cells, the rows above it have {expected}")]
    Ragged {
        row: usize,
        expected: usize,
        found: usize,
    },
    #[error("cell ({row}, {col}) is {found}; colours are the numbers 0 to 9")]
    Colour { row: usize, col: usize, found: u8 },
}

impl Grid {
    /// An empty (black) grid. Sides of 0 become 1.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self::filled(rows, cols, 0)
    }

    /// A grid of one colour. Sides of 0 become 1.
    pub fn filled(rows: usize, cols: usize, colour: u8) -> Self {
        let (rows, cols) = (rows.max(1), cols.max(1));
        Self {
            rows,
            cols,
            cells: vec![colour.min(9); rows * cols],
        }
    }

    /// A grid from rows of numbers. Any size: real ARC grids go up to 30 × 30.
    pub fn from_rows(rows: &[Vec<u8>]) -> Result<Self, GridError> {
        let width = rows.first().map_or(0, Vec::len);
        if width == 0 {
            return Err(GridError::Empty);
        }
        for (row, line) in rows.iter().enumerate() {
            if line.len() != width {
                return Err(GridError::Ragged {
                    row,
                    expected: width,
                    found: line.len(),
                });
            }
            if let Some((col, &found)) = line.iter().enumerate().find(|(_, c)| **c > 9) {
                return Err(GridError::Colour { row, col, found });
            }
        }
        Ok(Self {
            rows: rows.len(),
            cols: width,
            cells: rows.iter().flatten().copied().collect(),
        })
    }

    pub fn to_rows(&self) -> Vec<Vec<u8>> {
        self.cells.chunks(self.cols).map(<[u8]>::to_vec).collect()
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    fn index(&self, row: i32, col: i32) -> Option<usize> {
        let (row, col) = (usize::try_from(row).ok()?, usize::try_from(col).ok()?);
        (row < self.rows && col < self.cols).then_some(row * self.cols + col)
    }

    pub fn holds(&self, row: i32, col: i32) -> bool {
        self.index(row, col).is_some()
    }

    /// The colour of a cell; `None` outside the grid.
    pub fn get(&self, row: i32, col: i32) -> Option<u8> {
        self.cells.get(self.index(row, col)?).copied()
    }

    /// The colour of a cell; 0 outside the grid.
    pub fn at(&self, row: i32, col: i32) -> u8 {
        self.get(row, col).unwrap_or(0)
    }

    /// Whether a cell is there and empty (black).
    pub fn free(&self, row: i32, col: i32) -> bool {
        self.get(row, col) == Some(0)
    }

    /// Colours a cell; outside the grid nothing happens.
    pub fn set(&mut self, row: i32, col: i32, colour: u8) {
        if let Some(i) = self.index(row, col)
            && let Some(cell) = self.cells.get_mut(i)
        {
            *cell = colour.min(9);
        }
    }

    /// All places, row by row.
    pub fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let cols = self.cols.max(1) as i32;
        (0..(self.rows * self.cols) as i32).map(move |i| (i / cols, i % cols))
    }

    pub fn places_of(&self, colour: u8) -> Vec<Place> {
        self.places_where(|c| c == colour)
    }

    /// The places whose colour is wanted, row by row.
    pub fn places_where(&self, wanted: impl Fn(u8) -> bool) -> Vec<Place> {
        let wanted = self.cells.iter().enumerate().filter(|(_, c)| wanted(**c));
        wanted.map(|(i, _)| self.place(i)).collect()
    }

    /// The places where another grid of the same size has another colour, row by row.
    pub fn places_unlike(&self, other: &Self) -> Vec<Place> {
        let both = self.cells.iter().zip(&other.cells).enumerate();
        let unlike = both.filter(|(_, (a, b))| a != b);
        unlike.map(|(i, _)| self.place(i)).collect()
    }

    fn place(&self, index: usize) -> Place {
        ((index / self.cols) as i32, (index % self.cols) as i32)
    }

    pub fn counts(&self) -> [usize; 10] {
        std::array::from_fn(|colour| self.count(colour as u8))
    }

    pub fn count(&self, colour: u8) -> usize {
        // Parts so short that a byte counts them: a processor compares and counts sixteen cells at once.
        let of = |n: u8, cell: &u8| n.wrapping_add(u8::from(*cell == colour));
        let parts = self.cells.chunks(255).map(|part| part.iter().fold(0, of));
        parts.map(usize::from).sum()
    }

    /// How many different colours there are, the background among them.
    pub fn colours(&self) -> usize {
        self.counts().iter().filter(|&&n| n > 0).count()
    }

    /// The background: black where there is any black, else the most frequent colour.
    pub fn background(&self) -> u8 {
        if self.cells.contains(&0) {
            return 0;
        }
        // Of equally frequent ones the lowest.
        let colours = (0u8..10).rev();
        colours.max_by_key(|&c| self.count(c)).unwrap_or(0)
    }

    /// The connected parts: cells of one colour other than the background that touch by a side or a
    /// corner, each part's cells row by row, parts in the order of their first cells.
    pub fn parts(&self, background: u8) -> Vec<Vec<Place>> {
        self.regions(|c| c != background, true)
    }

    /// The connected regions of equal colour among the cells whose colour is wanted; `corners` says
    /// whether touching by a corner counts.
    pub fn regions(&self, wanted: impl Fn(u8) -> bool, corners: bool) -> Vec<Vec<Place>> {
        let mut seen = Self::new(self.rows, self.cols);
        let mut found = Vec::new();
        for start in self.places_where(wanted) {
            if !seen.free(start.0, start.1) {
                continue;
            }
            let colour = self.at(start.0, start.1);
            seen.set(start.0, start.1, 1);
            let mut part = vec![start];
            let mut next = 0;
            while let Some(&(r, c)) = part.get(next) {
                next += 1;
                for (dr, dc) in around(corners) {
                    let (r, c) = (r + dr, c + dc);
                    if self.get(r, c) == Some(colour) && seen.free(r, c) {
                        seen.set(r, c, 1);
                        part.push((r, c));
                    }
                }
            }
            part.sort_unstable();
            found.push(part);
        }
        found
    }

    pub fn mirrored(&self) -> Self {
        let mut out = self.clone();
        out.cells.chunks_mut(self.cols).for_each(<[u8]>::reverse);
        out
    }

    /// The grid turned by a quarter, clockwise.
    pub fn turned(&self) -> Self {
        let mut cells = Vec::with_capacity(self.cells.len());
        for column in 0..self.cols {
            let upwards = self.cells.iter().skip(column).step_by(self.cols).rev();
            cells.extend(upwards);
        }
        Self {
            rows: self.cols,
            cols: self.rows,
            cells,
        }
    }

    pub fn recoloured(&self, from: u8, to: u8) -> Self {
        let mut out = self.clone();
        for cell in out.cells.iter_mut().filter(|c| **c == from) {
            *cell = to.min(9);
        }
        out
    }

    /// How many cells differ; grids of different sizes differ in every cell of the larger.
    pub fn differing(&self, other: &Self) -> usize {
        if (self.rows, self.cols) == (other.rows, other.cols) {
            let both = self.cells.iter().zip(&other.cells);
            both.filter(|(a, b)| a != b).count()
        } else {
            self.cells.len().max(other.cells.len())
        }
    }
}

/// The steps to a cell's neighbours: four, or eight with the corners.
pub fn around(corners: bool) -> impl Iterator<Item = Place> {
    let straight = [(-1, 0), (0, -1), (0, 1), (1, 0)];
    let aslant = [(-1, -1), (-1, 1), (1, -1), (1, 1)];
    let aslant = aslant.into_iter().filter(move |_| corners);
    straight.into_iter().chain(aslant)
}

impl fmt::Display for Grid {
    /// The paper's text: a row a line, the numbers parted by spaces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, row) in self.cells.chunks(self.cols).enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            for (j, cell) in row.iter().enumerate() {
                write!(f, "{}{cell}", if j > 0 { " " } else { "" })?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grid {} x {}\n{self}", self.rows, self.cols)
    }
}

impl TryFrom<Vec<Vec<u8>>> for Grid {
    type Error = GridError;

    fn try_from(rows: Vec<Vec<u8>>) -> Result<Self, GridError> {
        Self::from_rows(&rows)
    }
}

impl From<Grid> for Vec<Vec<u8>> {
    fn from(grid: Grid) -> Self {
        grid.to_rows()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pair {
    pub input: Grid,
    pub output: Grid,
}

impl Pair {
    pub fn changed(&self) -> usize {
        self.input.differing(&self.output)
    }

    pub fn map(&self, change: impl Fn(&Grid) -> Grid) -> Self {
        Self {
            input: change(&self.input),
            output: change(&self.output),
        }
    }

    /// Whether what has this colour is the same before and after.
    pub fn keeps(&self, colour: u8) -> bool {
        let mut both = self.input.cells.iter().zip(&self.output.cells);
        both.all(|(a, b)| a == b || (*a != colour && *b != colour))
    }

    /// The background of both: black where there is any black, else the input's most frequent
    /// colour.
    pub fn background(&self) -> u8 {
        if self.output.cells.contains(&0) {
            0
        } else {
            self.input.background()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: &[&[u8]]) -> Grid {
        Grid::from_rows(&rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn text_is_the_papers_form() {
        assert_eq!(grid(&[&[0, 1], &[2, 9]]).to_string(), "0 1\n2 9");
    }

    #[test]
    fn wrong_rows_are_named() {
        assert_eq!(Grid::from_rows(&[]), Err(GridError::Empty));
        assert_eq!(
            Grid::from_rows(&[vec![1], vec![1, 2]])
                .unwrap_err()
                .to_string(),
            "row 1 has 2 cells, the rows above it have 1"
        );
        assert_eq!(
            Grid::from_rows(&[vec![1, 12]]).unwrap_err().to_string(),
            "cell (0, 1) is 12; colours are the numbers 0 to 9"
        );
    }

    #[test]
    fn parts_touch_by_corners_and_have_one_colour() {
        let g = grid(&[&[1, 0, 2], &[0, 1, 2], &[3, 0, 0]]);
        let parts = g.parts(0);
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[0], [(0, 0), (1, 1)]);
        assert_eq!(g.regions(|c| c == 1, false).len(), 2);
    }

    #[test]
    fn four_turns_and_two_mirrors_are_nothing() {
        let g = grid(&[&[1, 2, 3], &[4, 5, 6]]);
        assert_eq!(g.turned().to_rows(), [[4, 1], [5, 2], [6, 3]]);
        assert_eq!(g.turned().turned().turned().turned(), g);
        assert_eq!(g.mirrored().mirrored(), g);
    }

    #[test]
    fn the_background_is_black_or_the_most_frequent() {
        assert_eq!(grid(&[&[0, 3, 3]]).background(), 0);
        assert_eq!(grid(&[&[4, 3, 3]]).background(), 3);
    }
}
