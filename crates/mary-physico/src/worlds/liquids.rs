//! Liquids at rest and flowing: vessels, siphons, pressure, narrow pipes, floating.

use super::draw::line;
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Communicating vessels.
pub static COMMUNICATING_VESSELS: Concept = Concept::core_test(
    "communicating-vessels",
    "communicating vessels",
    &[
        "communicating vessel",
        "connected vessels",
        "connected containers",
    ],
    &[
        Aspect::upright(
            "open-below",
            "In vessels joined at the bottom the liquid comes to the same level, whatever their widths.",
            open_below,
        ),
        Aspect::upright(
            "valve",
            "When the valve in the pipe between two vessels opens, the liquid flows until both stand equally high.",
            valve,
        ),
    ],
);

/// Widths of vessels, a common level, and unequal levels with the same amount of liquid.
fn levels(s: &mut Setting, widths: &[i32], most: i32) -> Option<(Vec<i32>, i32)> {
    (0..12).find_map(|_| some_levels(s, widths, most))
}

fn some_levels(s: &mut Setting, widths: &[i32], most: i32) -> Option<(Vec<i32>, i32)> {
    let total: i32 = widths.iter().sum();
    let even = s.between(2, most - 2);
    let mut at: Vec<i32> = Vec::new();
    let mut left = even * total;
    for (i, &w) in widths.iter().enumerate() {
        let last = i + 1 == widths.len();
        let level = if last { left / w } else { s.between(0, most) };
        if level * w > left || (last && level * w != left) || level > most {
            return None;
        }
        left -= level * w;
        at.push(level);
    }
    let spread = at.iter().max()? - at.iter().min()?;
    (spread >= 3).then_some((at, even))
}

fn open_below(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, water) = (s.colour(0), s.colour(1));
    let many = if s.cols >= 14 { s.between(2, 3) } else { 2 };
    let widths: Vec<i32> = (0..many).map(|_| s.between(1, 4)).collect();
    let whole: i32 = widths.iter().sum::<i32>() + many + 1;
    if whole > s.cols {
        return None;
    }
    let left = s.between(0, s.cols - whole);
    let top = s.between(1, 3);
    let floor = s.rows - 1;
    let (at, even) = levels(s, &widths, floor - 2 - top)?;
    p.both(|g| {
        g.fill((floor, left), (floor, left + whole - 1), wall);
        g.fill((floor - 1, left + 1), (floor - 1, left + whole - 2), water);
    });
    let mut c = left;
    for (i, &w) in widths.iter().enumerate() {
        let base = if i == 0 { floor } else { floor - 2 };
        p.both(|g| g.fill((top, c), (base, c), wall));
        for (g, level) in [(&mut p.input, at[i]), (&mut p.output, even)] {
            if level > 0 {
                g.fill((floor - 1 - level, c + 1), (floor - 2, c + w), water);
            }
        }
        c += w + 1;
    }
    p.both(|g| g.fill((top, c), (floor, c), wall));
    Some(p)
}

fn valve(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, water, gate) = (s.colour(0), s.colour(1), s.colour(2));
    let widths = [s.between(2, 4), s.between(2, 4)];
    let pipe = 3;
    let whole = widths[0] + widths[1] + 4 + pipe;
    if whole > s.cols {
        return None;
    }
    let left = s.between(0, s.cols - whole);
    let top = s.between(1, 3);
    let floor = s.rows - 1;
    let (at, even) = levels(s, &widths, floor - 2 - top)?;
    let starts = [left, left + widths[0] + 2 + pipe];
    for i in 0..2 {
        let (a, b) = (starts[i], starts[i] + widths[i] + 1);
        p.both(|g| {
            g.fill((top, a), (floor, a), wall);
            g.fill((top, b), (floor, b), wall);
            g.fill((floor, a), (floor, b), wall);
            g.fill((floor - 1, a + 1), (floor - 1, b - 1), water);
        });
        for (g, level) in [(&mut p.input, at[i]), (&mut p.output, even)] {
            if level > 0 {
                g.fill((floor - 1 - level, a + 1), (floor - 2, b - 1), water);
            }
        }
    }
    // The pipe between them; the valve in its middle opens.
    let (a, b) = (starts[0] + widths[0] + 1, starts[1]);
    let tube = s.colour(3);
    p.both(|g| g.fill((floor - 1, a), (floor - 1, b), tube));
    let mid = (a + b) / 2;
    p.input.fill((floor - 2, mid), (floor, mid), gate);
    p.output.fill((floor - 4, mid), (floor - 2, mid), gate);
    Some(p)
}

