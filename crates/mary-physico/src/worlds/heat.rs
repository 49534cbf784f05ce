//! Heat: conduction, melting, vaporization, expansion and contraction.

use super::draw::shifted;
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Heat conduction.
pub static HEAT_CONDUCTION: Concept = Concept::core_dev(
    "heat-conduction",
    "heat conduction",
    &["thermal conduction", "conduction of heat", "conducts heat"],
    &[
        Aspect::upright(
            "heated-rod",
            "A rod with one end in the flame grows hot from that end on: hot first, warm further on, cold at the far end.",
            heated_rod,
        ),
        Aspect::free(
            "touching-blocks",
            "Where a hot and a cold block touch, both become lukewarm; blocks that do not touch keep their heat.",
            touching_blocks,
        ),
    ],
);

/// A flame: a wide row, a narrow row, a tip.
fn flame(g: &mut Grid, base: i32, mid: i32, colour: u8) {
    g.fill((base, mid - 1), (base, mid + 1), colour);
    g.fill((base - 1, mid - 1), (base - 1, mid), colour);
    g.set(base - 2, mid, colour);
}

fn heated_rod(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (cold, warm, hot, fire) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let thick = s.between(1, 2);
    let long = s.between(9, s.cols - 1);
    let left = s.between(0, s.cols - long);
    let row = s.between(1, s.rows - thick - 4);
    p.both(|g| {
        g.fill((row, left), (row + thick - 1, left + long - 1), cold);
        flame(g, row + thick + 2, left + 1, fire);
    });
    let a = s.between(3, long / 2 - 1);
    let b = s.between(a + 2, long - 3);
    p.output
        .fill((row, left), (row + thick - 1, left + b), warm);
    p.output
        .fill((row, left), (row + thick - 1, left + a - 1), hot);
    Some(p)
}

fn touching_blocks(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (hot, cold, warm) = (s.colour(0), s.colour(1), s.colour(2));
    let big = s.between(3, 4).min((s.rows - 3) / 2);
    let wide = s.between(3, (s.cols - 4) / 2);
    let top = s.between(0, s.rows - 2 * big - 3);
    let low = s.between(top + big + 2, s.rows - big);
    let (touch, apart) = if s.coin() { (top, low) } else { (low, top) };
    let left = s.between(1, s.cols - 2 * wide - 3);
    let (a, b) = if s.coin() { (hot, cold) } else { (cold, hot) };
    p.input
        .fill((touch, left), (touch + big - 1, left + wide - 1), a);
    p.input.fill(
        (touch, left + wide),
        (touch + big - 1, left + 2 * wide - 1),
        b,
    );
    p.output
        .fill((touch, left), (touch + big - 1, left + 2 * wide - 1), warm);
    p.both(|g| {
        g.fill((apart, left), (apart + big - 1, left + wide - 1), a);
        g.fill(
            (apart, left + wide + 2),
            (apart + big - 1, left + 2 * wide + 1),
            b,
        );
    });
    Some(p)
}

/// Melting.
pub static MELTING: Concept = Concept::core_dev(
    "melting",
    "melting",
    &[
        "melt",
        "melts",
        "melted",
        "fusion of ice",
        "thaw",
        "thawing",
        "liquefy",
    ],
    &[
        Aspect::upright(
            "ice-on-the-table",
            "Under the sun a solid block becomes liquid: it turns colour and runs out flat over the table, no cell lost.",
            ice_on_the_table,
        ),
        Aspect::upright(
            "cubes-in-a-glass",
            "Solid cubes piled in a heated glass become a liquid with a level surface, no cell lost.",
            cubes_in_a_glass,
        ),
    ],
);

/// A sun: a block with rays.
fn sun(g: &mut Grid, at: Place, colour: u8) {
    g.fill(at, (at.0 + 1, at.1 + 1), colour);
    g.paint(
        [(-1, -1), (-1, 2), (2, -1), (2, 2)]
            .iter()
            .map(|q| (at.0 + q.0, at.1 + q.1)),
        colour,
    );
}

