//! Light as rays: laser, reflection, refraction, scattering, filters, polarization.

use super::draw::line;
use super::{Aspect, Concept, Setting};
use crate::grid::{Grid, Pair, Place};

/// Laser.
pub static LASER: Concept = Concept::core_test(
    "laser",
    "laser",
    &["lasers", "laser beam", "laser light"],
    &[
        Aspect::free(
            "beam",
            "Each pointer sends out one straight, thin beam in the direction of its tip, to the far wall.",
            beam,
        ),
        Aspect::free(
            "drill",
            "The beam goes straight on through the block in its way and burns a hole of its own width.",
            drill,
        ),
    ],
)
.also_associative();

/// A pointer: a body of 3 × 2 with its tip to the right.
fn pointer(g: &mut Grid, at: Place, body: u8, tip: u8) {
    g.fill((at.0 - 1, at.1), (at.0 + 1, at.1 + 1), body);
    g.set(at.0, at.1 + 1, tip);
}

fn beam(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (body, light, wall) = (s.colour(0), s.colour(1), s.colour(2));
    let far = s.cols - 1;
    p.both(|g| g.fill((0, far), (g.rows() as i32, far), wall));
    let mut row = s.between(1, 3);
    while row < s.rows - 1 {
        let left = s.between(0, 4);
        p.both(|g| pointer(g, (row, left), body, light));
        p.output.fill((row, left + 2), (row, far - 1), light);
        row += s.between(4, 6);
    }
    Some(p)
}

fn drill(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (body, light, steel) = (s.colour(0), s.colour(1), s.colour(2));
    let row = s.between(2, s.rows - 3);
    let left = s.between(0, 1);
    let wide = s.between(2, 4);
    let at = s.between(left + 4, s.cols - wide - 2);
    let (top, bottom) = (s.between(0, row - 1), s.between(row + 1, s.rows - 1));
    p.both(|g| {
        pointer(g, (row, left), body, light);
        g.fill((top, at), (bottom, at + wide - 1), steel);
    });
    p.output.fill((row, left + 2), (row, s.cols), light);
    Some(p)
}

/// Reflection.
pub static REFLECTION: Concept = Concept::core_test(
    "reflection",
    "reflection",
    &[
        "reflections",
        "reflect",
        "reflects",
        "reflected",
        "reflecting",
    ],
    &[
        Aspect::free(
            "flat-mirror",
            "A ray that meets a mirror at a slant leaves it at the same slant on the other side.",
            flat_mirror,
        ),
        Aspect::free(
            "two-mirrors",
            "A ray between two mirrors goes to and fro in a zigzag of equal angles.",
            two_mirrors,
        ),
    ],
)
.also_associative();

fn flat_mirror(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, light) = (s.colour(0), s.colour(1));
    let row = s.rows - s.between(1, 3);
    // Columns for each row: one is the half right angle, two is flatter.
    let run = s.between(1, 2);
    let hit = s.between(s.cols / 2 - 1, s.cols / 2 + 1);
    p.both(|g| g.fill((row, 0), (g.rows() as i32, g.cols() as i32), glass));
    let most = ((hit - 1).min(s.cols - 2 - hit) / run).min(row - 1);
    let far = s.between(3.min(most), most);
    for d in 0..=far * run {
        let r = row - 1 - d / run;
        p.input.set(r, hit - d, light);
        p.output.set(r, hit - d, light);
        p.output.set(r, hit + d, light);
    }
    (far * run >= 4 && far >= 3).then_some(p)
}

fn two_mirrors(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, light) = (s.colour(0), s.colour(1));
    let gap = s.between(4, 6);
    let top = s.between(0, s.rows - gap - 2);
    let bottom = top + gap + 1;
    p.both(|g| {
        g.fill((top, 0), (top, g.cols() as i32), glass);
        g.fill((bottom, 0), (bottom, g.cols() as i32), glass);
    });
    let mut r = top + s.between(1, gap);
    let mut down = if s.coin() { 1 } else { -1 };
    let known = s.between(2, 3);
    for c in 0..s.cols {
        if c < known {
            p.input.set(r, c, light);
        }
        p.output.set(r, c, light);
        if r + down <= top || r + down >= bottom {
            down = -down;
        }
        r += down;
    }
    Some(p)
}

