use super::*;

concept!(draws: narrow_pipe, two_sheets; reads: sank_over_the_flow, sheets_met);

fn narrow_pipe(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (wall, water, flow) = (s.colour(0), s.colour(1), s.colour(2));
    let bottom = s.rows - 2;
    let (top, mid) = (bottom - 2, bottom - 1);
    let a = s.cols / 3;
    let b = s.cols - s.cols / 3 - 1;
    let high = s.between(4, (top - 2).min(7));
    let low = s.between(1, 2);
    p.both(|g| {
        let cols = g.cols() as i32;
        g.fill((top - 1, 0), (bottom + 1, cols), wall);
        g.fill((top, 0), (bottom, cols), water);
        g.fill((top, a), (top, b), wall);
        g.fill((bottom, a), (bottom, b), wall);
    });
    let risers = [a / 2, (a + b) / 2, (b + s.cols) / 2];
    for (i, &c) in risers.iter().enumerate() {
        let joint = if i == 1 { top } else { top - 1 };
        for (g, flowing) in [(&mut p.input, false), (&mut p.output, true)] {
            let level = if flowing && i == 1 { low } else { high };
            walls(g, (top - 2 - high, top - 2), (c - 1, c + 1), wall);
            g.fill((top - 1 - level, c), (joint, c), water);
        }
    }
    for c in (0..s.cols).step_by(2) {
        p.output.set(mid, c, flow);
    }
    p.output.fill((mid, a), (mid, b), flow);
    (high >= low + 3).then_some(p)
}

fn two_sheets(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (bar, sheet, nozzle, wind) = (s.colour(0), s.colour(1), s.colour(2), s.colour(3));
    let gap = s.between(3, 4);
    let mid = s.between(gap + 1, s.cols - gap - 2);
    let top = s.between(0, 1);
    let long = s.between(7, s.rows - top - 4);
    let end = top + long;
    p.both(|g| {
        g.fill((top, mid - gap - 1), (top, mid + gap + 1), bar);
        g.fill((top, mid), (top + 1, mid), nozzle);
    });
    for side in [-1, 1] {
        let c = mid + side * gap;
        p.input.fill((top + 1, c), (end, c), sheet);
        let half = (top + 1 + long / 2, mid + side);
        p.output.paint(line((top + 1, c), half), sheet);
        p.output.fill(half, (end, mid + side), sheet);
    }
    for r in (top + 2..(end + 3).min(s.rows)).step_by(2) {
        p.output.set(r, mid, wind);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn sank_over_the_flow(look: &Look) -> Option<bool> {
    let flow = look.one_fresh()?;
    let &water = look.touched.iter().find(|c| **c != flow)?;
    let stream = look.came(flow);
    let sunk = those(look.changed.iter().copied(), |&p| look.is(p) == 0);
    let (&(row, _), &(top, col)) = (stream.first()?, sunk.first()?);
    let along = stream.iter().all(|&p| p.0 == row && look.was(p) == water);
    let column = (top..).zip(&sunk).all(|(r, p)| *p == (r, col));
    // Other columns stand as high as this one did, on both sides.
    let stands = |side: i32| {
        let mut beside = (0..look.cols()).filter(|c| (c - col).signum() == side);
        beside.any(|c| look.is((top, c)) == water && look.is((top - 1, c)) != water)
    };
    given(stream.len() >= 4 && look.came(water).is_empty() && along && column && top < row)?;
    Some(stands(-1) && stands(1))
}

fn sheets_met(look: &Look) -> Option<bool> {
    let wind = look.one_fresh()?;
    let &sheet = look.touched.iter().find(|c| **c != wind)?;
    let stream = look.output.places_of(wind);
    let &(_, mid) = stream.first()?;
    let before = look.before_of(sheet);
    let [a, b] = exactly(&before)?;
    let now = look.output.places_of(sheet);
    let widest = |r: i32| in_row(&now, r).iter().map(|c| (c - mid).abs()).max();
    let both_sides = |r: i32| {
        let row = in_row(&now, r);
        row.iter().any(|c| *c < mid) && row.iter().any(|c| *c > mid)
    };
    let (top, end) = (a.bounds[0], a.bounds[2]);
    given(stream.len() >= 3 && stream.iter().all(|p| p.1 == mid))?;
    given(look.after_of(sheet).len() == 2)?;
    given([a, b].iter().all(|p| p.wide() == 1 && p.tall() >= 4))?;
    given(a.bounds[1] + b.bounds[1] == 2 * mid && (top..=end).all(both_sides))?;
    given(matches!((widest(top), widest(end)), (Some(x), Some(y)) if y < x))?;
    Some(a.bounds[0] == b.bounds[0])
}
