use super::*;

concept! {
    draws: ink_drop, no_more_wall, mixed_halves, out_of_the_corner;
    reads: spread, mixed, mixed_evenly, filled_the_room;
}

/// One particle in each of so many equal stretches of these cells: evenly thin, yet random.
fn evenly(s: &mut Setting, cells: &[Place], many: usize) -> Vec<Place> {
    (0..many)
        .filter_map(|i| {
            let (a, b) = (i * cells.len() / many, (i + 1) * cells.len() / many);
            let j = s.between(a as i32, b as i32 - 1);
            cells.get(j as usize).copied()
        })
        .collect()
}

fn ink_drop(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, ink) = (s.colour(0), s.colour(1));
    let (tall, wide) = (s.between(10, s.rows), s.between(10, s.cols));
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), wall));
    let (high, broad) = (s.between(2, 4), s.between(3, 4));
    let at = s.place((top + 2, bottom - 1 - high), (left + 2, right - 1 - broad));
    let drop = room(at, (at.0 + high - 1, at.1 + broad - 1));
    let cells = room((top + 1, left + 1), (bottom - 1, right - 1));
    let spread = evenly(s, &cells, drop.len());
    p.input.paint(drop, ink);
    p.output.paint(spread, ink);
    Some(p)
}

fn no_more_wall(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, one, two) = (s.colour(0), s.colour(1), s.colour(2));
    let tall = s.between(8, s.rows);
    let wide = s.between(11, s.cols);
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    let mid = (left + right) / 2;
    p.both(|g| g.frame((top, left), (bottom, right), wall));
    p.input.fill((top, mid), (bottom, mid), wall);
    let near = room((top + 1, left + 1), (bottom - 1, mid - 1));
    let far = room((top + 1, mid + 1), (bottom - 1, right - 1));
    let many = near.len().min(far.len()) * s.between(2, 6) as usize / 10;
    p.input.paint(s.shuffled(near).into_iter().take(many), one);
    p.input.paint(s.shuffled(far).into_iter().take(many), two);
    let cells = room((top + 1, left + 1), (bottom - 1, right - 1));
    for (i, (r, c)) in s.shuffled(cells).into_iter().take(2 * many).enumerate() {
        p.output.set(r, c, if i % 2 == 0 { one } else { two });
    }
    Some(p)
}

fn mixed_halves(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two) = (s.colour(0), s.colour(1));
    let (tall, half) = (2 * s.between(2, 4), 2 * s.between(1, 3));
    let wide = 2 * half;
    given(tall <= s.rows && wide <= s.cols)?;
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    p.input.fill_box((top, left), (tall, half), one);
    p.input.fill_box((top, left + half), (tall, half), two);
    // In each half half of the cells, at random.
    for start in [left, left + half] {
        let cells = room((top, start), (top + tall - 1, start + half - 1));
        let n = cells.len() / 2;
        for (i, (r, c)) in s.shuffled(cells).into_iter().enumerate() {
            p.output.set(r, c, if i < n { one } else { two });
        }
    }
    Some(p)
}

fn out_of_the_corner(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, gas) = (s.colour(0), s.colour(1));
    let (tall, wide) = (s.between(9, s.rows), s.between(9, s.cols));
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), wall));
    let (a, b) = (s.between(2, 4), s.between(2, 4));
    p.input.fill((top + 1, left + 1), (top + a, left + b), gas);
    let many = (a * b) as usize;
    // An equal share in each quarter of the room.
    let (mr, mc) = ((top + bottom) / 2, (left + right) / 2);
    let mut left_over = many;
    let quarters = [
        room((top + 1, left + 1), (mr, mc)),
        room((top + 1, mc + 1), (mr, right - 1)),
        room((mr + 1, left + 1), (bottom - 1, mc)),
        room((mr + 1, mc + 1), (bottom - 1, right - 1)),
    ];
    for (quarter, mut cells) in quarters.into_iter().enumerate() {
        let share = left_over / (4 - quarter);
        left_over -= share;
        cells.retain(|(r, c)| (r + c) % 2 == 0);
        let cells = s.shuffled(cells).into_iter().take(share);
        p.output.paint(cells, gas);
    }
    (p.output.count(gas) == many && many >= 5).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn spread(look: &Look) -> bool {
    exists(&look.touched, |&colour| {
        given(look.kept(colour, 4) && look.touched.len() <= 2)?;
        let (before, after) = (look.input.places_of(colour), look.output.places_of(colour));
        given(area(&after) >= 3 * area(&before) && 3 * area(&before) <= 4 * before.len() as i32)?;
        given(look.before_of(colour).len() == 1)?;
        Some(3 * look.after_of(colour).len() >= before.len())
    })
}

fn mixed(look: &Look) -> bool {
    exists(&look.touched, |&wall| {
        given(look.has(wall) < look.had(wall) && look.gone(wall).len() >= 4)?;
        Some(look.lying_or_upright(|l| parted_then_mixed(l, wall)))
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

fn mixed_evenly(look: &Look) -> Option<bool> {
    let [one, two] = *exactly(&look.touched)?;
    let blocks = |c: u8| those(look.before_of(c), |p| look.restless(p));
    let (a, b) = (blocks(one), blocks(two));
    let ([a], [b]) = (exactly(&a)?, exactly(&b)?);
    let share = |p: &Part| p.cells.iter().filter(|&&c| look.is(c) == one).count();
    given(a.is_box() && b.is_box() && a.len() == b.len() && a.len() >= 8 && a.touches(&b.cells))?;
    Some(2 * share(a) == a.len() && 2 * share(b) == b.len())
}

fn filled_the_room(look: &Look) -> Option<bool> {
    let [gas] = *exactly(&look.touched)?;
    let frame = |p: &&Part| p.is_frame() && !look.restless(p) && p.colour != gas;
    Some(exists(look.parts_before().iter().filter(frame), |room| {
        let [t, l, b, r] = room.bounds;
        let inside = |p: &Place| p.0 > t && p.0 < b && p.1 > l && p.1 < r;
        let was = those(look.input.places_of(gas), inside);
        let is = those(look.output.places_of(gas), inside);
        let [bt, bl, bb, br] = bounds(&was)?;
        let corner = (bt == t + 1 || bb == b - 1) && (bl == l + 1 || br == r - 1);
        let crowded = ((bb - bt + 1) * (br - bl + 1)) as usize == was.len();
        let quarters = |low_row: bool, low_col: bool| {
            exists(&is, |p| {
                (2 * p.0 > t + b) == low_row && (2 * p.1 > l + r) == low_col
            })
        };
        given(corner && crowded && was.len() == is.len() && was.len() >= 4)?;
        given(look.changed.iter().all(inside))?;
        let both = |low: bool| quarters(low, true) && quarters(low, false);
        Some(both(true) && both(false))
    }))
}