/// Siphon.
pub static SIPHON: Concept = Concept::core_dev(
    "siphon",
    "siphon",
    &["siphons", "syphon", "siphoning", "siphoned"],
    &[
        Aspect::upright(
            "from-high-to-low",
            "A bent tube over the rim carries the liquid of the upper vessel, first upwards, into the lower one.",
            from_high_to_low,
        ),
        Aspect::upright(
            "over-the-wall",
            "A bent tube over the wall between two chambers drains the fuller one into the other down to the tube's mouth.",
            over_the_wall,
        ),
    ],
);

/// An open vessel: two walls and a floor.
fn vessel(g: &mut Grid, top: i32, floor: i32, cols: (i32, i32), colour: u8) {
    g.fill((top, cols.0), (floor, cols.0), colour);
    g.fill((top, cols.1), (floor, cols.1), colour);
    g.fill((floor, cols.0), (floor, cols.1), colour);
}

/// Liquid in a vessel's cells that are still free, from the floor up to so many cells.
fn pour(g: &mut Grid, floor: i32, cols: (i32, i32), mut cells: i32, colour: u8) {
    for r in (0..floor).rev() {
        for c in cols.0 + 1..cols.1 {
            if cells > 0 && g.free(r, c) {
                g.set(r, c, colour);
                cells -= 1;
            }
        }
    }
}

fn from_high_to_low(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, water, tube, stand) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let bottom = s.rows - 1;
    let wide = s.between(4, (s.cols - 4) / 2);
    let upper = (0, wide);
    let lower = (s.cols - 1 - wide, s.cols - 1);
    let floor = s.rows / 2 + s.between(0, 1);
    let deep = floor - 3;
    p.both(|g| {
        vessel(g, 3, floor, upper, glass);
        g.fill((floor + 1, 1), (bottom, wide - 1), stand);
        vessel(g, bottom - deep - 1, bottom, lower, glass);
        g.fill((1, wide - 1), (floor - 1, wide - 1), tube);
        g.fill((1, wide - 1), (1, lower.0 + 1), tube);
        g.fill((1, lower.0 + 1), (bottom - 1, lower.0 + 1), tube);
    });
    // The tube takes one column of each vessel.
    let inner = wide - 2;
    let full = inner * s.between(2, deep);
    let rest = 0;
    pour(&mut p.input, floor, upper, full, water);
    pour(&mut p.output, floor, upper, rest, water);
    pour(&mut p.output, bottom, lower, full - rest, water);
    let same = p.input.count(water) == p.output.count(water);
    (same && deep >= 2 && lower.0 > wide + 1).then_some(p)
}

fn over_the_wall(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, water, tube) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let mid = s.cols / 2 + s.between(-1, 0);
    let (left, right) = ((0, mid), (mid, s.cols - 1));
    let top = s.between(3, 4);
    let high = s.between(2, 3);
    p.both(|g| {
        vessel(g, top, floor, (0, s.cols - 1), glass);
        g.fill((top, mid), (floor - 1, mid), glass);
        // The far chamber lies deeper: the near one stands on a step.
        g.fill((floor - high, 1), (floor - 1, mid - 1), glass);
        g.fill((1, mid - 2), (floor - high - 2, mid - 2), tube);
        g.fill((1, mid - 2), (1, mid + 2), tube);
        g.fill((1, mid + 2), (floor - 2, mid + 2), tube);
    });
    let base = floor - high;
    // Below the tube's mouth two rows stay behind; above it the tube takes a column.
    let remain = mid - 1;
    let above = (mid - 2) * s.between(2, base - top - 2);
    pour(&mut p.input, base, left, remain + above, water);
    pour(&mut p.output, base, left, remain, water);
    pour(&mut p.output, floor, right, above, water);
    let same = p.input.count(water) == p.output.count(water);
    let below_rim = (0..top + 1).all(|r| (0..s.cols).all(|c| p.output.at(r, c) != water));
    (same && below_rim).then_some(p)
}

