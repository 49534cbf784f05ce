use super::*;

concept!(draws: bent_ray, bent_stick; reads: bent_in_a_body, seems_broken);

fn bent_ray(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (medium, light) = (s.colour(0), s.colour(1));
    let surface = s.between(4, s.rows - 7);
    let bottom = surface + s.between(4, s.rows - surface);
    let enter = s.between(surface, s.cols - 5);
    // A block of glass that is wider than the way of the ray through it.
    let leave = enter + (bottom - surface) / 3 + 1;
    let left = s.between(0, (enter - 2).max(0));
    let right = s.between((leave + 1).min(s.cols - 1), s.cols - 1);
    p.both(|g| g.fill((surface, left), (bottom - 1, right), medium));
    p.both(|g| g.ray((surface - 1, enter), (-1, -1), 0..surface, light));
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

fn bent_stick(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, water, stick) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    let deep = s.between(3, 5);
    let surface = floor - deep;
    let (left, right) = (0, s.cols - 1);
    p.both(|g| {
        vessel(g, surface - 1, floor, (left, right), glass);
        g.fill((surface, left + 1), (floor - 1, right - 1), water);
    });
    // A stick that slants by one column a row above the water slants by two below it: what is under
    // water seems to be lifted, so that the stick looks flatter there.
    let wet = s.between(2, deep);
    let way = if s.coin() { 1 } else { -1 };
    let mut sticks = 0;
    let many = s.between(1, 3);
    let start = s.between(4, 6);
    for enter in (start..right - 1).step_by((2 * wet + 3) as usize) {
        let dry = surface.min(4);
        let (low, high) = match way {
            1 => (enter - dry, enter + 2 * wet),
            _ => (enter - 2 * wet, enter + dry),
        };
        if sticks == many || low <= left + 1 || high >= right - 1 {
            continue;
        }
        p.both(|g| g.ray((surface - 1, enter), (-1, -way), 0..dry, stick));
        for i in 0..wet {
            p.output
                .ray((surface + i, enter), (0, way), 2 * i + 1..=2 * i + 2, stick);
        }
        sticks += 1;
    }
    (sticks > 0).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

/// A line with one cell in each row: its columns from the top, and the first row.
fn one_a_row(cells: &[Place]) -> Option<(i32, Vec<i32>)> {
    let first = cells.first()?.0;
    let one_each = (first..).zip(cells).all(|(r, p)| p.0 == r);
    one_each.then(|| (first, cells.iter().map(|p| p.1).collect()))
}

fn steps(columns: &[i32]) -> Vec<i32> {
    columns.windows(2).map(|w| w[1] - w[0]).collect()
}

fn bent_in_a_body(look: &Look) -> Option<bool> {
    let [a, b] = *exactly(&look.touched)?;
    given(look.changed.iter().all(|&p| look.is(p) != 0))?;
    Some([(a, b), (b, a)].into_iter().any(|(ray, medium)| {
        look.had(ray) >= 3
            && look.gone(ray).is_empty()
            && look.came(medium).is_empty()
            && look.some_way(|l| enters(l, ray, medium).yes())
    }))
}

/// A ray from above that enters the medium below it.
fn enters(look: &Look, ray: u8, medium: u8) -> Option<bool> {
    let (top, before) = one_a_row(&look.input.places_of(ray))?;
    let (first, after) = one_a_row(&look.output.places_of(ray))?;
    let slant = steps(&before);
    let &way = slant.first()?;
    let n = before.len();
    given(top == first && way.abs() == 1 && slant.iter().all(|s| *s == way))?;
    let new = (top..).zip(after.iter().copied()).skip(n);
    let inside = new.filter(|&p| look.was(p) == medium);
    let inside: Vec<i32> = inside.map(|p| p.1).collect();
    let within = steps(&inside);
    let bent = within.iter().filter(|s| **s != 0).count();
    given(inside.len() >= 3 && within.iter().all(|s| *s == 0 || *s == way))?;
    given(2 * bent <= within.len())?;
    Some(look.was((top + n as i32, after.get(n).copied().unwrap_or(0))) == medium)
}

fn seems_broken(look: &Look) -> bool {
    look.either_way(|stick, water| {
        given(look.before_of(stick).len() == look.after_of(stick).len())?;
        given(every(&look.changed, |&p| {
            look.was(p) == water && look.is(p) == stick
        }))?;
        Some(every(&look.before_of(stick), |dry| {
            !look.restless(dry) && flatter_below(look, dry, water).yes()
        }))
    })
}

/// Whether a slanting stick goes on under water from its lower end, the same way but flatter.
fn flatter_below(look: &Look, dry: &Part, water: u8) -> Option<bool> {
    let (top, cols) = one_a_row(&dry.cells)?;
    let slant = steps(&cols);
    let (&way, &last) = (slant.first()?, cols.last()?);
    given(way.abs() == 1 && slant.iter().all(|s| *s == way))?;
    let mut at = (top + cols.len() as i32, last);
    let (mut rows, mut cells) = (0, 0);
    while look.was(at) == water || look.was((at.0, at.1 + way)) == water {
        let run = (1..).map(|k| (at.0, at.1 + way * k));
        let run = run.take_while(|&p| look.was(p) == water && look.is(p) == dry.colour);
        let run = run.count() as i32;
        if run == 0 {
            break;
        }
        rows += 1;
        cells += run;
        at = (at.0 + 1, at.1 + way * run);
    }
    Some(rows >= 2 && cells == 2 * rows)
}
