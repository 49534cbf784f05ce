//! What the readings of several concepts ask alike. Readings of pictures of things: images through holes and lenses, mirror images, projections, nearer and farther views.

use crate::grid::{Grid, Place};
use crate::worlds::readings::look::Look;

/// Cells that are not empty with their colours, moved to the origin.
pub(crate) fn form(grid: &Grid) -> Vec<(Place, u8)> {
    let cells = grid.places_where(|c| c != 0);
    let Some([top, left, ..]) = crate::worlds::readings::bounds(&cells) else {
        return Vec::new();
    };
    cells
        .iter()
        .map(|&(r, c)| ((r - top, c - left), grid.at(r, c)))
        .collect()
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
        crate::worlds::readings::bounds(&wide.places_of(frame)),
        crate::worlds::readings::bounds(&near.places_of(frame)),
    ) else {
        return false;
    };
    let doubled = nb - nt - 1 == 2 * (b - t - 1) && nr - nl - 1 == 2 * (r - l - 1);
    let ring = 2 * (b - t + r - l) as usize;
    doubled
        && wide.count(frame) == ring
        && near
            .places_where(|c| c != 0)
            .iter()
            .all(|&(y, x)| y >= nt && y <= nb && x >= nl && x <= nr)
        && (t + 1..b).all(|y| {
            (l + 1..r).all(|x| {
                let (py, px) = (nt + 1 + 2 * (y - t - 1), nl + 1 + 2 * (x - l - 1));
                (0..4).all(|i| near.at(py + i / 2, px + i % 2) == wide.at(y, x))
            })
        })
}
