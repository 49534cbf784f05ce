//! Force composition: how it is drawn, said and recognised.

use crate::grid::Pair;
use crate::worlds::draw::line;
use crate::worlds::{Aspect, Concept, Set, Setting, Words};

/// The concept.
pub static CONCEPT: Concept = Concept {
    id: "force-composition",
    name: "force composition",
    set: Set::CoreDev,
    associative: false,
    aspects: &[
        Aspect::free(
            "parallelogram",
            "Two forces on a body are the sides of a parallelogram, and their sum is its diagonal.",
            parallelogram,
        ),
        Aspect::free(
            "tug-of-war",
            "Two opposite pulls on a body become one: as long as their difference, on the side of the longer.",
            tug_of_war,
        ),
    ],
    words: Words {
        names: &["forc*", "compos*", "resultant*", "vector addition"],
        giveaways: &["parallelogram*"],
        definitions: &[
            "Two pushes that act on one point can be replaced by a single one that does the same: the diagonal of the [MASK] that they span. This is [PHENOMENON].",
            "By [PHENOMENON], a barge towed by two ropes at an angle goes along neither rope but in a direction between them, and two equal and opposite pulls cancel.",
        ],
    },
    readings: reading::READINGS,
    confusable: &[],
};

fn parallelogram(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (body, one, two, sum) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let (across, up) = (s.between(4, s.cols - 3), s.between(4, s.rows - 3));
    let at = s.place((up, s.rows - 2), (1, s.cols - 2 - across));
    let lean = s.between(0, 2).min(s.cols - 2 - across - at.1);
    let a = (at.0, at.1 + across);
    let b = (at.0 - up, at.1 + lean);
    let corner = (at.0 - up, at.1 + across + lean);
    p.both(|g| {
        g.paint(line(at, a), one);
        g.paint(line(at, b), two);
        g.set(at.0, at.1, body);
    });
    for (from, to) in [(a, corner), (b, corner)] {
        let dashes = line(from, to);
        let last = dashes.len();
        p.output.paint(
            dashes
                .into_iter()
                .enumerate()
                .filter(|(i, _)| i % 2 == 0 && *i > 0 && *i < last)
                .map(|(_, c)| c),
            body,
        );
    }
    p.output.paint(line(at, corner).into_iter().skip(1), sum);
    p.output.set(at.0, at.1, body);
    Some(p)
}

fn tug_of_war(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (body, one, two) = (s.colour(0), s.colour(1), s.colour(2));
    let lanes = s.between(1, 3);
    for lane in 0..lanes {
        let row = if lanes == 1 {
            s.between(3, s.rows - 4)
        } else {
            2 + lane * (s.rows / lanes) + if lanes == 2 { s.between(0, 1) } else { 0 }
        };
        let mid = s.cols / 2 + s.between(-1, 0);
        let (left, right) = (s.between(1, mid - 2), s.between(1, s.cols - mid - 3));
        if left == right {
            return None;
        }
        p.both(|g| g.fill((row - 1, mid - 1), (row + 1, mid + 1), body));
        p.input.fill((row, mid - 1 - left), (row, mid - 2), one);
        p.input.fill((row, mid + 2), (row, mid + 1 + right), two);
        if left > right {
            p.output
                .fill((row, mid - 1 - left + right), (row, mid - 2), one);
        } else {
            p.output
                .fill((row, mid + 2), (row, mid + 1 + right - left), two);
        }
    }
    Some(p)
}

/// How it is recognised: by the cells alone, without the code that draws it.
mod reading {
    use crate::grid::Place;
    use crate::worlds::readings::Reading;
    use crate::worlds::readings::look::Look;

    pub(super) static READINGS: &[Reading] = &[
Reading::new(
        "force-composition",
        &["parallelogram"],
        "do two lines from a point get a third to the far corner of their parallelogram?",
        diagonal,
    )
    .touching(2, 4).fresh(1),
Reading::new(
        "force-composition",
        &["tug-of-war"],
        "do two opposite arms of a body become one, as long as their difference, on the longer's side?",
        difference,
    )
    .touching(2, 2),
];

