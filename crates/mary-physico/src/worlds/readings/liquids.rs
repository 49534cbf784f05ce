//! Readings of liquids: levels in joined vessels, siphons, jets and pistons under pressure, narrow
//! pipes and sheets drawn together, bodies that float and sink.

use super::Reading;
use super::look::{Look, Part};
use crate::grid::{Grid, Place};

pub(super) static READINGS: &[Reading] = &[
    Reading::new(
        "communicating-vessels",
        &["open-below", "valve"],
        "did a liquid with different levels come to one level without loss?",
        levelled,
    )
    .touching(1, 3).kinds_stay().reshaping(4)
    .upright(),
    Reading::new(
        "siphon",
        &["from-high-to-low", "over-the-wall"],
        "did a liquid go from one side of a bent tube to a lower place on its other side, none lost?",
        siphoned,
    )
    .touching(1, 1).same_counts().keeping(4)
    .upright(),
    Reading::new(
        "fluid-pressure",
        &["jets"],
        "are plugs in an upright wall gone, and does the liquid spring farther from the deepest than from the highest?",
        sprang_out,
    )
    .touching(2, 3).lost(1)
    .upright(),
    Reading::new(
        "fluid-pressure",
        &["pushed-pistons"],
        "were equal pistons pushed out the farther the deeper they lie, the liquid behind them?",
        pushed_out,
    )
    .touching(2, 2).kinds_stay().keeping(3).movers(1)
    .upright(),
    Reading::new(
        "bernoulli-effect",
        &["narrow-pipe"],
        "did a new colour run along a liquid, and one of several columns over it, not an outer one, sink?",
        sank_over_the_flow,
    )
    .touching(2, 2).fresh(1)
    .upright(),
    Reading::new(
        "bernoulli-effect",
        &["two-sheets"],
        "did a new stream between two hanging sheets draw their lower ends together?",
        sheets_met,
    )
    .touching(2, 2).fresh(1)
    .upright(),
    Reading::new(
        "buoyancy",
        &["cork-and-stone"],
        "did bodies in a liquid go straight up to its surface, and the others straight down to a floor?",
        rose_and_sank,
    )
    .touching(2, 4).same_counts().movers(1)
    .upright(),
    Reading::new(
        "buoyancy",
        &["loaded-boat"],
        "did a cargo come down into a hull on a liquid, and the hull sink by as many rows as the cargo is high?",
        took_on_cargo,
    )
    .touching(3, 3).kinds_stay().keeping(1).movers(2)
    .upright(),
];

/// Whether every cell of a liquid is held: something lies under it and on both its sides.
fn held(grid: &Grid, liquid: &[Place]) -> bool {
    liquid.iter().all(|&(r, c)| {
        [(r + 1, c), (r, c - 1), (r, c + 1)]
            .iter()
            .all(|&(r, c)| grid.get(r, c).is_none_or(|v| v != 0))
    })
}

/// The open surfaces of a liquid: rows of runs of cells with nothing above them.
fn surfaces(grid: &Grid, liquid: &[Place], colour: u8) -> Vec<i32> {
    let open = |r: i32, c: i32| grid.at(r, c) == colour && grid.at(r - 1, c) == 0;
    liquid
        .iter()
        .filter(|&&(r, c)| open(r, c) && !open(r, c - 1))
        .map(|p| p.0)
        .collect()
}

fn levelled(look: &Look) -> bool {
    look.touched.len() <= 3
        && look.touched.iter().any(|&colour| {
            if !look.kept(colour, 4) {
                return false;
            }
            let (before, after) = (look.input.places_of(colour), look.output.places_of(colour));
            if !held(&look.input, &before) || !held(&look.output, &after) {
                return false;
            }
            let level = |t: &[i32]| t.iter().all(|r| Some(r) == t.first());
            let was = surfaces(&look.input, &before, colour);
            let is = surfaces(&look.output, &after, colour);
            // A valve that opened, and what it uncovers.
            let valve = |c: &&u8| {
                let went = look.moves_of(&[**c]).is_some_and(|all| all.len() == 1);
                **c == colour || went || look.came(**c).len() + look.gone(**c).len() == 1
            };
            is.len() >= 2 && level(&is) && !level(&was) && look.touched.iter().all(|c| valve(&c))
        })
}

