//! Readings of forms: cut, grown, burst, turned, wound up.

use super::look::{Look, Part};
use super::{Reading, area};
use crate::grid::{Grid, Place, around};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "cut",
        &["knife", "along-marks"],
        "did one full rectangle become several with the same cells?",
        cut,
    )
    .touching(1, 3).kinds_stay().reshaping(4),
    Reading::new(
        "expansion",
        &["every-side"],
        "did every body grow by the same number of cells on all sides?",
        grew,
    )
    .touching(1, 9).added().fresh(0),
    Reading::new(
        "expansion",
        &["balloon"],
        "did a closed skin become wider on all sides around as many particles as before?",
        swelled,
    )
    .touching(2, 2).kinds_stay().reshaping(3),
    Reading::new(
        "explosion",
        &["fragments"],
        "did a block come apart into cells that lie around it in all directions, none lost?",
        burst,
    )
    .touching(1, 2).kinds_stay().reshaping(6),
    Reading::new(
        "explosion",
        &["blast"],
        "did something turn into a new colour that shoots out to all sides and breaks what stood around?",
        blasted,
    )
    .touching(3, 3).fresh(1).lost(1),
    Reading::new(
        "rotation",
        &["quarter-turn"],
        "is what changed the same coloured form, turned by a quarter or a half?",
        turned,
    )
    .same_counts(),
    Reading::new(
        "rotation",
        &["hand-of-a-clock"],
        "did all that is inside a still ring turn about its middle by a quarter?",
        turned_inside,
    )
    .touching(1, 3).same_counts(),
    Reading::new(
        "vortex",
        &["spiral"],
        "did a line become one long spiral that always bends the same way?",
        spiralled,
    )
    .touching(1, 1).added(),
    Reading::new(
        "vortex",
        &["wound-arms"],
        "did two straight opposite arms of a still point wind around it?",
        wound_up,
    )
    .touching(2, 2).kinds_stay(),
];

fn cut(look: &Look) -> bool {
    look.touched.iter().any(|&colour| {
        if !look.kept(colour, 4) {
            return false;
        }
        let (before, after) = (look.before_of(colour), look.after_of(colour));
        let solid = |p: &&&Part| p.is_box() && p.tall() > 1 && p.wide() > 1;
        // What cut it only went somewhere.
        let tools: Vec<u8> = look
            .touched
            .iter()
            .copied()
            .filter(|c| *c != colour)
            .collect();
        let went = tools.is_empty()
            || look
                .moves_of(&tools)
                .is_some_and(|all| all.iter().all(|m| m.by.0 * m.by.1 == 0));
        before.len() == 1
            && went
            && after.len() >= 2
            && before.iter().all(|p| solid(&p))
            && after.iter().all(|p| solid(&p))
    })
}

fn grew(look: &Look) -> bool {
    if !look.only_added || !look.fresh.is_empty() {
        return false;
    }
    let parts: Vec<&Part> = look
        .parts_before()
        .iter()
        .filter(|p| look.touched.contains(&p.colour))
        .collect();
    parts.len() >= 2
        && [1, 2].into_iter().any(|by: i32| {
            let mut image = look.input.clone();
            for part in &parts {
                for &(r, c) in &part.cells {
                    for dr in -by..=by {
                        for dc in -by..=by {
                            image.set(r + dr, c + dc, part.colour);
                        }
                    }
                }
            }
            image == look.output
        })
}

fn swelled(look: &Look) -> bool {
    let t = &look.touched;
    let (2, Some(&x), Some(&y)) = (t.len(), t.first(), t.get(1)) else {
        return false;
    };
    [(x, y), (y, x)].into_iter().any(|(skin, gas)| {
        if !look.kept(gas, 3) || look.has(skin) <= look.had(skin) {
            return false;
        }
        let (before, after) = (look.before_of(skin), look.after_of(skin));
        let ([small], [large]) = (before.as_slice(), after.as_slice()) else {
            return false;
        };
        let by: Vec<i32> = small
            .bounds
            .iter()
            .zip(&large.bounds)
            .map(|(a, b)| (a - b).abs())
            .collect();
        let inside = |grid: &Grid| {
            let out = super::outside(grid, skin);
            grid.places_of(gas).iter().all(|&(r, c)| out.at(r, c) == 0)
        };
        by.iter().all(|d| *d > 0 && Some(d) == by.first())
            && large.bounds[0] < small.bounds[0]
            && inside(&look.input)
            && inside(&look.output)
    })
}

