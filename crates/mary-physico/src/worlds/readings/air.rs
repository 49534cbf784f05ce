//! Readings of air and particles: pressed up or in, emptied, sucked in, spread, mixed, knocked about.

use super::look::Look;
use super::{Reading, area, connected, outside};
use crate::grid::Place;

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "atmospheric-pressure",
        &["barometer"],
        "did a liquid sink on both sides of a closed tube and rise in it by as many cells?",
        rose_in_a_tube,
    )
    .touching(1, 2)
    .kinds_stay()
    .reshaping(8)
    .upright(),
    Reading::new(
        "atmospheric-pressure",
        &["crushed-can"],
        "was the middle of every side of a closed frame pushed in, its corners staying?",
        pushed_in,
    )
    .touching(1, 2)
    .kinds_stay(),
    Reading::new(
        "vacuum",
        &["evacuated-box"],
        "did all cells of one colour inside a closed frame vanish, and nothing else change?",
        emptied,
    )
    .touching(1, 1),
    Reading::new(
        "vacuum",
        &["nozzle"],
        "did loose specks all go into a chamber that is open to them, and nothing else change?",
        sucked_in,
    )
    .touching(1, 1)
    .reshaping(5),
    Reading::new(
        "diffusion",
        &["ink-drop"],
        "did one dense patch come apart over a much larger room without loss?",
        spread,
    )
    .touching(1, 2)
    .kinds_stay()
    .reshaping(4),
    Reading::new(
        "diffusion",
        &["no-more-wall"],
        "is a wall between two kinds of particles gone, and are both on both sides now?",
        mixed,
    )
    .touching(3, 3)
    .kinds_stay()
    .keeping(2),
    Reading::new(
        "brownian-motion",
        &["drunken-path"],
        "did a grain go elsewhere along a crooked path that is drawn, among specks that jumped?",
        staggered,
    )
    .touching(2, 3)
    .fresh(1)
    .keeping(2)
    .movers(1),
    Reading::new(
        "brownian-motion",
        &["many-paths"],
        "did every grain go another way along a crooked path that is drawn?",
        all_staggered,
    )
    .touching(2, 2)
    .fresh(1)
    .keeping(2),
];

fn rose_in_a_tube(look: &Look) -> bool {
    if look.touched.len() > 2 || look.changed.len() < 6 {
        return false;
    }
    look.touched.iter().any(|&liquid| {
        if !look.kept(liquid, 8) {
            return false;
        }
        let (came, gone) = (look.came(liquid), look.gone(liquid));
        let Some(&(top, col)) = came.first() else {
            return false;
        };
        let in_tube = came.iter().enumerate().all(|(i, &(r, c))| {
            let glass = look.was((r, c - 1));
            c == col
                && r == top + i as i32
                && look.stays((r, c - 1))
                && look.was((r, c + 1)) == glass
                && look.stays((r, c + 1))
        });
        let lid = (0..top).rev().find(|&r| look.is((r, col)) != 0);
        let shut = lid.is_some_and(|r| look.stays((r, col)) && look.is((r, col)) != liquid);
        let fell = |side: i32| gone.iter().any(|p| (p.1 - col).signum() == side);
        // The air over the dish comes down with it, and nothing changes elsewhere.
        let (left, right) = (
            gone.iter().map(|p| p.1).min().unwrap_or(0),
            gone.iter().map(|p| p.1).max().unwrap_or(0),
        );
        let over_the_dish = look
            .changed
            .iter()
            .all(|p| p.1 >= left - 1 && p.1 <= right + 1);
        over_the_dish
            && came.len() >= 3
            && in_tube
            && shut
            && fell(-1)
            && fell(1)
            && gone.iter().all(|&(r, c)| c != col && r > top)
    })
}

fn pushed_in(look: &Look) -> bool {
    if look.touched.len() > 2 || look.changed.len() < 12 {
        return false;
    }
    look.touched.iter().any(|&tin| {
        let (before, after) = (look.before_of(tin), look.after_of(tin));
        let ([can], [bent]) = (before.as_slice(), after.as_slice()) else {
            return false;
        };
        if !can.is_frame() || can.bounds != bent.bounds {
            return false;
        }
        let [t, l, b, r] = can.bounds;
        let corners = [(t, l), (t, r), (b, l), (b, r)];
        let (y, x) = ((t + b) / 2, (l + r) / 2);
        let sides: [(Place, Place); 4] = [
            ((t, x), (1, 0)),
            ((b, x), (-1, 0)),
            ((y, l), (0, 1)),
            ((y, r), (0, -1)),
        ];
        let deep = |(at, inward): (Place, Place)| {
            (0..4).find(|k| look.is((at.0 + inward.0 * k, at.1 + inward.1 * k)) == tin)
        };
        let depths = sides.map(deep);
        let air = |p: &Place| look.is(*p) == tin || (p.0 >= t && p.0 <= b && p.1 >= l && p.1 <= r);
        look.changed.iter().all(air)
            && corners.iter().all(|&p| look.stays(p))
            && depths.iter().all(|d| d.is_some_and(|d| d > 0))
    })
}

fn emptied(look: &Look) -> bool {
    let [colour] = look.touched.as_slice() else {
        return false;
    };
    let gone = &look.changed;
    if gone.len() < 3 || gone.iter().any(|&p| look.is(p) != 0) {
        return false;
    }
    (1..10)
        .filter(|w| w != colour && look.had(*w) >= 8)
        .any(|wall| {
            let out = outside(&look.input, wall);
            let inside = |&(r, c): &Place| out.at(r, c) == 0;
            gone.iter().all(inside) && !look.output.places_of(*colour).iter().any(inside)
        })
}