    /// The end of a line of this colour that begins next to a point.
    fn end_of(look: &Look, colour: u8, from: Place) -> Option<Place> {
        let cells = look.input.places_of(colour);
        let far = |p: &&Place| (p.0 - from.0).abs().max((p.1 - from.1).abs());
        let near = cells.iter().any(|p| far(&p) == 1);
        let end = cells.iter().max_by_key(far)?;
        // A thin line has as many cells as its end is away.
        (near && far(&end) as usize == cells.len()).then_some(*end)
    }

    fn diagonal(look: &Look) -> bool {
        let Some(sum) = look.one_fresh() else {
            return false;
        };
        if look.touched.len() > 4 || look.has(sum) < 3 {
            return false;
        }
        // The body grows dashes of its own colour along the far sides.
        let bodies = look
            .touched
            .iter()
            .filter(|&&c| look.had(c) == 1 && look.has(c) > 1);
        bodies.copied().any(|body| {
            let Some(&at) = look.input.places_of(body).first() else {
                return false;
            };
            let ends: Vec<Place> = (1..10)
                .filter(|&c| c != body && look.had(c) >= 2)
                .filter_map(|c| end_of(look, c, at))
                .collect();
            let [a, b] = ends.as_slice() else {
                return false;
            };
            let corner = (a.0 + b.0 - at.0, a.1 + b.1 - at.1);
            let line = look.output.places_of(sum);
            let far = |p: &Place| (p.0 - at.0).abs().max((p.1 - at.1).abs());
            // The dashes lie along the two far sides.
            let along = |p: &Place, from: &Place| {
                let (u, v) = (
                    (corner.0 - from.0, corner.1 - from.1),
                    (p.0 - from.0, p.1 - from.1),
                );
                (u.0 * v.1 - u.1 * v.0).abs() <= u.0.abs().max(u.1.abs())
            };
            let dashes = look.came(body);
            look.is(corner) == sum
                && dashes.iter().all(|p| along(p, a) || along(p, b))
                && line.iter().all(|p| far(p) <= far(&corner))
                && line.iter().any(|p| far(p) == 1)
                && line.len() as i32 == far(&corner)
        })
    }

    fn difference(look: &Look) -> bool {
        if look.changed.iter().any(|&p| look.is(p) != 0) || look.touched.len() != 2 {
            return false;
        }
        look.lying_or_upright(|look| {
            let mut rows: Vec<i32> = look.changed.iter().map(|p| p.0).collect();
            rows.dedup();
            rows.iter().all(|&r| arms_subtract(look, r))
        })
    }

    /// In this row two arms of different colours lie on both sides of a still body: the shorter is gone
    /// and the longer has lost as much from its end.
    fn arms_subtract(look: &Look, row: i32) -> bool {
        let lost: Vec<i32> = look
            .changed
            .iter()
            .filter(|p| p.0 == row)
            .map(|p| p.1)
            .collect();
        let (Some(&first), Some(&last)) = (lost.first(), lost.last()) else {
            return false;
        };
        let (one, two) = (look.was((row, first)), look.was((row, last)));
        let arm = |colour: u8, is: bool| -> Vec<i32> {
            (0..look.cols())
                .filter(|&c| {
                    (if is {
                        look.is((row, c))
                    } else {
                        look.was((row, c))
                    }) == colour
                })
                .collect()
        };
        let (left, right) = (arm(one, false), arm(two, false));
        let (now_left, now_right) = (arm(one, true), arm(two, true));
        let shorter = left.len().min(right.len());
        let body = left.last().zip(right.first());
        let between =
            body.is_some_and(|(l, r)| r - l > 1 && (l + 1..*r).all(|c| look.stays((row, c))));
        let from_the_end = if left.len() > right.len() {
            now_right.is_empty() && now_left == left[shorter..]
        } else {
            now_left.is_empty() && now_right == right[..right.len() - shorter]
        };
        one != two && left.len() != right.len() && between && from_the_end
    }
}
