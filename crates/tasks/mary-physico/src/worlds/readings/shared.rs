//! What the readings of several concepts ask alike.

use std::collections::BTreeSet;

use super::look::{Answer, Look, Move, Part, edge_or};
use super::part::bounds;
use crate::grid::{Grid, Place};

pub(crate) fn exists<T, A: Answer>(
    all: impl IntoIterator<Item = T>,
    mut asked: impl FnMut(T) -> A,
) -> bool {
    all.into_iter().any(|one| asked(one).yes())
}

pub(crate) fn every<T, A: Answer>(
    all: impl IntoIterator<Item = T>,
    mut asked: impl FnMut(T) -> A,
) -> bool {
    all.into_iter().all(|one| asked(one).yes())
}

pub(crate) fn those<T>(all: impl IntoIterator<Item = T>, wanted: impl FnMut(&T) -> bool) -> Vec<T> {
    all.into_iter().filter(wanted).collect()
}

/// What there is among several, each once, in order.
pub(crate) fn distinct<T: Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    BTreeSet::from_iter(all).into_iter().collect()
}

/// Two with the smaller first; the second first where they are equal.
pub(crate) fn ordered<T, K: PartialOrd>([a, b]: [T; 2], key: impl Fn(&T) -> K) -> [T; 2] {
    if key(&a) < key(&b) { [a, b] } else { [b, a] }
}

pub(crate) fn exactly<T, const N: usize>(all: &[T]) -> Option<&[T; N]> {
    all.try_into().ok()
}

/// Two bars side by side in `whole`, each gone away from the other by the same distance in `parts`: the
/// colours on both sides of the middle, and the one with which they begin. Colours are asked of the two grids.
pub(crate) fn poles(
    whole: &[Part],
    parts: &[Part],
    colour: (&dyn Fn(Place) -> u8, &dyn Fn(Place) -> u8),
) -> Option<[u8; 3]> {
    let ([whole], [a, b]) = (exactly(whole)?, exactly(parts)?);
    let [l, r] = ordered([a, b], |p| p.bounds[1]);
    let apart = whole.bounds[1] - l.bounds[1];
    let fits = whole.is_box()
        && l.is_box()
        && r.is_box()
        && l.len() == r.len()
        && 2 * l.len() == whole.len()
        && l.bounds[0] == r.bounds[0]
        && l.bounds[0] == whole.bounds[0]
        && l.tall() == whole.tall()
        && r.bounds[3] == whole.bounds[3] + apart
        && apart > 0
        && l.cells
            .iter()
            .all(|&(y, x)| (colour.1)((y, x)) == (colour.0)((y, x + apart)))
        && r.cells
            .iter()
            .all(|&(y, x)| (colour.1)((y, x)) == (colour.0)((y, x - apart)));
    let [top, left, _, right] = whole.bounds;
    let middle = (left + right) / 2;
    fits.then(|| [(top, middle), (top, middle + 1), (top, left)].map(colour.0))
}

/// Pairs of a colour that loses cells and another, new in the output, that has exactly as many.
pub(crate) fn became(look: &Look) -> Vec<(u8, u8)> {
    let mut found = Vec::new();
    for old in 1u8..10 {
        let lost = look.had(old).saturating_sub(look.has(old));
        for &new in &look.fresh {
            if lost >= 3 && look.has(new) == lost {
                found.push((old, new));
            }
        }
    }
    found
}

/// Cells that are not empty with their colours, moved to the origin.
pub(crate) fn form(grid: &Grid) -> Vec<(Place, u8)> {
    let cells = grid.places_where(|c| c != 0);
    let Some([top, left, ..]) = bounds(&cells) else {
        return Vec::new();
    };
    let moved = |&(r, c): &Place| ((r - top, c - left), grid.at(r, c));
    cells.iter().map(moved).collect()
}

pub(crate) fn times(small: &[(Place, u8)], k: i32) -> Vec<(Place, u8)> {
    let mut image: Vec<(Place, u8)> = small
        .iter()
        .flat_map(|&((r, c), v)| (0..k * k).map(move |i| ((r * k + i / k, c * k + i % k), v)))
        .collect();
    image.sort_unstable();
    image
}

pub(crate) fn scaled(small: &Grid, large: &Grid, (n, m): (usize, usize)) -> bool {
    [2, 3]
        .into_iter()
        .any(|k: i32| n > 0 && n * (k * k) as usize == m && times(&form(small), k) == form(large))
}

/// How many cells are not empty before and after.
pub(crate) fn filled(look: &Look) -> (usize, usize) {
    let cells = look.input.rows() * look.input.cols();
    (cells - look.had(0), cells - look.has(0))
}

