use super::*;

concept! {
    draws: cradle, same_height, bouncing;
    reads: swung_to_the_far_side, just_as_high, bounced_as_high;
}

fn cradle(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (beam, thread, ball) = (s.colour(0), s.colour(1), s.colour(2));
    let out = 3;
    let most = (s.cols - 2 * out - 1) / 2 + 1;
    let many = s.between(3, most.min(6));
    let top = s.between(0, s.rows - 8);
    let long = s.between(4, (s.rows - top - 3).min(8));
    let width = 2 * (many - 1) + 1;
    let left = s.between(out, s.cols - out - width);
    p.both(|g| g.fill((top, left - 1), (top, left + width), beam));
    let raised = s.between(1, (many - 2).min(2));
    let hang = |g: &mut Grid, i: i32, swing: i32| {
        let c = left + 2 * i;
        let down = if swing == 0 { long } else { out };
        let end = (top + down, c + swing * out);
        g.paint(line((top + 1, c + swing), end), thread);
        g.set(end.0 + i32::from(swing == 0), end.1, ball);
    };
    for i in 0..many {
        hang(&mut p.input, i, if i < raised { -1 } else { 0 });
        hang(&mut p.output, i, if i >= many - raised { 1 } else { 0 });
    }
    Some(p)
}

fn same_height(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (earth, ball, level) = (s.colour(0), s.colour(1), s.colour(2));
    let floor = s.rows - 1;
    // Columns for each row that the near and the far slope rise.
    let (near, far) = s.choose(&[(1, 2), (2, 1), (1, 1)])?;
    let high = ((s.cols - 2) / (near + far)).min(s.rows - 5).min(6);
    let from = near * high;
    let flat = s.cols - (near + far) * high;
    for c in 0..s.cols {
        let h = match c - from {
            k if k < 0 => (near - 1 - k) / near,
            k if k < flat => 0,
            k => (k - flat) / far + 1,
        };
        p.both(|g| g.fill((floor - h, c), (floor, c), earth));
    }
    let up = s.between(3.min(high), high);
    let row = floor - up - 1;
    let places = |up: i32| (from - near * up, from + flat + far * up - 1);
    let (a, b) = places(up);
    // Several balls, each of which climbs as high as it was.
    for below in 0..s.between(2, up.min(6)) {
        let (a, b) = places(up - below);
        p.input.set(row + below, a, ball);
        p.output.set(row + below, b, ball);
    }
    // The height that is reached, as a dotted line.
    for c in (a + 2..b - 1).step_by(2) {
        p.both(|g| g.set(row, c, level));
    }
    (high >= 3).then_some(p)
}

fn bouncing(s: &mut Setting, mut p: Pair) -> Option<Pair> {
    let (earth, ball, level) = (s.colour(0), s.colour(1), s.colour(2));
    let ground = s.rows - s.between(1, 2);
    let high = s.between(3, 6).min(ground - 2);
    let top = ground - high;
    let wide = 2 * (high - 1);
    let peaks = s.between(1, ((s.cols - 1) / wide).max(1));
    given(peaks * wide < s.cols)?;
    let left = s.between(0, s.cols - 1 - peaks * wide);
    p.both(|g| {
        g.fill((ground, 0), (g.rows() as i32, g.cols() as i32), earth);
        for c in (0..g.cols() as i32).step_by(2) {
            g.set(top - 1, c, level);
        }
        g.set(top, left, ball);
    });
    for c in 0..=peaks * wide {
        let k = c % wide;
        let down = k.min(wide - k);
        p.output.set(top + down, left + c, ball);
    }
    Some(p)
}

// Recognised by the cells alone, without the code that draws it.

fn swung_to_the_far_side(look: &Look) -> Option<bool> {
    let [x, y] = *exactly(&look.touched)?;
    Some(exists([(x, y), (y, x)], |(ball, thread)| {
        let cells = |g: &Grid| g.places_where(|c| c == x || c == y);
        let (a, b) = (cells(&look.input), cells(&look.output));
        let (p, q) = (bounds(&a)?, bounds(&b)?);
        // All hangs on something still above.
        let hooks: Vec<&Place> = a.iter().filter(|h| h.0 == p[0]).collect();
        let hangs = hooks.iter().all(|h| look.was(**h) == thread)
            && hooks.iter().any(|h| look.stays((h.0 - 1, h.1)));
        let axis = p[1] + q[3];
        given(p[3] + q[1] == axis && p[1] != q[1] && hangs && look.had(ball) >= 3)?;
        given(look.before_of(ball).iter().all(|b| b.len() <= 2))?;
        Some(every(&a, |&(r, c)| {
            look.is((r, axis - c)) == look.was((r, c))
        }))
    }))
}

fn just_as_high(look: &Look) -> Option<bool> {
    let [ball] = *exactly(&look.touched)?;
    given(look.kept(ball, 1) && look.changed.len() <= 14)?;
    let (gone, came) = (look.gone(ball), look.came(ball));
    // How far down from this row it is to the ground in a column.
    let deep = |r: i32, c: i32| {
        let ground = (r + 1..look.rows()).find(|&y| look.stays((y, c)));
        ground.map_or(99, |y| y - r)
    };
    let crossed = |(p, q): (&Place, &Place)| {
        let (a, b) = (p.1.min(q.1), p.1.max(q.1));
        let valley = (a + 1..b).map(|c| deep(p.0, c)).max().unwrap_or(0);
        p.0 == q.0
            && b - a >= 2
            && deep(p.0, a) == 1
            && deep(p.0, b) == 1
            && (2..99).contains(&valley)
    };
    let far = came.first()?.1 - gone.first()?.1;
    let one_way = |(p, q): (&Place, &Place)| (q.1 - p.1).signum() == far.signum();
    let mut both = gone.iter().zip(&came);
    Some(far.abs() >= 4 && both.all(|x| crossed(x) && one_way(x)))
}

fn bounced_as_high(look: &Look) -> Option<bool> {
    let ball = look.one_added()?;
    let paths = those(look.after_of(ball), |p| look.restless(p));
    let [path] = exactly(&paths)?;
    let [top, left, bottom, right] = path.bounds;
    let row = |c: i32| in_column(&path.cells, c).first().copied();
    let rows: Vec<i32> = (left..=right).filter_map(row).collect();
    let dotted = those(0..look.cols(), |&c| look.stays((top - 1, c))).len() as i32;
    let turns = rows.windows(3).filter(|w| w[0] == w[2] && w[1] != w[0]);
    given(rows.len() == path.len() && rows.windows(2).all(|w| (w[1] - w[0]).abs() == 1))?;
    given(rows.first() == Some(&top) && rows.last() == Some(&top))?;
    given(turns.clone().all(|w| w[1] == top || w[1] == bottom) && turns.count() >= 1)?;
    given(bottom - top >= 2 && 3 * dotted >= look.cols())?;
    Some((left..=right).all(|c| look.stays((bottom + 1, c))))
}