/// A heap on the floor: full rows from below, so many cells, centred.
fn puddle(g: &mut Grid, floor: i32, mid: i32, widest: i32, cells: i32, colour: u8) {
    let mut left = cells;
    let (mut row, mut wide) = (floor - 1, widest);
    while left > 0 && row >= 0 {
        let here = left.min(wide);
        let from = (mid - here / 2).clamp(0, (g.cols() as i32 - here).max(0));
        g.fill((row, from), (row, from + here - 1), colour);
        left -= here;
        row -= 1;
        wide -= 2;
    }
}

fn ice_on_the_table(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (table, ice, water, light) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let floor = s.rows - s.between(1, 2);
    let (tall, wide) = (s.between(3, 5), s.between(3, 4));
    let mid = s.between(s.cols / 2 - 1, s.cols / 2 + 1);
    let left = mid - wide / 2;
    let corner = if s.coin() { (1, 1) } else { (1, s.cols - 3) };
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, g.cols() as i32), table);
        sun(g, corner, light);
    });
    p.input
        .fill((floor - tall, left), (floor - 1, left + wide - 1), ice);
    puddle(&mut p.output, floor, mid, s.cols - 2, tall * wide, water);
    let whole = p.output.count(water) as i32 == tall * wide;
    (whole && floor - tall > 4).then_some(p)
}

fn cubes_in_a_glass(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, ice, water, fire) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let wide = s.between(5, s.cols - 4);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let floor = s.rows - 4;
    let top = s.between(0, 2);
    p.both(|g| {
        g.fill((top, left), (floor, left), glass);
        g.fill((top, right), (floor, right), glass);
        g.fill((floor, left), (floor, right), glass);
        flame(g, floor + 3, (left + right) / 2, fire);
    });
    // Cubes stand on one another, none higher than the rim.
    let mut c = left + 1;
    while c + 1 < right {
        let high = s.between(1, ((floor - top) / 2 - 1).max(1));
        for k in 0..high {
            let base = floor - 1 - 2 * k;
            if base - 1 > top {
                p.input.fill((base - 1, c), (base, c + 1), ice);
            }
        }
        c += 3;
    }
    let cells = p.input.count(ice) as i32;
    for i in 0..cells {
        p.output
            .set(floor - 1 - i / wide, left + 1 + i % wide, water);
    }
    let highest = p.input.places_of(ice).first().map_or(0, |q| floor - q.0);
    (cells >= 8 && cells % wide == 0 && cells / wide + 2 <= highest && floor - top > 5).then_some(p)
}

/// Vaporization.
pub static VAPORIZATION: Concept = Concept::core_dev(
    "vaporization",
    "vaporization",
    &[
        "vaporisation",
        "vaporize",
        "vapor",
        "vapour",
        "evaporation",
        "evaporate",
        "evaporates",
        "boiling",
        "boil",
    ],
    &[
        Aspect::upright(
            "boiling-pot",
            "Over the flame the liquid in the pot sinks, and each cell that is gone hangs above it as vapour.",
            boiling_pot,
        ),
        Aspect::upright(
            "drying-puddle",
            "Under the sun a puddle shrinks, and its cells go up into the air as vapour.",
            drying_puddle,
        ),
    ],
);

/// Vapour: so many single cells in a box, no two side by side.
fn vapour(s: &mut Setting, g: &mut Grid, from: Place, to: Place, cells: usize, colour: u8) -> bool {
    let odd = s.between(0, 1);
    let spots: Vec<Place> = (from.0..=to.0)
        .flat_map(|r| (from.1..=to.1).map(move |c| (r, c)))
        .filter(|&(r, c)| (r + c) % 2 == odd && g.free(r, c))
        .collect();
    let enough = spots.len() >= cells;
    g.paint(s.shuffled(spots).into_iter().take(cells), colour);
    enough
}

fn boiling_pot(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (pot, water, steam, fire) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let wide = s.between(5, s.cols - 4);
    let left = s.between(1, s.cols - wide - 3);
    let right = left + wide + 1;
    let floor = s.rows - 4;
    let deep = s.between(3, 4);
    p.both(|g| {
        g.fill((floor - deep - 1, left), (floor, left), pot);
        g.fill((floor - deep - 1, right), (floor, right), pot);
        g.fill((floor, left), (floor, right), pot);
        flame(g, floor + 3, (left + right) / 2, fire);
    });
    let lost = s.between(1, 2);
    p.input
        .fill((floor - deep, left + 1), (floor - 1, right - 1), water);
    p.output.fill(
        (floor - deep + lost, left + 1),
        (floor - 1, right - 1),
        water,
    );
    let cells = (lost * wide) as usize;
    vapour(
        s,
        &mut p.output,
        (0, left),
        (floor - deep - 1, right),
        cells,
        steam,
    )
    .then_some(p)
}

