use super::*;

concept!(draws: cork_and_stone, loaded_boat; reads: rose_and_sank, took_on_cargo);

fn cork_and_stone(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (water, light, heavy, shore) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let surface = s.between(3, s.rows - 8);
    let floor = s.rows - 1;
    let left = s.between(0, s.cols - 10);
    let right = s.between(left + 9, s.cols - 1);
    p.both(|g| {
        g.fill((surface, left), (floor, right), water);
        vessel(g, surface - 2, floor, (left, right), shore);
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
        p.input.fill_box((from, c), (tall, wide), colour);
        p.output.fill_box((to, c), (tall, wide), colour);
        seen[kind] += 1;
        c += wide + s.between(1, 2);
    }
    (seen[0] >= 1 && seen[1] >= 1).then_some(p)
}

fn loaded_boat(s: &mut Setting, mut p: Pair) -> Option<Pair> {
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
        vessel(g, keel - high, keel, (left, right), hull);
        let base = if held.0 == 0 { keel - 1 } else { held.1 };
        g.fill((base - rows + 1, left + 1), (base, right - 1), cargo);
    };
    // Before: the cargo hangs high above the boat.
    let above = surface - high - 2;
    draw(&mut p.input, 1, (1, above.max(rows - 1)));
    draw(&mut p.output, 1 + rows, (0, 0));
    (above >= rows).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn rose_and_sank(look: &Look) -> bool {
    exists(&look.touched, |&water| {
        given(look.had(water) >= 20)?;
        let all = look.moves_but(&[water])?;
        let wet = |part: &Part, colour: &dyn Fn(Place) -> u8| {
            let [t, l, b, r] = part.bounds;
            [(t, l - 1), (b, r + 1)].iter().any(|&p| colour(p) == water)
        };
        let (was, is) = (|p| look.was(p), |p| look.is(p));
        let ups = all.iter().filter(|m| m.by.0 < 0).count();
        let splash = look.before_of(water).iter().any(|p| p.len() == 1);
        given(ups >= 1 && !splash && ups < all.len())?;
        Some(all.iter().all(|m| {
            let [t, l, b, _] = m.to.bounds;
            let at_surface = look.is((t - 1, l)) != water && look.is((b + 1, l)) == water;
            let on_floor = look.is((b + 1, l)) != water && look.is((t - 1, l)) == water;
            m.by.1 == 0
                && wet(m.from, &was)
                && wet(m.to, &is)
                && (if m.by.0 < 0 { at_surface } else { on_floor })
        }))
    })
}

fn took_on_cargo(look: &Look) -> bool {
    exists(&look.touched, |&water| {
        let all = look.moves_but(&[water])?;
        let [x, y] = exactly(&all)?;
        Some([(x, y), (y, x)].into_iter().any(|(hull, cargo)| {
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
        }))
    })
}
