//! Readings of forces between bodies: springs, friction, repulsion, magnets.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "elastic-force",
        &["spring"],
        "did a coil get longer at one end only and push the body at that end as far?",
        sprang,
    )
    .touching(2, 2).kinds_stay().keeping(2).movers(1),
    Reading::new(
        "elastic-force",
        &["trampoline"],
        "did a sagging sheet become flat, and what lay in it fly straight up?",
        thrown_up,
    )
    .touching(2, 2).kinds_stay().keeping(1).movers(1)
    .upright(),
    Reading::new(
        "friction",
        &["rough-and-smooth"],
        "of two equal blocks, did the one on the one-coloured floor slide to a wall and the other stop before?",
        slid_unequally,
    )
    .touching(1, 1).same_counts().movers(1)
    .upright(),
    Reading::new(
        "friction",
        &["worn-and-hot"],
        "did a block slide, lose its lowest row, and did the floor change colour all along its way?",
        wore_off,
    )
    .touching(3, 3).fresh(1)
    .upright(),
    Reading::new(
        "repulsive-force",
        &["like-poles"],
        "did two bars with like ends facing part by equal distances?",
        driven_apart,
    )
    .touching(2, 2).same_counts(),
    Reading::new(
        "repulsive-force",
        &["two-threads"],
        "did two equal hanging balls go apart by equal distances, and their threads spread?",
        threads_spread,
    )
    .touching(2, 2).kinds_stay().keeping(2).movers(1)
    .upright(),
    Reading::new(
        "magnet",
        &["iron-filings"],
        "did all bits of one colour go straight to a two-coloured bar and come to lie against it?",
        flew_to_the_bar,
    )
    .touching(1, 1).same_counts(),
    Reading::new(
        "magnet",
        &["unlike-poles"],
        "did two bars with unlike ends facing meet by equal distances?",
        drawn_together,
    )
    .touching(2, 2).same_counts(),
];

fn sprang(look: &Look) -> bool {
    look.touched.len() == 2 && look.lying_or_upright(pushed_sideways)
}

fn pushed_sideways(look: &Look) -> bool {
    let t = &look.touched;
    let (Some(&x), Some(&y)) = (t.first(), t.get(1)) else {
        return false;
    };
    [(x, y), (y, x)].into_iter().any(|(block, wire)| {
        if !look.kept(block, 2) || look.has(wire) <= look.had(wire) {
            return false;
        }
        let (before, after) = (look.before_of(wire), look.after_of(wire));
        let ([short], [long]) = (before.as_slice(), after.as_slice()) else {
            return false;
        };
        let Some(moves) = look.moves_of(&[block]) else {
            return false;
        };
        let [one] = moves.as_slice() else {
            return false;
        };
        let by = one.by.1;
        let [t, l, b, r] = short.bounds;
        let (grown, meets) = if by > 0 {
            ([t, l, b, r + by], r + 1 == one.from.bounds[1])
        } else {
            ([t, l + by, b, r], l - 1 == one.from.bounds[3])
        };
        one.by.0 == 0
            && by != 0
            && one.from.is_box()
            && long.bounds == grown
            && meets
            && !short.is_box()
            && !long.is_box()
    })
}

fn thrown_up(look: &Look) -> bool {
    let t = &look.touched;
    let (2, Some(&x), Some(&y)) = (t.len(), t.first(), t.get(1)) else {
        return false;
    };
    [(x, y), (y, x)].into_iter().any(|(ball, sheet)| {
        let (before, after) = (look.before_of(sheet), look.after_of(sheet));
        let ([sag], [flat]) = (before.as_slice(), after.as_slice()) else {
            return false;
        };
        let Some(moves) = look.moves_of(&[ball]) else {
            return false;
        };
        let [one] = moves.as_slice() else {
            return false;
        };
        let [top, l, _, r] = sag.bounds;
        one.by.1 == 0
            && one.by.0 < 0
            && flat.tall() == 1
            && flat.bounds == [top, l, top, r]
            && sag.tall() >= 3
            && [(top, l), (top, r)].iter().all(|p| sag.has(*p))
            && one.from.bounds[2] > top
            && one.to.bounds[2] < top
    })
}

