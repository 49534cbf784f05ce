use super::*;

concept! {
    draws: two_become_one, in_a_star, meeting_pairs, added_up;
    reads: joined, gathered_and_shone, met_halfway, summed;
}

fn two_become_one(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (proton, neutron) = (s.colour(0), s.colour(1));
    let mid = s.place((3, s.rows - 5), (5, s.cols - 6));
    let gap = s.between(3, (mid.1 - 1).min(s.cols - 4 - mid.1).min(5));
    // Two of five cells become one of nine and a free neutron; two of nine one of sixteen and two.
    let big = s.coin() && mid.0 + 4 < s.rows;
    let form = if big {
        block((0, 0), 3, 3)
    } else {
        vec![(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    };
    for (side, flip) in [(-1, false), (1, true)] {
        for (i, (r, c)) in form.iter().enumerate() {
            let c = mid.1 + side * gap + if flip { 1 - c } else { *c };
            let is_proton = if big { i % 2 == 1 } else { i < 2 };
            let colour = if is_proton { proton } else { neutron };
            p.input.set(mid.0 + r - 1, c, colour);
        }
    }
    let side = if big { 4 } else { 3 };
    for (r, c) in block((mid.0 - 1, mid.1 - 1), side, side) {
        let is_proton = (r + c - mid.0 - mid.1).rem_euclid(2) == 1;
        p.output.set(r, c, if is_proton { proton } else { neutron });
    }
    let away = s.between(4, s.cols - 1 - mid.1);
    let up = s.between(-2, 2);
    p.output.set(mid.0 + up, mid.1 + away, neutron);
    if big {
        p.output.set(mid.0 - up, mid.1 - away, neutron);
    }
    let same = |c: u8| p.input.count(c) == p.output.count(c);
    (same(proton) && same(neutron)).then_some(p)
}

fn in_a_star(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (proton, light, star) = (s.colour(0), s.colour(1), s.colour(2));
    let (mr, mc) = s.place((5, s.rows - 7), (5, s.cols - 7));
    // The star around them, round at its corners.
    p.both(|g| {
        g.frame((mr - 5, mc - 5), (mr + 6, mc + 6), star);
        for (r, dr) in [(mr - 5, 1), (mr + 6, -1)] {
            for (c, dc) in [(mc - 5, 1), (mc + 6, -1)] {
                g.set(r, c, 0);
                g.set(r, c + dc, 0);
                g.set(r + dr, c, 0);
                g.set(r + dr, c + dc, star);
            }
        }
    });
    let corners = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(r, c)| (mr + r, mc + c));
    let away = |(r, c): Place| (2 * (r - mr) - 1, 2 * (c - mc) - 1);
    for at in corners {
        let far = s.between(2, 3);
        p.input.ray(at, away(at), [far], proton);
    }
    p.output.paint(corners, proton);
    let long = s.between(2, 4);
    for at in corners {
        let (dr, dc) = away(at);
        p.output.ray(at, (dr, 0), 2..=long, light);
        p.output.ray(at, (0, dc), 2..=long, light);
    }
    (p.input.count(proton) == 4).then_some(p)
}

fn meeting_pairs(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (light, heavy) = (s.colour(0), s.colour(1));
    let mut row = s.between(1, 2);
    let mut pairs = 0;
    while row < s.rows - 1 {
        let half = s.between(2, (s.cols - 3) / 2);
        let middle = s.between(half + 1, s.cols - half - 2);
        p.input.set(row, middle - half, light);
        p.input.set(row, middle + half, light);
        p.output.set(row, middle, heavy);
        p.output.set(row - 1, middle - 1, heavy);
        p.output.set(row - 1, middle + 1, heavy);
        pairs += 1;
        row += s.between(3, 5);
    }
    (pairs >= 2).then_some(p)
}

fn added_up(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (one, two, new) = (s.colour(0), s.colour(1), s.colour(2));
    let (tall, a, b) = (s.between(2, 4), s.between(1, 2), s.between(1, 3));
    let wide = a + b;
    let gap = s.between(2, 4);
    given(2 * gap + 2 * wide <= s.cols && tall + 4 <= s.rows)?;
    let middle = s.between(gap + wide, s.cols - gap - wide);
    let top = s.between(2, s.rows - tall - 2);
    let bottom = top + tall - 1;
    let left = middle - wide / 2;
    p.input.fill_box((top, left - gap - a + 1), (tall, a), one);
    p.input
        .fill_box((top, left + wide + gap - 1), (tall, b), two);
    p.output.fill_box((top, left), (tall, wide), new);
    for (r, dr) in [(top, -1), (bottom, 1)] {
        for (c, dc) in [(left, -1), (left + wide - 1, 1)] {
            p.output.ray((r, c), (dr, dc), 1..=2, new);
        }
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn joined(look: &Look) -> Option<bool> {
    let (before, after) = (sizes(look.bodies_before()), sizes(look.bodies_after()));
    let ([a, b], [whole, rest @ ..]) = (before.as_slice(), after.as_slice()) else {
        return None;
    };
    // A particle that flew off may lie where one lay before.
    let free = (a + b).saturating_sub(*whole);
    given(a == b && *a >= 3 && whole > a && (1..=2).contains(&free))?;
    Some(rest.iter().all(|n| *n == 1) && rest.len() <= free)
}

fn gathered_and_shone(look: &Look) -> Option<bool> {
    let light = look.one_fresh()?;
    let &particle = look.touched.iter().find(|c| **c != light)?;
    let (before, after) = (look.before_of(particle), look.after_of(particle));
    let [block] = exactly(&after)?;
    let [t, l, b, r] = block.bounds;
    let shine = look.output.places_of(light);
    let on = |side: &dyn Fn(&Place) -> bool| shine.iter().any(side);
    let in_line = |p: &Place| (p.0 >= t && p.0 <= b) || (p.1 >= l && p.1 <= r);
    given(look.kept(particle, 3) && shine.iter().all(in_line) && before.len() == block.len())?;
    given(block.is_box() && on(&|p| p.0 < t) && on(&|p| p.0 > b) && on(&|p| p.1 < l))?;
    Some(on(&|p| p.1 > r))
}

fn met_halfway(look: &Look) -> Option<bool> {
    let (new, old) = (look.one_fresh()?, look.one_lost()?);
    Some(look.some_way(|look| {
        let cells = look.input.places_of(old);
        let rows = distinct(cells.iter().map(|p| p.0));
        let met = |&r: &i32| {
            let [a, b] = *exactly(&in_row(&cells, r))?;
            let m = (a + b) / 2;
            let born = [(r, m), (r - 1, m - 1), (r - 1, m + 1)];
            Some((a + b) % 2 == 0 && born.iter().all(|&p| look.is(p) == new))
        };
        rows.len() >= 2 && look.has(new) == 3 * rows.len() && every(&rows, met)
    }))
}

fn summed(look: &Look) -> Option<bool> {
    let new = look.one_fresh()?;
    let lost: usize = look.lost.iter().map(|&c| look.had(c)).sum();
    let boxes = every(&look.lost, |&c| {
        look.before_of(c).iter().all(|p| p.is_box()) && look.has_parts(c, 1, 0)
    });
    Some(look.lost.len() == 2 && boxes && look.has_parts(new, 0, 1) && look.has(new) == lost + 8)
}
