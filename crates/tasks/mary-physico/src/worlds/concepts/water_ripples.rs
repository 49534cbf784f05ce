use super::*;

concept!(draws: dropped_stone, growing_ring; reads: rippled, ringed_again);

fn dropped_stone(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (pebble, water) = (s.colour(0), s.colour(1));
    let at = s.place((3, s.rows - 4), (3, s.cols - 4));
    let square = s.coin();
    let most = s.between(4, 9);
    for radius in (2..=most).step_by(2) {
        let drawn = if square { square_ring } else { ring };
        p.output.paint(drawn(at, radius), water);
    }
    p.both(|g| g.set(at.0, at.1, pebble));
    Some(p)
}

fn growing_ring(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (pebble, water) = (s.colour(0), s.colour(1));
    let by = 2;
    let mut put: Vec<Place> = Vec::new();
    for _ in 0..30 {
        let first = s.between(1, 2);
        let at = s.place((2, s.rows - 3), (2, s.cols - 3));
        let far = |q: &Place| (q.0 - at.0).abs().max((q.1 - at.1).abs()) > 8;
        if !put.iter().all(far) || put.len() >= 3 {
            continue;
        }
        p.input.paint(square_ring(at, first), water);
        p.output.paint(square_ring(at, first), water);
        p.output.paint(square_ring(at, first + by), water);
        p.both(|g| g.set(at.0, at.1, pebble));
        put.push(at);
    }
    (!put.is_empty()).then_some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn rippled(look: &Look) -> Option<bool> {
    let colour = look.one_added()?;
    let dots = look.parts_before().iter().filter(|p| p.len() == 1);
    Some(dots.flat_map(|p| p.cells.first().copied()).any(|(mr, mc)| {
        let round = look.changed.iter().all(|&(r, c)| {
            let (dr, dc) = (r - mr, c - mc);
            let turned = [(dc, -dr), (-dr, -dc), (-dc, dr)];
            every(turned, |(tr, tc)| {
                edge_or(&look.output, (mr + tr, mc + tc), |v| v == colour)
            })
        });
        // Going outwards, rings and gaps take turns.
        let rings = [(0, 1), (1, 0), (0, -1), (-1, 0)].iter().map(|&(dr, dc)| {
            let outwards = (1..20).map_while(|k| look.output.get(mr + dr * k, mc + dc * k));
            let along = [false].into_iter().chain(outwards.map(|v| v == colour));
            let along: Vec<bool> = along.collect();
            along.windows(2).filter(|w| !w[0] && w[1]).count()
        });
        let whole =
            |k: i32| around(false).all(|(dr, dc)| look.is((mr + dr * k, mc + dc * k)) == colour);
        let joined = |p: &Part| {
            let [t, l, b, r] = p.bounds;
            p.len() > 1 || t == 0 || l == 0 || b + 1 == look.rows() || r + 1 == look.cols()
        };
        round
            && (1..=4).any(whole)
            && rings.max().unwrap_or(0) >= 2
            && look.new_parts().iter().all(joined)
    }))
}

fn ringed_again(look: &Look) -> Option<bool> {
    let water = look.one_added()?;
    given(look.had(water) >= 8)?;
    let far = |a: Place, b: Place| (a.0 - b.0).abs().max((a.1 - b.1).abs());
    let was = look.input.places_of(water);
    let parts = look.parts_before().iter();
    let points = parts.filter(|p| p.len() == 1 && p.colour != water);
    let points = points.flat_map(|p| p.cells.first().copied());
    let pebbles = those(points, |&p| was.iter().any(|&q| far(p, q) <= 2));
    // Every cell, old or new, is on a ring of its nearest pebble; new ones two further out.
    let radius = |cells: &[Place], pebble: Place| {
        let nearest = |q: &&Place| pebbles.iter().all(|p| far(*p, **q) >= far(pebble, **q));
        distinct(cells.iter().filter(nearest).map(|q| far(pebble, *q)))
    };
    given(!pebbles.is_empty())?;
    Some(pebbles.iter().all(|&p| {
        let (a, b) = (radius(&was, p), radius(&look.changed, p));
        matches!((a.as_slice(), b.as_slice()), ([k], [n]) if n > k)
    }))
}