fn burst(look: &Look) -> bool {
    if look.touched.len() > 2 {
        return false;
    }
    look.touched.iter().any(|&colour| {
        if !look.kept(colour, 6) {
            return false;
        }
        let (a, b) = (look.input.places_of(colour), look.output.places_of(colour));
        let Some([t, l, bottom, r]) = super::bounds(&a) else {
            return false;
        };
        let (y, x) = (t + bottom, l + r);
        let mut ways: Vec<Place> = b
            .iter()
            .map(|p| ((2 * p.0 - y).signum(), (2 * p.1 - x).signum()))
            .collect();
        ways.sort_unstable();
        ways.dedup();
        let far = |p: &Place| (2 * p.0 - y).abs().max((2 * p.1 - x).abs());
        let rim = a.iter().map(far).max().unwrap_or(0);
        let edge = b.iter().map(far).max().unwrap_or(0);
        let (was, is) = (look.before_of(colour).len(), look.after_of(colour).len());
        let flash = |c: &&u8| **c == colour || look.has_parts(**c, 1, 1);
        was == 1
            && look.touched.iter().all(|c| flash(&c))
            && is + 1 >= b.len()
            && area(&a) <= 30
            && area(&a) <= a.len() as i32 + 2
            && ways.len() >= 8
            && 2 * edge >= 3 * rim
    })
}

fn blasted(look: &Look) -> bool {
    let (Some(fire), Some(bomb), 3) = (look.one_fresh(), look.one_lost(), look.touched.len())
    else {
        return false;
    };
    let charge = look.input.places_of(bomb);
    let Some([t, l, b, r]) = super::bounds(&charge) else {
        return false;
    };
    let Some(&wall) = look.touched.iter().find(|c| **c != fire && **c != bomb) else {
        return false;
    };
    let middle = ((t + b) / 2, (l + r) / 2);
    let reach = |(dr, dc): Place| {
        (1..12)
            .take_while(|k| look.is((middle.0 + dr * k, middle.1 + dc * k)) == fire)
            .count()
    };
    look.is(middle) == fire
        && around(true).all(|way| reach(way) >= 2)
        && look.gone(wall).len() >= 4
        && charge
            .iter()
            .all(|&p| look.is(p) == fire || look.is(p) == 0)
        && look.has_parts(bomb, 1, 0)
        && look.has_parts(fire, 0, 1)
}

fn turned(look: &Look) -> bool {
    if !look.same_counts {
        return false;
    }
    let forms = |bodies: &[Part], grid: &Grid| -> Vec<Vec<(Place, u8)>> {
        bodies
            .iter()
            .map(|p| {
                let [t, l, ..] = p.bounds;
                let cell = |&(r, c): &Place| ((r - t, c - l), grid.at(r, c));
                p.cells.iter().map(cell).collect()
            })
            .collect()
    };
    let before = forms(look.bodies_before(), &look.input);
    let mut after = forms(look.bodies_after(), &look.output);
    if before.is_empty() || before.len() != after.len() {
        return false;
    }
    before.into_iter().all(|form| {
        if form.len() < 4 {
            return false;
        }
        let mut image = form.clone();
        for _ in 0..3 {
            let bottom = image.iter().map(|x| x.0.0).max().unwrap_or(0);
            for x in &mut image {
                x.0 = (x.0.1, bottom - x.0.0);
            }
            image.sort_unstable();
            if image != form
                && let Some(i) = after.iter().position(|a| *a == image)
            {
                after.remove(i);
                return true;
            }
        }
        false
    })
}

