//! Readings of pictures of things: images through holes and lenses, mirror images, projections, nearer
//! and farther views.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::{Grid, Place};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "light-imaging",
        &["pinhole"],
        "did all that is on one side of a wall appear on the other, turned about the hole in it?",
        through_the_hole,
    )
    .touching(1, 9).added().fresh(0),
    Reading::new(
        "light-imaging",
        &["lens"],
        "did a smaller thing in the same colours appear upside down, with rays of a new colour to it?",
        through_the_lens,
    )
    .touching(3, 3).added().fresh(1),
    Reading::new(
        "mirror",
        &["behind-the-glass", "four-quarters"],
        "did a picture without symmetry keep its cells and become its own mirror image?",
        mirrored,
    )
    .touching(1, 9).added(),
    Reading::new(
        "projection",
        &["shadow"],
        "did a ground change colour just where something lies straight over it?",
        shadowed,
    )
    .touching(2, 2).recoloured().fresh(1),
    Reading::new(
        "projection",
        &["slide-projector"],
        "did a screen take on a slide's colours twice as large, with rays of a new colour to it?",
        shown_on_a_screen,
    )
    .touching(3, 9).fresh(1),
    Reading::new(
        "zoom-in",
        &["larger"],
        "is the whole picture the same, two or three times as large?",
        enlarged,
    ),
    Reading::new(
        "zoom-in",
        &["framed-part"],
        "is what a frame held all there is now, twice as large, in a larger frame?",
        only_the_framed,
    ),
    Reading::new(
        "zoom-out",
        &["smaller"],
        "is the whole picture the same, at half or a third of its size?",
        reduced,
    ),
    Reading::new(
        "zoom-out",
        &["wider-view"],
        "is all there was now in a frame, at half its size, with more around it?",
        framed_now,
    ),
];

/// A still line of one colour from edge to edge, upright, with one cell missing: the hole.
fn hole(look: &Look) -> Option<(Place, u8)> {
    (0..look.cols()).find_map(|c| {
        let wall = look.was((0, c)).max(look.was((1, c)));
        let gaps: Vec<i32> = (0..look.rows())
            .filter(|&r| look.was((r, c)) != wall)
            .collect();
        match gaps.as_slice() {
            [r] if wall != 0 && look.was((*r, c)) == 0 => Some(((*r, c), wall)),
            _ => None,
        }
    })
}

fn through_the_hole(look: &Look) -> bool {
    look.only_added
        && look.changed.len() >= 4
        && look.fresh.is_empty()
        && look.lying_or_upright(|look| {
            let Some(((r, c), _)) = hole(look) else {
                return false;
            };
            let image = |p: &Place| (2 * r - p.0, 2 * c - p.1);
            let side = look.changed.first().map_or(0, |p| (p.1 - c).signum());
            let from: Vec<Place> = look.changed.iter().map(image).collect();
            let whole = |part: &Part| {
                let some = part.cells.iter().any(|p| from.contains(p));
                !some || part.cells.iter().all(|p| from.contains(p))
            };
            side != 0
                && look
                    .changed
                    .iter()
                    .all(|p| (p.1 - c).signum() == side && look.was(image(p)) == look.is(*p))
                && look.parts_before().iter().all(whole)
        })
}

fn through_the_lens(look: &Look) -> bool {
    let (Some(ray), true, 3) = (look.one_fresh(), look.only_added, look.touched.len()) else {
        return false;
    };
    look.lying_or_upright(|look| {
        let kinds: Vec<u8> = look.touched.iter().copied().filter(|c| *c != ray).collect();
        let [x, y] = *kinds.as_slice() else {
            return false;
        };
        let rows = |cells: &[Place]| -> Option<(i32, i32)> {
            let [t, _, b, _] = super::bounds(cells)?;
            Some((t, b))
        };
        let thing = [look.input.places_of(x), look.input.places_of(y)];
        let image = [look.came(x), look.came(y)];
        let size = |cells: &[Vec<Place>; 2]| cells.iter().map(Vec::len).sum::<usize>();
        let order = |cells: &[Vec<Place>; 2]| -> Option<i32> {
            let (a, b) = (rows(&cells[0])?, rows(&cells[1])?);
            Some(((a.0 + a.1) - (b.0 + b.1)).signum())
        };
        let (Some(a), Some(b)) = (order(&thing), order(&image)) else {
            return false;
        };
        let all = |cells: &[Vec<Place>; 2]| super::bounds(&cells.concat());
        let (Some(p), Some(q)) = (all(&thing), all(&image)) else {
            return false;
        };
        // Something still stands between thing and image.
        let (l, r) = if p[3] < q[1] {
            (p[3], q[1])
        } else {
            (q[3], p[1])
        };
        let lens = (l + 1..r).any(|c| (0..look.rows()).any(|r| look.stays((r, c))));
        let rays = look.after_of(ray);
        a * b == -1
            && size(&image) < size(&thing)
            && super::connected(&image.concat())
            && rays
                .iter()
                .all(|p| p.len() > 1 || look.attached(p, &look.output))
            && r - l > 2
            && lens
    })
}

/// Whether the cells that are not empty are symmetric about some line along an axis.
fn symmetric(grid: &Grid) -> bool {
    let cells = grid.places_where(|c| c != 0);
    let Some([top, left, bottom, right]) = super::bounds(&cells) else {
        return false;
    };
    let across = cells
        .iter()
        .all(|&(r, c)| grid.at(r, left + right - c) == grid.at(r, c));
    let down = cells
        .iter()
        .all(|&(r, c)| grid.at(top + bottom - r, c) == grid.at(r, c));
    across || down
}

