use super::*;

concept!(draws: fragments, blast; reads: burst, blasted);

fn fragments(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (core, fire) = (s.colour(0), s.colour(1));
    let (half, k) = s.choose(&[(1, 3), (1, 5), (2, 2), (2, 3)])?;
    let far = half * k + 1;
    let (mr, mc) = s.place((far, s.rows - 1 - far), (far, s.cols - 1 - far));
    for dr in -half..=half {
        for dc in -half..=half {
            let colour = if (dr, dc) == (0, 0) { fire } else { core };
            p.input.set(mr + dr, mc + dc, colour);
            let loose = if half == 1 { -1 } else { 0 };
            let (wr, wc) = (s.between(loose, 0), s.between(loose, 0));
            let to = (mr + dr * k + dr * wr, mc + dc * k + dc * wc);
            p.output.set(to.0, to.1, colour);
        }
    }
    // A flash in the middle with short rays.
    for (dr, dc) in [(0, 1), (1, 0), (0, -1), (-1, 0)] {
        p.output.set(mr + dr, mc + dc, fire);
    }
    (p.output.count(core) == p.input.count(core)).then_some(p)
}

fn blast(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (bomb, fire, wall) = (s.colour(0), s.colour(1), s.colour(2));
    let (mr, mc) = s.place((5, s.rows - 6), (5, s.cols - 6));
    let away = s.between(3, 4);
    let frame = [(mr - away, mc - away), (mr + away, mc + away)];
    p.both(|g| g.frame(frame[0], frame[1], wall));
    p.input.paint(disc((mr, mc), 1), bomb);
    let far = away + s.between(1, 2);
    for (dr, dc) in [(0, 1), (1, 0), (0, -1), (-1, 0)] {
        // The hole in the wall, three cells wide, and its rubble outside.
        let hole = (mr + dr * away, mc + dc * away);
        for k in -1..=1 {
            let q = (hole.0 + dc * k, hole.1 + dr * k);
            p.output.set(q.0, q.1, 0);
            p.output.ray(q, (dr, dc), [1 + k.abs()], wall);
        }
        p.output.ray((mr, mc), (dr, dc), 0..far, fire);
    }
    for way in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
        p.output.ray((mr, mc), way, 0..away, fire);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn burst(look: &Look) -> bool {
    exists(&look.touched, |&colour| {
        given(look.kept(colour, 6))?;
        let (a, b) = (look.input.places_of(colour), look.output.places_of(colour));
        let [t, l, bottom, r] = bounds(&a)?;
        let (y, x) = (t + bottom, l + r);
        let way = |p: &Place| ((2 * p.0 - y).signum(), (2 * p.1 - x).signum());
        let ways = distinct(b.iter().map(way));
        let far = |p: &Place| (2 * p.0 - y).abs().max((2 * p.1 - x).abs());
        let rim = a.iter().map(far).max().unwrap_or(0);
        let edge = b.iter().map(far).max().unwrap_or(0);
        let (was, is) = (look.before_of(colour).len(), look.after_of(colour).len());
        let flash = |c: &&u8| **c == colour || look.has_parts(**c, 1, 1);
        given(was == 1 && look.touched.iter().all(|c| flash(&c)) && is + 1 >= b.len())?;
        given(area(&a) <= 30 && area(&a) <= a.len() as i32 + 2 && ways.len() >= 8)?;
        Some(2 * edge >= 3 * rim)
    })
}

fn blasted(look: &Look) -> Option<bool> {
    let (fire, bomb) = (look.one_fresh()?, look.one_lost()?);
    let charge = look.input.places_of(bomb);
    let [t, l, b, r] = bounds(&charge)?;
    let &wall = look.touched.iter().find(|c| **c != fire && **c != bomb)?;
    let middle = ((t + b) / 2, (l + r) / 2);
    let reach = |(dr, dc): Place| {
        let fire_at = |k: &i32| look.is((middle.0 + dr * k, middle.1 + dc * k)) == fire;
        (1..12).take_while(fire_at).count()
    };
    given(look.is(middle) == fire && around(true).all(|way| reach(way) >= 2))?;
    given(look.gone(wall).len() >= 4)?;
    given(every(&charge, |&p| look.is(p) == fire || look.is(p) == 0))?;
    Some(look.has_parts(bomb, 1, 0) && look.has_parts(fire, 0, 1))
}
