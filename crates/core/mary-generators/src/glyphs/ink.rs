//! Pictures of ink: what a glyph is once it is drawn, and everything that can be done to it.

/// A black-and-white picture, cut to its ink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ink {
    width: usize,
    height: usize,
    dots: Vec<bool>,
}

/// An edge, or the middle, along which a stroke lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    Top,
    /// A horizontal stroke through the middle.
    Across,
    Bottom,
    Left,
    /// A vertical stroke through the middle.
    Down,
    Right,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Half {
    Top,
    Bottom,
    Left,
    Right,
}

impl Ink {
    /// A picture from its dots, cut to the ink; `None` when there is none.
    pub fn new(width: usize, height: usize, dot: impl Fn(usize, usize) -> bool) -> Option<Self> {
        let xs = || 0..width;
        let ys = || 0..height;
        let left = xs().find(|&x| ys().any(|y| dot(x, y)))?;
        let right = xs().rev().find(|&x| ys().any(|y| dot(x, y)))?;
        let top = ys().find(|&y| xs().any(|x| dot(x, y)))?;
        let bottom = ys().rev().find(|&y| xs().any(|x| dot(x, y)))?;
        let mut dots = Vec::with_capacity((right + 1 - left) * (bottom + 1 - top));
        for y in top..=bottom {
            dots.extend((left..right + 1).map(|x| dot(x, y)));
        }
        Some(Self {
            width: right - left + 1,
            height: bottom - top + 1,
            dots,
        })
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// Whether there is ink; outside there is none.
    pub fn dot(&self, x: usize, y: usize) -> bool {
        x < self.width && self.dots.get(y * self.width + x).copied().unwrap_or(false)
    }

    pub fn aspect(&self) -> f64 {
        self.width as f64 / self.height as f64
    }

    /// Any picture of another size made from the dots of this one.
    fn remade(
        &self,
        width: usize,
        height: usize,
        from: impl Fn(usize, usize) -> (usize, usize),
    ) -> Self {
        let mut dots = Vec::with_capacity(width * height);
        for y in 0..height {
            let row = (0..width).map(|x| from(x, y));
            dots.extend(row.map(|(x, y)| self.dot(x, y)));
        }
        Self {
            width,
            height,
            dots,
        }
    }

    pub fn clockwise(&self) -> Self {
        self.remade(self.height, self.width, |x, y| (y, self.height - 1 - x))
    }

    pub fn left_right(&self) -> Self {
        self.remade(self.width, self.height, |x, y| (self.width - 1 - x, y))
    }

    pub fn top_bottom(&self) -> Self {
        self.remade(self.width, self.height, |x, y| (x, self.height - 1 - y))
    }

    /// Both, the second moved by `dx`, `dy` against the first.
    fn together(&self, other: &Self, dx: isize, dy: isize) -> Option<Self> {
        let (x0, y0) = (dx.min(0), dy.min(0));
        let right = (self.width as isize).max(dx + other.width as isize);
        let bottom = (self.height as isize).max(dy + other.height as isize);
        let seen =
            |ink: &Self, x: isize, y: isize| x >= 0 && y >= 0 && ink.dot(x as usize, y as usize);
        Self::new((right - x0) as usize, (bottom - y0) as usize, |x, y| {
            let (x, y) = (x as isize + x0, y as isize + y0);
            seen(self, x, y) || seen(other, x - dx, y - dy)
        })
    }

    /// Side by side and touching, middles on one line.
    pub fn beside(&self, other: &Self) -> Option<Self> {
        let dy = (self.height as isize - other.height as isize) / 2;
        self.together(other, self.width as isize, dy)
    }

    /// The first above the second and touching, middles on one line.
    pub fn above(&self, other: &Self) -> Option<Self> {
        let dx = (self.width as isize - other.width as isize) / 2;
        self.together(other, dx, self.height as isize)
    }

    /// Laid over each other, centres in one place.
    pub fn over(&self, other: &Self) -> Option<Self> {
        let dx = (self.width as isize - other.width as isize) / 2;
        let dy = (self.height as isize - other.height as isize) / 2;
        self.together(other, dx, dy)
    }

    /// Whether a dot lies in the band of a stroke as thick as `pen`.
    fn in_stroke(&self, place: Place, pen: usize, x: usize, y: usize) -> bool {
        let middle = |at: usize, size: usize| {
            let start = size.saturating_sub(pen) / 2;
            (start..start + pen).contains(&at)
        };
        match place {
            Place::Top => y < pen,
            Place::Across => middle(y, self.height),
            Place::Bottom => y + pen >= self.height,
            Place::Left => x < pen,
            Place::Down => middle(x, self.width),
            Place::Right => x + pen >= self.width,
        }
    }

    /// With a straight stroke as long as the picture.
    pub fn with_stroke(&self, place: Place, pen: usize) -> Option<Self> {
        Self::new(self.width, self.height, |x, y| {
            self.dot(x, y) || self.in_stroke(place, pen, x, y)
        })
    }

    /// Without what lies in the band of such a stroke.
    pub fn without_stroke(&self, place: Place, pen: usize) -> Option<Self> {
        Self::new(self.width, self.height, |x, y| {
            self.dot(x, y) && !self.in_stroke(place, pen, x, y)
        })
    }

    /// Only what is left when one half is covered.
    pub fn without_half(&self, half: Half) -> Option<Self> {
        Self::new(self.width, self.height, |x, y| {
            let covered = match half {
                Half::Top => 2 * y + 1 < self.height,
                Half::Bottom => 2 * y + 1 > self.height,
                Half::Left => 2 * x + 1 < self.width,
                Half::Right => 2 * x + 1 > self.width,
            };
            self.dot(x, y) && !covered
        })
    }
}

/// Dots along a side of a [`Form`].
const GRID: usize = 48;
/// Two dots this near count as the same place: one part in twenty-four of the side.
const TOLERANCE: usize = 2;
/// Pictures whose aspects differ by more than this factor do not look alike.
const ASPECT: f64 = 1.45;

/// A picture brought to one size for comparison: width and height stretched to the same square,
/// with the original aspect kept beside it.
#[derive(Debug, Clone)]
pub struct Form {
    aspect: f64,
    rows: [u64; GRID],
    near: [u64; GRID],
    ink: u32,
}

impl Form {
    pub fn from_ink(ink: &Ink) -> Self {
        let mut rows = [0u64; GRID];
        let from = |at: usize, size: usize| (2 * at + 1) * size / (2 * GRID);
        let columns: [usize; GRID] = std::array::from_fn(|x| from(x, ink.width()));
        for (y, row) in rows.iter_mut().enumerate() {
            let from_y = from(y, ink.height());
            for (x, from_x) in columns.into_iter().enumerate() {
                *row |= u64::from(ink.dot(from_x, from_y)) << x;
            }
        }
        let mut wide = rows;
        for row in &mut wide {
            let line = *row;
            for step in 1..=TOLERANCE {
                *row |= (line << step) | (line >> step);
            }
        }
        let mut near = [0u64; GRID];
        for (y, row) in near.iter_mut().enumerate() {
            let reach = y.saturating_sub(TOLERANCE)..(y + TOLERANCE + 1).min(GRID);
            let reached = wide.get(reach).unwrap_or_default();
            *row = reached.iter().fold(0, |a, b| a | b);
        }
        Self {
            aspect: ink.aspect(),
            rows,
            near,
            ink: rows.iter().map(|r| r.count_ones()).sum(),
        }
    }

