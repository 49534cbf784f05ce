//! What every world starts from: one distribution of sizes, one palette, one stream of draws.
//!
//! Sizes and colours are drawn here for all concepts alike, so that neither gives a concept away. A
//! role (the wall, the water) keeps its colour in all three pairs of an instance.

use mary_generators::{Stream, below, coin, shuffle};

use crate::grid::{Grid, Pair, Place};

pub const SHORTEST_SIDE: i32 = 12;
pub const LONGEST_SIDE: i32 = 18;

/// The size of a pair's grids, the colours of its roles, and the draws for everything else.
#[derive(Debug, Clone)]
pub struct Setting {
    pub rows: i32,
    pub cols: i32,
    rng: Stream,
    palette: [u8; 9],
}

impl Setting {
    /// A setting with this palette; its size and all its draws come from the stream.
    pub fn new(mut rng: Stream, palette: [u8; 9]) -> Self {
        let (rows, cols) = Self::size(&mut rng);
        Self {
            rows,
            cols,
            rng,
            palette,
        }
    }

    /// Rows and columns, the same draw for all concepts.
    pub fn size(rng: &mut Stream) -> (i32, i32) {
        let span = (LONGEST_SIDE - SHORTEST_SIDE + 1) as usize;
        let mut side = || SHORTEST_SIDE + below(rng, span) as i32;
        (side(), side())
    }

    pub fn palette(rng: &mut Stream) -> [u8; 9] {
        let mut palette = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        shuffle(rng, &mut palette);
        palette
    }

    pub fn canvas(&self) -> Grid {
        Grid::new(self.rows as usize, self.cols as usize)
    }

    /// The colour of a role (0 to 8), the same in all pairs of an instance.
    pub fn colour(&self, role: usize) -> u8 {
        self.palette.get(role % 9).copied().unwrap_or(1)
    }

    /// The colour of one of the roles from `first` to `last`.
    pub fn any_colour(&mut self, first: i32, last: i32) -> u8 {
        let role = self.between(first, last);
        self.colour(role.max(0) as usize)
    }

    /// A number from `low` to `high`, both possible; `low` when there is no room.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + below(&mut self.rng, (high - low + 1).max(1) as usize) as i32
    }

    pub fn coin(&mut self) -> bool {
        coin(&mut self.rng)
    }

    pub fn either<T>(&mut self, heads: T, tails: T) -> T {
        if self.coin() { heads } else { tails }
    }

    pub fn choose<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(below(&mut self.rng, from.len())).copied()
    }

    pub fn shuffled<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        shuffle(&mut self.rng, &mut items);
        items
    }

    /// A random place inside these bounds, both ends possible.
    pub fn place(&mut self, rows: (i32, i32), cols: (i32, i32)) -> Place {
        (self.between(rows.0, rows.1), self.between(cols.0, cols.1))
    }

    /// A blob of at least and at most so many cells.
    pub fn any_blob(&mut self, least: i32, most: i32) -> Vec<Place> {
        let cells = self.between(least, most) as usize;
        self.blob(cells)
    }

    /// A random connected form of so many cells, its upper left corner at (0, 0).
    pub fn blob(&mut self, cells: usize) -> Vec<Place> {
        let mut form = vec![(0, 0)];
        while form.len() < cells {
            let Some((r, c)) = self.choose(&form) else {
                break;
            };
            let Some((dr, dc)) = self.choose(&[(0, 1), (1, 0), (0, -1), (-1, 0)]) else {
                break;
            };
            if !form.contains(&(r + dr, c + dc)) {
                form.push((r + dr, c + dc));
            }
        }
        let top = form.iter().map(|p| p.0).min().unwrap_or(0);
        let left = form.iter().map(|p| p.1).min().unwrap_or(0);
        for p in &mut form {
            *p = (p.0 - top, p.1 - left);
        }
        form.sort_unstable();
        form
    }

    pub fn pair(&self) -> Pair {
        Pair {
            input: self.canvas(),
            output: self.canvas(),
        }
    }
}
