//! What can be seen of a printed symbol: regions it encloses, pieces it falls into, strokes a line
//! crosses, the side it is open to. Each look gives nothing where the picture is not clear about it.

use mary_generators::glyphs::ink::{Form, Half, Ink};
use mary_platform::given;

/// Regions and pieces smaller than this many dots are not clear (a stroke is 12 dots wide).
const SMALL: usize = 30;
/// Shifts of a line, as shares of the height, under which what is seen must stay the same.
const SHIFTS: [f64; 5] = [-0.05, -0.025, 0.0, 0.025, 0.05];
/// A line runs along a stroke when it meets more than this many times the stroke's width.
const ALONG: f64 = 2.2;
/// A bay counts from this share of the symbol's box on.
const BAY: f64 = 0.05;
/// A dent up to this share is none.
const DENT: f64 = 0.015;
/// A bay may point this far from a side, in degrees.
const ASKEW: f64 = 14.0;
/// A bay's mouth may slant by this share of the box: a corner bracket is open to no one side.
const SLANT: f64 = 0.2;

/// A patch of like dots.
struct Patch {
    dots: Vec<(usize, usize)>,
    at_edge: bool,
}

/// The patches of dots for which `like` holds, in a frame of `width` by `height`; corners join dots
/// only where `corners` says so.
fn patches(
    width: usize,
    height: usize,
    corners: bool,
    like: &dyn Fn(usize, usize) -> bool,
) -> Vec<Patch> {
    let mut seen = vec![false; width * height];
    let mut found = Vec::new();
    for start in 0..width * height {
        let (x, y) = (start % width, start / width);
        if seen[start] || !like(x, y) {
            continue;
        }
        seen[start] = true;
        let mut patch = Patch {
            dots: vec![(x, y)],
            at_edge: false,
        };
        let mut next = 0;
        while let Some(&(x, y)) = patch.dots.get(next) {
            next += 1;
            patch.at_edge |= x == 0 || y == 0 || x + 1 == width || y + 1 == height;
            for (dx, dy) in NEIGHBOURS.into_iter().take(if corners { 8 } else { 4 }) {
                let (Some(nx), Some(ny)) = (x.checked_add_signed(dx), y.checked_add_signed(dy))
                else {
                    continue;
                };
                if nx < width && ny < height && !seen[ny * width + nx] && like(nx, ny) {
                    seen[ny * width + nx] = true;
                    patch.dots.push((nx, ny));
                }
            }
        }
        found.push(patch);
    }
    found
}

const NEIGHBOURS: [(isize, isize); 8] = [
    (1, 0),
    (-1, 0),
    (0, 1),
    (0, -1),
    (1, 1),
    (1, -1),
    (-1, 1),
    (-1, -1),
];

/// How many patches there are, if none is too small to be clear.
fn clear_count(patches: &[Patch]) -> Option<usize> {
    let clear = patches.iter().all(|p| p.dots.len() >= SMALL);
    clear.then_some(patches.len())
}

pub fn regions(ink: &Ink) -> Option<usize> {
    let mut blank = patches(ink.width(), ink.height(), false, &|x, y| !ink.dot(x, y));
    blank.retain(|p| !p.at_edge);
    clear_count(&blank)
}

pub fn single(ink: &Ink) -> bool {
    patches(ink.width(), ink.height(), true, &|x, y| ink.dot(x, y)).len() == 1
}

fn row_at(ink: &Ink, share: f64) -> usize {
    ((share * ink.height() as f64).round() as usize).clamp(1, ink.height().max(2) - 1)
}

/// The same count under every shift of the line at `share` of the height.
fn steady(share: f64, count: impl Fn(f64) -> Option<usize>) -> Option<usize> {
    let first = count(share + SHIFTS[0])?;
    let mut others = SHIFTS.iter().map(|shift| count(share + shift));
    let same = others.all(|other| other == Some(first));
    same.then_some(first)
}

/// Pieces of ink after a cut along a row at this share of the height.
pub fn pieces(ink: &Ink, share: f64) -> Option<usize> {
    steady(share, |at| {
        let row = row_at(ink, at);
        let upper = patches(ink.width(), row, true, &|x, y| ink.dot(x, y));
        let lower = patches(ink.width(), ink.height() - row, true, &|x, y| {
            ink.dot(x, y + row)
        });
        Some(clear_count(&upper)? + clear_count(&lower)?)
    })
}

pub fn strokes(ink: &Ink, share: f64, pen: usize) -> Option<usize> {
    let longest = (ALONG * pen as f64) as usize;
    steady(share, |at| {
        let row = row_at(ink, at);
        let mut count = 0;
        let mut run = 0;
        for x in 0..=ink.width() {
            if ink.dot(x, row) {
                run += 1;
                continue;
            }
            given(run <= longest)?;
            count += usize::from(run > 0);
            run = 0;
        }
        Some(count)
    })
}