/// Fluid pressure.
pub static FLUID_PRESSURE: Concept = Concept::core_dev(
    "fluid-pressure",
    "fluid pressure",
    &[
        "hydrostatic pressure",
        "water pressure",
        "liquid pressure",
        "pressure of a fluid",
    ],
    &[
        Aspect::upright(
            "jets",
            "Plugs at three depths of a tank come out: the deeper the hole, the faster and farther its jet.",
            jets,
        ),
        Aspect::upright(
            "pushed-pistons",
            "Pistons at several depths of a tank's wall are pushed out by as many cells as they lie deep.",
            pushed_pistons,
        ),
    ],
);

fn jets(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, water, plug, earth) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let ground = s.rows - 1;
    let wide = s.between(2, 3);
    let right = wide + 1;
    let floor = ground - s.between(4, 5);
    let top = s.between(0, 1);
    p.both(|g| {
        vessel(g, top, floor, (0, right), wall);
        g.fill((top + 1, 1), (floor - 1, right - 1), water);
        g.fill((floor + 1, 1), (ground - 1, 1), wall);
        g.fill((floor + 1, right - 1), (ground - 1, right - 1), wall);
        g.fill((ground, 0), (ground, g.cols() as i32), earth);
    });
    let deepest = floor - 1 - top;
    let holes = [2, (deepest + 3) / 2, deepest];
    let room = s.cols - right - 1;
    for (i, d) in holes.iter().enumerate() {
        let row = top + d;
        p.input.set(row, right, plug);
        p.output.set(row, right, water);
        let reach = room * (i as i32 + 1) / 3;
        let drop = ground - 1 - row;
        let mut last = (row, right);
        for dx in 1..=reach {
            let next = (row + drop * dx * dx / (reach * reach), right + dx);
            p.output.paint(line(last, next), water);
            last = next;
        }
    }
    (deepest >= 5).then_some(p)
}

fn pushed_pistons(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, water, slug) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let wide = s.between(2, 3);
    let right = wide + 1;
    let top = s.between(0, 1);
    let surface = top + 1;
    p.both(|g| {
        vessel(g, top, floor, (0, right), wall);
        g.fill((surface, 1), (floor - 1, right - 1), water);
    });
    let room = s.cols - right - 4;
    let mut row = surface + s.between(1, 2);
    let mut gauges = 0;
    while row < floor {
        let out = ((row - surface) * room / (floor - 1 - surface)).max(1);
        // A horizontal tube; its lips are the wall's colour.
        p.both(|g| g.set(row, right, water));
        p.input.fill((row, right + 1), (row, right + 2), slug);
        p.output.fill((row, right + 1), (row, right + out), water);
        p.output
            .fill((row, right + out + 1), (row, right + out + 2), slug);
        gauges += 1;
        row += s.between(2, 3);
    }
    (gauges >= 3).then_some(p)
}

/// Bernoulli effect.
pub static BERNOULLI_EFFECT: Concept = Concept::core_dev(
    "bernoulli-effect",
    "Bernoulli effect",
    &[
        "Bernoulli's principle",
        "Bernoulli principle",
        "Bernoulli",
        "Venturi effect",
    ],
    &[
        Aspect::upright(
            "narrow-pipe",
            "When the liquid in a pipe begins to flow, it stands lower in the riser over the narrow part than over the wide parts.",
            narrow_pipe,
        ),
        Aspect::upright(
            "two-sheets",
            "A stream blown between two hanging sheets draws them towards each other.",
            two_sheets,
        ),
    ],
);

fn narrow_pipe(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (wall, water, flow) = (s.colour(0), s.colour(1), s.colour(2));
    let bottom = s.rows - 2;
    let (top, mid) = (bottom - 2, bottom - 1);
    let a = s.cols / 3;
    let b = s.cols - s.cols / 3 - 1;
    let high = s.between(4, (top - 2).min(7));
    let low = s.between(1, 2);
    p.both(|g| {
        let cols = g.cols() as i32;
        g.fill((top - 1, 0), (bottom + 1, cols), wall);
        g.fill((top, 0), (bottom, cols), water);
        g.fill((top, a), (top, b), wall);
        g.fill((bottom, a), (bottom, b), wall);
    });
    let risers = [a / 2, (a + b) / 2, (b + s.cols) / 2];
    for (i, &c) in risers.iter().enumerate() {
        let joint = if i == 1 { top } else { top - 1 };
        for (g, flowing) in [(&mut p.input, false), (&mut p.output, true)] {
            let level = if flowing && i == 1 { low } else { high };
            g.fill((top - 2 - high, c - 1), (top - 2, c - 1), wall);
            g.fill((top - 2 - high, c + 1), (top - 2, c + 1), wall);
            g.fill((top - 1 - level, c), (joint, c), water);
        }
    }
    for c in (0..s.cols).step_by(2) {
        p.output.set(mid, c, flow);
    }
    p.output.fill((mid, a), (mid, b), flow);
    (high >= low + 3).then_some(p)
}