/// Refraction.
pub static REFRACTION: Concept = Concept::core_test(
    "refraction",
    "refraction",
    &[
        "refractions",
        "refract",
        "refracts",
        "refracted",
        "refractive",
    ],
    &[
        Aspect::free(
            "bent-ray",
            "A slanting ray bends where it enters the dense medium and goes on more steeply.",
            bent_ray,
        ),
        Aspect::upright(
            "bent-stick",
            "A straight stick that is dipped into water seems to be broken at the surface: under water it looks lifted, flatter than above.",
            bent_stick,
        ),
    ],
);

fn bent_ray(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (medium, light) = (s.colour(0), s.colour(1));
    let surface = s.between(4, s.rows - 7);
    let bottom = surface + s.between(4, s.rows - surface);
    let enter = s.between(surface, s.cols - 5);
    // A block of glass that is wider than the way of the ray through it.
    let leave = enter + (bottom - surface) / 3 + 1;
    let (left, right) = (
        s.between(0, (enter - 2).max(0)),
        s.between((leave + 1).min(s.cols - 1), s.cols - 1),
    );
    p.both(|g| g.fill((surface, left), (bottom - 1, right), medium));
    let mut c = enter;
    for r in (0..surface).rev() {
        c -= 1;
        p.both(|g| g.set(r, c + 1, light));
    }
    // Inside one column for every three rows; outside again one for one.
    let mut c = enter;
    for r in surface..s.rows {
        if r >= bottom || (r - surface) % 3 == 1 {
            c += 1;
        }
        p.output.set(r, c, light);
    }
    (enter < s.cols - 1).then_some(p)
}

fn bent_stick(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (glass, water, stick) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let deep = s.between(3, 5);
    let surface = floor - deep;
    let (left, right) = (0, s.cols - 1);
    p.both(|g| {
        g.fill((surface - 1, left), (floor, left), glass);
        g.fill((surface - 1, right), (floor, right), glass);
        g.fill((floor, left), (floor, right), glass);
        g.fill((surface, left + 1), (floor - 1, right - 1), water);
    });
    // A stick that slants by one column a row above the water slants by two below it: what is under
    // water seems to be lifted, so that the stick looks flatter there.
    let wet = s.between(2, deep);
    let way = if s.coin() { 1 } else { -1 };
    let mut sticks = 0;
    let mut last: Option<i32> = None;
    let many = s.between(1, 3);
    let start = s.between(4, 6);
    for enter in (start..right - 1).step_by((2 * wet + 3) as usize) {
        let (low, high) = if way > 0 {
            (enter - surface.min(4), enter + 2 * wet)
        } else {
            (enter - 2 * wet, enter + surface.min(4))
        };
        if sticks == many || low <= left + 1 || high >= right - 1 {
            continue;
        }
        if last.is_some_and(|l| enter - l < 2 * wet + 3) {
            continue;
        }
        last = Some(enter);
        let dry = surface.min(4);
        for i in 0..dry {
            p.both(|g| g.set(surface - 1 - i, enter - way * i, stick));
        }
        for i in 0..wet {
            for c in [2 * i + 1, 2 * i + 2] {
                p.output.set(surface + i, enter + way * c, stick);
            }
        }
        sticks += 1;
    }
    (sticks > 0).then_some(p)
}

/// Diffuse reflection of light.
pub static DIFFUSE_REFLECTION: Concept = Concept::core_test(
    "diffuse-reflection-of-light",
    "diffuse reflection of light",
    &[
        "diffuse reflection",
        "diffusely reflected",
        "scattered reflection",
        "light scattering",
    ],
    &[
        Aspect::free(
            "rough-ground",
            "Parallel rays that strike a rough surface leave it in all sorts of directions.",
            rough_ground,
        ),
        Aspect::free(
            "fan",
            "One ray that strikes a rough surface is thrown back as a fan of rays to all sides.",
            fan,
        ),
    ],
);

