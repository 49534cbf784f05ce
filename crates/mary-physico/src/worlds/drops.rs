//! Drops and whirls: surface tension, splashing, wetting, vortex.

use super::draw::{disc, shifted};
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Surface tension.
pub static SURFACE_TENSION: Concept = Concept::core_test(
    "surface-tension",
    "surface tension",
    &["surface tensions", "tension of the surface"],
    &[
        Aspect::free(
            "round-drop",
            "A ragged patch of liquid draws itself together into a round drop of the same number of cells.",
            round_drop,
        ),
        Aspect::upright(
            "water-strider",
            "An insect sets its feet on the water: the surface dents under them like a skin and carries it.",
            water_strider,
        ),
    ],
);

fn round_drop(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let water = s.colour(0);
    let middles: &[Place] = if s.cols >= 15 {
        &[(0, -4), (0, 4)]
    } else {
        &[(0, 0)]
    };
    let middles = if s.coin() { &middles[..1] } else { middles };
    for (i, &(dr, dc)) in middles.iter().enumerate() {
        let radius = if middles.len() == 1 {
            s.between(2, 3)
        } else {
            2
        };
        let centre = if middles.len() == 1 {
            s.place((5, s.rows - 6), (5, s.cols - 6))
        } else {
            (s.rows / 2 + dr + s.between(-1, 1), s.cols / 2 + dc)
        };
        let drop = disc(centre, radius);
        // A ragged patch: grow arms from a small core, as many cells as the drop.
        let mut patch = vec![centre];
        while patch.len() < drop.len() {
            let Some(&(r, c)) = patch.get(s.between(0, patch.len() as i32 - 1) as usize) else {
                break;
            };
            let (dr, dc) = s.choose(&[(0, 1), (1, 0), (0, -1), (-1, 0)])?;
            for k in 1..=3 {
                let next = (r + dr * k, c + dc * k);
                if patch.len() < drop.len()
                    && !patch.contains(&next)
                    && p.input.holds(next.0, next.1)
                {
                    patch.push(next);
                }
            }
        }
        if middles.len() == 2
            && patch
                .iter()
                .any(|q| (q.1 - s.cols / 2).signum() == -dc.signum())
        {
            return None;
        }
        let colour = if i == 0 { water } else { s.colour(1) };
        if !p.input.clear(&patch) || !p.output.clear(&drop) {
            return None;
        }
        p.input.paint(patch, colour);
        p.output.paint(drop, colour);
    }
    (p.changed() >= 10).then_some(p)
}

fn water_strider(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (water, insect) = (s.colour(0), s.colour(1));
    let surface = s.rows - s.between(5, 7);
    p.both(|g| g.fill((surface, 0), (g.rows() as i32, g.cols() as i32), water));
    let half = s.between(2, (s.cols - 5) / 2);
    let mid = s.between(half + 2, s.cols - half - 3);
    let legs = s.between(2, 3);
    let draw = |g: &mut Grid, foot: i32| {
        g.fill((foot - legs, mid - half), (foot - legs, mid + half), insect);
        for side in [-1, 1] {
            let c = mid + side * half;
            g.fill((foot - legs, c), (foot, c), insect);
        }
        g.fill((foot - legs - 1, mid - 1), (foot - legs, mid + 1), insect);
    };
    let above = s.between(legs + 1, surface - 2);
    draw(&mut p.input, above);
    // The dent: two cells deep at the foot, one beside it.
    for side in [-1, 1] {
        let c = mid + side * half;
        p.output.fill((surface, c - 1), (surface, c + 1), 0);
        p.output.set(surface + 1, c, 0);
    }
    draw(&mut p.output, surface + 1);
    (above < surface - 1).then_some(p)
}

/// Splashing.
pub static SPLASHING: Concept = Concept::core_dev(
    "splashing",
    "splashing",
    &["splash", "splashes", "splashed"],
    &[
        Aspect::upright(
            "crown",
            "A drop strikes the water: it makes a pit, and as much water as is missing there flies up on both sides.",
            crown,
        ),
        Aspect::upright(
            "stone",
            "A stone falls into the water, and droplets, as many as its cells, leap up beside the place.",
            stone,
        ),
    ],
);

/// Places of droplets thrown up on both sides of a column, nearest first.
fn spray(surface: i32, mid: i32) -> Vec<Place> {
    [
        (1, 2),
        (2, 3),
        (1, 4),
        (3, 2),
        (4, 4),
        (3, 5),
        (5, 3),
        (2, 5),
    ]
    .iter()
    .flat_map(|&(up, out)| [(surface - up, mid - out), (surface - up, mid + out)])
    .collect()
}