/// Regions still surrounded by ink when this share is covered from one side, the same for a slightly
/// larger and a slightly smaller cover.
pub fn regions_left(ink: &Ink, side: Half, share: f64) -> Option<usize> {
    // Turned so that the upper part is the covered one.
    let turned = match side {
        Half::Top => ink.clone(),
        Half::Bottom => ink.top_bottom(),
        Half::Left => ink.clockwise(),
        Half::Right => ink.left_right().clockwise(),
    };
    steady(share, |at| {
        let row = row_at(&turned, at);
        let rest = Ink::new(turned.width(), turned.height() - row, |x, y| {
            turned.dot(x, y + row)
        })?;
        regions(&rest)
    })
}

/// The only side a symbol is open to, in eighths of a turn clockwise from up: all its bays lead
/// there, and there is no dent that might be taken for another.
pub fn opening(ink: &Ink) -> Option<usize> {
    let hull = Hull::around(ink);
    let (width, height) = (ink.width(), ink.height());
    let bays = patches(width, height, false, &|x, y| {
        hull.holds(x, y) && !ink.dot(x, y)
    });
    let whole = (width * height) as f64;
    let mut side = None;
    for bay in &bays {
        let mouth = hull.mouth(bay);
        let Some(direction) = way_out(bay, &mouth) else {
            continue; // a region without a way out
        };
        let share = bay.dots.len() as f64 / whole;
        if share <= DENT {
            continue;
        }
        let nearest = (direction / 90.0).round() * 90.0;
        let eighths = (nearest / 45.0) as usize % 8;
        let upright = eighths.is_multiple_of(4);
        let slant = reach(&mouth, upright) / if upright { height } else { width } as f64;
        let clear = share >= BAY && (direction - nearest).abs() <= ASKEW && slant <= SLANT;
        given(clear && side.is_none_or(|s| s == eighths))?;
        side = Some(eighths);
    }
    side
}

struct Hull {
    rows: Vec<(f64, f64)>,
}

impl Hull {
    fn around(ink: &Ink) -> Self {
        let ends: Vec<(f64, f64, f64)> = (0..ink.height())
            .filter_map(|y| {
                let left = (0..ink.width()).find(|&x| ink.dot(x, y))?;
                let right = (0..ink.width()).rev().find(|&x| ink.dot(x, y))?;
                Some((y as f64, left as f64, right as f64))
            })
            .collect();
        let left = chain(ends.iter().map(|e| (e.0, e.1)), 1.0);
        let right = chain(ends.iter().map(|e| (e.0, e.2)), -1.0);
        let ends = |y: usize| (along(&left, y as f64), along(&right, y as f64));
        let rows = (0..ink.height()).map(ends).collect();
        Self { rows }
    }

    fn holds(&self, x: usize, y: usize) -> bool {
        let within = |&(left, right): &(f64, f64)| (left..=right).contains(&(x as f64));
        self.rows.get(y).is_some_and(within)
    }

    /// The dots of a bay that border on the outside.
    fn mouth(&self, bay: &Patch) -> Vec<(usize, usize)> {
        let outside = |x: usize, y: usize| {
            NEIGHBOURS.into_iter().take(4).any(|(dx, dy)| {
                match (x.checked_add_signed(dx), y.checked_add_signed(dy)) {
                    (Some(nx), Some(ny)) => !self.holds(nx, ny),
                    _ => true,
                }
            })
        };
        let dots = bay.dots.iter().copied();
        dots.filter(|&(x, y)| outside(x, y)).collect()
    }
}

/// The direction from a bay's middle to the middle of its mouth, in degrees clockwise from up.
fn way_out(bay: &Patch, mouth: &[(usize, usize)]) -> Option<f64> {
    given(!mouth.is_empty())?;
    let (from, to) = (middle(&bay.dots), middle(mouth));
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    Some(dx.atan2(-dy).to_degrees().rem_euclid(360.0))
}

/// How far dots reach from top to bottom, or else from left to right.
fn reach(dots: &[(usize, usize)], upright: bool) -> f64 {
    let along = || dots.iter().map(|&(x, y)| if upright { y } else { x });
    let (low, high) = (along().min().unwrap_or(0), along().max().unwrap_or(0));
    (high - low) as f64
}

fn middle(dots: &[(usize, usize)]) -> (f64, f64) {
    let n = dots.len().max(1) as f64;
    let add = |s: (f64, f64), d: &(usize, usize)| (s.0 + d.0 as f64, s.1 + d.1 as f64);
    let sum = dots.iter().fold((0.0, 0.0), add);
    (sum.0 / n, sum.1 / n)
}

