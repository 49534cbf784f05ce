//! Reference frame: how it is drawn, said and recognised.

use crate::grid::{Grid, Pair, Place};
use crate::worlds::draw::{disc, shifted};
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "reference-frame",
    name: "reference frame",
    set: Set::CoreTest,
    associative: true,
    aspects: &[
        Aspect::free(
            "new-origin",
            "The axes of coordinates are laid through another body; no body moves.",
            new_origin,
        ),
        Aspect::free(
            "own-view",
            "The axes stay, and the whole scene is shifted so that one body, and with it the observer, rests at the origin.",
            own_view,
        ),
    ],
    words: Words {
        names: &["referenc*", "frame*", "coordinate system*"],
        giveaways: &["Galileo*", "Galilean"],
        definitions: &[
            "[PHENOMENON] is the body or the set of axes, taken as fixed, against which place and speed are described. The same event gets other numbers when another one is chosen.",
            "A passenger sits still as seen from the train and goes by at 100 kilometres an hour as seen from the platform: whether something is at rest depends on [PHENOMENON].",
        ],
    },
    readings: reading::READINGS,
    confusable: &[
        ("force-composition", "arrows at right angles look like axes"),
        ("projection", "coordinates are projections"),
        ("relativity", "relativity is about frames"),
    ],
};

fn scattered(s: &mut Setting, many: i32) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    for _ in 0..40 {
        let at = s.place((1, s.rows - 3), (1, s.cols - 3));
        let apart = |p: &Place| (p.0 - at.0).abs() > 2 && (p.1 - at.1).abs() > 2;
        if found.iter().all(apart) {
            found.push(at);
        }
        if found.len() as i32 == many {
            break;
        }
    }
    found
}

fn axes(g: &mut Grid, at: Place, colour: u8) {
    g.fill((at.0, 0), (at.0, g.cols() as i32), colour);
    g.fill((0, at.1), (g.rows() as i32, at.1), colour);
}

fn new_origin(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let bodies = scattered(s, 3);
    let (first, second) = (*bodies.first()?, *bodies.get(1)?);
    axes(&mut p.input, first, s.colour(0));
    axes(&mut p.output, second, s.colour(0));
    for (i, at) in bodies.iter().enumerate() {
        let colour = s.colour(1 + i);
        p.both(|g| g.paint(disc(*at, 1), colour));
    }
    Some(p)
}

fn own_view(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let origin = (s.rows / 2, s.cols / 2);
    let observer = s.place((2, s.rows - 3), (2, s.cols - 3));
    let by = (origin.0 - observer.0, origin.1 - observer.1);
    if by.0.abs().min(by.1.abs()) < 2 {
        return None;
    }
    axes(&mut p.input, origin, s.colour(0));
    axes(&mut p.output, origin, s.colour(0));
    for role in 2..4 {
        let size = s.between(3, 5) as usize;
        let form = s.blob(size);
        // Where both the place and the shifted place lie in the grid.
        let at = s.place(
            ((-by.0).max(0), s.rows - 3 - by.0.max(0)),
            ((-by.1).max(0), s.cols - 3 - by.1.max(0)),
        );
        let (from, to) = (
            shifted(&form, at),
            shifted(&form, (at.0 + by.0, at.1 + by.1)),
        );
        let off = |g: &Grid, cells: &[Place]| {
            cells.iter().any(|&(r, c)| !g.holds(r, c))
                || cells.contains(&observer)
                || cells.contains(&origin)
        };
        if off(&p.input, &from) || off(&p.output, &to) {
            return None;
        }
        p.input.paint(from, s.colour(role));
        p.output.paint(to, s.colour(role));
    }
    p.input.paint(disc(observer, 1), s.colour(1));
    p.output.paint(disc(origin, 1), s.colour(1));
    let whole = |c: usize| p.input.count(s.colour(c)) == p.output.count(s.colour(c));
    (whole(1) && whole(2) && whole(3)).then_some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::{Grid, Place};
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::Look;

    pub(super) static READINGS: &[Reading] = &[
Reading::new(
        "reference-frame",
        &["new-origin"],
        "do the same two crossed axes now meet at another body, and did nothing else change?",
        axes_elsewhere,
    )
    .touching(1, 1),
Reading::new(
        "reference-frame",
        &["own-view"],
        "was everything but two crossed axes shifted alike, so that one body lies where they meet?",
        scene_shifted,
    )
    .touching(2, 5)
    .kinds_stay()
    .keeping(1)
    .movers(1),
];

    /// Where two lines of this colour, from edge to edge, cross: bodies may lie over them.
    fn crossing(grid: &Grid, axis: u8) -> Option<Place> {
        let cells = grid.places_of(axis);
        let (rows, cols) = (grid.rows() as i32, grid.cols() as i32);
        let fullest = |n: i32, of: &dyn Fn(&Place) -> i32| {
            (0..n).max_by_key(|k| cells.iter().filter(|p| of(p) == *k).count())
        };
        let (r, c) = (fullest(rows, &|p| p.0)?, fullest(cols, &|p| p.1)?);
        let lines = cells.iter().all(|p| p.0 == r || p.1 == c);
        let whole = (0..cols).all(|x| grid.at(r, x) != 0) && (0..rows).all(|y| grid.at(y, c) != 0);
        (lines && whole && cells.len() as i32 * 2 > rows + cols).then_some((r, c))
    }

    fn axes_elsewhere(look: &Look) -> bool {
        let [axis] = *look.touched.as_slice() else {
            return false;
        };
        let (Some(a), Some(b)) = (crossing(&look.input, axis), crossing(&look.output, axis)) else {
            return false;
        };
        a.0 != b.0 && a.1 != b.1 && look.is(b) != axis && look.was(b) == look.is(b)
    }

    fn scene_shifted(look: &Look) -> bool {
        look.touched.iter().any(|&axis| {
            if 2 * look.had(axis) < look.input.rows() {
                return false;
            }
            let (Some(a), Some(b)) = (crossing(&look.input, axis), crossing(&look.output, axis))
            else {
                return false;
            };
            let Some(all) = look.moves_but(&[axis]) else {
                return false;
            };
            let first = all.first().map(|m| m.by);
            a == b
                && all.len() >= 2
                && all.iter().all(|m| Some(m.by) == first)
                && all.iter().any(|m| m.to.middle() == (2 * b.0, 2 * b.1))
        })
    }
}
