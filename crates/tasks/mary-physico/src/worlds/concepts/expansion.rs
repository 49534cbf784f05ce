use super::*;

concept! {
    draws: every_side, balloon, growing_crosses, wider_lattice;
    reads: grew, swelled, crosses, twice_as_far;
}

fn every_side(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let by = s.between(1, 2);
    let many = s.between(2, 4) as usize;
    let mut put = 0;
    for _ in 0..40 {
        let form = s.any_blob(1, 4);
        let (tall, wide) = extent(&form);
        let at = s.place((by, s.rows - tall - by), (by, s.cols - wide - by));
        let cells = shifted(&form, at);
        let swollen = |&(r, c): &Place| room((r - by, c - by), (r + by, c + by));
        let grown: Vec<Place> = cells.iter().flat_map(swollen).collect();
        if put < many && p.output.roomy(&grown) {
            let colour = s.colour(put % 3);
            p.input.paint(cells, colour);
            p.output.paint(grown, colour);
            put += 1;
        }
    }
    (put >= 2).then_some(p)
}

fn balloon(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (skin, gas) = (s.colour(0), s.colour(1));
    let most = (s.rows.min(s.cols) - 1) / 2;
    let small = s.between(2, 4).min(most - 2);
    let large = s.between(small + 1, most);
    let centre = s.place((large, s.rows - 1 - large), (large, s.cols - 1 - large));
    let inside = |radius: i32| {
        let edge = ring(centre, radius);
        let mut cells = disc(centre, radius);
        cells.retain(|q| !edge.contains(q));
        cells
    };
    let many = inside(small).len() * 2 / 3;
    for (g, radius) in [(&mut p.input, small), (&mut p.output, large)] {
        g.paint(ring(centre, radius), skin);
        let room = s.shuffled(inside(radius));
        g.paint(room.into_iter().take(many), gas);
    }
    (many >= 4).then_some(p)
}

fn growing_crosses(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let by = s.between(1, 3);
    let mut found: Vec<Place> = Vec::new();
    let many = s.between(1, 6) as usize;
    for _ in 0..60 {
        let (r, c) = s.place((by, s.rows - by - 1), (by, s.cols - by - 1));
        let apart = |q: &Place| (q.0 - r).abs() > 2 * by + 1 || (q.1 - c).abs() > 2 * by + 1;
        if found.len() < many && found.iter().all(apart) {
            let colour = s.any_colour(0, 1);
            p.input.set(r, c, colour);
            for k in -by..=by {
                p.output.set(r + k, c, colour);
                p.output.set(r, c + k, colour);
            }
            found.push((r, c));
        }
    }
    (p.output.places_unlike(&p.input).len() >= 8).then_some(p)
}

fn wider_lattice(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let colour = s.colour(0);
    let (tall, wide) = (s.between(2, 4), s.between(2, 4));
    let step = s.between(1, 2);
    let reach = |n: i32| 2 * step * (n - 1);
    given(reach(tall) < s.rows && reach(wide) < s.cols)?;
    // The middle stays: twice the offset from it, in half cells.
    let (r0, c0) = s.place((0, s.rows - 1 - reach(tall)), (0, s.cols - 1 - reach(wide)));
    given((reach(tall) / 2) % 2 == 0 && (reach(wide) / 2) % 2 == 0)?;
    for i in 0..tall {
        for j in 0..wide {
            p.output.set(r0 + 2 * step * i, c0 + 2 * step * j, colour);
            let (r, c) = (r0 + reach(tall) / 4, c0 + reach(wide) / 4);
            p.input.set(r + step * i, c + step * j, colour);
        }
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn grew(look: &Look) -> bool {
    let parts = those(look.parts_before(), |p| look.touched.contains(&p.colour));
    parts.len() >= 2
        && [1, 2].into_iter().any(|by: i32| {
            let mut image = look.input.clone();
            for part in &parts {
                for &(r, c) in &part.cells {
                    image.fill((r - by, c - by), (r + by, c + by), part.colour);
                }
            }
            image == look.output
        })
}

fn swelled(look: &Look) -> bool {
    look.either_way(|skin, gas| {
        given(look.kept(gas, 3) && look.has(skin) > look.had(skin))?;
        let (small, large) = look.one_part(skin)?;
        let both = small.bounds.iter().zip(&large.bounds);
        let by: Vec<i32> = both.map(|(a, b)| (a - b).abs()).collect();
        let inside = |grid: &Grid| {
            let out = outside(grid, skin);
            grid.places_of(gas).iter().all(|&(r, c)| out.at(r, c) == 0)
        };
        given(by.iter().all(|d| *d > 0 && Some(d) == by.first()))?;
        Some(large.bounds[0] < small.bounds[0] && inside(&look.input) && inside(&look.output))
    })
}

fn crosses(look: &Look) -> bool {
    (1..=3).any(|by: i32| {
        let mut image = look.input.clone();
        let mut grown = 0;
        for part in look.parts_before() {
            let [(r, c)] = *part.cells.as_slice() else {
                continue;
            };
            if look.is((r, c + 1)) != part.colour {
                continue;
            }
            grown += 1;
            for k in -by..=by {
                image.set(r + k, c, part.colour);
                image.set(r, c + k, part.colour);
            }
        }
        grown >= 1 && look.changed.len() >= 8 && image == look.output
    })
}

fn twice_as_far(look: &Look) -> Option<bool> {
    let [colour] = *exactly(&look.touched)?;
    // A distractor of the same colour stays; the lattice is all that moved or lies within its bounds.
    let was = look.input.places_of(colour);
    let [t, l, b, r] = bounds(&look.changed)?;
    let within = |p: &Place| p.0 >= t && p.0 <= b && p.1 >= l && p.1 <= r;
    let inner = those(was, within);
    let (y, x) = (t + b, l + r);
    given(inner.len() >= 4)?;
    // Twice the offsets from the middle of the bounds.
    given(y % 2 == 0 && x % 2 == 0)?;
    let twice = |p: &Place| (2 * p.0 - y / 2, 2 * p.1 - x / 2);
    let mut image: Vec<Place> = inner.iter().map(twice).collect();
    image.sort_unstable();
    Some(image == those(look.output.places_of(colour), within))
}