    /// The share of this one's ink that lies near ink of the other.
    fn covered_by(&self, other: &Self) -> f64 {
        let rows = self.rows.iter().zip(&other.near);
        let near = rows.map(|(mine, theirs)| (mine & theirs).count_ones());
        let near: u32 = near.sum();
        f64::from(near) / f64::from(self.ink.max(1))
    }

    /// How much two pictures look alike, 0 to 1: the smaller of the two shares of ink that lies near
    /// the other's, and 0 when their aspects differ too much.
    pub fn likeness(&self, other: &Self) -> f64 {
        if (self.aspect / other.aspect).ln().abs() > ASPECT.ln() {
            return 0.0;
        }
        self.covered_by(other).min(other.covered_by(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: &[&str]) -> Ink {
        let cells: Vec<Vec<u8>> = rows.iter().map(|r| r.bytes().collect()).collect();
        Ink::new(cells[0].len(), cells.len(), |x, y| cells[y][x] == b'#').unwrap()
    }

    #[test]
    fn turns_and_flips_do_what_they_say() {
        let l = drawn(&["#.", "#.", "##"]);
        assert_eq!(l.clockwise(), drawn(&["###", "#.."]));
        assert_eq!(l.left_right(), drawn(&[".#", ".#", "##"]));
        assert_eq!(l.top_bottom(), drawn(&["##", "#.", "#."]));
        let around = l.clockwise().clockwise().clockwise().clockwise();
        assert_eq!(around, l);
    }

    #[test]
    fn addition_and_subtraction_do_what_they_say() {
        let f = drawn(&["###", "#..", "##.", "#..", "#.."]);
        let e = drawn(&["###", "#..", "##.", "#..", "###"]);
        assert_eq!(f.with_stroke(Place::Bottom, 1).unwrap(), e);
        let bar = drawn(&["#", "#"]);
        assert_eq!(bar.beside(&bar).unwrap(), drawn(&["##", "##"]));
        assert_eq!(bar.above(&bar).unwrap(), drawn(&["#", "#", "#", "#"]));
        assert_eq!(
            e.without_half(Half::Right).unwrap(),
            drawn(&["##", "#.", "##", "#.", "##"])
        );
        assert!(bar.without_stroke(Place::Left, 1).is_none());
    }

    #[test]
    fn likeness_is_one_for_the_same_and_low_for_another() {
        let f = Form::from_ink(&drawn(&["###", "#..", "##.", "#..", "#.."]));
        let e = Form::from_ink(&drawn(&["###", "#..", "##.", "#..", "###"]));
        assert_eq!(f.likeness(&f), 1.0);
        assert!(f.likeness(&e) < 0.9);
        assert_eq!(f.likeness(&e), e.likeness(&f));
    }
}