fn slid_unequally(look: &Look) -> bool {
    if look.touched.len() != 1 {
        return false;
    }
    let Some(all) = look.moves() else {
        return false;
    };
    let [a, b] = all.as_slice() else {
        return false;
    };
    if a.by.0 != 0 || b.by.0 != 0 || a.by.1 * b.by.1 <= 0 || a.by.1 == b.by.1 {
        return false;
    }
    let (slow, fast) = if a.by.1.abs() < b.by.1.abs() {
        (a, b)
    } else {
        (b, a)
    };
    let floor = |part: &Part| {
        let row = part.bounds[2] + 1;
        let mut kinds: Vec<u8> = (0..look.cols()).map(|c| look.was((row, c))).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    let front = if fast.by.1 > 0 {
        fast.to.bounds[3] + 1
    } else {
        fast.to.bounds[1] - 1
    };
    let (rough, smooth) = (floor(slow.from), floor(fast.from));
    a.from.alike(b.from)
        && a.from.is_box()
        && look.stays((fast.to.bounds[2], front))
        && rough.len() > smooth.len()
        && !rough.contains(&0)
        && !smooth.contains(&0)
}

fn wore_off(look: &Look) -> bool {
    let (Some(hot), 3) = (look.one_fresh(), look.touched.len()) else {
        return false;
    };
    look.touched.iter().filter(|c| **c != hot).any(|&block| {
        let (before, after) = (look.before_of(block), look.after_of(block));
        let ([from], [to]) = (before.as_slice(), after.as_slice()) else {
            return false;
        };
        let [t, l, b, r] = from.bounds;
        let [nt, nl, nb, nr] = to.bounds;
        let way = (l.min(nl), r.max(nr));
        let heat = look.came(hot);
        let on_floor = heat.iter().filter(|p| p.0 == b + 1);
        from.is_box()
            && to.is_box()
            && (nt, nb) == (t, b - 1)
            && to.wide() == from.wide()
            && nl != l
            && on_floor.count() as i32 == way.1 - way.0 + 1
            && look
                .touched
                .iter()
                .all(|&c| c == hot || c == block || look.came(c).is_empty())
            && look.gone(look.was((b + 1, l))).len() as i32 == way.1 - way.0 + 1
            && heat.iter().all(|p| {
                (p.0 == b + 1 && look.was(*p) != 0 && p.1 >= way.0 && p.1 <= way.1)
                    || (p.0 == b && p.1 >= nl && p.1 <= nr)
            })
    })
}

/// Two bars side by side in `whole`, each gone away from the other by the same distance in `parts`:
/// the distance, if so. Colours are asked of the two grids.
fn halves(
    whole: &Part,
    parts: [&Part; 2],
    colour: (&dyn Fn(Place) -> u8, &dyn Fn(Place) -> u8),
) -> Option<i32> {
    let [a, b] = parts;
    let (l, r) = if a.bounds[1] < b.bounds[1] {
        (a, b)
    } else {
        (b, a)
    };
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
    fits.then_some(apart)
}

/// The colours on both sides of the middle of a bar of two.
fn facing(whole: &Part, colour: &dyn Fn(Place) -> u8) -> (u8, u8) {
    let [t, l, _, r] = whole.bounds;
    let middle = (l + r) / 2;
    (colour((t, middle)), colour((t, middle + 1)))
}

fn driven_apart(look: &Look) -> bool {
    look.same_counts
        && look.touched.len() == 2
        && look.bodies_before().len() == 1
        && look.lying_or_upright(|look| {
            let ([whole], [a, b]) = (look.bodies_before(), look.bodies_after()) else {
                return false;
            };
            let (was, is) = (|p| look.was(p), |p| look.is(p));
            let (one, two) = facing(whole, &was);
            let outer = look.was((whole.bounds[0], whole.bounds[1]));
            halves(whole, [a, b], (&was, &is)).is_some() && one == two && outer != one
        })
}

fn drawn_together(look: &Look) -> bool {
    look.same_counts
        && look.touched.len() == 2
        && look.bodies_after().len() == 1
        && look.lying_or_upright(|look| {
            let ([a, b], [whole]) = (look.bodies_before(), look.bodies_after()) else {
                return false;
            };
            let (was, is) = (|p| look.was(p), |p| look.is(p));
            let (one, two) = facing(whole, &is);
            let outer = look.is((whole.bounds[0], whole.bounds[1]));
            halves(whole, [a, b], (&is, &was)).is_some() && one != two && outer == two
        })
}

fn threads_spread(look: &Look) -> bool {
    let t = &look.touched;
    let (2, Some(&x), Some(&y)) = (t.len(), t.first(), t.get(1)) else {
        return false;
    };
    [(x, y), (y, x)].into_iter().any(|(ball, thread)| {
        let Some(all) = look.moves_of(&[ball]) else {
            return false;
        };
        let [a, b] = all.as_slice() else {
            return false;
        };
        let (l, r) = if a.from.bounds[1] < b.from.bounds[1] {
            (a, b)
        } else {
            (b, a)
        };
        let threads = |grid: &crate::grid::Grid| grid.places_of(thread);
        let (was, is) = (threads(&look.input), threads(&look.output));
        let top = was.first().map_or(0, |p| p.0);
        let hooks = |cells: &[Place]| -> Vec<Place> {
            cells.iter().copied().filter(|p| p.0 == top).collect()
        };
        l.by.0 == 0
            && r.by.0 == 0
            && l.by.1 < 0
            && r.by.1 == -l.by.1
            && l.from.bounds[0] == r.from.bounds[0]
            && l.from.alike(r.from)
            && hooks(&was) == hooks(&is)
            && hooks(&was).len() == 2
            && look.has_parts(thread, 2, 2)
            && [l, r]
                .iter()
                .all(|m| m.from.touches(&was) && m.to.touches(&is))
    })
}

fn flew_to_the_bar(look: &Look) -> bool {
    let [iron] = *look.touched.as_slice() else {
        return false;
    };
    look.kept(iron, 2) && look.some_way(|l| flew_left(l, iron))
}

fn flew_left(look: &Look, iron: u8) -> bool {
    let (was, is) = (look.input.places_of(iron), look.output.places_of(iron));
    let row = |cells: &[Place], r: i32| -> Vec<i32> {
        cells.iter().filter(|p| p.0 == r).map(|p| p.1).collect()
    };
    let mut bar = Vec::new();
    let lie_on_it = (0..look.rows()).all(|r| {
        let (a, b) = (row(&was, r), row(&is, r));
        let Some(&first) = b.first() else {
            return a.is_empty();
        };
        bar.push((r, first - 1));
        a.len() == b.len()
            && look.stays((r, first - 1))
            && b.iter().enumerate().all(|(i, c)| *c == first + i as i32)
            && a.iter().zip(&b).all(|(x, y)| x > y)
    });
    let two_coloured = || {
        look.parts_before().iter().any(|p| {
            p.is_box()
                && p.len() >= 2
                && bar.iter().any(|q| p.has(*q))
                && look.parts_before().iter().any(|q| {
                    q.colour != p.colour && q.alike(p) && q.bounds[1] == p.bounds[1] && {
                        let gap = (q.bounds[0] - p.bounds[0]).abs();
                        gap == p.tall()
                    }
                })
        })
    };
    lie_on_it && two_coloured()
}