fn mirrored(look: &Look) -> bool {
    look.only_added
        && look.changed.len() >= 4
        && (symmetric(&look.output) && !symmetric(&look.input)
            || look.lying_or_upright(in_the_glass))
}

/// A still line of one colour from edge to edge, and all that is new is the mirror image, across it,
/// of what was there.
fn in_the_glass(look: &Look) -> bool {
    let glass = (1..look.cols() - 1).find(|&c| {
        let colour = look.was((0, c));
        colour != 0 && (0..look.rows()).all(|r| look.was((r, c)) == colour)
    });
    let Some(c) = glass else { return false };
    let twin = |p: &Place| look.was((p.0, 2 * c - p.1));
    look.changed.iter().all(|p| twin(p) == look.is(*p)) && {
        // Whole things, not bits of them.
        let beyond = |p: &Place| look.is((p.0, 2 * c - p.1)) == look.was(*p);
        let shown = |part: &Part| {
            let n = part.cells.iter().filter(|p| beyond(p)).count();
            n == 0 || n == part.len()
        };
        look.parts_before().iter().all(shown)
    }
}

fn shadowed(look: &Look) -> bool {
    let (Some(dark), true, 2) = (look.one_fresh(), look.only_recoloured, look.touched.len()) else {
        return false;
    };
    let Some(&ground) = look.touched.iter().find(|c| **c != dark) else {
        return false;
    };
    look.some_way(|look| {
        let Some(&(row, _)) = look.changed.first() else {
            return false;
        };
        let over = |c: i32| (0..row).any(|r| ![0, ground].contains(&look.was((r, c))));
        look.changed.iter().all(|p| p.0 == row)
            && (0..look.cols()).all(|c| look.was((row, c)) == ground)
            && (0..look.cols()).all(|c| (look.is((row, c)) == dark) == over(c))
    })
}

fn shown_on_a_screen(look: &Look) -> bool {
    let Some(light) = look.one_fresh() else {
        return false;
    };
    let rays = look.after_of(light);
    if look.came(light).iter().any(|&p| look.was(p) != 0)
        || !rays.iter().all(|p| look.attached(p, &look.output))
    {
        return false;
    }
    look.lying_or_upright(|look| {
        let shown: Vec<Place> = look
            .changed
            .iter()
            .copied()
            .filter(|&p| look.is(p) != light)
            .collect();
        let (Some(&(first, c)), n) = (shown.first(), shown.len()) else {
            return false;
        };
        let screen = look.was((first, c));
        let straight = shown
            .iter()
            .enumerate()
            .all(|(i, p)| *p == (first + i as i32, c) && look.was(*p) == screen);
        if screen == 0 || n < 4 || n % 2 != 0 || !straight {
            return false;
        }
        // The slide: half as many cells in another column, the same colours.
        let half = n as i32 / 2;
        (0..look.cols()).filter(|x| *x != c).any(|x| {
            (0..=look.rows() - half).any(|r| {
                (0..half).all(|i| {
                    let slide = look.was((r + i, x));
                    slide != 0
                        && look.is((first + 2 * i, c)) == slide
                        && look.is((first + 2 * i + 1, c)) == slide
                })
            })
        })
    })
}

/// Cells that are not empty with their colours, moved to the origin.
fn form(grid: &Grid) -> Vec<(Place, u8)> {
    let cells = grid.places_where(|c| c != 0);
    let Some([top, left, ..]) = super::bounds(&cells) else {
        return Vec::new();
    };
    cells
        .iter()
        .map(|&(r, c)| ((r - top, c - left), grid.at(r, c)))
        .collect()
}

fn times(small: &[(Place, u8)], k: i32) -> Vec<(Place, u8)> {
    let mut image: Vec<(Place, u8)> = small
        .iter()
        .flat_map(|&((r, c), v)| (0..k * k).map(move |i| ((r * k + i / k, c * k + i % k), v)))
        .collect();
    image.sort_unstable();
    image
}

fn scaled(small: &Grid, large: &Grid, (n, m): (usize, usize)) -> bool {
    [2, 3]
        .into_iter()
        .any(|k: i32| n > 0 && n * (k * k) as usize == m && times(&form(small), k) == form(large))
}

/// How many cells are not empty before and after.
fn filled(look: &Look) -> (usize, usize) {
    let cells = look.input.rows() * look.input.cols();
    (cells - look.had(0), cells - look.has(0))
}

fn enlarged(look: &Look) -> bool {
    scaled(&look.input, &look.output, filled(look))
}

fn reduced(look: &Look) -> bool {
    let (before, after) = filled(look);
    scaled(&look.output, &look.input, (after, before))
}

fn only_the_framed(look: &Look) -> bool {
    (1..10).any(|c| {
        look.had(c) >= 12 && look.has(c) > look.had(c) && view(&look.input, &look.output, c)
    })
}

fn framed_now(look: &Look) -> bool {
    (1..10).any(|c| {
        look.has(c) >= 12 && look.had(c) > look.has(c) && view(&look.output, &look.input, c)
    })
}

/// Whether the near view is what a frame of this colour holds in the wide view, twice as large, in a
/// frame of its own.
fn view(wide: &Grid, near: &Grid, frame: u8) -> bool {
    let (Some([t, l, b, r]), Some([nt, nl, nb, nr])) = (
        super::bounds(&wide.places_of(frame)),
        super::bounds(&near.places_of(frame)),
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