fn two_sheets(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (bar, sheet, nozzle, wind) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let gap = s.between(3, 4);
    let mid = s.between(gap + 1, s.cols - gap - 2);
    let top = s.between(0, 1);
    let long = s.between(7, s.rows - top - 4);
    let end = top + long;
    p.both(|g| {
        g.fill((top, mid - gap - 1), (top, mid + gap + 1), bar);
        g.fill((top, mid), (top + 1, mid), nozzle);
    });
    for side in [-1, 1] {
        let c = mid + side * gap;
        p.input.fill((top + 1, c), (end, c), sheet);
        p.output
            .paint(line((top + 1, c), (top + 1 + long / 2, mid + side)), sheet);
        p.output
            .fill((top + 1 + long / 2, mid + side), (end, mid + side), sheet);
    }
    for r in (top + 2..(end + 3).min(s.rows)).step_by(2) {
        p.output.set(r, mid, wind);
    }
    Some(p)
}

/// Buoyancy.
pub static BUOYANCY: Concept = Concept::core_test(
    "buoyancy",
    "buoyancy",
    &["buoyant", "upthrust", "buoyant force", "floating", "float"],
    &[
        Aspect::upright(
            "cork-and-stone",
            "Let go under water, light bodies rise to the surface and heavy ones sink to the bottom.",
            cork_and_stone,
        ),
        Aspect::upright(
            "loaded-boat",
            "A boat that takes on cargo floats on, deeper by a row for every row of cargo.",
            loaded_boat,
        ),
    ],
);

fn cork_and_stone(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (water, light, heavy, shore) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let surface = s.between(3, s.rows - 8);
    let floor = s.rows - 1;
    let left = s.between(0, s.cols - 10);
    let right = s.between(left + 9, s.cols - 1);
    p.both(|g| {
        g.fill((surface, left), (floor, right), water);
        g.fill((floor, left), (floor, right), shore);
        g.fill((surface - 2, left), (floor, left), shore);
        g.fill((surface - 2, right), (floor, right), shore);
    });
    let mut c = left + s.between(2, 3);
    let mut seen = [0, 0];
    while c + 2 < right {
        let kind = s.between(0, 1) as usize;
        let tall = s.between(1, 2);
        let wide = s.between(2, 3).min(right - 1 - c);
        let from = s.between(surface + 2, floor - tall - 2);
        let (to, colour) = if kind == 0 {
            (surface, light)
        } else {
            (floor - tall, heavy)
        };
        p.input
            .fill((from, c), (from + tall - 1, c + wide - 1), colour);
        p.output
            .fill((to, c), (to + tall - 1, c + wide - 1), colour);
        seen[kind] += 1;
        c += wide + s.between(1, 2);
    }
    (seen[0] >= 1 && seen[1] >= 1).then_some(p)
}

fn loaded_boat(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (water, hull, cargo) = (s.colour(0), s.colour(1), s.colour(2));
    let surface = s.rows - s.between(5, 6);
    p.both(|g| g.fill((surface, 0), (g.rows() as i32, g.cols() as i32), water));
    let wide = s.between(4, s.cols - 6);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let rows = s.between(1, 2);
    let high = 3;
    let draw = |g: &mut Grid, draft: i32, held: Place| {
        let keel = surface + draft - 1;
        g.fill((keel - high, left), (keel, right), 0);
        g.fill((keel, left), (keel, right), hull);
        g.fill((keel - high, left), (keel, left), hull);
        g.fill((keel - high, right), (keel, right), hull);
        let base = if held.0 == 0 { keel - 1 } else { held.1 };
        g.fill((base - rows + 1, left + 1), (base, right - 1), cargo);
    };
    // Before: the cargo hangs high above the boat.
    let above = surface - high - 2;
    draw(&mut p.input, 1, (1, above.max(rows - 1)));
    draw(&mut p.output, 1 + rows, (0, 0));
    (above >= rows).then_some(p)
}