fn sucked_in(look: &Look) -> bool {
    let [dust] = *look.touched.as_slice() else {
        return false;
    };
    if !look.kept(dust, 5) || look.gone(dust).len() != look.had(dust) {
        return false;
    }
    let now = look.output.places_of(dust);
    let Some([t, l, b, r]) = super::bounds(&now) else {
        return false;
    };
    // Three sides of where the dust lies now are walls, the fourth is open.
    let wall = |side: usize| {
        let mut cells: Vec<Place> = match side {
            0 => (l..=r).map(|x| (t - 1, x)).collect(),
            1 => (t..=b).map(|y| (y, r + 1)).collect(),
            2 => (l..=r).map(|x| (b + 1, x)).collect(),
            _ => (t..=b).map(|y| (y, l - 1)).collect(),
        };
        cells.retain(|&p| !look.stays(p));
        cells.is_empty()
    };
    let walls = (0..4).filter(|&s| wall(s)).count();
    walls == 3
        && 2 * now.len() as i32 >= area(&now)
        && 2 * look.before_of(dust).len() >= now.len().min(8)
}

fn spread(look: &Look) -> bool {
    look.touched.iter().any(|&colour| {
        if !look.kept(colour, 4) || look.touched.len() > 2 {
            return false;
        }
        let (before, after) = (look.input.places_of(colour), look.output.places_of(colour));
        area(&after) >= 3 * area(&before)
            && 3 * area(&before) <= 4 * before.len() as i32
            && look.before_of(colour).len() == 1
            && 3 * look.after_of(colour).len() >= before.len()
    })
}

fn mixed(look: &Look) -> bool {
    if look.touched.len() != 3 {
        return false;
    }
    look.touched.iter().any(|&wall| {
        if look.has(wall) >= look.had(wall) || look.gone(wall).len() < 4 {
            return false;
        }
        look.lying_or_upright(|l| parted_then_mixed(l, wall))
    })
}

/// The wall that is gone stood upright, and what was left and right of it now is on both sides.
fn parted_then_mixed(look: &Look, wall: u8) -> bool {
    let gone = look.gone(wall);
    let Some(&(_, col)) = gone.first() else {
        return false;
    };
    gone.iter().all(|p| p.1 == col)
        && look.came(wall).is_empty()
        && look.touched.iter().filter(|c| **c != wall).all(|&kind| {
            let side = |cells: &[Place]| cells.iter().filter(|p| p.1 < col).count();
            let (a, b) = (look.input.places_of(kind), look.output.places_of(kind));
            let (was, now) = (side(&a), side(&b));
            let at_wall = a.iter().any(|p| p.1 == col);
            look.kept(kind, 2)
                && !at_wall
                && (was == 0 || was == a.len())
                && 10 * now >= b.len()
                && 10 * now <= 9 * b.len()
        })
}

fn straight(cells: &[Place]) -> bool {
    let (Some(&a), Some(&b)) = (cells.first(), cells.last()) else {
        return true;
    };
    cells
        .iter()
        .all(|p| (p.0 - a.0) * (b.1 - a.1) == (p.1 - a.1) * (b.0 - a.0))
}

fn staggered(look: &Look) -> bool {
    let Some(path) = look.one_fresh() else {
        return false;
    };
    if look.touched.len() > 3 || look.has(path) < 5 {
        return false;
    }
    let way = look.output.places_of(path);
    look.touched.iter().filter(|c| **c != path).any(|&grain| {
        let Some(moves) = look.moves_of(&[grain]) else {
            return false;
        };
        let [one] = moves.as_slice() else {
            return false;
        };
        let mut whole = way.clone();
        whole.extend(&one.to.cells);
        let others = look.touched.iter().filter(|c| **c != path && **c != grain);
        let singles = |c: u8| {
            look.kept(c, 3)
                && look.before_of(c).iter().all(|p| p.len() == 1)
                && look.after_of(c).iter().all(|p| p.len() == 1)
        };
        one.from.len() > 1
            && connected(&whole)
            && one.from.cells.iter().any(|p| whole.contains(p))
            && !straight(&way)
            && others.copied().all(singles)
    })
}

fn all_staggered(look: &Look) -> bool {
    let Some(path) = look.one_fresh() else {
        return false;
    };
    let [a, b] = *look.touched.as_slice() else {
        return false;
    };
    let grain = if a == path { b } else { a };
    let starts = look.input.places_of(grain);
    let ways = look.bodies_after();
    if !look.kept(grain, 2) || ways.len() != starts.len() {
        return false;
    }
    let mut steps = Vec::new();
    let each = ways.iter().all(|way| {
        let ends: Vec<Place> = cells_of(look, &way.cells, grain);
        let from: Vec<&Place> = starts.iter().filter(|p| way.has(**p)).collect();
        if let ([end], [start]) = (ends.as_slice(), from.as_slice()) {
            steps.push((end.0 - start.0, end.1 - start.1));
            return way
                .cells
                .iter()
                .all(|&p| [path, grain].contains(&look.is(p)));
        }
        false
    });
    let crooked = ways.iter().filter(|w| !straight(&w.cells)).count();
    each && 2 * crooked > ways.len() && steps.iter().any(|s| Some(s) != steps.first())
}

fn cells_of(look: &Look, cells: &[Place], colour: u8) -> Vec<Place> {
    cells
        .iter()
        .copied()
        .filter(|&p| look.is(p) == colour)
        .collect()
}