/// Still parts that go up, across and down again: first and last column of the run at their top.
fn bent_tubes(look: &Look) -> impl Iterator<Item = (&Part, i32, i32)> {
    look.parts_before().iter().filter_map(|p| {
        let [t, l, _, r] = p.bounds;
        let run = (l..=r).all(|c| p.has((t, c)));
        let legs = (1..=3).all(|k| p.has((t + k, l)) && p.has((t + k, r)));
        let open = (l + 1..r).all(|c| !p.has((t + 1, c)));
        (r - l >= 3 && run && legs && open && !look.restless(p)).then_some((p, l, r))
    })
}

fn siphoned(look: &Look) -> bool {
    let [water] = *look.touched.as_slice() else {
        return false;
    };
    if !look.kept(water, 4) {
        return false;
    }
    let (came, gone) = (look.came(water), look.gone(water));
    let low =
        |cells: &[Place]| cells.iter().map(|p| p.0).sum::<i32>() * 100 / cells.len().max(1) as i32;
    bent_tubes(look).any(|(tube, l, r)| {
        let middle = (l + r) / 2;
        let side = |cells: &[Place]| -> Option<i32> {
            let first = cells.first().map(|p| (p.1 > middle) as i32)?;
            cells
                .iter()
                .all(|p| (p.1 > middle) as i32 == first)
                .then_some(first)
        };
        let (Some(a), Some(b)) = (side(&gone), side(&came)) else {
            return false;
        };
        a != b
            && low(&came) > low(&gone)
            && came.iter().chain(&gone).all(|p| p.0 > tube.bounds[0])
            && tube.touches(&gone)
            && tube.touches(&came)
    })
}

fn sprang_out(look: &Look) -> bool {
    let (Some(plug), 2..=3) = (look.one_lost(), look.touched.len()) else {
        return false;
    };
    let holes = look.input.places_of(plug);
    let water = holes.first().map_or(0, |&p| look.is(p));
    let (Some(&first), Some(&last)) = (holes.first(), holes.last()) else {
        return false;
    };
    let col = first.1;
    if holes.len() < 2
        || holes.iter().any(|p| p.1 != col || look.is(*p) != water)
        || !look.gone(water).is_empty()
        || look.had(water) < 4
        || look.changed.iter().any(|&p| look.is(p) != water)
    {
        return false;
    }
    let outside: Vec<Place> = look
        .changed
        .iter()
        .copied()
        .filter(|p| p.1 != col)
        .collect();
    let way = outside.first().map_or(0, |p| (p.1 - col).signum());
    // How far a jet goes straight out before it begins to drop.
    let level = |row: i32| {
        (1..20)
            .take_while(|k| look.is((row, col + way * k)) == water)
            .count()
    };
    outside.len() >= 4
        && look.has_parts(water, 1, 1)
        && outside.iter().all(|p| (p.1 - col) * way > 0)
        && level(last.0) > level(first.0)
}

fn pushed_out(look: &Look) -> bool {
    if look.touched.len() != 2 {
        return false;
    }
    look.touched.iter().any(|&slug| {
        let Some(&water) = look.touched.iter().find(|c| **c != slug) else {
            return false;
        };
        if !look.kept(slug, 3) || look.has(water) <= look.had(water) {
            return false;
        }
        let Some(mut all) = look.moves_of(&[slug]) else {
            return false;
        };
        all.sort_by_key(|m| m.from.bounds[0]);
        let far: Vec<i32> = all.iter().map(|m| m.by.1.abs()).collect();
        let start = all.first().map(|m| m.from.bounds[1]);
        all.len() >= 2
            && all
                .iter()
                .all(|m| m.by.0 == 0 && Some(m.from.bounds[1]) == start)
            && far.windows(2).all(|w| w[0] <= w[1])
            && far.first() < far.last()
            && look.gone(water).is_empty()
            && look.has_parts(water, 1, 1)
    })
}