/// Whether the near view is what a frame of this colour holds in the wide view, twice as large, in a
/// frame of its own.
pub(crate) fn view(wide: &Grid, near: &Grid, frame: u8) -> bool {
    let (Some([t, l, b, r]), Some([nt, nl, nb, nr])) = (
        bounds(&wide.places_of(frame)),
        bounds(&near.places_of(frame)),
    ) else {
        return false;
    };
    let doubled = nb - nt - 1 == 2 * (b - t - 1) && nr - nl - 1 == 2 * (r - l - 1);
    let ring = 2 * (b - t + r - l) as usize;
    doubled
        && wide.count(frame) == ring
        && every(&near.places_where(|c| c != 0), |&(y, x)| {
            y >= nt && y <= nb && x >= nl && x <= nr
        })
        && (t + 1..b).all(|y| {
            (l + 1..r).all(|x| {
                let (py, px) = (nt + 1 + 2 * (y - t - 1), nl + 1 + 2 * (x - l - 1));
                (0..4).all(|i| near.at(py + i / 2, px + i % 2) == wide.at(y, x))
            })
        })
}

/// Whether all went the same way and as far.
pub(crate) fn alike(moves: &[Move<'_>]) -> bool {
    let first = moves.first().map(|f| f.by);
    moves.iter().all(|m| Some(m.by) == first)
}

/// Whether a part lies on something, or on the edge, in the output.
pub(crate) fn rests(look: &Look, part: &Part) -> bool {
    part.cells.iter().any(|&(r, c)| {
        let under = (r + 1, c);
        !part.has(under) && edge_or(&look.output, under, |v| v != 0)
    })
}

/// The columns in which cells of this row lie.
pub(crate) fn in_row(cells: &[Place], row: i32) -> Vec<i32> {
    let here = cells.iter().filter(|p| p.0 == row);
    here.map(|p| p.1).collect()
}

/// The rows in which cells of this column lie.
pub(crate) fn in_column(cells: &[Place], col: i32) -> Vec<i32> {
    let here = cells.iter().filter(|p| p.1 == col);
    here.map(|p| p.0).collect()
}

/// Splits the colours that changed into one and the others, in every way.
pub(crate) fn apart(colours: &[u8]) -> impl Iterator<Item = (u8, Vec<u8>)> {
    colours.iter().map(|&one| {
        let others = colours.iter().copied().filter(|c| *c != one).collect();
        (one, others)
    })
}

/// Whether something of this colour is right over a part, or right under it.
pub(crate) fn beside(part: &Part, over: bool, colour: impl Fn(Place) -> bool) -> bool {
    let [t, l, b, r] = part.bounds;
    let row = if over { t - 1 } else { b + 1 };
    (l..=r).any(|c| colour((row, c)))
}

/// The highest row that this colour fills from edge to edge, the row under it too.
pub(crate) fn surface(look: &Look, liquid: u8) -> Option<i32> {
    let full = |r: i32| (0..look.cols()).all(|c| look.was((r, c)) == liquid);
    (0..look.rows() - 1).find(|&r| full(r) && full(r + 1))
}

pub(crate) fn sizes(bodies: &[Part]) -> Vec<usize> {
    let mut sizes: Vec<usize> = bodies.iter().map(Part::len).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

/// The rows that a colour has in each column, from the first to the last column it has.
pub(crate) fn profile(grid: &Grid, colour: u8) -> Option<(i32, Vec<(i32, i32)>)> {
    let cells = grid.places_of(colour);
    let [_, l, _, r] = bounds(&cells)?;
    // First row, last row and number of cells.
    let mut seen = vec![(i32::MAX, i32::MIN, 0); (r - l + 1) as usize];
    for (row, c) in cells {
        let column = seen.get_mut((c - l) as usize)?;
        *column = (column.0.min(row), column.1.max(row), column.2 + 1);
    }
    if seen.iter().any(|&(a, b, n)| n == 0 || b - a + 1 != n) {
        return None;
    }
    let columns: Vec<(i32, i32)> = seen.iter().map(|&(a, b, _)| (a, b)).collect();
    // A line without a break.
    let joined = |w: &[(i32, i32)]| w[0].0 <= w[1].1 + 1 && w[1].0 <= w[0].1 + 1;
    columns.windows(2).all(joined).then_some((l, columns))
}

/// How far a line lies from its usual row in each column, on one side or the other.
pub(crate) fn heights(columns: &[(i32, i32)]) -> (i32, Vec<i32>) {
    let mut rows: Vec<i32> = columns.iter().filter(|c| c.0 == c.1).map(|c| c.0).collect();
    rows.sort_unstable();
    let often = |r: &i32| rows.iter().filter(|s| *s == r).count();
    let usual = rows.iter().copied().max_by_key(often).unwrap_or(0);
    let far = |&(a, b): &(i32, i32)| {
        let upper = (a - usual).abs() > (b - usual).abs();
        usual - if upper { a } else { b }
    };
    (usual, columns.iter().map(far).collect())
}

/// The stretches of a line that are off its usual row.
pub(crate) fn humps(heights: &[i32]) -> Vec<(usize, Vec<i32>)> {
    let mut found: Vec<(usize, Vec<i32>)> = Vec::new();
    for (i, &h) in heights.iter().enumerate() {
        let goes_on = i > 0 && heights.get(i - 1).is_some_and(|b| b.signum() == h.signum());
        match found.last_mut() {
            _ if h == 0 => {}
            Some((_, hump)) if goes_on => hump.push(h),
            _ => found.push((i, vec![h])),
        }
    }
    found
}