fn crown(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let water = s.colour(0);
    let surface = s.rows - s.between(4, 5);
    let mid = s.between(5, s.cols - 6);
    p.both(|g| g.fill((surface, 0), (g.rows() as i32, g.cols() as i32), water));
    const DROPS: [&[Place]; 3] = [
        &[(0, 0), (0, 1), (1, 0), (1, 1)],
        &[(0, 0), (1, -1), (1, 0), (1, 1), (2, 0)],
        &[
            (0, 0),
            (1, -1),
            (1, 0),
            (1, 1),
            (2, -1),
            (2, 0),
            (2, 1),
            (3, 0),
        ],
    ];
    const PITS: [&[Place]; 4] = [
        &[(0, 0)],
        &[(0, -1), (0, 0), (0, 1)],
        &[(0, -1), (0, 0), (0, 1), (1, 0)],
        &[(0, -1), (0, 0), (0, 1), (1, -1), (1, 0), (1, 1)],
    ];
    let drop = s.choose(&DROPS)?;
    let top = s.between(0, 1);
    p.input.paint(shifted(drop, (top, mid)), water);
    let pit = shifted(s.choose(&PITS)?, (surface, mid));
    p.output.paint(pit.iter().copied(), 0);
    let flying = drop.len() + pit.len();
    p.output
        .paint(spray(surface, mid).into_iter().take(flying), water);
    (p.input.count(water) == p.output.count(water) && surface - top > 5).then_some(p)
}

fn stone(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (water, rock) = (s.colour(0), s.colour(1));
    let surface = s.rows - s.between(5, 6);
    let mid = s.between(5, s.cols - 6);
    p.both(|g| g.fill((surface, 0), (g.rows() as i32, g.cols() as i32), water));
    let (tall, wide) = (s.between(1, 3), s.between(2, 3));
    let top = s.between(0, 1);
    let left = mid - wide / 2;
    p.input
        .fill((top, left), (top + tall - 1, left + wide - 1), rock);
    let under = surface + s.between(1, 2);
    p.output
        .fill((under, left), (under + tall - 1, left + wide - 1), rock);
    p.output
        .fill((surface, left), (under - 1, left + wide - 1), water);
    let flying = (tall * wide) as usize;
    p.output
        .paint(spray(surface, mid).into_iter().take(flying), water);
    (p.input.count(water) == p.output.count(water)).then_some(p)
}

/// Wetting.
pub static WETTING: Concept = Concept::associative(
    "wetting",
    "wetting",
    &["wet", "wets", "wetted", "wettability", "soak", "soaking"],
    &[
        Aspect::free(
            "soaking",
            "Where cloth touches water it turns wet, and the wet spreads a few cells into it; dry cloth stays as it is.",
            soaking,
        ),
        Aspect::upright(
            "spreading",
            "A drop that lands on the plate spreads out flat over it; the drop on the waxed plate stays a ball.",
            spreading,
        ),
    ],
);

fn soaking(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (cloth, water, wet) = (s.colour(0), s.colour(1), s.colour(2));
    let top = s.between(2, 4);
    let tall = s.between(6, s.rows - top - 1);
    let left = s.between(1, 2);
    let right = s.cols - s.between(2, 3);
    p.both(|g| g.fill((top, left), (top + tall - 1, right), cloth));
    let many = s.between(1, 3);
    let mut sources = Vec::new();
    for _ in 0..many {
        let at = (top - 1, s.between(left + 1, right - 1));
        sources.push(at);
        p.both(|g| g.fill((at.0 - 1, at.1), at, water));
    }
    let far = s.between(3, 4);
    for (r, c) in p.input.places() {
        let near = sources
            .iter()
            .any(|&(sr, sc)| (r - sr).abs() + (c - sc).abs() <= far);
        if near && p.input.at(r, c) == cloth {
            p.output.set(r, c, wet);
        }
    }
    Some(p)
}