fn drying_puddle(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (table, water, steam, light) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let floor = s.rows - s.between(1, 2);
    let mid = s.cols / 2;
    let corner = if s.coin() { (1, 1) } else { (1, s.cols - 3) };
    p.both(|g| {
        g.fill((floor, 0), (g.rows() as i32, g.cols() as i32), table);
        sun(g, corner, light);
    });
    let wide = s.between(6, s.cols - 2);
    let cells = wide + s.between(2, wide - 3);
    let rest = s.between(3, cells / 2);
    puddle(&mut p.input, floor, mid, wide, cells, water);
    puddle(&mut p.output, floor, mid, wide / 2, rest, water);
    let enough = vapour(
        s,
        &mut p.output,
        (4, 2),
        (floor - 4, s.cols - 3),
        (cells - rest) as usize,
        steam,
    );
    let whole = p.input.count(water) as i32 == cells && p.output.count(water) as i32 == rest;
    (enough && whole).then_some(p)
}

/// Thermal expansion and contraction.
pub static THERMAL_EXPANSION: Concept = Concept::core_dev(
    "thermal-expansion-and-contraction",
    "thermal expansion and contraction",
    &[
        "thermal expansion",
        "thermal contraction",
        "expansion by heat",
        "expand when heated",
    ],
    &[
        Aspect::upright(
            "rods",
            "The rod over the flame becomes longer, the rod over the ice becomes shorter, both by the same number of cells.",
            rods,
        ),
        Aspect::upright(
            "thermometers",
            "The column of the thermometer at the flame rises, that of the one at the ice sinks.",
            thermometers,
        ),
    ],
);

fn rods(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (rod, fire, ice, wall) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let by = s.between(2, 4);
    let long = s.between(by + 3, s.cols - by - 2);
    let first = s.between(0, s.rows - 11);
    let second = first + 6;
    let (hot, cold) = if s.coin() {
        (first, second)
    } else {
        (second, first)
    };
    p.both(|g| {
        g.fill((0, 0), (g.rows() as i32, 0), wall);
        flame(g, hot + 4, 3, fire);
        g.fill((cold + 2, 2), (cold + 3, 4), ice);
    });
    for (g, change) in [(&mut p.input, 0), (&mut p.output, by)] {
        g.fill((hot, 1), (hot + 1, long + change), rod);
        g.fill((cold, 1), (cold + 1, long - change), rod);
    }
    (second + 4 < s.rows && first + 4 < second).then_some(p)
}

fn thermometers(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, liquid, fire, ice) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let floor = s.rows - s.between(4, 5);
    let top = s.between(0, 1);
    let (first, second) = (2 + s.between(0, 1), s.cols - 3 - s.between(0, 1));
    let (hot, cold) = if s.coin() {
        (first, second)
    } else {
        (second, first)
    };
    let room = floor - top - 2;
    let by = s.between(2, (room - 1) / 2);
    let level = s.between(by + 1, room - by);
    p.both(|g| {
        flame(g, floor + 3, hot, fire);
        g.fill((floor + 1, cold - 1), (floor + 3, cold + 1), ice);
        for c in [hot, cold] {
            g.fill((top, c - 1), (floor, c - 1), glass);
            g.fill((top, c + 1), (floor, c + 1), glass);
            g.set(top, c, glass);
            g.fill((floor - 1, c - 1), (floor, c + 1), liquid);
        }
    });
    for (g, change) in [(&mut p.input, 0), (&mut p.output, by)] {
        g.fill((floor - level - change, hot), (floor, hot), liquid);
        g.fill((floor - level + change, cold), (floor, cold), liquid);
    }
    let lowest = shifted(&[(floor + 3, 0)], (0, 0));
    (room >= 6 && lowest.iter().all(|q| q.0 < s.rows)).then_some(p)
}
