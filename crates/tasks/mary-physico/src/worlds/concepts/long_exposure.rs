use super::*;

concept!(draws: light_trails, star_trails; reads: streaked, circled);

fn light_trails(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let kerb = s.colour(2);
    let lanes = s.between(1, 2);
    let deep = 4 * lanes + 2;
    let top = s.between(0, s.rows - deep - 1);
    for row in [top, top + deep] {
        p.both(|g| g.fill((row, 0), (row, g.cols() as i32), kerb));
    }
    for lane in 0..lanes {
        let colour = s.colour(lane as usize);
        let at = top + 2 + 4 * lane;
        let car = s.between(1, s.cols - 6);
        // The one lane runs to the right, the other to the left, and the cars leave the picture.
        let last = s.cols - 1;
        let (lamp, end) = if lane == 0 {
            (car, last)
        } else {
            (last - car, 0)
        };
        for row in [at, at + 2] {
            p.input.set(row, lamp, colour);
            p.output.fill((row, lamp), (row, end), colour);
        }
    }
    // Lanterns beside the road.
    let lantern = s.colour(3);
    for _ in 0..s.between(1, 3) {
        let spot = s.place((0, s.rows - 1), (0, s.cols - 1));
        if p.output.roomy(&[spot]) && (spot.0 < top || spot.0 > top + deep) {
            p.both(|g| g.set(spot.0, spot.1, lantern));
        }
    }
    Some(p)
}

fn star_trails(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let ground = s.colour(3);
    let floor = s.rows - 2;
    let pole = (s.between(4, 6), s.between(s.cols / 2 - 1, s.cols / 2 + 1));
    p.both(|g| g.set(pole.0, pole.1, s.colour(2)));
    let outermost = s.between(4, s.cols.max(s.rows));
    for radius in (2..=outermost).step_by(2) {
        // The ring above the skyline in the order of the angle.
        let mut cells = ring(pole, radius);
        cells.retain(|q| p.input.holds(q.0, q.1) && q.0 < floor - 1);
        cells.sort_by_key(|&(r, c)| angle(r - pole.0, c - pole.1));
        // Two stars on each unbroken stretch of it, each with an arc of half its half.
        let touch = |a: &Place, b: &Place| (a.0 - b.0).abs().max((a.1 - b.1).abs()) <= 1;
        for stretch in cells.chunk_by(touch).filter(|c| c.len() >= 8) {
            let half = stretch.len() / 2;
            let many = (half / 2).max(3).min(half - 1);
            for start in [0, half] {
                let from = start + s.between(0, (half - many) as i32 - 1) as usize;
                let colour = s.any_colour(0, 1);
                let arc: Vec<Place> = stretch.iter().skip(from).take(many).copied().collect();
                if let Some(&(r, c)) = arc.first() {
                    p.input.set(r, c, colour);
                }
                p.output.paint(arc, colour);
            }
        }
    }
    let skyline: Vec<i32> = (0..s.cols).map(|_| s.between(0, 1)).collect();
    for (c, up) in skyline.into_iter().enumerate() {
        p.both(|g| g.fill((floor - up, c as i32), (g.rows() as i32, c as i32), ground));
    }
    Some(p)
}

/// A number that grows with the angle around the origin, without a sine.
fn angle(r: i32, c: i32) -> i32 {
    let (quadrant, along, across) = match (r, c) {
        (r, c) if r < 0 && c >= 0 => (0, c, -r),
        (r, c) if r >= 0 && c > 0 => (1, r, c),
        (r, c) if r > 0 && c <= 0 => (2, -c, r),
        (r, c) => (3, -r, -c),
    };
    quadrant * 1000 + 1000 * along / (along + across).max(1)
}

// Recognised by the cells alone, without the code that draws it.

fn streaked(look: &Look) -> Option<bool> {
    given(look.touched.iter().all(|&c| look.had(c) != 0))?;
    let streaks = look.new_parts();
    let dots = those(look.parts_before(), |p| p.len() == 1);
    given(streaks.len() >= 2)?;
    Some(
        streaks.iter().all(|s| {
            s.len() >= 2 && exists(&dots, |d| d.colour == s.colour && s.touches(&d.cells))
        }),
    )
}

fn circled(look: &Look) -> Option<bool> {
    given(look.touched.iter().all(|&c| look.had(c) != 0))?;
    let small = |p: &&Part| look.touched.contains(&p.colour) && p.len() <= 2;
    let small = look.parts_before().iter().filter(small);
    let dots = small.flat_map(|p| p.cells.iter().map(|&at| (at, p.colour)));
    let dots: Vec<(Place, u8)> = dots.collect();
    let poles = look.parts_before().iter().filter(|p| p.len() == 1);
    given(dots.len() >= 3)?;
    Some(poles.flat_map(|p| p.cells.first().copied()).any(|pole| {
        let far = |p: Place| f64::from(p.0 - pole.0).hypot(f64::from(p.1 - pole.1));
        let with = |p: Place, colour: u8| {
            exists(&dots, |(d, c)| {
                *c == colour && (far(*d) - far(p)).abs() < 0.95
            })
        };
        // What rose from behind a still body has no point that it began with.
        let arcs = look.new_parts();
        let rose = |part: &Part| !look.still_beside(&part.cells).is_empty();
        let round = |part: &Part| {
            part.cells.iter().all(|&p| with(p, part.colour))
                && (part.len() > 1
                    || at_edge(look, part)
                    || dots.iter().any(|d| part.touches(&[d.0])))
        };
        let bent = arcs.iter().any(|p| p.tall() > 1 && p.wide() > 1);
        bent && arcs.iter().all(|p| round(p) || rose(p))
            && 2 * arcs.iter().filter(|p| round(p)).count() > arcs.len()
    }))
}

/// Whether part of it may lie outside the grid.
fn at_edge(look: &Look, part: &Part) -> bool {
    let [t, l, b, r] = part.bounds;
    t == 0 || l == 0 || b + 1 == look.rows() || r + 1 == look.cols()
}