fn turned_inside(look: &Look) -> bool {
    if !look.same_counts || look.touched.len() > 3 {
        return false;
    }
    // A still ring with equal sides around all that changed.
    let Some([t, l, b, r]) = super::bounds(&look.changed) else {
        return false;
    };
    let ring = |p: &&Part| {
        let [pt, pl, pb, pr] = p.bounds;
        p.tall() == p.wide() && pt < t && pl < l && pb > b && pr > r && !look.restless(p)
    };
    look.parts_before().iter().filter(ring).any(|ring| {
        let (y, x) = ring.middle();
        let inside = |&&(r, c): &&Place| {
            let [pt, pl, pb, pr] = ring.bounds;
            r > pt && r < pb && c > pl && c < pr && !ring.has((r, c))
        };
        let quarter = |way: i32| {
            look.input
                .places_where(|c| c != 0)
                .iter()
                .filter(inside)
                .all(|&(r, c)| {
                    let (dr, dc) = (2 * r - y, 2 * c - x);
                    let to = ((y + way * dc) / 2, (x - way * dr) / 2);
                    look.is(to) == look.was((r, c))
                })
        };
        quarter(1) || quarter(-1)
    })
}

fn spiralled(look: &Look) -> bool {
    let Some(stream) = look.one_added() else {
        return false;
    };
    if look.had(stream) < 2 || look.changed.len() < 10 {
        return false;
    }
    let cells = look.output.places_of(stream);
    let links = |p: &Place| -> Vec<Place> {
        around(false)
            .map(|(dr, dc)| (p.0 + dr, p.1 + dc))
            .filter(|q| look.is(*q) == stream)
            .collect()
    };
    let tips: Vec<Place> = cells
        .iter()
        .copied()
        .filter(|p| links(p).len() == 1)
        .collect();
    let [start, _] = *tips.as_slice() else {
        return false;
    };
    let (mut at, mut before) = (start, start);
    let (mut walked, mut way, mut turns) = (1, None, Vec::new());
    while let Some(next) = links(&at).into_iter().find(|q| *q != before) {
        let step = (next.0 - at.0, next.1 - at.1);
        if let Some((r, c)) = way
            && (r, c) != step
        {
            turns.push(r * step.1 - c * step.0);
        }
        way = Some(step);
        before = at;
        at = next;
        walked += 1;
        if walked > cells.len() {
            return false;
        }
    }
    walked == cells.len() && turns.len() >= 4 && turns.iter().all(|t| Some(t) == turns.first())
}

fn wound_up(look: &Look) -> bool {
    let [one, two] = *look.touched.as_slice() else {
        return false;
    };
    let before = [look.before_of(one), look.before_of(two)];
    let ([a], [b]) = (before[0].as_slice(), before[1].as_slice()) else {
        return false;
    };
    if !a.is_run() || !b.is_run() || a.len() != b.len() || a.len() < 3 {
        return false;
    }
    let (m, n) = (a.middle(), b.middle());
    let (y, x) = ((m.0 + n.0) / 4, (m.1 + n.1) / 4);
    let opposite = (m.0 + n.0) % 4 == 0 && (m.1 + n.1) % 4 == 0 && look.stays((y, x));
    let arms = look.output.places_of(one);
    let twin = |p: &Place| look.is((2 * y - p.0, 2 * x - p.1)) == two;
    let ring = |k: i32| {
        arms.iter()
            .any(|p| (p.0 - y).abs().max((p.1 - x).abs()) == k)
    };
    let long = a.len() as i32;
    // Wound at least half round: the arm has cells on the far side of the point.
    let start = (m.0 - 2 * y, m.1 - 2 * x);
    let beyond = arms
        .iter()
        .any(|p| (p.0 - y) * start.0 + (p.1 - x) * start.1 < 0);
    opposite
        && look.has(one) == look.has(two)
        && look.has(one) > a.len()
        && arms.iter().all(twin)
        && (1..=long).all(ring)
        && beyond
}