fn spreading(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (plate, water, wax) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - s.between(1, 3);
    let mid = s.cols / 2;
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, mid - 1), plate);
        g.fill((floor, mid), (g.rows() as i32, g.cols() as i32), wax);
    });
    let one = mid / 2;
    let other = mid + (s.cols - mid) / 2;
    let ball = [
        (0, 0),
        (0, 1),
        (1, -1),
        (1, 0),
        (1, 1),
        (1, 2),
        (2, 0),
        (2, 1),
    ];
    let ball: Vec<Place> = if s.coin() {
        ball.to_vec()
    } else {
        vec![(0, 0), (0, 1), (1, 0), (1, 1)]
    };
    let tall = ball.iter().map(|q| q.0).max()? + 1;
    let up = s.between(1, floor - tall - 3);
    for c in [one, other] {
        p.input.paint(shifted(&ball, (up, c)), water);
    }
    p.output.paint(shifted(&ball, (floor - tall, other)), water);
    // A film: one row as far as it goes, a second in its middle.
    let wide = (ball.len() as i32).min(mid);
    let left = (one - wide / 2).clamp(0, mid - wide);
    p.output
        .fill((floor - 1, left), (floor - 1, left + wide - 1), water);
    let over = ball.len() as i32 - wide;
    if over > 0 {
        let from = left + (wide - over) / 2;
        p.output
            .fill((floor - 2, from), (floor - 2, from + over - 1), water);
    }
    (p.input.count(water) == p.output.count(water)).then_some(p)
}

/// Vortex.
pub static VORTEX: Concept = Concept::core_test(
    "vortex",
    "vortex",
    &["vortices", "vortexes", "whirlpool", "eddy", "swirl"],
    &[
        Aspect::free(
            "spiral",
            "Around the drain the water begins to run inwards in a spiral.",
            spiral,
        ),
        Aspect::free(
            "wound-arms",
            "Straight streaks around a middle are carried round, the inner parts further than the outer, and wind up into curved arms.",
            wound_arms,
        ),
    ],
)
.also_associative();

fn spiral(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (drain, stream) = (s.colour(0), s.colour(1));
    let (mr, mc) = (s.rows / 2 + s.between(-1, 0), s.cols / 2 + s.between(-1, 0));
    // A square spiral outwards, its arms two cells apart.
    let mut at = (mr, mc);
    let mut path = Vec::new();
    let ways = [(0, 1), (1, 0), (0, -1), (-1, 0)];
    let mut long = 2;
    let turns = s.between(6, 14) as usize;
    'out: for turn in 0..turns {
        let (dr, dc) = ways[turn % 4];
        for _ in 0..long {
            at = (at.0 + dr, at.1 + dc);
            if !p.input.holds(at.0, at.1) {
                break 'out;
            }
            path.push(at);
        }
        if turn % 2 == 1 {
            long += 2;
        }
    }
    // Before: only the outermost bit of the stream and the drain.
    let start = path.len() - s.between(3, 5) as usize;
    p.input.paint(path.iter().skip(start).copied(), stream);
    p.output.paint(path, stream);
    p.both(|g| g.set(mr, mc, drain));
    Some(p)
}

/// The cells of a square ring in their order, clockwise from the east.
fn square_walk(radius: i32) -> Vec<Place> {
    let mut walk = Vec::new();
    walk.extend((0..radius).map(|i| (i, radius)));
    walk.extend((-radius..radius).rev().map(|i| (radius, i + 1)));
    walk.extend((-radius..radius).rev().map(|i| (i + 1, -radius)));
    walk.extend((-radius..radius).map(|i| (-radius, i)));
    walk.extend((-radius..0).map(|i| (i, radius)));
    walk
}

fn wound_arms(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (eye, one, two) = (s.colour(0), s.colour(1), s.colour(2));
    let radius = s.between(4, (s.rows.min(s.cols) - 1) / 2);
    let centre = s.place((radius, s.rows - 1 - radius), (radius, s.cols - 1 - radius));
    // Quarter turns by which the eye is ahead of the rim.
    let wind = s.between(3, 4);
    for k in 1..=radius {
        let walk = square_walk(k);
        let round = walk.len() as i32;
        let ahead = |ring: i32| 2 * k * (radius - ring) * wind / radius;
        for (arm, colour) in [(0, one), (1, two)] {
            let straight = arm * 4 * k;
            let put = |g: &mut Grid, i: i32| {
                if let Some(&(dr, dc)) = walk.get(i.rem_euclid(round) as usize) {
                    g.set(centre.0 + dr, centre.1 + dc, colour);
                }
            };
            put(&mut p.input, straight);
            for i in ahead((k + 1).min(radius))..=ahead(k) {
                put(&mut p.output, straight + i);
            }
        }
    }
    p.both(|g| g.set(centre.0, centre.1, eye));
    Some(p)
}