/// A rough floor: every column one or two cells high, no long flat stretch.
fn rough(s: &mut Setting, base: i32) -> Vec<i32> {
    let odd = s.between(0, 1);
    (0..s.cols)
        .map(|c| base - i32::from((c + odd) % 2 == 0) - i32::from(s.between(0, 4) == 0))
        .collect()
}

fn rough_ground(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (ground, light, back) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = rough(s, s.rows - 2);
    for (c, &r) in floor.iter().enumerate() {
        p.both(|g| g.fill((r, c as i32), (g.rows() as i32, c as i32), ground));
    }
    // Slopes of the rays thrown back, each another one.
    let ways: Vec<Place> = s.shuffled(vec![
        (-4, -3),
        (-4, 2),
        (-3, 3),
        (-4, -1),
        (-3, -3),
        (-4, 3),
    ]);
    let step = s.between(5, 6);
    let mut c = s.between(1, 3);
    let mut rays = 0;
    while c < s.cols {
        let hit = floor.get(c as usize)? - 1;
        let (dr, dc) = *ways.get(rays % ways.len())?;
        let start = (hit - 1, c + dc.signum());
        for q in line(start, (start.0 + dr, start.1 + dc)) {
            if p.output.free(q.0, q.1) {
                p.output.set(q.0, q.1, back);
            }
        }
        p.both(|g| g.fill((0, c), (hit, c), light));
        rays += 1;
        c += step;
    }
    (rays >= 2 && p.output.count(back) >= 3 * rays).then_some(p)
}

fn fan(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (ground, light, back) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = rough(s, s.rows - 2);
    for (c, &r) in floor.iter().enumerate() {
        p.both(|g| g.fill((r, c as i32), (g.rows() as i32, c as i32), ground));
    }
    let mid = s.between(s.cols / 2 - 1, s.cols / 2 + 1);
    let hit = (floor.get(mid as usize)? - 1, mid);
    let far = s.between(5, 7).min(hit.0 - 1);
    let ways = [
        (-far, far),
        (-far, far / 3),
        (-far, -far / 3),
        (-far / 3, far),
        (-far / 3, -far),
    ];
    for (dr, dc) in ways {
        let clear = |q: &Place| p.input.get(q.0, q.1).is_none_or(|v| v != ground);
        let cells: Vec<Place> = line(hit, (hit.0 + dr, hit.1 + dc))
            .into_iter()
            .skip(2)
            .take_while(clear)
            .collect();
        p.output.paint(cells, back);
    }
    let into = line(hit, (hit.0 - far, hit.1 - far));
    p.both(|g| g.paint(into.iter().copied(), light));
    (far >= 5).then_some(p)
}

/// Optical filters.
pub static OPTICAL_FILTERS: Concept = Concept::core_test(
    "optical-filters",
    "optical filters",
    &["optical filter", "colour filter", "color filter", "light filter", "filters", "filter"],
    &[
        Aspect::free(
            "one-colour-passes",
            "Of several coloured beams only the one of the plate's own colour goes on behind it.",
            one_colour_passes,
        ),
        Aspect::free(
            "through-the-glass",
            "Behind a frame of coloured glass only the spots of that colour can still be seen; the rest is dark there.",
            through_the_glass,
        ),
    ],
)
.also_associative();

fn one_colour_passes(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let plate = s.between(4, s.cols - 6);
    let pass = s.between(0, 2) as usize;
    let own = s.colour(pass);
    let mut row = s.between(1, 2);
    let mut i = s.between(0, 2) as usize;
    let mut seen = [0; 3];
    while row < s.rows - 1 {
        let colour = s.colour(i % 3);
        p.both(|g| g.fill((row, 0), (row, plate - 1), colour));
        if colour == own {
            p.output.fill((row, plate + 1), (row, s.cols), colour);
        }
        if let Some(n) = seen.get_mut(i % 3) {
            *n += 1;
        }
        i += 1;
        row += s.between(2, 3);
    }
    p.both(|g| g.fill((0, plate), (g.rows() as i32, plate), own));
    seen.iter().all(|&n| n > 0).then_some(p)
}

