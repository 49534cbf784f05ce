//! Rows that pictures became, and where they stand in time, height and width.

/// Tokens from here on are rows of pictures; no vocabulary is as large.
pub const FIRST_SHOWN: u32 = 1 << 31;

/// A picture whose rows turn by their places (Qwen2-VL).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub first: usize,
    pub rows: usize,
    pub columns: usize,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct PictureRows {
    width: usize,
    data: Vec<f32>,
    /// By first row; none where a model does not turn by places.
    grids: Vec<Grid>,
    firsts: Vec<usize>,
    /// The rows of a picture see one another in both directions, and are computed together.
    both_ways: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub at: [u32; 3],
    /// Where the picture that it is part of begins.
    base: u32,
    /// Where the next word stands.
    next: u32,
}

impl PictureRows {
    /// None yet, in a stream of this width.
    pub fn new(width: usize, both_ways: bool) -> Self {
        Self {
            width,
            both_ways,
            ..Self::default()
        }
    }

    pub fn rows(&self) -> usize {
        self.data.len() / self.width.max(1)
    }

    /// The numbers of a row, by its token; nothing where there is none.
    pub fn row(&self, token: u32) -> &[f32] {
        let row = token.wrapping_sub(FIRST_SHOWN) as usize;
        let end = row.saturating_add(1).saturating_mul(self.width);
        self.data.get(row * self.width..end).unwrap_or_default()
    }

    /// All numbers of the picture, or of the source, that begins with this token.
    pub(crate) fn whole(&self, token: u32) -> &[f32] {
        let first = token.wrapping_sub(FIRST_SHOWN) as usize * self.width;
        let all = self.data.get(first..).unwrap_or_default();
        all.get(..self.count(token) * self.width)
            .unwrap_or_default()
    }

    /// Rows of the picture, or of the source, that this token is part of.
    pub(crate) fn count(&self, token: u32) -> usize {
        self.within(token).map_or(0, |(_, rows)| rows)
    }

    /// Adds a picture, with its rows and columns where the model turns by them; gives its first token.
    pub(crate) fn add(&mut self, rows: &[f32], grid: Option<(usize, usize)>) -> u32 {
        let first = self.rows();
        self.firsts.push(first);
        self.data.extend_from_slice(rows);
        self.grids.extend(grid.map(|(rows, columns)| Grid {
            first,
            rows,
            columns,
        }));
        FIRST_SHOWN + first as u32
    }

    /// A row's number within its picture, and how many rows the picture has; nothing for a word.
    fn within(&self, token: u32) -> Option<(usize, usize)> {
        let row = token.checked_sub(FIRST_SHOWN)? as usize;
        let at = self.firsts.partition_point(|&first| first <= row);
        let first = *self.firsts.get(at.checked_sub(1)?)?;
        let end = self.firsts.get(at).copied().unwrap_or(self.rows());
        Some((row - first, end - first))
    }

    /// The positions of the picture that a token at this position is part of; a word reaches nowhere.
    pub(crate) fn reach(&self, token: u32, position: usize) -> (usize, usize) {
        match self.within(token) {
            Some((inside, rows)) if position >= inside => {
                (position - inside, position - inside + rows)
            }
            _ => (usize::MAX, 0),
        }
    }

    /// Whether a token must be computed together with the one before it.
    pub(crate) fn bound(&self, token: u32) -> bool {
        self.both_ways && self.within(token).is_some_and(|(inside, _)| inside > 0)
    }

    /// The rows of the longest picture that must be computed together.
    pub(crate) fn longest(&self) -> usize {
        if !self.both_ways {
            return 0;
        }
        let ends = self.firsts.iter().skip(1).copied().chain([self.rows()]);
        let lengths = self.firsts.iter().zip(ends).map(|(first, end)| end - first);
        lengths.max().unwrap_or(0)
    }

    /// How many of these tokens to read at once: `room`, or more where a picture would be cut.
    pub(crate) fn cut(&self, tokens: &[u32], room: usize) -> usize {
        let rest = tokens.iter().skip(room);
        let bound = rest.take_while(|&&token| self.bound(token)).count();
        (room + bound).min(tokens.len())
    }

    /// Whether tokens turn by their places in pictures.
    pub fn turns(&self) -> bool {
        !self.grids.is_empty()
    }

    /// Where a token stands that follows one at `before`.
    pub fn place(&self, before: Option<Place>, token: u32) -> Place {
        let next = before.map_or(0, |p| p.next);
        let word = Place {
            at: [next; 3],
            base: next,
            next: next + 1,
        };
        if token < FIRST_SHOWN {
            return word;
        }
        let row = (token - FIRST_SHOWN) as usize;
        let at = self.grids.partition_point(|g| g.first <= row);
        let Some(grid) = at.checked_sub(1).and_then(|i| self.grids.get(i)) else {
            return word;
        };
        let inside = row - grid.first;
        let base = match inside {
            0 => next,
            _ => before.map_or(0, |p| p.base),
        };
        let (y, x) = (inside / grid.columns.max(1), inside % grid.columns.max(1));
        Place {
            at: [base, base + y as u32, base + x as u32],
            base,
            next: base + grid.rows.max(grid.columns) as u32,
        }
    }

    pub fn places(&self, tokens: &[u32]) -> Vec<Place> {
        let mut last = None;
        tokens
            .iter()
            .map(|&token| {
                let place = self.place(last, token);
                last = Some(place);
                place
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_on_after_the_longer_side_of_a_picture() {
        let mut shown = PictureRows::new(1, false);
        shown.add(&[0.0; 4], Some((2, 2)));
        let first = shown.add(&[0.0; 6], Some((2, 3)));
        let mut tokens = vec![7, 8];
        tokens.extend(first..first + 6);
        tokens.push(9);
        let at: Vec<[u32; 3]> = shown.places(&tokens).iter().map(|p| p.at).collect();
        assert_eq!(at[1], [1, 1, 1]);
        assert_eq!(at[2], [2, 2, 2]);
        assert_eq!(at[7], [2, 3, 4]);
        assert_eq!(at[8], [5, 5, 5]);
        assert_eq!(shown.reach(first + 2, 4), (2, 8));
        assert_eq!(shown.reach(9, 8), (usize::MAX, 0));
        assert_eq!(shown.cut(&tokens, 4), 4);
    }

    #[test]
    fn a_picture_that_sees_both_ways_is_not_cut() {
        let mut shown = PictureRows::new(1, true);
        let first = shown.add(&[0.0; 4], None);
        let tokens = [7, first, first + 1, first + 2, first + 3, 8, 9];
        assert_eq!(shown.cut(&tokens, 1), 1);
        assert_eq!(shown.cut(&tokens, 2), 5);
        assert_eq!(shown.cut(&tokens, 6), 6);
        assert_eq!(shown.cut(&tokens, 60), 7);
        assert_eq!(shown.longest(), 4);
    }
}