fn sank_over_the_flow(look: &Look) -> bool {
    let (Some(flow), 2) = (look.one_fresh(), look.touched.len()) else {
        return false;
    };
    let Some(&water) = look.touched.iter().find(|c| **c != flow) else {
        return false;
    };
    let stream = look.came(flow);
    let sunk: Vec<Place> = look
        .changed
        .iter()
        .copied()
        .filter(|&p| look.is(p) == 0)
        .collect();
    let (Some(&(row, _)), Some(&(top, col))) = (stream.first(), sunk.first()) else {
        return false;
    };
    let along = stream.iter().all(|&p| p.0 == row && look.was(p) == water);
    let column = sunk
        .iter()
        .enumerate()
        .all(|(i, p)| *p == (top + i as i32, col));
    // Other columns stand as high as this one did, on both sides.
    let stands = |side: i32| {
        (0..look.cols())
            .filter(|c| (c - col).signum() == side)
            .any(|c| look.is((top, c)) == water && look.is((top - 1, c)) != water)
    };
    stream.len() >= 4
        && look.came(water).is_empty()
        && along
        && column
        && top < row
        && stands(-1)
        && stands(1)
}

fn sheets_met(look: &Look) -> bool {
    let (Some(wind), 2) = (look.one_fresh(), look.touched.len()) else {
        return false;
    };
    let Some(&sheet) = look.touched.iter().find(|c| **c != wind) else {
        return false;
    };
    let stream = look.output.places_of(wind);
    let Some(&(_, mid)) = stream.first() else {
        return false;
    };
    let before = look.before_of(sheet);
    let [a, b] = before.as_slice() else {
        return false;
    };
    let now = look.output.places_of(sheet);
    let widest = |r: i32| {
        now.iter()
            .filter(|p| p.0 == r)
            .map(|p| (p.1 - mid).abs())
            .max()
    };
    let both_sides = |r: i32| {
        [-1, 1]
            .iter()
            .all(|way| now.iter().any(|p| p.0 == r && (p.1 - mid).signum() == *way))
    };
    let (top, end) = (a.bounds[0], a.bounds[2]);
    stream.len() >= 3
        && stream.iter().all(|p| p.1 == mid)
        && look.after_of(sheet).len() == 2
        && [a, b].iter().all(|p| p.wide() == 1 && p.tall() >= 4)
        && a.bounds[1] + b.bounds[1] == 2 * mid
        && (top..=end).all(both_sides)
        && matches!((widest(top), widest(end)), (Some(x), Some(y)) if y < x)
        && a.bounds[0] == b.bounds[0]
}

fn rose_and_sank(look: &Look) -> bool {
    if !look.same_counts || !(2..=4).contains(&look.touched.len()) {
        return false;
    }
    look.touched.iter().any(|&water| {
        if look.had(water) < 20 {
            return false;
        }
        let Some(all) = look.moves_but(&[water]) else {
            return false;
        };
        let wet = |part: &Part, colour: &dyn Fn(Place) -> u8| {
            let [t, l, b, r] = part.bounds;
            [(t, l - 1), (b, r + 1)].iter().any(|&p| colour(p) == water)
        };
        let (was, is) = (|p| look.was(p), |p| look.is(p));
        let ups = all.iter().filter(|m| m.by.0 < 0).count();
        let splash = look.before_of(water).iter().any(|p| p.len() == 1);
        ups >= 1
            && !splash
            && ups < all.len()
            && all.iter().all(|m| {
                let [t, l, b, _] = m.to.bounds;
                let at_surface = look.is((t - 1, l)) != water && look.is((b + 1, l)) == water;
                let on_floor = look.is((b + 1, l)) != water && look.is((t - 1, l)) == water;
                m.by.1 == 0
                    && wet(m.from, &was)
                    && wet(m.to, &is)
                    && (if m.by.0 < 0 { at_surface } else { on_floor })
            })
    })
}

fn took_on_cargo(look: &Look) -> bool {
    if look.touched.len() != 3 {
        return false;
    }
    look.touched.iter().any(|&water| {
        let Some(all) = look.moves_but(&[water]) else {
            return false;
        };
        let [x, y] = all.as_slice() else {
            return false;
        };
        [(x, y), (y, x)].into_iter().any(|(hull, cargo)| {
            let [_, hl, hb, hr] = hull.to.bounds;
            let [_, cl, cb, cr] = cargo.to.bounds;
            hull.by.1 == 0
                && cargo.by.1 == 0
                && hull.by.0 == cargo.to.tall()
                && cargo.by.0 > hull.by.0
                && hl < cl
                && cr < hr
                && cb + 1 == hb
                && look.is((hb + 1, hl)) == water
                && look.came(water).is_empty()
                && look.gone(water).iter().all(|p| p.1 >= hl && p.1 <= hr)
                && look.was((hull.from.bounds[2] + 1, hl)) == water
        })
    })
}
