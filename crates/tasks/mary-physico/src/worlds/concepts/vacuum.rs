use super::*;

concept!(draws: evacuated_box, bell_jar; reads: emptied, pumped_out);

fn evacuated_box(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, gas) = (s.colour(0), s.colour(1));
    let (tall, wide) = (s.between(6, s.rows - 3), s.between(6, s.cols - 3));
    let (top, left) = s.place((1, s.rows - tall - 1), (1, s.cols - wide - 1));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), wall));
    let sparse = s.between(2, 6);
    for (r, c) in p.input.places() {
        let inside = r > top && r < bottom && c > left && c < right;
        if p.input.free(r, c) && s.between(0, sparse) == 0 {
            p.input.set(r, c, gas);
            if !inside {
                p.output.set(r, c, gas);
            }
        }
    }
    let within = p.input.count(gas) - p.output.count(gas);
    (within >= 6 && p.output.count(gas) >= 6).then_some(p)
}

fn bell_jar(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (glass, gas, skin) = (s.colour(0), s.colour(1), s.colour(2));
    let (tall, wide) = (s.between(9, s.rows - 1), s.between(9, s.cols - 1));
    let (top, left) = s.place((0, s.rows - tall), (0, s.cols - wide));
    let (bottom, right) = (top + tall - 1, left + wide - 1);
    p.both(|g| g.frame((top, left), (bottom, right), glass));
    let room = (tall.min(wide) - 5) / 2;
    let (small, large) = (1, s.between(2, room.clamp(2, 4)));
    let rows = (top + large + 1, bottom - large - 1);
    let middle = s.place(rows, (left + large + 1, right - large - 1));
    p.input.paint(square_ring(middle, small), skin);
    p.output.paint(square_ring(middle, large), skin);
    let sparse = s.between(2, 5);
    for (r, c) in p.input.places() {
        let inside = r > top && r < bottom && c > left && c < right;
        let near = (r - middle.0).abs().max((c - middle.1).abs()) <= small + 1;
        if p.input.free(r, c) && !(inside && near) && s.between(0, sparse) == 0 {
            p.input.set(r, c, gas);
            if !inside {
                p.output.set(r, c, gas);
            }
        }
    }
    let within = p.input.count(gas) - p.output.count(gas);
    (within >= 4 && p.output.count(gas) >= 3).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn emptied(look: &Look) -> Option<bool> {
    let [colour] = exactly(&look.touched)?;
    let gone = &look.changed;
    given(gone.len() >= 3 && gone.iter().all(|&p| look.is(p) == 0))?;
    let mut walls = (1..10).filter(|w| w != colour && look.had(*w) >= 8);
    Some(walls.any(|wall| {
        let out = outside(&look.input, wall);
        let inside = |&(r, c): &Place| out.at(r, c) == 0;
        gone.iter().all(inside) && !look.output.places_of(*colour).iter().any(inside)
    }))
}

fn pumped_out(look: &Look) -> Option<bool> {
    let [x, y] = *exactly(&look.touched)?;
    Some(exists([(x, y), (y, x)], |(gas, skin)| {
        let rings = |all: Vec<&Part>| -> Vec<[i32; 4]> {
            let moved = all.into_iter().filter(|p| look.restless(p));
            moved.map(|p| p.bounds).collect()
        };
        let (was, is) = (rings(look.before_of(skin)), rings(look.after_of(skin)));
        let ([a], [b]) = (exactly(&was)?, exactly(&is)?);
        let by: Vec<i32> = a.iter().zip(b).map(|(x, y)| (x - y).abs()).collect();
        let wider = b[0] < a[0] && by.iter().all(|d| Some(d) == by.first());
        let jar = |p: &&Part| p.is_frame() && !look.restless(p) && p.colour != gas;
        given(wider && look.came(gas).is_empty())?;
        Some(look.parts_before().iter().filter(jar).any(|jar| {
            let [t, l, b, r] = jar.bounds;
            let inside = |p: &Place| p.0 > t && p.0 < b && p.1 > l && p.1 < r;
            look.changed.iter().all(inside)
                && !look.output.places_of(gas).iter().any(inside)
                && look.gone(gas).len() >= 3
        }))
    }))
}