/// The convex side of points ordered by row: `way` 1 keeps the smallest columns, -1 the largest.
fn chain(points: impl Iterator<Item = (f64, f64)>, way: f64) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for p in points {
        while let [.., a, b] = kept.as_slice() {
            let turn = (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0);
            if turn * way > 0.0 {
                break;
            }
            kept.pop();
        }
        kept.push(p);
    }
    kept
}

fn along(chain: &[(f64, f64)], y: f64) -> f64 {
    let after = chain.partition_point(|p| p.0 < y);
    match (
        after.checked_sub(1).and_then(|i| chain.get(i)),
        chain.get(after),
    ) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (y - a.0) / (b.0 - a.0),
        (_, Some(b)) => b.1,
        (Some(a), None) => a.1,
        (None, None) => 0.0,
    }
}

/// Alike from this likeness on, where a dot may be off by a 24th of the side …
const ALIKE: f64 = 0.96;
/// … and from this share of all ink that lies exactly on ink.
const OVERLAP: f64 = 0.80;
/// Not alike up to this likeness.
const UNLIKE: f64 = 0.86;

/// The dots that both pictures have as a share of those that either has.
fn overlap(one: &Ink, two: &Ink) -> f64 {
    let (mut both, mut either) = (0.0f64, 0.0f64);
    for y in 0..one.height().max(two.height()) {
        for x in 0..one.width().max(two.width()) {
            let (a, b) = (one.dot(x, y), two.dot(x, y));
            both += f64::from(u8::from(a && b));
            either += f64::from(u8::from(a || b));
        }
    }
    both / either.max(1.0)
}

/// Which flips and turns leave a picture as it is; nothing where one of them is a matter of taste.
pub fn symmetry(ink: &Ink) -> Option<[bool; 3]> {
    let form = Form::from_ink(ink);
    let moved = [
        ink.left_right(),
        ink.top_bottom(),
        ink.clockwise().clockwise(),
    ];
    let mut same = [false; 3];
    for (place, other) in same.iter_mut().zip(moved) {
        let likeness = form.likeness(&Form::from_ink(&other));
        *place = likeness >= ALIKE && overlap(ink, &other) >= OVERLAP;
        given(likeness <= UNLIKE || *place)?;
    }
    Some(same)
}

#[cfg(test)]
mod tests {
    use mary_generators::glyphs::{pen, picture};

    use super::*;

    fn of(symbol: char) -> &'static Ink {
        picture(symbol).unwrap()
    }

    #[test]
    fn regions_are_what_people_count() {
        for (symbol, count) in [('A', 1), ('B', 2), ('8', 2), ('C', 0), ('O', 1), ('e', 1)] {
            assert_eq!(regions(of(symbol)), Some(count), "{symbol}");
        }
        assert_eq!(regions_left(of('P'), Half::Bottom, 1.0 / 3.0), Some(1));
        assert_eq!(regions_left(of('P'), Half::Top, 1.0 / 3.0), Some(0));
        assert_eq!(regions_left(of('d'), Half::Bottom, 0.5), Some(0));
        assert_eq!(regions_left(of('A'), Half::Bottom, 0.25), Some(1));
        assert_eq!(regions_left(of('O'), Half::Left, 0.5), Some(0));
        assert_eq!(regions_left(of('Φ'), Half::Left, 1.0 / 3.0), Some(1));
    }

    #[test]
    fn openings_are_where_people_see_them() {
        let sides = [
            ('U', 0),
            ('C', 2),
            ('n', 4),
            ('Ɔ', 6),
            ('V', 0),
            ('E', 2),
            ('<', 2),
            ('Λ', 4),
        ];
        for (symbol, side) in sides {
            assert_eq!(opening(of(symbol)), Some(side), "{symbol}");
        }
        for symbol in ['S', 'X', 'O', 'T', 'L', 'H', 'W', '⌉'] {
            assert_eq!(opening(of(symbol)), None, "{symbol}");
        }
    }

    #[test]
    fn cuts_and_lines_are_what_they_say() {
        assert_eq!(pieces(of('O'), 0.5), Some(2));
        assert_eq!(pieces(of('U'), 0.5), Some(3));
        assert_eq!(pieces(of('X'), 0.25), Some(3));
        assert_eq!(strokes(of('O'), 0.5, pen()), Some(2));
        assert_eq!(strokes(of('M'), 0.9, pen()), Some(2));
        assert_eq!(strokes(of('H'), 0.5, pen()), None, "along the bar");
        assert_eq!(strokes(of('H'), 0.25, pen()), Some(2));
    }
}