fn through_the_glass(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let glass = s.colour(0);
    let (tall, wide) = (s.between(6, s.rows - 2), s.between(6, s.cols - 4));
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    for (r, c) in p.input.places() {
        if s.between(0, 3) == 0 {
            let colour = s.any_colour(0, 2);
            p.input.set(r, c, colour);
            let behind = r > top && r < bottom && c > left && c < right;
            if !behind || colour == glass {
                p.output.set(r, c, colour);
            }
        }
    }
    p.both(|g| g.frame((top, left), (bottom, right), glass));
    let kept = (top + 1..bottom)
        .flat_map(|r| (left + 1..right).map(move |c| (r, c)))
        .filter(|&(r, c)| p.output.at(r, c) == glass)
        .count();
    (p.changed() >= 4 && kept >= 2).then_some(p)
}

/// Polarization of light.
pub static POLARIZATION: Concept = Concept::associative(
    "polarization-of-light",
    "polarization of light",
    &[
        "polarization",
        "polarisation",
        "polarized",
        "polarised",
        "polarizer",
        "polariser",
        "polarized light",
    ],
    &[
        Aspect::free(
            "one-direction",
            "Light that swings both along and across meets a grating, and behind it only the swing along its bars is left.",
            one_direction,
        ),
        Aspect::free(
            "second-grating",
            "Light that swings along the bars passes a grating whose bars lie the same way and is stopped by a crossed one.",
            second_grating,
        ),
    ],
);

/// A crossed swing, or only its upright or level stroke.
fn swing(g: &mut Grid, at: Place, upright: bool, level: bool, colour: u8) {
    if upright {
        g.fill((at.0 - 1, at.1), (at.0 + 1, at.1), colour);
    }
    if level {
        g.fill((at.0, at.1 - 1), (at.0, at.1 + 1), colour);
    }
}

/// A grating of three columns: upright bars, or level bars.
fn grating(g: &mut Grid, rows: (i32, i32), left: i32, upright: bool, colour: u8) {
    for r in rows.0..=rows.1 {
        for c in left..left + 3 {
            let bar = if upright {
                (c - left) % 2 == 0
            } else {
                (r - rows.0) % 2 == 0
            };
            if bar {
                g.set(r, c, colour);
            }
        }
    }
}

fn one_direction(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (bars, light) = (s.colour(0), s.colour(1));
    let upright = s.coin();
    let left = (s.cols - 3) / 2;
    p.both(|g| grating(g, (0, g.rows() as i32 - 1), left, upright, bars));
    let mut row = s.between(1, 2);
    while row < s.rows - 1 {
        p.both(|g| swing(g, (row, left - 3), true, true, light));
        swing(&mut p.output, (row, left + 5), upright, !upright, light);
        row += s.between(4, 5);
    }
    Some(p)
}

fn second_grating(s: &mut Setting) -> Option<Pair> {
    let mut p = s.pair();
    let (bars, light) = (s.colour(0), s.colour(1));
    let upright = s.coin();
    let left = (s.cols - 3) / 2;
    let half = s.rows / 2;
    let two = half >= 8 && s.coin();
    let lets_top = s.coin();
    for (rows, lets) in [
        ((0, half - 2), lets_top),
        ((half + 1, s.rows - 1), !lets_top),
    ] {
        let way = if lets { upright } else { !upright };
        p.both(|g| grating(g, rows, left, way, bars));
        let mid = (rows.0 + rows.1) / 2;
        let rays = if two {
            vec![mid - 2, mid + 2]
        } else {
            vec![mid]
        };
        for row in rays {
            for c in [left - 3, left - 5] {
                if c > 0 {
                    p.both(|g| swing(g, (row, c), upright, !upright, light));
                }
            }
            for c in [left + 5, left + 7] {
                if lets && c < s.cols - 1 {
                    swing(&mut p.output, (row, c), upright, !upright, light);
                }
            }
        }
    }
    Some(p)
}
