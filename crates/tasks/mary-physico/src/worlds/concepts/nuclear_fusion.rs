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
        let cells: Vec<Place> = form
            .iter()
            .map(|&(r, c)| {
                (
                    mid.0 + r - 1,
                    mid.1 + side * gap + if flip { 1 - c } else { c },
                )
            })
            .collect();
        for (i, (r, c)) in cells.into_iter().enumerate() {
            let is_proton = if big { i % 2 == 1 } else { i < 2 };
            p.input.set(r, c, if is_proton { proton } else { neutron });
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
    let ways = [(-1, -1), (-1, 1), (1, -1), (1, 1)];
    for (dr, dc) in ways {
        let far = s.between(2, 3);
        let at = (
            mr + if dr > 0 { 1 + far } else { -far },
            mc + if dc > 0 { 1 + far } else { -far },
        );
        p.input.set(at.0, at.1, proton);
    }
    p.output.paint(block((mr, mc), 2, 2), proton);
    let long = s.between(2, 4);
    for (r, c, dr, dc) in [
        (mr, mc, -1, 0),
        (mr, mc + 1, -1, 0),
        (mr + 1, mc, 1, 0),
        (mr + 1, mc + 1, 1, 0),
        (mr, mc, 0, -1),
        (mr + 1, mc, 0, -1),
        (mr, mc + 1, 0, 1),
        (mr + 1, mc + 1, 0, 1),
    ] {
        for k in 2..=long {
            p.output.set(r + dr * k, c + dc * k, light);
        }
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
    p.input
        .fill((top, left - gap - a + 1), (bottom, left - gap), one);
    p.input.fill(
        (top, left + wide + gap - 1),
        (bottom, left + wide + gap + b - 2),
        two,
    );
    p.output.fill((top, left), (bottom, left + wide - 1), new);
    for (r, dr) in [(top, -1), (bottom, 1)] {
        for (c, dc) in [(left, -1), (left + wide - 1, 1)] {
            for k in 1..=2 {
                p.output.set(r + dr * k, c + dc * k, new);
            }
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
    let fits = a == b
        && *a >= 3
        && whole > a
        && (1..=2).contains(&free)
        && rest.iter().all(|n| *n == 1)
        && rest.len() <= free;
    Some(fits)
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
    let fits = look.kept(particle, 3)
        && shine.iter().all(in_line)
        && before.len() == block.len()
        && block.is_box()
        && on(&|p| p.0 < t)
        && on(&|p| p.0 > b)
        && on(&|p| p.1 < l)
        && on(&|p| p.1 > r);
    Some(fits)
}

fn met_halfway(look: &Look) -> Option<bool> {
    let (new, old) = (look.one_fresh()?, look.one_lost()?);
    Some(look.some_way(|look| {
        let mut rows: std::collections::BTreeMap<i32, Vec<i32>> = std::collections::BTreeMap::new();
        for (r, c) in look.input.places_of(old) {
            rows.entry(r).or_default().push(c);
        }
        rows.len() >= 2
            && look.has(new) == 3 * rows.len()
            && rows.iter().all(|(&r, cols)| match *cols.as_slice() {
                [a, b] => {
                    let m = (a + b) / 2;
                    (a + b) % 2 == 0
                        && look.is((r, m)) == new
                        && look.is((r - 1, m - 1)) == new
                        && look.is((r - 1, m + 1)) == new
                }
                _ => false,
            })
    }))
}

fn summed(look: &Look) -> Option<bool> {
    let new = look.one_fresh()?;
    let lost: usize = look.lost.iter().map(|&c| look.had(c)).sum();
    let boxes = every(&look.lost, |&c| {
        look.before_of(c).iter().all(|p| p.is_box()) && look.has_parts(c, 1, 0)
    });
    let fits =
        look.lost.len() == 2 && boxes && look.has_parts(new, 0, 1) && look.has(new) == lost + 8;
    Some(fits)
}
